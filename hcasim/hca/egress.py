"""The transmitting side of a port: staging buffers towards the link, and acknowledgements."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from hcasim.catalog import Adapter, Link
from hcasim.engine import CreditPool, Probe, Simulator
from hcasim.fabric.link import Transmitter
from hcasim.fabric.packet import Packet

ACKNOWLEDGEMENTS, REQUESTS, RESPONSES = range(3)
SOURCES = 3


class StagingBuffer:
    """Packets being gathered, in the order in which they go onto the link.

    Args:
        slots: packets that fit, each a full one.
        latency_ps: from the last byte gathered to the packet offered to the link.
        egress: where the packets leave.
        source: queue of the port's transmitter that it feeds.
    """

    def __init__(
        self, sim: Simulator, name: str, egress: Egress, source: int, slots: int, latency_ps: int
    ) -> None:
        self.sim = sim
        self.slots = CreditPool(sim, name, slots)
        self._probe = Probe(sim, name)
        self._egress = egress
        self._source = source
        self._latency = latency_ps
        self._packets: deque[Packet] = deque()
        self._inside = 0
        self._told: dict[Packet, Callable[[], None]] = {}

    def when_sent(self, packet: Packet, action: Callable[[], None]) -> None:
        """Call ``action()`` when the last byte of a staged packet has left."""
        self._told[packet] = action

    @property
    def empty(self) -> bool:
        """Whether all packets have begun to leave over the link."""
        return not self._inside

    def stage(self, packet: Packet) -> None:
        """Put a packet in line, behind which those after it wait; its slot must be held."""
        self._inside += 1
        self._packets.append(packet)

    def complete(self, packet: Packet) -> None:
        """Note that a packet's data is here, and send on what has become first in line."""
        packet.gathered = True
        if self._probe.listeners:
            self._probe.event("gather data", packet.operation, packet)
        packets = self._packets
        while packets and packets[0].gathered:
            self._offer(packets.popleft())

    def _offer(self, packet: Packet) -> None:
        ready_at = self.sim.now + self._latency
        if self._probe.listeners:
            self._probe.event("send pipeline", packet.operation, packet, ready_at)
        self._egress.way_out(packet).send(self._source, packet, ready_at, self._leaves)

    def _leaves(self, packet: Packet, end_ps: int) -> None:
        if self._told and packet in self._told:
            self.sim.call_at(end_ps, self._told.pop(packet))
        self._inside -= 1
        self.slots.release_at(end_ps, 1)


class Egress:
    """The transmitting side of a port: a transmitter with three sources.

    Acknowledgements go first; requests and responses take turns.

    Args:
        lid: local identifier of the port.
        payload: bytes of data in a full packet.

    Attributes:
        loopback: the way back into the same port, for packets between two of its queue pairs. It
            has the rate of the port, but no cable, no error correction and no flow-control packets.
    """

    def __init__(
        self, sim: Simulator, name: str, lid: int, adapter: Adapter, link: Link, payload: int
    ) -> None:
        self.sim = sim
        self.name = name
        self.lid = lid
        self.transmitter = Transmitter(sim, f"{name}.link", link, SOURCES, urgent=1)
        inside = link.model_copy(update={"cable_length": 0, "credit_update": 0, "fec": None})
        self.loopback = Transmitter(sim, f"{name}.loopback", inside, SOURCES, urgent=1)
        slots = max(1, adapter.send.port_buffer // payload)
        self.requests, self.responses = (
            StagingBuffer(sim, f"{name}.{what}", self, source, slots, adapter.send.latency)
            for what, source in (("requests", REQUESTS), ("responses", RESPONSES))
        )
        self._ack_latency = adapter.ack.latency

    def way_out(self, packet: Packet) -> Transmitter:
        """The link, or the way back into this port."""
        return self.loopback if packet.lid == self.lid else self.transmitter

    def acknowledge(self, packet: Packet) -> None:
        """Send an acknowledgement ahead of requests, but behind the responses before it.

        An acknowledgement that overtook a read response would tell that it was lost.
        """
        if self.responses.empty:
            self.acknowledge_at_once(packet)
        else:
            self.responses.slots.acquire(1, self.respond, packet)

    def acknowledge_at_once(self, packet: Packet) -> None:
        """Send an acknowledgement ahead of everything else."""
        self.way_out(packet).send(ACKNOWLEDGEMENTS, packet, self.sim.now + self._ack_latency, _gone)

    def respond(self, packet: Packet) -> None:
        """Send an answer whose data is here behind the responses before it; its slot is held."""
        self.responses.stage(packet)
        self.responses.complete(packet)


def _gone(_packet: Packet, _end_ps: int) -> None:
    """An acknowledgement holds no slot."""
