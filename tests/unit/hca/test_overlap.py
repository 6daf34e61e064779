"""An adapter whose queue pairs overlap: what waits holds up its own queue pair; what limits all.

Services, what follows what, windows and the completion writer.
"""

from typing import Any

import pytest

from hcasim.catalog.adapter import Atomics, IcmCache, Services, WqeCache
from hcasim.verbs import QPType, SendWR, WROpcode
from tests.rig import (
    FETCH_ADD,
    READ,
    SEND,
    WRITE,
    Program,
    Rig,
    extended,
    joined,
    machine,
    succeeded,
)

OVERLAPS = {
    "adapter.order": "queue_pair",
    "adapter.scheduler.queues": "64",
    "adapter.bus.read_tags": "64",
    "adapter.send.port_buffer": "64 KiB",
}
QUICK = {"adapter.wqe.fetch": "64"}
NS = 1000


def took(changes: dict[str, str], *lists: tuple[WROpcode, int, int], **sections: Any) -> int:
    """Time in ps of lists of requests, one on each queue pair: opcode, size and number."""
    rig = Rig(extended(machine(OVERLAPS | QUICK | changes), **sections))
    a, b = rig.peers
    pairs = [rig.connect(a, b)[0] for _ in lists]
    for (opcode, size, _), qp in zip(lists, pairs, strict=True):
        assert succeeded(rig.exchange(qp, a, a.request(opcode, b, size)))
    rig.sim.run()
    begun = rig.sim.now

    def program() -> Program:
        for (opcode, size, count), qp in zip(lists, pairs, strict=True):
            yield from qp.post_send_list([a.request(opcode, b, size) for _ in range(count)])
        yield from a.collect(sum(count for _, _, count in lists))

    rig.run(program())
    return rig.sim.now - begun


def more(name: str, value: str, *lists: tuple[WROpcode, int, int]) -> int:
    """By how many ns the lists take longer with a value of a parameter."""
    return round((took({name: value}, *lists) - took({}, *lists)) / NS)


def test_flow_control_packets_go_behind_each_packet_whatever_it_belongs_to() -> None:
    # 15 times 500 B at 1 GB/s.
    for lists in ([(WRITE, 16 * 1024, 1)], [(WRITE, 1024, 8)] * 2):
        assert more("adapter.send.flow_control", "500 B", *lists) == pytest.approx(7500, abs=1100)


def test_a_request_is_taken_up_when_the_one_before_of_its_queue_pair_has_left() -> None:
    service = "adapter.send.wqe_service", "5 us"
    long = (WRITE, 16 * 1024, 11)
    assert more(*service, long) == pytest.approx(11 * 5_000, rel=0.1)
    # Another queue pair has the link meanwhile.
    assert more(*service, long, long) < 20_000


def test_the_pipeline_goes_on_while_a_request_is_taken_up() -> None:
    deep = {"adapter.send.latency": "2 us"}
    assert took(deep, (WRITE, 1024, 21)) - took({}, (WRITE, 1024, 21)) < 3_000 * NS


def test_a_response_is_taken_up_when_the_one_before_of_its_queue_pair_has_left() -> None:
    service = "adapter.send.packet_service", "5 us"
    one, four = ((READ, 16 * 1024, count) for count in (1, 4))
    assert more(*service, four) - more(*service, one) == pytest.approx(15_000, rel=0.1)


def test_units_are_at_work_on_the_first_packet_of_a_message_only() -> None:
    """Unless all packets of a port keep their order, those behind it follow at the link's pace."""
    for name in ("send", "receive"):
        slow = {f"adapter.{name}.packet_service": "4 us", f"adapter.{name}.units": "2"}
        assert took(slow, (WRITE, 64 * 1024, 1)) - took({}, (WRITE, 64 * 1024, 1)) < 10_000 * NS
    ordered = {"adapter.order": "port"}
    each = took(ordered | {"adapter.send.packet_service": "4 us"}, (WRITE, 64 * 1024, 1))
    assert each > 64 * 4_000 * NS


