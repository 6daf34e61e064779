"""How requests are posted: one by one, as lists, and through BlueFlame registers."""

from collections.abc import Callable
from typing import Any

import pytest

from hcasim.catalog.adapter import BlueFlame
from hcasim.catalog.host import Core
from hcasim.hca.wqe import EntryLayout
from hcasim.verbs import QPEx, SendWR, VerbsError
from hcasim.verbs.context import Context
from hcasim.verbs.requests import WIRE
from tests.rig import (
    READ,
    SEND,
    WRITE,
    Program,
    Rig,
    counted,
    extended,
    joined,
    machine,
    run,
    succeeded,
)

NS = 1000


def with_blueflame(takes: str = "inline", buffer: int = 256, **cycles: int) -> Rig:
    blueflame = BlueFlame.model_construct(buffer=buffer, takes=takes)
    return Rig(
        extended(counted(machine(), **cycles), adapter={"doorbell": {"blueflame": blueflame}})
    )


def posted(rig: Rig, count: int, as_list: bool, **request: Any) -> tuple[int, int]:
    """(until requests are posted, until all have completed) in ps."""
    a, b, qp, _ = rig.joined(max_inline_data=64)
    wrs = [a.request(WRITE, b, **request)] * count

    def program() -> Program:
        if as_list:
            yield from qp.post_send_list(wrs)
        else:
            yield from a.post(qp, *wrs)
        after = rig.sim.now
        assert succeeded((yield from a.collect(count)))
        return after, rig.sim.now

    return tuple(rig.run(program())[0])


def test_a_list_rings_one_doorbell() -> None:
    rig = Rig()
    posted(rig, 5, as_list=True)
    assert rig.peers[0].adapter.counts["doorbells"] - 5 == 1, (
        "five more are of completions consumed"
    )


def test_further_requests_of_a_list_have_a_cost_of_their_own() -> None:
    on = counted(machine(), lock=10, post_send=100, post_wr=40)
    assert posted(Rig(on), 5, as_list=True)[0] == (300 + 10 + 100 + 4 * (300 + 40)) * NS
    assert posted(Rig(on), 5, as_list=False)[0] == 5 * (300 + 10 + 100) * NS


def test_a_list_costs_as_much_as_its_requests_unless_the_stack_says_otherwise() -> None:
    assert posted(Rig(), 5, as_list=True)[0] == posted(Rig(), 5, as_list=False)[0]


def test_a_lock_waits_until_the_doorbell_before_it_has_left_the_processor() -> None:
    (free, done), (fenced, done_fenced) = (
        posted(Rig(counted(machine(), fence=90 * NS, lock=lock)), 1, as_list=False)
        for lock in (0, 10)
    )
    assert (fenced - free, done_fenced - done) == (10 * NS, 2 * 10 * NS)
    free, fenced = (
        posted(Rig(counted(machine(), fence=700 * NS, lock=lock)), 3, as_list=False)[0]
        for lock in (0, 10)
    )
    # The next request is built meanwhile, unless a lock is taken before.
    assert free == (300 + 2 * 700) * NS
    assert fenced == (310 + 2 * (700 + 310)) * NS


@pytest.mark.parametrize(("work", "between"), [(0, 90), (60, 90), (200, 200)])
def test_a_program_works_while_its_doorbell_leaves_the_processor(work: int, between: int) -> None:
    rig = Rig(counted(machine(), fence=90 * NS, lock=10))
    a, b, qp, _ = rig.joined()
    a.context.costs.run(work)
    times = []

    def program() -> Program:
        for _ in range(2):
            yield from a.post(qp, a.request(WRITE, b))
            times.append(rig.sim.now)

    rig.run(program())
    assert times[1] - times[0] == (between + 10 + 300) * NS


