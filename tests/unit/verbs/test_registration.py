"""Registering memory, by calls that take their time and by work requests, and deregistering it."""

from typing import Any

import pytest

from hcasim.catalog import resolve
from hcasim.catalog.adapter import Umr
from hcasim.verbs import MR, SGE, Completion, SendWR, VerbsError, WCStatus, WROpcode
from tests.rig import ALL, SEND, WRITE, Program, Rig, extended, machine, statuses, succeeded

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


NS = 1000
PAGE = 4096


def with_umr(service: int = 0, inline: int = 64) -> Rig:
    umr = Umr.model_construct(segments=112, inline=inline, service=service)
    return Rig(extended(machine(), adapter={"umr": umr, "wqe": {"packed": True}}))


def register(mr: MR) -> SendWR:
    return SendWR(WROpcode.REG_MR, mr=mr)


def posted(made: Rig, *requests: SendWR) -> list[Completion]:
    a, _, qp, _ = made.joined()
    return made.exchange(qp, a, *requests)


def test_a_region_can_be_used_once_a_request_has_registered_it() -> None:
    for registered in (False, True):
        made = with_umr()
        a, b = made.peers
        mr = a.pd.alloc_mr(8, ALL)
        sg_list = (SGE(mr.addr, 8, mr.lkey),)
        write = a.request(WRITE, b, sg_list=sg_list)
        found = posted(made, *[register(mr)] * registered, write)
        assert statuses(found)[-1] == ("SUCCESS" if registered else "LOC_PROT_ERR")


def test_what_is_made_invalid_is_wrong_until_it_is_registered_again() -> None:
    made = with_umr()
    a, b = made.peers
    mr = a.pd.alloc_mr(PAGE, ALL)
    qp, back = made.connect(a, b)
    write = a.request(WRITE, b, sg_list=(SGE(mr.addr, 8, mr.lkey),))
    assert succeeded(made.exchange(qp, a, register(mr), write))
    there = b.request(WRITE, a, remote_addr=mr.addr, rkey=mr.rkey)
    assert succeeded(made.exchange(back, b, there))
    mr.invalidate()
    assert succeeded(made.exchange(qp, a, register(mr), write))
    mr.invalidate()
    assert statuses(made.exchange(qp, a, write)) == ["LOC_PROT_ERR"]


def fetched(pages: int, inline: int = 64) -> int:
    made = with_umr(inline=inline)
    posted(made, register(made.peers[0].pd.alloc_mr(pages * PAGE)))
    return made.counter("bus_read_bytes")


def test_a_short_list_comes_with_the_request_and_a_long_one_is_fetched() -> None:
    # Control 16, its own 112, then eight entries of 8 B, or 16 B that point to nine.
    assert fetched(8) == 192
    assert fetched(9) == 192 + 72
    assert fetched(8, inline=0) == 192 + 64


def test_lists_are_fetched_one_at_a_time_whoever_asks() -> None:
    ends = []
    for inline in (64, 0):
        made = with_umr(1000 * NS, inline)
        a, b = made.peers
        for _ in range(8):
            qp, _back = made.connect(a, b)
            made.sim.process(qp.post_send(register(a.pd.alloc_mr(PAGE))))
        made.sim.run()
        ends.append(max(one.timestamp_ps for one in a.cq.queue.entries))
        assert len(a.cq.queue.entries) == 8
    assert ends[1] - ends[0] >= 8 * made.machine.host.memory.read_latency


def test_a_registration_takes_its_time_and_those_behind_it_wait() -> None:
    times = []
    for service in (0, 5000 * NS):
        made = with_umr(service)
        a, b = made.peers
        mr = a.pd.alloc_mr(PAGE, ALL)
        found = posted(made, register(mr), a.request(WRITE, b))
        times.append([one.timestamp_ps for one in found])
    assert [late - early for early, late in zip(*times, strict=True)] == [5000 * NS] * 2


def test_it_completes_behind_the_requests_before_it() -> None:
    made = with_umr()
    a, b = made.peers
    mr = a.pd.alloc_mr(PAGE)
    found = posted(made, a.request(WRITE, b, 1 << 20, wr_id=1), register(mr))
    assert [one.wr_id for one in found] == [1, 0]


def test_an_adapter_without_it_refuses() -> None:
    made = Rig()
    a, b = made.peers
    with pytest.raises(VerbsError, match="REG_MR; mt25208 has no such request"):
        posted(made, register(a.pd.alloc_mr(PAGE)))
    with pytest.raises(VerbsError, match="REG_MR, and nothing else, needs a memory region"):
        posted(with_umr(), a.request(SEND, b, mr=a.mr))
