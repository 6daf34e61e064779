"""Laws of links and switches under any traffic: all arrives, once, in order, and not too early."""

from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hcasim.catalog import EthernetLink, InfinibandLink, Link
from hcasim.fabric import Opcode, Packet
from hcasim.fabric.packet import PLAIN_SIZES, Route, Sizes
from hcasim.fabric.wire import IwarpFormat
from tests.fabrics import LATENCY, line
from tests.handed import Nobody
from tests.twin import DATA_RATES, link_byte, whole

pytestmark = pytest.mark.pure

SMALLEST_BUFFER = 4096 + 256
ETHERNET = IwarpFormat(markers=False, timestamps=False)


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
    def sizes(self) -> Sizes:
        """How long packets are."""
        return ETHERNET if isinstance(self.speed, int) else PLAIN_SIZES


@dataclass(frozen=True)
class Message:
    """One packet: when, from where, to where."""

    at: int
    source: int
    target: int
    payload: int


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
        self.fabric, self.home, self.ends = line(
            *(shape.link, shape.ends, shape.trunks, shape.buffer, shape.pause_ps, shape.block)
        )
        self.sim = self.fabric.sim
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
                    sizes=shape.sizes,
                )
                transmitter = self.ends[source].transmitter
                self.sim.call_at(message.at, transmitter.send, 0, packet, message.at, Nobody())
        self.sim.run()


SHORT_OF_ROOM = Shape("SDR", 4, 0, 1024, SMALLEST_BUFFER, (3,), 1, 5_000_000)
BURST = [Message(0, n % 2, 2, 0 if n % 3 == 2 else 4096) for n in range(18)]


@given(shape=SHAPES, traffic=TRAFFIC)
@example(shape=SHORT_OF_ROOM, traffic=BURST)
def test_every_packet_arrives_once_in_order_and_not_faster_than_links_and_switches_can(
    shape: Shape, traffic: list[Message]
) -> None:
    run = Run(shape, traffic)
    arrived = [run.sent[packet.psn] for end in run.ends for _, _, packet in end.arrivals]
    assert sorted(map(id, arrived)) == sorted(map(id, run.sent))
    alone = 0
    for index, end in enumerate(run.ends):
        for source in range(len(run.ends)):
            numbers = [p.psn for _, _, p in end.arrivals if p.qpn == source]
            assert numbers == sorted(numbers)
        # One after the other, and none faster than alone.
        last = 0
        for head, tail, packet in end.arrivals:
            message = run.sent[packet.psn]
            hops = 1 + abs(run.home[message.source] - run.home[message.target])
            earliest = message.at + (hops + 1) * shape.metres * 5000 + hops * LATENCY
            assert packet.route.lid == index + 1
            assert head >= max(earliest, last)
            last = tail
            assert tail == head + shape.flight(packet)
            alone += head == earliest
    assert alone or not run.sent
    run.sim.run(until=run.sim.now + 10**7)
    for transmitter in [end.transmitter for end in run.ends] + run.fabric.transmitters():
        if transmitter.credits is None:
            assert transmitter.packets == 0
            continue
        assert transmitter.credits.available == transmitter.credits.capacity
        assert transmitter.busy_ps <= run.sim.now
        assert transmitter.busy_ps >= shape.wire(transmitter.wire_bytes) - transmitter.packets
    sent = sum(end.transmitter.payload_bytes for end in run.ends)
    assert sent == sum(message.payload for message in run.sent)
    assert sent == sum(p.payload for end in run.ends for _, _, p in end.arrivals)
