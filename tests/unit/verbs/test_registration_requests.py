"""Memory that is registered by work requests."""

import pytest

from hcasim.catalog.adapter_tables import Umr
from hcasim.verbs import MR, SGE, Completion, SendWR, VerbsError, WROpcode
from tests.rig import ALL, SEND, WRITE, Rig, extended, machine, statuses, succeeded

NS = 1000
PAGE = 4096


def rig(service: int = 0, inline: int = 64) -> Rig:
    umr = Umr.model_construct(segments=112, inline=inline, service=service)
    return Rig(extended(machine(), adapter={"umr": umr, "wqe": {"packed": True}}))


def register(mr: MR) -> SendWR:
    return SendWR(WROpcode.REG_MR, mr=mr)


def run(made: Rig, *requests: SendWR) -> list[Completion]:
    a, _, qp, _ = made.joined()
    return made.exchange(qp, a, *requests)


def test_a_region_can_be_used_once_a_request_has_registered_it() -> None:
    for registered in (False, True):
        made = rig()
        a, b = made.peers
        mr = a.pd.alloc_mr(8, ALL)
        sge = SGE(mr.addr, 8, mr.lkey)
        write = a.request(WRITE, b, sge=sge)
        found = run(made, *[register(mr)] * registered, write)
        assert statuses(found)[-1] == ("SUCCESS" if registered else "LOC_PROT_ERR")


def test_what_is_made_invalid_is_wrong_until_it_is_registered_again() -> None:
    made = rig()
    a, b = made.peers
    mr = a.pd.alloc_mr(PAGE, ALL)
    qp, back = made.connect(a, b)
    write = a.request(WRITE, b, sge=SGE(mr.addr, 8, mr.lkey))
    assert succeeded(made.exchange(qp, a, register(mr), write))
    there = b.request(WRITE, a, remote_addr=mr.addr, rkey=mr.rkey)
    assert succeeded(made.exchange(back, b, there))
    mr.invalidate()
    assert succeeded(made.exchange(qp, a, register(mr), write))
    mr.invalidate()
    assert statuses(made.exchange(qp, a, write)) == ["LOC_PROT_ERR"]


def fetched(pages: int, inline: int = 64) -> int:
    made = rig(inline=inline)
    run(made, register(made.peers[0].pd.alloc_mr(pages * PAGE)))
    return made.counter("bus_read_bytes")


def test_a_short_list_comes_with_the_request_and_a_long_one_is_fetched() -> None:
    # Control 16, its own 112, then eight entries of 8 B, or 16 B that point to nine.
    assert fetched(8) == 192
    assert fetched(9) == 192 + 72
    assert fetched(8, inline=0) == 192 + 64


def test_lists_are_fetched_one_at_a_time_whoever_asks() -> None:
    ends = []
    for inline in (64, 0):
        made = rig(1000 * NS, inline)
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
        made = rig(service)
        a, b = made.peers
        mr = a.pd.alloc_mr(PAGE, ALL)
        found = run(made, register(mr), a.request(WRITE, b))
        times.append([one.timestamp_ps for one in found])
    assert [late - early for early, late in zip(*times, strict=True)] == [5000 * NS] * 2


def test_it_completes_behind_the_requests_before_it() -> None:
    made = rig()
    a, b = made.peers
    mr = a.pd.alloc_mr(PAGE)
    found = run(made, a.request(WRITE, b, 1 << 20, wr_id=1), register(mr))
    assert [one.wr_id for one in found] == [1, 0]


def test_an_adapter_without_it_refuses() -> None:
    made = Rig()
    a, b = made.peers
    with pytest.raises(VerbsError, match="REG_MR; mt25208 has no such request"):
        run(made, register(a.pd.alloc_mr(PAGE)))
    with pytest.raises(VerbsError, match="REG_MR, and nothing else, needs a memory region"):
        run(rig(), a.request(SEND, b, mr=a.mr))
