"""Equal ways are chosen by destination, by flow, by load, or packet by packet."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from hcasim.catalog import EthernetLink, Wiring, resolve
from hcasim.engine import Simulator
from hcasim.fabric import Fabric, Opcode, Packet
from hcasim.fabric.packet import Route
from hcasim.fabric.priorities import PriorityTransmitter
from hcasim.fabric.route_header import source_port
from hcasim.ground.errors import CatalogError
from tests.fabrics import described
from tests.handed import Nobody
from tests.rig import WRITE, Rig, succeeded
from tests.unit.fabric.test_memory import NEEDED, PS_PER_BYTE, WHOLE, End, pausing

pytestmark = pytest.mark.pure

TRUNKS = 4
LINK = EthernetLink(gigabits=100, cable_length=1000, propagation=5000)
US = 10**6


def two_switches(
    routing: str, ends: int = 2, shared: bool = True, seed: str = "left", **more: object
) -> tuple[Fabric, list[End]]:
    """As many ends on each of two switches, between which there are several cables."""
    more |= {"memory": pausing(NEEDED)} if shared else {}
    switch = described(ports=ends + TRUNKS, buffer=1 << 20, routing=routing, **more)
    sim, wiring = Simulator(), Wiring()
    wiring.add_switch(seed, switch)
    wiring.add_switch("right", switch)
    for node in range(2 * ends):
        wiring.attach(node, 1, node // ends)
    wiring.trunk(0, 1, LINK, TRUNKS)
    fabric = Fabric(sim, wiring)
    made = [End(sim, n + 1, LINK, 0) for n in range(2 * ends)]
    for end in made:
        fabric.attach(end, LINK, [WHOLE])
    return fabric, made


def send(source: End, target: End, count: int, port: int = 0xC000, size: int = 1024) -> None:
    route = Route(target.lid, flow=source.lid << 16 | port)
    for number in range(count):
        packet = Packet(Opcode.SEND, route, port, number, size)
        source.transmitter.send(0, packet, source.sim.now, Nobody())


def carried(fabric: Fabric) -> list[int]:
    """Packets on each cable from the first switch to the second."""
    outputs = fabric.switches[0].outputs[-TRUNKS:]
    return [0 if output is None else output.packets for output in outputs]


def test_the_source_port_is_that_of_drivers() -> None:
    """Numbers worked out by hand from the formula of Linux."""
    assert source_port(0) == 0
    assert source_port(1) == 0xC001
    assert source_port(0xFC000) == 0xC03F
    assert source_port(0xABCDE) == 0xC000 | 0x3CDE ^ 0x2A
    assert source_port(0, 0x100000, 0x100000) == 0xC001
    assert source_port(0, 5, 7) == 0xC023


@pytest.mark.parametrize("shared", [True, False])
def test_a_flow_keeps_its_way_and_flows_spread(shared: bool) -> None:
    fabric, ends = two_switches("ecmp", shared=shared)
    for port in range(64):
        send(ends[0], ends[2], 5, 0xC000 + port)
    fabric.sim.run()
    found = carried(fabric)
    assert sum(found) == 320
    assert all(count % 5 == 0 and 5 * 6 < count < 5 * 30 for count in found)
    for port in range(64):
        numbers = [one.psn for _, one in ends[2].arrivals if one.qpn == 0xC000 + port]
        assert numbers == [0, 1, 2, 3, 4]


def test_switches_spread_the_same_flows_otherwise() -> None:
    found = []
    for name in ("left", "other", "left"):
        fabric, _ = two_switches("ecmp", seed=name)
        ways = [
            fabric.switches[0].choose(Packet(Opcode.SEND, Route(3, flow=1 << 16 | port), 1, 0))
            for port in range(0xC000, 0xC020)
        ]
        found.append([None if way is None else way.name.partition(".")[2] for way in ways])
    assert found[0] == found[2]
    same = sum(a == b for a, b in zip(found[0], found[1], strict=True))
    assert same < 20


@pytest.mark.parametrize("routing", ["ecmp", "adaptive", "spray"])
def test_another_seed_is_another_draw(routing: str) -> None:
    ways = []
    for seed in (0, 0, 1):
        fabric, ends = two_switches(routing, routing_seed=seed)
        for port in range(32):
            send(ends[0], ends[2], 10, 0xC000 + port)
        fabric.sim.run()
        ways.append(carried(fabric))
    assert ways[0] == ways[1] != ways[2]


def test_one_flow_by_destination_is_as_fast_as_a_cable_and_sprayed_as_all() -> None:
    """Two ends send to one each of the other switch; by chance of the flow, or not."""
    for routing, ways in (("destination", 1), ("spray", TRUNKS), ("adaptive", TRUNKS)):
        fabric, ends = two_switches(routing)
        send(ends[0], ends[2], 2000)
        fabric.sim.run()
        found = carried(fabric)
        assert len(+Counter(dict(enumerate(found)))) == ways
        if ways > 1:
            assert min(found) > 400


def test_adaptive_ways_get_equal_loads_and_hold_no_more_than_a_packet() -> None:
    """As many ends as cables, all sending: at random, packets wait for each other."""
    longest = {}
    for routing in ("spray", "adaptive"):
        fabric, ends = two_switches(routing, ends=TRUNKS)
        for number in range(TRUNKS):
            send(ends[number], ends[TRUNKS + number], 1000)
        fabric.sim.run()
        left = fabric.switches[0]
        trunks = left.outputs[-TRUNKS:]
        queues = [left.queues[output, 0].longest for output in trunks if output is not None]
        longest[routing] = max(queues)
        spread = 1.02 if routing == "adaptive" else 1.3
        assert max(carried(fabric)) < spread * min(carried(fabric))
    assert longest["adaptive"] <= 3 * 1054 < longest["spray"]


@pytest.mark.parametrize("shared", [True, False])
def test_adaptive_packets_leave_a_cable_that_is_held_up(shared: bool) -> None:
    fabric, ends = two_switches("adaptive", shared=shared)
    send(ends[0], ends[2], 1)
    fabric.sim.run()
    held = fabric.switches[0].outputs[-1]
    assert held is not None
    if isinstance(held, PriorityTransmitter):
        held.pause(0)
    else:
        send_over = Packet(Opcode.SEND, Route(3), 1, 0, 1024)
        for _ in range(8):
            held.send(0, send_over, 10**12, Nobody())
    send(ends[0], ends[2], 400)
    fabric.sim.run(until=10**9)
    # Until the packet that waits there is no more than what waits elsewhere.
    assert len(ends[2].arrivals) >= 395


def test_a_flowlet_stays_together() -> None:
    """Bursts with pauses between them: each burst takes one way, and not all take the same."""
    fabric, ends = two_switches("adaptive", flowlet=20 * US)
    bursts = 30
    for number in range(bursts):
        at = number * 50 * US
        fabric.sim.call_at(at, send, ends[0], ends[2], 10)
    counts = []
    for number in range(bursts):
        fabric.sim.run(until=(number + 1) * 50 * US)
        counts.append(carried(fabric))
    steps = [
        sorted(b - a for a, b in zip(one, other, strict=True)) for one, other in pairwise(counts)
    ]
    assert all(step == [0, 0, 0, 10] for step in steps)
    assert min(counts[-1]) > 0
    assert PS_PER_BYTE * 1074 * 10 < 20 * US


@pytest.mark.parametrize("routing", ["destination", "ecmp", "adaptive", "spray"])
@pytest.mark.parametrize("adapter", ["connectx6", "bluefield-3-selective"])
def test_all_arrives_whichever_way_it_goes(adapter: str, routing: str) -> None:
    """Two flows have two ways: at random, packets meet and are early, which not all place."""
    made = resolve("ideal-fat-tree", adapter=adapter, overrides={"switch.routing": routing})
    rig = Rig(made, (0, 1, 14, 15), data=True)
    size = 48 << 10
    posts, ends = [], list(zip(rig.peers[:2], rig.peers[2:], strict=True))
    for number, (a, b) in enumerate(ends):
        a.mr.write(bytes(range(number, number + 200)) * (size // 200 + 1))
        qp, _ = rig.connect(a, b)
        posts.append(a.send(qp, a.request(WRITE, b, size)))
    assert all(succeeded(found) for found in rig.run(*posts))
    for a, b in ends:
        assert b.mr.read(size, 0) == a.mr.read(size, 0)
    counts = rig.cluster.counters()
    sprayed = routing == "spray"
    assert (counts["out_of_sequence"] > 0) == (counts["naks"] > 0) == sprayed
    sent = counts["port_xmit_packets"]
    if not sprayed:
        assert sent == 2 * 48 + counts["acknowledgements"]
    elif adapter == "connectx6":
        # It goes back for each that is early.
        assert sent > 2 * 2 * 48
    else:
        # Single packets come twice.
        assert counts["duplicate_request"] <= counts["retransmissions"] < 48


def test_only_loads_know_flowlets() -> None:
    with pytest.raises(CatalogError) as error:
        resolve("ideal-fat-tree", overrides={"switch.routing": "ecmp", "switch.flowlet": "5us"})
    (found,) = error.value.faults
    assert found.endswith("switch: found a flowlet with routing ecmp; allowed: routing adaptive")
