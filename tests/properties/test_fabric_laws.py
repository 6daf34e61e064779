"""Laws of links and switches under any traffic: all arrives, once, in order, and not too early."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hcasim.catalog import EthernetLink, InfinibandLink, Link, Wiring
from hcasim.catalog import Switch as Description
from hcasim.engine import Simulator
from hcasim.fabric import Fabric, Opcode, Packet, Transmitter
from hcasim.fabric.packet import Route, packet_size
from hcasim.fabric.topology import EndPort
from hcasim.fabric.wire import IwarpFormat
from tests.handed import Nobody
from tests.twin import DATA_RATES, link_byte, whole

pytestmark = pytest.mark.pure

SMALLEST_BUFFER = 4096 + 256
ETHERNET = IwarpFormat(markers=False, timestamps=False)
LATENCY = 200_000


@dataclass(frozen=True)
class Shape:
    """Switches in a line with ends on each, and how fast and roomy they are.

    Attributes:
        speed: of a lane of InfiniBand, or Gbit/s of Ethernet.
        width: lanes of InfiniBand.
    """

    speed: str | int
    width: int
    metres: int
    credit_update: int
    buffer: int
    ends: tuple[int, ...]
    trunks: int
    pause_ps: int

    @property
    def link(self) -> Link:
        reach = {"cable_length": self.metres * 1000, "propagation": 5000}
        if isinstance(self.speed, int):
            return EthernetLink.model_validate({"gigabits": self.speed, **reach})
        return InfinibandLink.model_validate(
            {"speed": self.speed, "width": self.width, "credit_update": self.credit_update, **reach}
        )

    @property
    def block(self) -> int:
        """Bytes for which one credit stands."""
        return 1 if isinstance(self.speed, int) else 64

    def wire(self, size_bytes: int) -> int:
        """Time in ps that bytes take on a link."""
        if isinstance(self.speed, int):
            return whole(Fraction(8000, self.speed))(size_bytes)
        return whole(link_byte(self.speed, self.width))(size_bytes)

    def flight(self, packet: Packet) -> int:
        """Time in ps from a packet's first byte to its last."""
        if isinstance(self.speed, int):
            return self.wire(8 + packet.size + 12) - self.wire(12)
        return self.wire(packet.size + 2)

    @property
    def size_of(self) -> Callable[..., int]:
        """How long packets are."""
        return ETHERNET.size if isinstance(self.speed, int) else packet_size


@dataclass(frozen=True)
class Message:
    """One packet: when, from where, to where."""

    at: int
    source: int
    target: int
    payload: int


