"""Virtual lanes share links by their weights and not buffers, and switches mark congested ones."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import InfinibandLink
from hcasim.catalog.subnet import CongestionControl, Qos
from hcasim.fabric import Fabric, Opcode, Packet
from hcasim.fabric.packet import BASE, Route
from tests.fabrics import End, line
from tests.handed import Nobody

pytestmark = pytest.mark.pure

LINK = InfinibandLink(speed="QDR", width=4, cable_length=5000, propagation=5000, credit_update=1024)
MARKED = CongestionControl(
    threshold=15,
    marking_rate=0,
    packet_size=512,
    victim_mask="none",
    ccti_increase=1,
    ccti_timer=100,
    ccti_min=0,
    cct="0:0,0:1",
)


def send(source: End, target: End, count: int, level: int = 0, payload: int = 2048) -> None:
    for number in range(count):
        packet = Packet(Opcode.SEND, Route(target.lid, level), 1, number, payload)
        source.transmitter.send(0, packet, source.sim.now, Nobody())


def shares(end: End, first: int, last: int) -> Counter[int]:
    """Bytes of each service level among some of the packets that have come."""
    found = Counter[int]()
    for _, _, packet in end.arrivals[first:last]:
        found[packet.route.service_level] += packet.size
    return found


def credits(fabric: Fabric, ends: list[End]) -> set[tuple[int, int]]:
    """What is free of each lane at each link, and what there is."""
    ways = [*fabric.transmitters(), *(end.transmitter for end in ends)]
    return {(pool.available, pool.capacity) for way in ways for pool in way.pools}


@pytest.mark.parametrize(
    ("weights", "payloads"),
    [((99, 33), (2048, 2048)), ((33, 33), (2048, 2048)), ((255, 40), (256, 2048))],
)
def test_lanes_share_a_link_by_their_weights(
    weights: tuple[int, int], payloads: tuple[int, int]
) -> None:
    low = ",".join(f"{lane}:{weight}" for lane, weight in enumerate(weights))
    fabric, _, (sink, *sources) = line(LINK, (3,), qos=Qos(max_vls=2, vlarb_low=low))
    for level, source in enumerate(sources):
        send(source, sink, 1500, level, payloads[level])
    fabric.sim.run()
    # A lane sends whole packets until its weight is used up, in blocks of 64 bytes.
    sizes = [payload + BASE for payload in payloads]
    turn = [
        size * -(-weight // -(-size // 64)) for weight, size in zip(weights, sizes, strict=True)
    ]
    found = shares(sink, 100, 1100)
    assert found[0] / found[1] == pytest.approx(turn[0] / turn[1], rel=0.01)


@pytest.mark.parametrize(("limit", "in_turn"), [(0, 1), (1, 2), (3, 6), (255, 10**9)])
def test_high_priority_goes_first_up_to_its_limit(limit: int, in_turn: int) -> None:
    qos = Qos(max_vls=2, vlarb_high="1:64", vlarb_low="0:64", high_limit=limit)
    fabric, _, (sink, a, b) = line(LINK, (3,), qos=qos)
    send(a, sink, 700, 0)
    send(b, sink, 700, 1)
    fabric.sim.run()
    found = shares(sink, 50, 650)
    assert found[0] * in_turn == pytest.approx(found[1], rel=0.01) or (
        in_turn > 10 and not found[0]
    )
    assert len(sink.arrivals) == 1400


@pytest.mark.parametrize(("lanes", "held_up"), [(1, True), (2, False)])
def test_a_lane_without_credits_does_not_hold_up_another(lanes: int, held_up: bool) -> None:
    fabric, _, (source, slow, fast) = line(LINK, (1, 2), qos=Qos(max_vls=lanes))
    slow.pause_ps = 50_000_000
    send(source, slow, 100, 0)
    send(source, fast, 100, 1)
    fabric.sim.run(until=600_000_000)
    _, last, _ = fast.arrivals[-1] if fast.arrivals else (0, 10**12, None)
    alone = 100 * source.transmitter.serialisation(slow.arrivals[0][2])
    assert (len(fast.arrivals) == 100 and last < 2.2 * alone) is not held_up
    fabric.sim.run()
    assert len(slow.arrivals) == len(fast.arrivals) == 100


def test_a_small_packet_waits_for_no_more_credits_than_it_needs() -> None:
    qos = Qos(max_vls=1)
    fabric, _, (source, sink) = line(LINK, (1, 1), qos=qos)
    output = source.transmitter
    (pool,) = output.pools
    assert pool.take(pool.capacity)
    send(source, sink, 1)
    fabric.sim.run()
    assert not sink.arrivals
    packet = Packet(Opcode.ACKNOWLEDGE, Route(sink.lid), 1, 0)
    output.send(1, packet, fabric.sim.now, Nobody())
    fabric.sim.run()
    for credits_back in (1, pool.capacity - 1):
        pool.release(credits_back)
        fabric.sim.run()
        assert sink.arrivals[-1][2].payload == (0 if credits_back == 1 else 2048)


@given(
    lanes=st.sampled_from([1, 2, 4, 8]),
    packets=st.lists(
        st.tuples(
            *(st.integers(0, 3), st.integers(0, 3), st.integers(0, 15)),
            st.sampled_from([0, 256, 1024]),
        ),
        max_size=150,
    ),
    high=st.sampled_from(["", "0:1", "0:255"]),
    limit=st.sampled_from([0, 1, 255]),
    pause_ps=st.sampled_from([0, 10_000_000]),
)
def test_each_lane_gets_its_credits_back(
    lanes: int,
    packets: list[tuple[int, int, int, int]],
    high: str,
    limit: int,
    pause_ps: int,
) -> None:
    qos = Qos(max_vls=lanes, vlarb_high=high, high_limit=limit) if lanes > 1 else Qos(max_vls=1)
    fabric, _, ends = line(LINK, (2, 2), pause_ps=pause_ps, qos=qos)
    expected = Counter[tuple[int, int]]()
    for number, (source, target, level, payload) in enumerate(packets):
        if source != target:
            packet = Packet(Opcode.SEND, Route(ends[target].lid, level), source, number, payload)
            ends[source].transmitter.send(0, packet, 0, Nobody())
            expected[target, qos.lanes[level]] += 1
    fabric.sim.run()
    found = Counter(
        (place, qos.lanes[packet.route.service_level])
        for place, end in enumerate(ends)
        for _, _, packet in end.arrivals
    )
    assert found == expected
    for end in ends:
        order: dict[tuple[int, int], int] = {}
        for _, _, packet in end.arrivals:
            flow = packet.qpn, qos.lanes[packet.route.service_level]
            assert order.get(flow, -1) < packet.psn
            order[flow] = packet.psn
    # The news of the last room is on its way.
    fabric.sim.run(until=fabric.sim.now + 10_000_000)
    assert all(free == all_ for free, all_ in credits(fabric, ends))
    assert {all_ for _, all_ in credits(fabric, ends)} == {16384 // lanes // 64}


def incast(count: int = 200, payload: int = 2048, **changes: Any) -> tuple[list[int], list[bool]]:
    """What a switch has marked, and whether each packet of two flows into one came marked."""
    control = MARKED.model_copy(update=changes)
    fabric, _, (sink, a, b) = line(LINK, (3,), congestion_control=control)
    send(a, sink, count, payload=payload)
    send(b, sink, count, payload=payload)
    fabric.sim.run()
    marks = [marking.marked for one in fabric.switches for marking in one.markings]
    return marks, [packet.marked for _, _, packet in sink.arrivals]


def test_a_switch_marks_packets_of_a_long_queue() -> None:
    marks, marked = incast()
    assert sum(marks) == sum(marked) > 350
    assert not marked[-1]


@pytest.mark.parametrize(
    "changes",
    [
        {"threshold": 0},
        {"packet_size": 2048 + BASE + 1},
        {"count": 1, "payload": 900},
        {"payload": 256},
    ],
)
def test_what_is_not_marked(changes: dict[str, Any]) -> None:
    assert not any(incast(**changes)[1])


def test_a_mean_number_of_packets_between_marks() -> None:
    marked = sum(incast(count=2000, marking_rate=9)[1])
    assert marked == pytest.approx(400, rel=0.15)


def test_a_lower_threshold_marks_less() -> None:
    counts = [sum(incast(threshold=threshold, count=5)[1]) for threshold in (15, 12, 8, 1)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] == 0


@pytest.mark.parametrize(("mask", "marks"), [("none", False), ("adapters", True), ("all", True)])
def test_an_output_without_credits_is_a_victim(mask: str, marks: bool) -> None:
    control = MARKED.model_copy(update={"victim_mask": mask})
    fabric, _, (sink, a, b) = line(LINK, (3,), congestion_control=control)
    sink.pause_ps = 20_000_000
    send(a, sink, 100)
    send(b, sink, 100)
    fabric.sim.run()
    # Before the sink's buffer is full the output is a root.
    assert (sum(packet.marked for _, _, packet in sink.arrivals[20:]) > 100) is marks
