"""An adapter whose queue pairs overlap: what waits holds up only its own queue pair."""

from typing import Any

import pytest

from hcasim.catalog import Machine
from hcasim.catalog.adapter_tables import IcmCache, WqeCache
from hcasim.verbs import QP, SendWR
from tests.rig import READ, SEND, WRITE, Peer, Program, Rig, extended, joined, machine, succeeded

OVERLAPS = {"adapter.order": "queue_pair", "adapter.scheduler.queues": "64"}


def spent(rig: Rig, programs: list[Program]) -> int:
    """Time in ps of programs that run together."""
    rig.sim.run()
    begun = rig.sim.now
    rig.run(*programs)
    return rig.sim.now - begun


def warm(on: Machine, pairs: int = 1) -> tuple[Rig, list[QP]]:
    """Queue pairs whose contexts are on the chip."""
    rig = Rig(on)
    a, b = rig.peers
    qps = [rig.connect(a, b)[0] for _ in range(pairs)]
    for qp in qps:
        rig.exchange(qp, a, a.request(WRITE, b))
    return rig, qps


def writes(peer: Peer, qp: Any, other: Peer, count: int, size: int = 8) -> Program:
    yield from qp.post_send_list([peer.request(WRITE, other, size) for _ in range(count)])
    yield from peer.collect(count)


@pytest.mark.parametrize("order", ["port", "queue_pair"])
def test_a_context_that_is_missing_holds_up_others_only_in_the_order_of_the_port(
    order: str,
) -> None:
    slow = {
        "adapter.order": order,
        "adapter.scheduler.queues": "64",
        "adapter.memory.latency": "1 ms",
        "adapter.mpt.location": "host",
        "adapter.mtt.location": "host",
        "adapter.cqc.location": "host",
        "adapter.sqpc.location": "host",
    }
    rig = Rig(machine(slow))
    a, b = rig.peers
    warm, cold = rig.connect(a, b)[0], rig.connect(a, b)[0]
    rig.exchange(warm, a, a.request(WRITE, b))
    done: dict[str, int] = {}

    def program() -> Program:
        begun = rig.sim.now
        yield from cold.post_send(a.request(WRITE, b, wr_id=1))
        yield rig.sim.timeout(50_000_000)
        yield from warm.post_send(a.request(WRITE, b, wr_id=2))
        for completion in (yield from a.collect(2)):
            done[completion.wr_id] = completion.timestamp_ps - begun

    rig.run(program())
    assert done[1] > 10**9
    assert (done[2] < 10**8) is (order == "queue_pair")


@pytest.mark.parametrize(("units", "speedup"), [(1, 1), (2, 2), (4, 4)])
def test_several_units_work_on_several_queue_pairs_at_once(units: int, speedup: int) -> None:
    def took(units: int, pairs: int) -> int:
        busy = OVERLAPS | {
            "adapter.send.units": str(units),
            "adapter.send.wqe_service": "20 us",
            "adapter.wqe.fetch": "8",
        }
        rig, qps = warm(machine(busy), pairs)
        a, b = rig.peers

        def program() -> Program:
            for qp in qps:
                yield from qp.post_send_list([a.request(WRITE, b) for _ in range(20)])
            yield from a.collect(20 * pairs)

        return spent(rig, [program()])

    assert took(1, 4) / took(units, 4) == pytest.approx(speedup, rel=0.1)
    # One queue pair keeps its order, so units do not help it.
    assert took(units, 1) == took(1, 1)


@pytest.mark.parametrize(("fetch", "reads"), [(1, 16), (4, 4), (16, 2)])
# A request for more than 512 bytes is cut.
def test_one_read_brings_several_entries_of_a_list(fetch: int, reads: int) -> None:
    rig, a, b, qp, _ = joined(machine(OVERLAPS | {"adapter.wqe.fetch": str(fetch)}))
    before = rig.counter("bus_read_requests")
    rig.run(writes(a, qp, b, 16))
    found = rig.counter("bus_read_requests") - before
    assert found == reads + 16
    assert rig.counter("wqes_fetched") == 16


def test_entries_fetched_ahead_hide_the_latency_of_their_read() -> None:
    def took(ahead: int) -> int:
        rig, (qp,) = warm(machine(OVERLAPS | {"adapter.wqe.ahead": str(ahead)}))
        return spent(rig, [writes(rig.peers[0], qp, rig.peers[1], 64)])

    assert took(0) > 1.1 * took(1)


def test_a_buffer_shared_by_bytes_takes_more_short_packets() -> None:
    def took(order: str) -> int:
        slow = {
            "adapter.order": order,
            "adapter.send.port_buffer": "2 KiB",
            "adapter.send.wqe_service": "0 ns",
            "host.memory.read_latency": "20 us",
            "adapter.wqe.fetch": "64",
            "adapter.bus.read_tags": "64",
        }
        rig, (qp,) = warm(machine(slow))
        return spent(rig, [writes(rig.peers[0], qp, rig.peers[1], 64)])

    assert took("port") > 4 * took("queue_pair")


