"""What limits a queue pair or a port: gaps, rests, intervals, services, the completion writer."""

from typing import Any

import pytest

from hcasim.catalog.adapter import Atomics, Services
from hcasim.verbs import WROpcode
from tests.rig import FETCH_ADD, READ, WRITE, Program, Rig, extended, machine, succeeded

OVERLAPS = {
    "adapter.order": "queue_pair",
    "adapter.scheduler.queues": "64",
    "adapter.bus.read_tags": "64",
    "adapter.send.port_buffer": "64 KiB",
    "adapter.wqe.fetch": "64",
}
NS = 1000


def took(changes: dict[str, str], *lists: tuple[WROpcode, int, int], **sections: Any) -> int:
    """Time in ps of lists of requests, one on each queue pair: opcode, size and number."""
    rig = Rig(extended(machine(OVERLAPS | changes), **sections))
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


def test_a_port_rests_between_packets_whatever_they_belong_to() -> None:
    for lists in ([(WRITE, 16 * 1024, 1)], [(WRITE, 1024, 8)] * 2):
        assert more("adapter.send.gap", "500 ns", *lists) == pytest.approx(7500, abs=1100)


def test_a_queue_pair_rests_between_messages_but_not_inside_one() -> None:
    rest = "adapter.send.rest", "5 us"
    assert more(*rest, (WRITE, 16 * 1024, 1)) == 0
    assert more(*rest, (WRITE, 1024, 11)) > 45_000
    # The rests of two queue pairs run at the same time.
    assert more(*rest, (WRITE, 1024, 11), (WRITE, 1024, 11)) < 60_000


def test_the_pipeline_goes_on_while_a_queue_pair_rests() -> None:
    deep = {"adapter.send.latency": "2 us"}
    lists = (WRITE, 1024, 21)
    rests = took(deep | {"adapter.send.rest": "1 ns"}, lists) - took(deep, lists)
    assert 0 < rests < 100 * NS


def test_a_queue_pair_rests_between_responses() -> None:
    rest = "adapter.responder.rest", "5 us"
    assert more(*rest, (READ, 16 * 1024, 1)) == 0
    assert more(*rest, (READ, 1024, 4)) > 12_000


def test_requests_for_the_data_of_a_packet_are_issued_apart_without_slowing_a_stream() -> None:
    interval = "adapter.send.read_interval", "300 ns"
    # Packets are of 1024 B, requests of 512 B.
    assert more(*interval, (WRITE, 512, 1)) == 0
    assert more(*interval, (WRITE, 1024, 1)) == 300
    assert more(*interval, (WRITE, 64 * 1024, 1)) <= 300


def test_what_a_request_takes_beside_its_packet_delays_those_behind_it_only() -> None:
    slow = Services(write=0, send=0, read=3000 * NS, atomic=0)
    responder = {"responder": {"services": slow}}
    assert took({}, (READ, 64, 1), adapter=responder) == took({}, (READ, 64, 1))
    late = took({}, (READ, 64, 4), adapter=responder) - took({}, (READ, 64, 4))
    assert late > 6_000 * NS
    assert took({}, (WRITE, 64, 4), adapter=responder) == took({}, (WRITE, 64, 4))


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
    rig = Rig(extended(machine(OVERLAPS | slow), adapter=unit))
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
