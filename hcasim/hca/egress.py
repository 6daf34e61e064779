"""The transmitting side of a port: staging buffers towards the link, and acknowledgements."""

from __future__ import annotations

from typing import ClassVar

from hcasim.catalog import Adapter, InfinibandLink, Link
from hcasim.catalog.adapter import Send
from hcasim.catalog.subnet import Qos
from hcasim.engine import Action, CreditPool, Probe, Simulator
from hcasim.engine.changes import Changes
from hcasim.fabric.arbitration import RoundRobin
from hcasim.fabric.lanes import LaneTransmitter
from hcasim.fabric.link import Transmitter
from hcasim.fabric.packet import NOBODY, Holder, Packet
from hcasim.fabric.priorities import PriorityTransmitter
from hcasim.hca.pipeline import InOrder, name_of

ACKNOWLEDGEMENTS, REQUESTS, RESPONSES = range(3)


class PacketLine(Holder):
    """Packets that keep their order on the way to the link, and hold room until they leave.

    Those in ``packets`` have not been offered to it, and ``inside`` of them not begun to leave. The
    next message may begin at ``rests_until``, in ps.
    """

    changes: ClassVar[Changes] = Changes(times="rests_until", counts="busy_ps")

    __slots__ = ("_buffer", "busy_ps", "inside", "packets", "rests_until")

    def __init__(self, buffer: StagingBuffer) -> None:
        self._buffer = buffer
        self.packets: list[Packet] = []
        self.inside = self.rests_until = self.busy_ps = 0

    def occupy(self, begin_ps: int, end_ps: int) -> None:
        self.busy_ps += end_ps - begin_ps

    def free(self, packet: Packet, at_ps: int) -> None:
        self._buffer.left(self, packet, at_ps)


class StagingBuffer:
    """Packets being gathered, which go onto the link in the order of their line.

    Args:
        source: queue of the port's transmitter that it feeds.
        rest_ps: from the end of a message to the next of its line; 0: that may follow at once.
        send: how many bytes fit; one packet of ``full`` bytes of data always does.
    """

    def __init__(
        self,
        sim: Simulator,
        name: str,
        source: int,
        rest_ps: int,
        egress: Egress,
        send: Send,
        full: int,
        pipeline: InOrder,
    ) -> None:
        self.sim = sim
        self.full = full
        self.room = CreditPool(sim, name, max(full, pipeline.room(send.port_buffer, full)))
        sim.resources.keeps_waiting(name, self.room)
        self._probe = Probe(sim, name)
        self._egress = egress
        self._source = source
        self._latency = send.latency
        self._rest = rest_ps
        self._pipeline = pipeline
        self._lines: dict[int, PacketLine] = {}
        self._told: dict[Packet, Action] = {}

    def when_sent(self, packet: Packet, action: Action) -> None:
        self._told[packet] = action

    def line(self, packet: Packet) -> int:
        return self._pipeline.line(packet)

    def _line(self, packet: Packet) -> PacketLine:
        key = self._pipeline.line(packet)
        return self._lines.get(key) or self._add_line(key)

    def _add_line(self, key: int) -> PacketLine:
        line = self._lines[key] = PacketLine(self)
        if self._rest:
            name = f".lid{key >> 24}{name_of(key)}" if key else ""
            self.sim.resources.serves(f"{self.room.name}.rest{name}", line)
        return line

    def holds(self, packet: Packet) -> bool:
        """Whether packets in whose line another would be have not begun to leave over the link."""
        return bool(self._lines) and self._line(packet).inside > 0

    def stage(self, packet: Packet) -> None:
        """Put a packet in line, behind which those after it wait; room for a full one is held."""
        packet.holder = line = self._line(packet)
        line.inside += 1
        line.packets.append(packet)
        if rest := self.full - self._pipeline.takes(packet, self.full):
            self.room.release(rest)

    def complete(self, packet: Packet) -> None:
        if packet.data is not None:
            packet.data.read()
        if self._probe.listeners:
            since = packet.staged_at or self.sim.now
            self._probe.event("gather data", packet.operation, packet, None, since)
        if self._rest:
            # The pipeline goes on while its line rests.
            self.sim.call_after(self._latency, self._ready, packet)
        else:
            self._ready(packet)

    def _ready(self, packet: Packet) -> None:
        packet.gathered = True
        line = packet.holder
        assert isinstance(line, PacketLine)
        self._send_on(line)

    def _send_on(self, line: PacketLine) -> None:
        packets = line.packets
        while packets and packets[0].gathered:
            if self._rest and packets[0].first:
                if line.inside > len(packets):
                    # The message before it tells when it has left.
                    return
                if line.rests_until > self.sim.now:
                    self.sim.call_at(line.rests_until, self._send_on, line)
                    return
            packet = packets.pop(0)
            ready_at = self.sim.now if self._rest else self.sim.now + self._latency
            if self._probe.listeners:
                since = ready_at - self._latency
                self._probe.event("send pipeline", packet.operation, packet, ready_at, since)
            self._egress.way_out(packet).send(self._source, packet, ready_at, line)

    def left(self, line: PacketLine, packet: Packet, at_ps: int) -> None:
        """Learn that a packet leaves, its last byte at ``at_ps``: its room is free then."""
        if self._told and packet in self._told:
            self.sim.schedule(at_ps, self._told.pop(packet))
        line.inside -= 1
        if self._rest:
            line.occupy(self.sim.now, at_ps)
            if packet.last:
                line.rests_until = at_ps + self._rest
                line.occupy(at_ps, line.rests_until)
                self._send_on(line)
            elif line.packets and line.inside == len(line.packets):
                # The rest of a message is sent again later: another may begin.
                self._send_on(line)
        self.room.release_at(at_ps, self._pipeline.takes(packet, self.full))