def test_a_queue_pair_reads_no_more_than_its_window_at_once() -> None:
    def streamed(window: int | None, *lists: tuple[WROpcode, int, int]) -> int:
        far = {"host.memory.read_latency": "20 us"}
        return took(far, *lists, adapter={"send": {"window": window}})

    long = (WRITE, 64 * 1024, 1)
    one = streamed(4096, long)
    assert one > 16 * 20_000 * NS
    # Each has its own.
    assert streamed(4096, long, long) < 1.1 * one
    assert streamed(16 * 1024, long) < 0.35 * one
    # A packet that is longer than the window is read alone.
    assert streamed(512, (WRITE, 1024, 4)) > 4 * 20_000 * NS
    assert streamed(None, long) < streamed(64 * 1024, long) + 1_000 * NS


def test_the_data_of_a_packet_are_moved_on_whole_without_slowing_a_stream() -> None:
    def further(size: int) -> int:
        moved = {"send": {"store_bandwidth": 10**9}}
        return (took({}, (WRITE, size, 1), adapter=moved) - took({}, (WRITE, size, 1))) // NS

    assert further(512) == 512
    assert further(64 * 1024) <= 1024


def test_what_a_request_takes_beside_its_packet_delays_those_behind_it_only() -> None:
    slow = Services(write=0, send=0, read=3000 * NS, atomic=0)
    responder = {"responder": {"services": slow}}
    assert took({}, (READ, 64, 1), adapter=responder) == took({}, (READ, 64, 1))
    late = took({}, (READ, 64, 4), adapter=responder) - took({}, (READ, 64, 4))
    assert late > 6_000 * NS
    assert took({}, (WRITE, 64, 4), adapter=responder) == took({}, (WRITE, 64, 4))


def test_a_packet_that_asks_for_an_acknowledgement_takes_a_unit_longer() -> None:
    service = "adapter.ack.service", "3 us"
    assert more(*service, (WRITE, 64, 1)) == more(*service, (READ, 64, 4)) == 0
    assert more(*service, (WRITE, 64, 4)) > 6_000
    # Those of a queue pair follow each other; of a message only the last packet asks.
    assert more(*service, (WRITE, 4096, 4)) < 9_500


def test_unreliable_writes_take_no_time_for_acknowledgements() -> None:
    times = set()
    for service in ("0 ns", "3 us"):
        rig, a, b, qp, _ = joined(
            machine(OVERLAPS | {"adapter.ack.service": service}), qp_type=QPType.UC
        )
        assert succeeded(rig.exchange(qp, a, *[a.request(WRITE, b, 64)] * 4))
        rig.sim.run()
        times.add(rig.sim.now)
    assert len(times) == 1


def test_reads_of_a_queue_pair_begin_an_interval_apart_and_those_of_several_overlap() -> None:
    units = {"adapter.receive.units": "4"}
    late = units | {"adapter.responder.read_interval": "5 us"}
    assert took(late, (READ, 64, 11)) >= 10 * 5000 * NS
    assert took(late, *[(READ, 64, 11)] * 4) < 1.25 * took(late, (READ, 64, 11))
    assert took(late, (READ, 64, 1)) == took(units, (READ, 64, 1))
    assert took(late, (WRITE, 64, 11)) == took(units, (WRITE, 64, 11))


def test_a_unit_is_not_held_for_a_packet_that_may_not_begin_yet() -> None:
    """Queue pairs whose packets come in bursts keep all units of a receiver busy."""
    busy = {"adapter.receive.units": "4", "adapter.receive.packet_service": "4 us"}
    bursts = [(WRITE, 8, 16)] * 8
    idle = took(busy | {"adapter.receive.packet_service": "0 ns"}, *bursts)
    # 8 x 16 requests, dealt with four at a time; their acknowledgements go on meanwhile.
    assert took(busy, *bursts) - idle < 1.1 * 128 * 4_000 * NS / 4