def test_a_response_whose_entry_has_left_the_chip_fetches_it_again() -> None:
    def missed(entries: int) -> int:
        card = {"wqe": {"cache": WqeCache(entries=entries, policy="fifo")}}
        rig = Rig(extended(machine(OVERLAPS), adapter=card))
        a, b = rig.peers
        qps = [rig.connect(a, b)[0] for _ in range(4)]

        def program() -> Program:
            for qp in qps:
                yield from qp.post_send_list([a.request(READ, b, 64) for _ in range(4)])
            return (yield from a.collect(16))

        (found,) = rig.run(program())
        assert succeeded(found)
        return rig.counter("wqe_cache_miss_cnt")

    assert missed(16) == 0
    assert missed(1) > 8


def test_a_line_that_the_shared_cache_holds_is_not_fetched_from_memory() -> None:
    def fetched(size: int) -> tuple[int, int]:
        shared = IcmCache(size=size, banks=1, latency=50_000, policy="lru")
        few = {
            f"adapter.{name}.{key}": "1" for name in ("sqpc", "rqpc") for key in ("entries", "ways")
        }
        on = extended(machine(OVERLAPS | few), adapter={"icm": {"cache": shared}})
        rig = Rig(on)
        a, b = rig.peers
        qps = [rig.connect(a, b)[0] for _ in range(4)]
        for _ in range(4):
            for qp in qps:
                rig.exchange(qp, a, a.request(WRITE, b))
        counters = rig.cluster.counters()
        return counters["icm_access_cnt"], counters["icm_miss_cnt"]

    accesses, misses = fetched(64 * 1024)
    assert 2 * misses < accesses
    again, all_missed = fetched(256)
    assert again == accesses
    assert all_missed == accesses


@pytest.mark.parametrize("order", ["port", "queue_pair"])
def test_a_read_may_answer_with_more_packets_than_calls_nest(order: str) -> None:
    rig, a, b, qp, _ = joined(
        machine({"adapter.send.port_buffer": "1 GiB", "adapter.order": order})
    )
    request = SendWR(READ, a.sge(1 << 21), remote_addr=b.mr.addr, rkey=b.mr.rkey)
    assert succeeded(rig.exchange(qp, a, request))


def test_receives_fetched_ahead_are_on_the_chip_when_a_message_comes() -> None:
    def landed(ahead: int) -> tuple[int, int]:
        """When a send is received, and how many receives were fetched."""
        rig, a, b, qp, remote = joined(
            machine(OVERLAPS | {"adapter.receive_queue.ahead": str(ahead)})
        )
        rig.run(b.post_receives(remote, *[b.receive(64)] * 6))
        for _ in range(3):
            rig.exchange(qp, a, a.request(SEND, b, 64))
        return b.cq.queue.entries[2].timestamp_ps, rig.counter("receive_wqes_fetched")

    (late, fetched), (early, all_fetched) = landed(0), landed(4)
    # Three reads of host memory less, one for each message.
    assert late - early > 3 * 450_000
    assert (fetched, all_fetched) == (3, 6)


@pytest.mark.parametrize("cold", ["adapter.wqe.ahead", "adapter.sqpc.location"])
def test_descriptors_and_contexts_do_not_queue_for_the_bus_behind_data(cold: str) -> None:
    def second(order: str) -> float:
        """When the first of a long and a short write behind it ends, in parts of the second."""
        changes = {"adapter.order": order, "adapter.bus.read_tags": "1"}
        changes |= {"adapter.send.port_buffer": "256 KiB", "adapter.send.units": "4"}
        if cold == "adapter.sqpc.location":
            changes |= {cold: "host", "adapter.sqpc.entries": "1", "adapter.sqpc.ways": "1"}
        rig, (long, short) = warm(machine(OVERLAPS | changes), 2)
        a, b = rig.peers
        rig.sim.run()
        begun = rig.sim.now

        def program() -> Program:
            yield from long.post_send(a.request(WRITE, b, 256 * 1024))
            yield rig.sim.timeout(5_000_000)
            yield from short.post_send(a.request(WRITE, b, 8))
            yield from a.collect(1)
            ended.append(rig.sim.now - begun)
            yield from a.collect(1)
            ended.append(rig.sim.now - begun)

        ended: list[int] = []
        rig.run(program())
        return ended[0] / ended[1]

    assert second("queue_pair") < 0.7


def test_a_message_waits_for_its_receive_that_is_on_the_way_already() -> None:
    late = {"adapter.receive_queue.ahead": "4", "host.memory.read_latency": "20 us"}
    rig, a, b, qp, remote = joined(machine(OVERLAPS | late | {"adapter.wqe.fetch": "64"}))
    rig.run(b.post_receives(remote, *[b.receive(64)] * 40))

    def program() -> Program:
        yield from qp.post_send_list([a.request(SEND, b, 64) for _ in range(40)])
        yield from a.collect(40)

    rig.run(program())
    assert rig.counter("receive_wqes_fetched") == 40
    assert len(b.cq.queue.entries) == 40
    name = f"{b.adapter.name}.receive_wqe_fetch"
    waited = b.adapter.sim.resources.waiting_ps()[name]
    assert waited > 0
    rig.sim.run(until=rig.sim.now + 10**9)
    assert b.adapter.sim.resources.waiting_ps()[name] == waited