class Egress:
    """The transmitting side of a port: a transmitter with three sources.

    Acknowledgements go first; requests and responses take turns.

    Attributes:
        loopback: the way back into the same port, for packets between two of its queue pairs. It
            has the rate of the port, but no cable, no error correction and no flow-control packets.
    """

    def __init__(
        self,
        sim: Simulator,
        name: str,
        lid: int,
        adapter: Adapter,
        link: Link,
        payload: int,
        pipeline: InOrder,
        pausable: bool,
        qos: Qos | None,
    ) -> None:
        self.sim = sim
        self.name = name
        self.lid = lid
        between = adapter.send.flow_control if isinstance(link, InfinibandLink) else 0
        way = f"{name}.link"
        if pausable:
            self.transmitter: Transmitter = PriorityTransmitter(sim, way, link, urgent=1)
        elif qos is not None:
            self.transmitter = LaneTransmitter(sim, way, link, qos, urgent=1, between=between)
        else:
            self.transmitter = Transmitter(sim, way, link, RoundRobin(urgent=1), between)
        no_cable = {"cable_length": 0, "credit_update": 0, "fec": None, "loss": 0, "corruption": 0}
        inside = link.model_copy(update=no_cable)
        self.loopback = Transmitter(sim, f"{name}.loopback", inside, RoundRobin(urgent=1))
        send = adapter.send
        shared, rest = (self, send, payload, pipeline), pipeline.rest
        requests, responses = rest(send.wqe_service), rest(send.packet_service)
        self.requests = StagingBuffer(sim, f"{name}.requests", REQUESTS, requests, *shared)
        self.responses = StagingBuffer(sim, f"{name}.responses", RESPONSES, responses, *shared)
        self._ack_latency = adapter.ack.latency

    @property
    def payload_bytes(self) -> int:
        return self.transmitter.payload_bytes + self.loopback.payload_bytes

    def way_out(self, packet: Packet) -> Transmitter:
        return self.loopback if packet.route.lid == self.lid else self.transmitter

    def acknowledge(self, packet: Packet) -> None:
        """Send an acknowledgement ahead of requests, but behind the responses before it.

        One that overtook a read response would tell that it was lost.
        """
        responses = self.responses
        if responses.holds(packet):
            responses.room.acquire(responses.full, self.respond, packet)
        else:
            self.acknowledge_at_once(packet)

    def acknowledge_at_once(self, packet: Packet) -> None:
        """Send an acknowledgement ahead of everything but those before it.

        A responder may let one stand for those of its queue pair that have not left (9.7.5.1.2).
        Here each leaves: they are 30 bytes that wait for a packet at most. Merged, two-way writes
        and sends of five testbeds were as fast as before, but for 0.15 % with 8 bytes on cib.
        """
        self.way_out(packet).send(
            ACKNOWLEDGEMENTS, packet, self.sim.now + self._ack_latency, NOBODY
        )

    def respond(self, packet: Packet) -> None:
        """Send an answer whose data is here behind the responses before it; its room is held."""
        self.responses.stage(packet)
        self.responses.complete(packet)