def test_packets_of_one_queue_pair_are_served_one_at_a_time() -> None:
    busy = {"adapter.receive.units": "4", "adapter.receive.packet_service": "4 us"}
    assert took(busy, (WRITE, 8, 16)) >= 16 * 4_000 * NS


def test_the_completion_writer_takes_its_time_for_each_entry() -> None:
    assert more("adapter.completion.service", "4 us", (WRITE, 8, 16)) == pytest.approx(
        64_000, rel=0.15
    )


def test_atomics_of_one_queue_pair_are_executed_in_turn_and_those_of_several_overlap() -> None:
    unit = {"responder": {"atomics": Atomics(outstanding=16, service=0, lock=8)}}
    slow = {"host.memory.read_latency": "5 us"}
    rig = Rig(extended(machine(OVERLAPS | QUICK | slow), adapter=unit))
    a, b = rig.peers

    def spread(pairs: int) -> int:
        qps = [rig.connect(a, b)[0] for _ in range(pairs)]
        for qp in qps:
            rig.exchange(qp, a, a.request(FETCH_ADD, b, remote_offset=4096))
        rig.sim.run()
        begun = rig.sim.now

        def program() -> Program:
            for place in range(4):
                word = a.request(FETCH_ADD, b, remote_offset=8 * place)
                yield from qps[place % pairs].post_send(word)
            yield from a.collect(4)

        rig.run(program())
        return rig.sim.now - begun

    assert spread(1) - spread(4) > 10_000 * NS


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


@pytest.mark.parametrize("units", [1, 2, 4])
def test_several_units_work_on_several_queue_pairs_at_once(units: int) -> None:
    slow = {"adapter.send.wqe_service": "20 us", "adapter.wqe.fetch": "8"}
    many = slow | {"adapter.send.units": str(units)}
    lists = [(WRITE, 8, 20)] * 4
    assert took(slow, *lists) / took(many, *lists) == pytest.approx(units, rel=0.1)
    # One queue pair keeps its order, so units do not help it.
    assert took(many, lists[0]) == took(slow, lists[0])


@pytest.mark.parametrize(("fetch", "reads"), [(1, 16), (4, 4), (16, 2)])
# A request for more than 512 bytes is cut.
def test_one_read_brings_several_entries_of_a_list(fetch: int, reads: int) -> None:
    rig, a, b, qp, _ = joined(machine(OVERLAPS | {"adapter.wqe.fetch": str(fetch)}))
    before = rig.counter("bus_read_requests")
    rig.run(qp.post_send_list([a.request(WRITE, b) for _ in range(16)]))
    assert rig.counter("bus_read_requests") - before == reads + 16
    assert rig.counter("wqes_fetched") == 16


def test_entries_fetched_ahead_hide_the_latency_of_their_read() -> None:
    late, early = (
        took({"adapter.wqe.fetch": "1", "adapter.wqe.ahead": ahead}, (WRITE, 8, 64))
        for ahead in ("0", "1")
    )
    assert late > 1.1 * early


def test_a_buffer_shared_by_bytes_takes_more_short_packets() -> None:
    slow = {
        "adapter.send.port_buffer": "2 KiB",
        "adapter.send.wqe_service": "0 ns",
        "host.memory.read_latency": "20 us",
    }
    one, shared = (
        took(slow | {"adapter.order": order}, (WRITE, 8, 64)) for order in ("port", "queue_pair")
    )
    assert one > 4 * shared


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
    request = SendWR(READ, (a.sge(1 << 21),), remote_addr=b.mr.addr, rkey=b.mr.rkey)
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
        rig = Rig(extended(machine(OVERLAPS | changes), adapter={"send": {"window": 4096}}))
        a, b = rig.peers
        long, short = (rig.connect(a, b)[0] for _ in range(2))
        for qp in (long, short):
            rig.exchange(qp, a, a.request(WRITE, b))
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
    rig, a, b, qp, remote = joined(machine(OVERLAPS | QUICK | late))
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