class End(EndPort):
    """A port that frees each packet's room some time after it has arrived."""

    def __init__(self, sim: Simulator, lid: int, link: Link, shape: Shape) -> None:
        self.sim = sim
        self.lid = lid
        self.transmitter = Transmitter(sim, f"end{lid}", link)
        self.buffer_bytes = shape.buffer
        self.pause_ps = shape.pause_ps
        self.block = shape.block
        self.held = 0
        self.arrivals: list[tuple[int, int, Packet]] = []

    def receive(self, packet: Packet, head_at: int, tail_at: int) -> None:
        self.arrivals.append((head_at, tail_at, packet))
        self.held += -(-packet.size // self.block)
        assert self.held <= self.buffer_bytes // self.block
        self.sim.call_at(tail_at + self.pause_ps, self._free, packet)

    def _free(self, packet: Packet) -> None:
        self.held -= -(-packet.size // self.block)
        self.buffer.free(packet, int(self.sim.now))


SHAPES = st.builds(
    Shape,
    speed=st.sampled_from([*DATA_RATES, 1, 10, 25, 40, 100]),
    width=st.sampled_from([1, 2, 4, 8, 12]),
    metres=st.integers(0, 30),
    credit_update=st.sampled_from([64, 1024, 4096]),
    buffer=st.integers(SMALLEST_BUFFER, 20_000),
    ends=st.lists(st.integers(1, 3), min_size=1, max_size=3)
    .filter(lambda e: sum(e) > 1)
    .map(tuple),
    trunks=st.integers(1, 2),
    pause_ps=st.sampled_from([0, 300_000, 5_000_000]),
)
TRAFFIC = st.lists(
    st.builds(
        Message,
        at=st.integers(0, 3_000_000),
        source=st.integers(0, 8),
        target=st.integers(0, 8),
        payload=st.one_of(st.integers(0, 4096), st.just(1024)),
    ),
    max_size=60,
)


class Run:
    """Traffic over a fabric, to its end."""

    def __init__(self, shape: Shape, traffic: list[Message]) -> None:
        self.sim = Simulator()
        self.link = shape.link
        description = Description(
            id="invented", title="Invented", ports=8, latency=LATENCY, buffer=shape.buffer
        )
        wiring = Wiring()
        self.home = [index for index, count in enumerate(shape.ends) for _ in range(count)]
        for index in range(len(shape.ends)):
            wiring.add_switch(f"switch{index}", description)
        for node, switch in enumerate(self.home):
            wiring.attach(node, 1, switch)
        for index in range(1, len(shape.ends)):
            wiring.trunk(index - 1, index, self.link, shape.trunks)
        self.fabric = fabric = Fabric(self.sim, wiring)
        self.ends = [End(self.sim, n + 1, self.link, shape) for n in range(len(self.home))]
        for end in self.ends:
            fabric.attach(end, self.link)
        self.sent: list[Message] = []
        for message in sorted(traffic, key=lambda m: m.at):
            source, target = (n % len(self.ends) for n in (message.source, message.target))
            if source != target:
                self.sent.append(Message(message.at, source, target, message.payload))
                packet = Packet(
                    Opcode.SEND,
                    Route(target + 1),
                    source,
                    len(self.sent) - 1,
                    message.payload,
                    size_of=shape.size_of,
                )
                transmitter = self.ends[source].transmitter
                self.sim.call_at(message.at, transmitter.send, 0, packet, message.at, Nobody())
        self.sim.run()


SHORT_OF_ROOM = Shape("SDR", 4, 0, 1024, SMALLEST_BUFFER, (3,), 1, 5_000_000)
BURST = [Message(0, n % 2, 2, 0 if n % 3 == 2 else 4096) for n in range(18)]


@given(shape=SHAPES, traffic=TRAFFIC)
@example(shape=SHORT_OF_ROOM, traffic=BURST)
def test_every_packet_arrives_once_and_in_order(shape: Shape, traffic: list[Message]) -> None:
    run = Run(shape, traffic)
    arrived = [run.sent[packet.psn] for end in run.ends for _, _, packet in end.arrivals]
    assert sorted(map(id, arrived)) == sorted(map(id, run.sent))
    for index, end in enumerate(run.ends):
        for source in range(len(run.ends)):
            numbers = [p.psn for _, _, p in end.arrivals if p.qpn == source]
            assert numbers == sorted(numbers)
        assert all(packet.route.lid == index + 1 for _, _, packet in end.arrivals)
        tails = [tail for _, tail, _ in end.arrivals]
        assert tails == sorted(tails)


@given(shape=SHAPES, traffic=TRAFFIC)
def test_no_packet_is_faster_than_alone(shape: Shape, traffic: list[Message]) -> None:
    run = Run(shape, traffic)
    alone = 0
    for end in run.ends:
        for head, tail, packet in end.arrivals:
            message = run.sent[packet.psn]
            hops = 1 + abs(run.home[message.source] - run.home[message.target])
            earliest = message.at + (hops + 1) * shape.metres * 5000 + hops * LATENCY
            assert head >= earliest
            assert tail == head + shape.flight(packet)
            alone += head == earliest
    assert alone or not run.sent


@given(shape=SHAPES, traffic=TRAFFIC)
def test_no_link_carries_more_than_it_can_and_all_credits_come_back(
    shape: Shape, traffic: list[Message]
) -> None:
    run = Run(shape, traffic)
    run.sim.run(until=run.sim.now + 10**7)
    for end in run.ends:
        spans = sorted((head, tail) for head, tail, _ in end.arrivals)
        assert all(a[1] <= b[0] for a, b in pairwise(spans))
    transmitters = [end.transmitter for end in run.ends] + run.fabric.transmitters()
    for transmitter in transmitters:
        if transmitter.credits is None:
            assert transmitter.packets == 0
            continue
        assert transmitter.credits.available == transmitter.credits.capacity
        assert transmitter.busy_ps <= run.sim.now
        assert transmitter.busy_ps >= shape.wire(transmitter.wire_bytes) - transmitter.packets
    sent = sum(end.transmitter.payload_bytes for end in run.ends)
    assert sent == sum(message.payload for message in run.sent)
    assert sent == sum(p.payload for end in run.ends for _, _, p in end.arrivals)
