"""The time of registering memory and of deregistering it."""

from typing import Any

import pytest

from hcasim.catalog import resolve
from hcasim.verbs import MR, VerbsError, WCStatus
from tests.rig import ALL, WRITE, Program, Rig

COST = {
    "stack.registration.call": "1000 ns",
    "stack.registration.pin_page": "10 ns",
    "stack.registration.table_entry": "3 ns",
    "stack.registration.dereg_call": "500 ns",
    "stack.registration.dereg_page": "4 ns",
}
MIB = 2**20


def costly() -> Rig:
    return Rig(resolve("liu2004", overrides=COST), size=4096)


def timed(size: int, **options: Any) -> tuple[int, int, MR]:
    """Nanoseconds of registering and of deregistering."""
    rig = costly()
    times: list[int] = []

    def program() -> Program:
        mr = yield from rig.peers[0].pd.timed_reg_mr(size, ALL, **options)
        times.append(int(rig.sim.now))
        yield from mr.timed_dereg()
        times.append(int(rig.sim.now))
        return mr

    (mr,) = rig.run(program())
    assert rig.peers[0].context.core.busy_ps == times[1]
    return times[0] // 1000, (times[1] - times[0]) // 1000, mr


@pytest.mark.parametrize(
    ("size", "page_size", "pages"),
    [
        (1, 4096, 1),
        (4096, 4096, 1),
        (4097, 4096, 2),
        (MIB, 4096, 256),
        (MIB, 65536, 16),
        (MIB, 2 * MIB, 1),
        (5 * MIB, 2 * MIB, 3),
        (2**31, 2**30, 2),
    ],
)
def test_each_page_is_pinned_entered_and_let_go(size: int, page_size: int, pages: int) -> None:
    registration, deregistration, mr = timed(size, page_size=page_size)
    assert mr.pages == pages
    assert registration == 1000 + pages * 13
    assert deregistration == 500 + pages * 4


def test_memory_of_the_adapter_is_not_pinned() -> None:
    assert timed(MIB, memory="adapter")[:2] == (1000 + 256 * 3, 500)


def test_a_region_is_of_use_once_registered_and_of_none_once_deregistration_begins() -> None:
    rig = costly()
    sender, receiver = rig.peers
    qp, _ = rig.connect(sender, receiver)
    (mr,) = rig.run(receiver.pd.timed_reg_mr(8, ALL))
    receiver.mr = mr

    def program() -> Program:
        request = sender.request(WRITE, receiver)
        yield from qp.post_send(request)
        first = yield from sender.cq.wait()
        dereg = mr.timed_dereg()
        next(dereg)
        yield from qp.post_send(request)
        second = yield from sender.cq.wait()
        return first.status, second.status

    ((first, second),) = rig.run(program())
    assert first is WCStatus.SUCCESS
    assert second is WCStatus.REM_ACCESS_ERR


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"page_size": 2048},
            "a page of 2048 bytes; allowed: powers of two from 4096 to 1073741824",
        ),
        ({"length": 0}, "a memory region needs at least 1 byte, not 0"),
    ],
)
def test_what_cannot_be_registered_takes_no_time(options: dict[str, Any], message: str) -> None:
    rig = costly()
    call = rig.peers[0].pd.timed_reg_mr(**({"length": 8} | options))
    with pytest.raises(VerbsError, match=message) as caught:
        next(call)
    assert caught.value.errno == "EINVAL"
    assert rig.peers[0].context.core.busy_ps == 0
