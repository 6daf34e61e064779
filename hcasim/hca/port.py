"""A port of the adapter: staging buffers towards the link and the receive pipeline behind it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from hcasim.catalog import Adapter, Link
from hcasim.engine import CreditPool, Probe, SerialServer, Simulator
from hcasim.fabric.link import ReceiveBuffer, Transmitter, blocks
from hcasim.fabric.packet import Packet
from hcasim.hca.scheduler import Scheduler

ACKNOWLEDGEMENTS, REQUESTS, RESPONSES = range(3)
SOURCES = 3


class Loopback:
    """The way back into the same port, for packets between two queue pairs of one port.

    It has the rate of the port, but no cable, no flow-control packets and a receive buffer of
    its own.
    """

    def __init__(self, sim: Simulator, name: str, port: Port, link: Link) -> None:
        self._port = port
        inside = link.model_copy(update={"cable_length": 0})
        self.transmitter = Transmitter(sim, name, inside, SOURCES, urgent=1)
        self.transmitter.attach(self, port.buffer_bytes)

    def receive(self, packet: Packet, head_at: int, tail_at: int) -> None:
        """Hand a packet to the port, as if it had come over the link."""
        packet.held_in = self
        self._port.process_from(packet, tail_at)

    def free(self, packet: Packet, at_ps: int) -> None:
        """Free the room of ``packet`` at the time ``at_ps``."""
        way = self.transmitter
        assert way.credits is not None
        way.credits.release_at(at_ps, blocks(packet.size, way.credit_block))


class StagedPacket:
    """A packet that waits for its data; it leaves when all before it have left."""

    __slots__ = ("packet", "ready")

    def __init__(self, packet: Packet) -> None:
        self.packet = packet
        self.ready = False


class StagingBuffer:
    """Packets being gathered, in the order in which they go onto the link.

    Args:
        slots: packets that fit, each a full one.
        latency_ps: from the last byte gathered to the packet offered to the link.
        port: where the packets leave.
        source: queue of the port's transmitter that it feeds.
    """

    def __init__(
        self,
        sim: Simulator,
        name: str,
        port: Port,
        source: int,
        slots: int,
        latency_ps: int,
    ) -> None:
        self.sim = sim
        self.slots = CreditPool(sim, name, slots)
        self._probe = Probe(sim, name)
        self._port = port
        self._source = source
        self._latency = latency_ps
        self._packets: deque[StagedPacket] = deque()
        self._inside = 0

    @property
    def empty(self) -> bool:
        """Whether all packets have begun to leave over the link."""
        return not self._inside

    def stage(self, packet: Packet) -> StagedPacket:
        """Put a packet in line; its slot must be held."""
        staged = StagedPacket(packet)
        self._inside += 1
        self._packets.append(staged)
        return staged

    def complete(self, staged: StagedPacket) -> None:
        """Note that a packet's data is here, and send on what has become first in line."""
        staged.ready = True
        packet = staged.packet
        if self._probe.listeners:
            self._probe.event("gather data", packet.operation, packet)
        packets = self._packets
        while packets and packets[0].ready:
            self._offer(packets.popleft().packet)

    def _offer(self, packet: Packet) -> None:
        ready_at = self.sim.now + self._latency
        if self._probe.listeners:
            self._probe.event("send pipeline", packet.operation, packet, ready_at)
        self._port.way_out(packet).send(self._source, packet, ready_at, self._leaves)

    def _leaves(self, end_ps: int) -> None:
        self._inside -= 1
        self.slots.release_at(end_ps, 1)