def test_the_clock_of_a_socket_falls_with_each_of_its_cores_that_is_busy() -> None:
    core = Core(frequency=2_900_000_000, all_busy=2_500_000_000, fence=0, line=0)
    assert [core.clock(busy) // 10**8 for busy in range(1, 9)] == [29, 29, 28, 27, 26, 25, 25, 25]
    assert {core.model_copy(update={"all_busy": None}).clock(busy) for busy in (1, 8)} == {
        core.frequency
    }
    bounded = core.model_copy(update={"all_busy": 3 * 10**9})
    assert {bounded.clock(busy) for busy in (1, 8)} == {core.frequency}


def test_all_work_on_a_socket_slows_down_and_that_of_another_does_not() -> None:
    on = counted(machine(), lock=10, post_send=100)
    core = Core(frequency=10**9, all_busy=5 * 10**8, fence=0, line=0)
    rig = Rig(extended(on, host={"core": core, "cpus": 32, "sockets": 2}))
    node = rig.peers[0].context.node
    near, far = Context(rig.sim, node, 1), Context(rig.sim, node, 16)
    near.costs.run(40, locks=False)
    costs = [rig.peers[0].context.costs, near.costs, far.costs]
    assert [one.post_send // NS for one in costs] == [400, 400, 400]
    for number in (1, 2, 3, 4):
        Context(rig.sim, node, number)
    assert [one.post_send for one in costs] == [300 * NS + 100 * 10**12 // (7 * 10**8)] * 2 + [
        400 * NS
    ]
    assert (near.costs.program, near.costs.lock) == (40 * 10**12 // (7 * 10**8), 0)
    assert far.costs.lock == 10 * NS


def test_what_was_waited_for_is_fetched_and_what_was_there_is_not() -> None:
    rig = Rig(counted(machine(), line=60 * NS))
    plain = Rig(counted(machine()))
    times = [posted(one, 3, as_list=True)[1] for one in (plain, rig)]
    assert times[1] - times[0] == 60 * NS


def test_what_is_before_the_first_wrong_request_of_a_list_is_posted(rig: Rig) -> None:
    a, b, qp, _ = rig.joined(max_send_wr=4)
    good = a.request(WRITE, b)
    wrong = SendWR(READ, good.sg_list, inline=True)

    def program() -> Program:
        with pytest.raises(VerbsError, match="ENOMEM") as full:
            yield from qp.post_send_list([good] * 5)
        yield from a.collect(4)
        with pytest.raises(VerbsError, match="EINVAL") as refused:
            yield from qp.post_send_list([good, good, wrong, good])
        yield from a.collect(2)
        for wrs in ([wrong, good], [wrong]):
            with pytest.raises(VerbsError, match="EINVAL") as first:
                yield from qp.post_send_list(wrs)
            assert first.value.bad_wr == 0
        yield from qp.post_send_list([])
        return full.value.bad_wr, refused.value.bad_wr

    assert rig.run(program()) == [(4, 2)]
    assert rig.counter("wqes_fetched") == 6


def test_a_batch_is_posted_as_a_whole_or_not_at_all(rig: Rig) -> None:
    a, b, qp, _ = rig.joined(max_send_wr=4)

    def program() -> Program:
        calls = QPEx(qp)
        calls.wr_start()
        for _ in range(5):
            calls.wr_rdma_write(b.mr.rkey, b.mr.addr)
            calls.wr_set_sge(a.mr.lkey, a.mr.addr, 8)
        with pytest.raises(VerbsError, match="ENOMEM") as refused:
            yield from calls.wr_complete()
        yield rig.sim.timeout(10**8)
        return refused.value.bad_wr

    assert rig.run(program()) == [4]
    assert rig.counter("wqes_fetched") == 0


@pytest.mark.parametrize(
    ("takes", "buffer", "count", "inline", "fetched"),
    [
        ("inline", 64, 1, True, 0),
        ("any", 64, 1, True, 0),
        ("inline", 64, 1, False, 1),
        ("any", 64, 1, False, 0),
        ("any", 64, 2, True, 2),
    ],
)
def test_blueflame_takes_single_requests_with_their_data_or_all_by_its_rule(
    takes: str, buffer: int, count: int, inline: bool, fetched: int
) -> None:
    rig = with_blueflame(takes, buffer)
    posted(rig, count, as_list=True, inline=inline)
    assert rig.counter("wqes_fetched") == fetched


def test_blueflame_takes_what_fits_and_what_is_longer_has_a_doorbell() -> None:
    # Control 16, remote address 16, header 4: 28 B of data in a block of 64.
    for length, fetched in ((28, 0), (29, 1)):
        rig = with_blueflame(buffer=64)
        posted(rig, 1, as_list=False, inline=True, length=length)
        assert rig.counter("wqes_fetched") == fetched


def test_a_request_is_copied_to_blueflame_by_64_bytes() -> None:
    plain, copied = (with_blueflame(blueflame=cycles) for cycles in (0, 25))
    times = [posted(rig, 1, as_list=False, inline=True, length=64)[0] for rig in (plain, copied)]
    assert times == [300 * NS, (300 + 2 * 25) * NS]
    # Two writes of 64 B, and the doorbell of the completion that was consumed.
    assert copied.counter("bus_mmio_writes") == 3


def test_blueflame_saves_the_latency_of_one_read_of_host_memory() -> None:
    options: dict[str, Any] = {"size": 8, "iters": 4, "warmup": 2, "inline": True}
    blueflame = BlueFlame.model_construct(buffer=256, takes="inline")
    quick = extended(machine(), adapter={"doorbell": {"blueflame": blueflame}})
    with_doorbell, through_blueflame = (
        run("write_lat", on, **options).row["latency_us"] for on in (machine(), quick)
    )
    (read,) = {run("lat_rd", machine(), size=64, iters=1, warmup=0).row["latency_us"]}
    # The register write is 56 B longer: some 30 ns on eight lanes of the first generation.
    assert with_doorbell - through_blueflame == pytest.approx(read - 0.03, abs=0.02)


def test_entries_of_a_packed_ring_follow_each_other_and_are_not_broken_at_its_end() -> None:
    layout = EntryLayout(64, True, 16, 16, 16, 16, 4, 48)
    assert layout.ring(3, 92) == (8, 64)
    sizes = [layout.size(WIRE[WRITE], inline) for inline in (-1, 28, 29, 220)]
    assert sizes == [64, 64, 128, 256]
    slot, places = 0, []
    for size in [*sizes, 256]:
        place, slot = layout.place(slot, size, 8)
        places.append(place)
    # The last two would end behind the end: they begin again.
    assert places == [0, 1, 2, 4, 8]
    assert layout.place(6, 256, 8) == (8, 12)


def test_a_datagram_carries_its_address_vector() -> None:
    layout = EntryLayout(16, False, 16, 16, 16, 16, 4, 48)
    assert layout.size(WIRE[SEND], -1, datagram=True) == 80


def test_other_segments_change_what_is_fetched() -> None:
    sizes = {}
    for control in (16, 32):
        rig = Rig(extended(machine(), adapter={"wqe": {"control": control, "stride": 16}}))
        posted(rig, 1, as_list=False)
        sizes[control] = rig.counter("bus_read_bytes")
    assert sizes[32] - sizes[16] == 16


def test_a_list_of_receives_rings_one_doorbell_and_is_posted_up_to_what_is_wrong(rig: Rig) -> None:
    a, b, qp, remote = rig.joined(max_recv_wr=4)

    def receiver() -> Program:
        before = rig.sim.now
        with pytest.raises(VerbsError, match="the receive queue is full: 4 requests") as refused:
            yield from remote.post_recv_list([b.receive(64)] * 5)
        assert refused.value.bad_wr == 4
        assert rig.sim.now - before == 4 * b.context.stack.post_recv
        yield rig.sim.timeout(5_000_000)
        assert b.adapter.counts["doorbells"] == 1
        return (yield from b.collect(4))

    sending = a.send(qp, *[a.request(SEND, b, 64)] * 4, after=10**7)
    received, sent = rig.run(receiver(), sending)
    assert succeeded(received)
    assert succeeded(sent)


def test_a_call_without_yield_from_is_told_to_whoever_calls_next() -> None:
    rig, a, b, qp, _ = joined()
    write = a.request(WRITE, b)
    receive = a.receive(8)
    calls: dict[str, Callable[[], object]] = {
        "qp.post_send": lambda: qp.post_send(write),
        "qp.post_send_list": lambda: qp.post_send_list([write, write]),
        "qp.post_recv": lambda: qp.post_recv(receive),
        "qp.post_recv_list": lambda: qp.post_recv_list([receive]),
        "cq.poll": a.cq.poll,
        "cq.wait": a.cq.wait,
        "pd.timed_reg_mr": lambda: a.pd.timed_reg_mr(8),
        "mr.timed_dereg": a.mr.timed_dereg,
        "watch.poll": lambda: a.mr.watch(a.mr.addr).poll(1),
    }
    for name, call in calls.items():
        call()
        what = name.partition(".")[2]
        told = rf"node0\S*: {what}: it has not been run; needed: `yield from` before {name}\("
        # It would look for what never comes.
        with pytest.raises(VerbsError, match=told):
            rig.run(b.collect(1))
    for until in (None, rig.sim.event()):
        qp.post_send(write)
        with pytest.raises(RuntimeError, match="post_send: it has not been run"):
            rig.sim.run(until)


def test_calls_may_be_made_processes_of() -> None:
    rig, a, b, qp, _ = joined()
    for _ in range(2):
        rig.sim.process(qp.post_send(a.request(WRITE, b)))
    (completions,) = rig.run(a.collect(2))
    assert len(completions) == 2
