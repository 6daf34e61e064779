"""Shared packet memory: pauses lose nothing, thresholds and marks are where theory has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import EthernetLink, Switch, Wiring
from hcasim.catalog.receive import BufferPart
from hcasim.catalog.testbed import Arbitration, Marking, PacketMemory
from hcasim.engine import Simulator
from hcasim.fabric import Fabric, Opcode, Packet
from hcasim.fabric.packet import Route, Sender
from hcasim.fabric.priorities import PriorityTransmitter
from hcasim.fabric.topology import EndPort
from tests.handed import Nobody

pytestmark = pytest.mark.pure

GIGABITS = 100
PS_PER_BYTE = 80
METRES = 100
PAYLOAD = 1024
REACTION = 60 * 512 * 10
"""Time of 60 quanta in ps."""
ALL = 0xFF
"""Priorities that share a buffer."""
WHOLE = BufferPart(64 * PAYLOAD, ALL, 40 * PAYLOAD)


class End(EndPort):
    """A port that takes what comes at its own pace."""

    def __init__(self, sim: Simulator, lid: int, link: EthernetLink, pause_ps: int) -> None:
        self.sim = sim
        self.lid = lid
        self.transmitter = PriorityTransmitter(sim, f"end{lid}", link)
        self.buffer_bytes = 64 * PAYLOAD
        self._pause_ps = pause_ps
        self._free_at = 0
        self.arrivals: list[tuple[int, Packet]] = []

    def receive(self, packet: Packet, head_at: int, tail_at: int) -> None:
        self.arrivals.append((tail_at, packet))
        self._free_at = max(self._free_at, tail_at) + self._pause_ps
        self.sim.call_at(self._free_at, self._free, packet)

    def _free(self, packet: Packet) -> None:
        self.buffer.free(packet, self.sim.now)


class Told(Sender):
    """A sender that counts what it is told to be lost."""

    def __init__(self) -> None:
        self.count = 0

    def act(self) -> None:
        """Nothing is due."""

    def lost(self, packet: Packet) -> None:
        self.count += 1


def network(
    ends: int,
    memory: PacketMemory,
    pause_ps: int = 0,
    arbitration: Arbitration = "round_robin",
    parts: Sequence[BufferPart] = (WHOLE,),
) -> tuple[Fabric, list[End]]:
    """Ends on one switch, of which the first takes its time for each packet."""
    sim, wiring = Simulator(), Wiring()
    link = EthernetLink(gigabits=GIGABITS, cable_length=METRES * 1000, propagation=5000)
    described = Switch(
        id="invented",
        title="Invented",
        ports=ends,
        latency=300_000,
        buffer=65536,
        memory=memory,
        forwarding="store_and_forward",
        arbitration=arbitration,
    )
    wiring.add_switch("switch", described)
    for node in range(ends):
        wiring.attach(node, 1, 0)
    fabric = Fabric(sim, wiring)
    made = [End(sim, n + 1, link, pause_ps if n == 0 else 0) for n in range(ends)]
    for end in made:
        fabric.attach(end, link, parts)
    return fabric, made


def send(
    source: End,
    target: End,
    count: int,
    level: int = 0,
    payload: int = PAYLOAD,
    told: Sender | None = None,
) -> None:
    route = Route(target.lid, level)
    for number in range(count):
        packet = Packet(Opcode.SEND, route, source.lid, number, payload, sender=told)
        source.transmitter.send(0, packet, source.sim.now, Nobody())


def pausing(headroom: int, **changes: object) -> PacketMemory:
    values = {
        "size": 4_000_000,
        "profile": "lossless",
        "alpha": 10**9 // 8,
        "reserve": 4096,
        "headroom": headroom,
        "resume": 3072,
        "reaction": REACTION,
    }
    return PacketMemory(**(values | changes))


def dropping(**changes: object) -> PacketMemory:
    return pausing(0, **({"profile": "lossy-ecn", "reserve": 0} | changes))


SIZE = Packet(Opcode.SEND, Route(1), 1, 0, PAYLOAD).size
ON_WIRE = SIZE + 20
NEEDED = 2 * ON_WIRE + 3840 + 130 * METRES // 100 * GIGABITS
"""Headroom by 802.1Qbb annex O: two packets, the reaction, and what a cable holds both ways."""


@pytest.mark.parametrize("senders", [2, 7])
def test_an_incast_keeps_its_output_busy_and_loses_nothing(senders: int) -> None:
    fabric, ends = network(senders + 1, pausing(NEEDED))
    for end in ends[1:]:
        send(end, ends[0], 2000)
    fabric.sim.run()
    memory = fabric.switches[0].memory
    assert memory is not None
    assert memory.pauses > 0
    assert memory.dropped == 0
    times = [at for at, _ in ends[0].arrivals]
    assert len(times) == senders * 2000
    assert times[-1] - times[0] == (len(times) - 1) * ON_WIRE * PS_PER_BYTE
    assert memory.shared == 0


@pytest.mark.parametrize(("arbitration", "place"), [("round_robin", 22), ("oldest_first", 40)])
def test_inputs_take_turns_or_packets_leave_as_they_came(
    arbitration: Arbitration, place: int
) -> None:
    fabric, ends = network(4, pausing(NEEDED), arbitration=arbitration)
    for end in ends[1:3]:
        send(end, ends[0], 30)
    fabric.sim.call_at(20 * ON_WIRE * PS_PER_BYTE, send, ends[3], ends[0], 1)
    fabric.sim.run()
    order = [packet.qpn for _, packet in ends[0].arrivals]
    assert order.index(ends[3].lid) == pytest.approx(place, abs=2)


@pytest.mark.parametrize(("less", "loses"), [(0, False), (2 * ON_WIRE, True)])
def test_headroom_holds_what_comes_after_a_pause(less: int, loses: bool) -> None:
    """The receiver stands still, and a frame that pauses waits for a packet that goes back."""
    memory = pausing(NEEDED - less, alpha=10**6)
    fabric, ends = network(3, memory, pause_ps=10**9)
    send(ends[1], ends[0], 300)
    send(ends[2], ends[1], 300)
    fabric.sim.run(until=40_000_000)
    found = fabric.switches[0].memory
    assert found is not None
    assert found.pauses > 0
    assert (found.dropped > 0) == loses


@pytest.mark.parametrize("alpha", [0.125, 1, 8])
def test_one_queue_takes_its_part_of_the_memory(alpha: float) -> None:
    size = 2_000_000
    memory = dropping(size=size, alpha=int(alpha * 10**9))
    fabric, ends = network(4, memory)
    for end in ends[1:]:
        send(end, ends[0], 3000)
    fabric.sim.run()
    found = fabric.switches[0]
    assert found.memory is not None
    assert found.memory.dropped > 0
    longest = max(queue.longest for queue in found.queues.values())
    assert longest == pytest.approx(alpha * size / (1 + alpha), rel=0.02)


def test_equal_flows_get_equal_shares() -> None:
    for memory in (pausing(NEEDED), dropping()):
        fabric, ends = network(5, memory)
        for end in ends[1:]:
            send(end, ends[0], 12000)
        # While all of them send.
        fabric.sim.run(until=12000 * ON_WIRE * PS_PER_BYTE)
        shares = Counter(packet.qpn for _, packet in ends[0].arrivals)
        assert max(shares.values()) / min(shares.values()) < 1.005


def test_a_sender_goes_on_when_there_is_room_for_long() -> None:
    pauses = []
    for resume in (0, 50_000):
        fabric, ends = network(3, pausing(NEEDED, resume=resume))
        for end in ends[1:]:
            send(end, ends[0], 4000)
        fabric.sim.run()
        memory = fabric.switches[0].memory
        assert memory is not None
        pauses.append(memory.pauses)
    assert pauses[0] > 3 * pauses[1] > 0


def test_an_end_that_cannot_pause_its_sender_discards_what_it_has_no_room_for() -> None:
    lost = []
    for pause_ps in (0, 2 * SIZE * PS_PER_BYTE):
        fabric, ends = network(2, dropping(), pause_ps)
        send(ends[1], ends[0], 1000)
        fabric.sim.run()
        lost.append(fabric.port_buffers[0].discarded)
    # It takes half of what comes, once its buffer is full.
    assert lost[0] == 0
    assert lost[1] == pytest.approx((1000 - 2 * 64 * PAYLOAD / SIZE) / 2, rel=0.05)


def test_another_priority_goes_on_while_one_is_paused() -> None:
    fabric, ends = network(3, pausing(NEEDED), pause_ps=10**8)
    send(ends[1], ends[0], 2000)
    fabric.sim.run(until=200_000_000)
    assert ends[1].transmitter.wait_ps > 0
    send(ends[1], ends[2], 10, level=3)
    fabric.sim.run(until=220_000_000)
    assert len(ends[2].arrivals) == 10


def test_a_pause_that_ends_does_not_hurry_what_is_not_ready() -> None:
    fabric, ends = network(2, pausing(NEEDED))
    output, ready_at = fabric.switches[0].outputs[0], 10**6
    assert isinstance(output, PriorityTransmitter)
    output.pause(0)
    for source in (0, 1):
        packet = Packet(Opcode.SEND, Route(1), source, 0, PAYLOAD)
        output.send(source, packet, ready_at, Nobody())
    output.go_on(0)
    fabric.sim.run()
    first = ready_at + ON_WIRE * PS_PER_BYTE + output.propagation_ps
    assert [at + 12 * PS_PER_BYTE for at, _ in ends[0].arrivals] == [
        first,
        first + ON_WIRE * PS_PER_BYTE,
    ]


def test_marks_follow_the_length_of_the_queue() -> None:
    marking = Marking(kmin=100_000, kmax=400_000, pmax=2 * 10**8, seed=1)
    fabric, ends = network(3, dropping(size=10**9, marking=marking))
    send(ends[1], ends[0], 3000)
    fabric.sim.run()
    assert not any(packet.marked for _, packet in ends[0].arrivals)
    for end in ends[1:]:
        send(end, ends[0], 6000)
    fabric.sim.run()
    marked = [packet.marked for _, packet in ends[0].arrivals[3000:]]
    # The queue grows by one packet with each that leaves, and shrinks as fast when both are done.
    low, high = 100_000 // SIZE, 400_000 // SIZE
    ramp = marked[low:high]
    assert not any(marked[: low - 1])
    assert all(marked[high + 2 : 12000 - high - 2])
    assert sum(ramp) == pytest.approx(0.1 * len(ramp), rel=0.4)


def test_early_drops_hold_a_queue_where_as_many_are_dropped_as_come_too_many() -> None:
    for pmax, stands_at in ((10**9, 200_000), (2 * 10**8, 300_000)):
        marking = Marking(kmin=100_000, kmax=300_000, pmax=pmax)
        fabric, ends = network(3, dropping(size=10**9, profile="early-drop", marking=marking))
        told = Told()
        for end in ends[1:]:
            send(end, ends[0], 6000, told=told)
        fabric.sim.run(until=6000 * ON_WIRE * PS_PER_BYTE)
        memory = fabric.switches[0].memory
        assert memory is not None
        # One of two is dropped; where no early drop is as likely, the queue stands at kmax.
        (queue,) = fabric.switches[0].queues.values()
        assert queue.length == pytest.approx(stands_at, rel=0.1)
        fabric.sim.run()
        assert memory.marked == 0
        assert memory.dropped == told.count == 12000 - len(ends[0].arrivals)
        first = min({*range(6000)} - {packet.psn for _, packet in ends[0].arrivals})
        assert first > 100_000 // SIZE - 1


@given(
    senders=st.integers(2, 5),
    packets=st.integers(50, 400),
    payload=st.sampled_from([1, 64, 1000, 1024]),
    alpha=st.sampled_from([0.001, 0.125, 1.0, 8.0]),
    pause_ps=st.sampled_from([0, 1_000_000]),
    loses=st.booleans(),
)
def test_packets_arrive_or_are_told_to_be_lost(
    senders: int, packets: int, payload: int, alpha: float, pause_ps: int, loses: bool
) -> None:
    changes = {"size": 400_000, "alpha": int(alpha * 10**9)}
    memory = dropping(**changes) if loses else pausing(NEEDED, **changes)
    fabric, ends = network(senders + 1, memory, pause_ps)
    told = Told()
    for end in ends[1:]:
        send(end, ends[0], packets, payload=payload, told=told)
    fabric.sim.run()
    found = fabric.switches[0].memory
    assert found is not None
    lost = found.dropped + sum(one.discarded for one in fabric.port_buffers)
    assert loses or lost == 0
    assert len(ends[0].arrivals) + lost == senders * packets
    assert told.count == lost
    assert found.shared == 0
    assert found.most_shared <= memory.size - (senders + 1) * (memory.reserve + memory.headroom)
    for source in range(2, senders + 2):
        numbers = [packet.psn for _, packet in ends[0].arrivals if packet.qpn == source]
        assert numbers == sorted(numbers)