class Port:
    """One port: a transmitter with three sources, and a receive pipeline that works in order.

    Acknowledgements go first; requests and responses take turns.

    Args:
        payload: bytes of data in a full packet.

    Attributes:
        lid: local identifier.
        scheduler: queue pairs of this port that are ready to send.
    """

    def __init__(
        self, sim: Simulator, name: str, lid: int, adapter: Adapter, link: Link, payload: int
    ) -> None:
        self.sim = sim
        self.name = name
        self.lid = lid
        self._probe = Probe(sim, name)
        self.buffer_bytes = adapter.receive.buffer
        self.buffer: ReceiveBuffer | None = None
        self.transmitter = Transmitter(sim, f"{name}.link", link, SOURCES, urgent=1)
        self.loopback = Loopback(sim, f"{name}.loopback", self, link)
        slots = max(1, adapter.send.port_buffer // payload)
        self.requests, self.responses = (
            StagingBuffer(sim, f"{name}.{what}", self, source, slots, adapter.send.latency)
            for what, source in (("requests", REQUESTS), ("responses", RESPONSES))
        )
        self.scheduler = Scheduler(adapter.scheduler.queues)
        self.pumping = False
        self.packets_received = 0
        self.payload_received = 0
        self._latency = adapter.receive.latency
        self._ack_latency = adapter.ack.latency
        self._service = adapter.receive.packet_service
        self._pipeline = SerialServer(sim, f"{name}.receive_pipeline")
        self._arrived: deque[Packet] = deque()
        self._occupied = False
        self._draining = False
        self.process: Callable[[Port, Packet], None] | None = None

    def way_out(self, packet: Packet) -> Transmitter:
        """The link, or the way back into this port."""
        return self.loopback.transmitter if packet.lid == self.lid else self.transmitter

    def acknowledge(self, packet: Packet) -> None:
        """Send an acknowledgement ahead of requests, but behind the responses before it.

        An acknowledgement that overtook a read response would tell that it was lost.
        """
        if not self.responses.empty:
            self.responses.slots.acquire(1, self._stage_acknowledgement, packet)
            return
        self.acknowledge_at_once(packet)

    def acknowledge_at_once(self, packet: Packet) -> None:
        """Send an acknowledgement ahead of everything else."""
        self.way_out(packet).send(ACKNOWLEDGEMENTS, packet, self.sim.now + self._ack_latency, _gone)

    def _stage_acknowledgement(self, packet: Packet) -> None:
        self.responses.complete(self.responses.stage(packet))

    def receive(self, packet: Packet, head_at: int, tail_at: int) -> None:
        """Take a packet once the whole of it is here."""
        packet.held_in = self.buffer
        self.process_from(packet, tail_at)

    def process_from(self, packet: Packet, tail_at: int) -> None:
        """Put a packet whose last byte is here at ``tail_at`` through the receive pipeline."""
        if self._probe.listeners:
            self._probe.event("link", packet.operation, packet, tail_at)
        through = self._pipeline.reserve_from(tail_at, self._service) + self._latency
        self.sim.call_at(through, self._through, packet)

    def _through(self, packet: Packet) -> None:
        self.packets_received += 1
        self.payload_received += packet.payload
        if self._probe.listeners:
            self._probe.event("receive pipeline", packet.operation, packet)
        if self._occupied:
            self._arrived.append(packet)
            return
        self._occupied = True
        self.process(self, packet)  # type: ignore[misc]  # set by the adapter

    def done(self) -> None:
        """The packet in hand has been dealt with; take the next."""
        self._occupied = False
        if self._arrived and not self._draining:
            # A loop, because packets that need no wait would nest as deep as the buffer holds.
            self._draining = True
            while self._arrived and not self._occupied:
                self._occupied = True
                self.process(self, self._arrived.popleft())  # type: ignore[misc]
            self._draining = False

    def free(self, packet: Packet) -> None:
        """Free the receive buffer of a packet whose data has left for the bus."""
        assert packet.held_in is not None
        packet.held_in.free(packet, self.sim.now)

    def busy_ps(self) -> dict[str, int]:
        """Time in ps that the pipeline and the link were in use, by name."""
        return {
            self._pipeline.name: self._pipeline.busy_ps,
            self.transmitter.name: self.transmitter.busy_ps,
            self.loopback.transmitter.name: self.loopback.transmitter.busy_ps,
        }


def _gone(_end_ps: int) -> None:
    """An acknowledgement holds no slot."""
