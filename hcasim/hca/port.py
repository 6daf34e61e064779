"""A port of the adapter: the receive pipeline behind the link, and what is on its way through."""

from __future__ import annotations

from enum import Enum, auto
from typing import ClassVar, Final

from hcasim.catalog import Adapter
from hcasim.engine import Probe, Simulator, Waits, servers
from hcasim.engine.changes import Changes
from hcasim.fabric.flow_control import receive_buffer
from hcasim.fabric.link import Receiver, Transmitter
from hcasim.fabric.packet import Holder, Opcode, Packet, SharedRoom
from hcasim.fabric.topology import EndPort
from hcasim.hca.dma import DmaEngine, Placing
from hcasim.hca.egress import Egress
from hcasim.hca.pipeline import InOrder, name_of, services_of
from hcasim.hca.translation import Region
from hcasim.hca.wqe import Pieces


class Verdict(Enum):
    """What becomes of a packet."""

    PLACE = auto()  # Its data, if it has any, goes to memory.
    ANSWER = auto()  # What it asks for will be sent.
    HOLD = auto()  # It stays in hand until it is settled.
    DROP = auto()  # There is no more to do.
    REFUSE = auto()  # It may not be placed.


# Bound once, because compiled code looks members of enumerations up each time.
_PLACE: Final = Verdict.PLACE
_HOLD: Final = Verdict.HOLD
_ANSWER: Final = Verdict.ANSWER
_REFUSE: Final = Verdict.REFUSE
_READ: Final = Opcode.RDMA_READ_REQUEST
_QUEUED: Final = 8192
"""Bytes of data that may wait for the bus while packets behind them are dealt with."""


class Half:
    """A half of a queue pair: where the packets for it come to.

    It is a class, not a protocol, because compiled code finds methods of classes without a search.

    Attributes:
        region, address: where the data of the packet to be placed goes; None if that has none.
        pieces: where it goes if that is in more than one piece.
    """

    changes: ClassVar[Changes] = Changes(addresses="address")

    def __init__(self) -> None:
        self.region: Region | None = None
        self.address = 0
        self.pieces: Pieces | None = None

    def accept(self, arrival: Arrival) -> Verdict:
        """Deal with a packet whose context is on chip; one that is held has to be settled later."""
        raise NotImplementedError

    def placed(self, packet: Packet) -> None:
        """Go on behind a packet whose data is on its way to memory, or that has none."""
        raise NotImplementedError

    def answer(self, packet: Packet) -> None:
        raise NotImplementedError

    def refuse(self, packet: Packet) -> None:
        raise NotImplementedError


class Dispatcher:
    """Where arrivals that have their turn are dealt with."""

    def dispatch(self, arrival: Arrival) -> None:
        raise NotImplementedError


class ArrivalLine:
    """Arrivals that keep their order: one is in hand at a time, if it is ``occupied``.

    Attributes:
        busy_ps: time that one of several processing units was at work for it, in ps.
        unserved: those that wait until a unit is done with the one before, oldest first.
        served_at: when a processing unit is done with the last one, in ps.
    """

    changes: ClassVar[Changes] = Changes(times="served_at", counts="busy_ps")

    def __init__(self, dispatcher: Dispatcher, waits: Waits) -> None:
        self._dispatcher = dispatcher
        self._waits = waits
        self.waiting: list[Arrival] = []
        self.unserved: list[Arrival] = []
        self.occupied = self._draining = False
        self.served_at = self.busy_ps = 0

    def occupy(self, duration_ps: int, until_ps: int) -> None:
        self.busy_ps += duration_ps
        self.served_at = until_ps

    def add(self, arrival: Arrival) -> None:
        if self.occupied:
            self._waits.begin()
            self.waiting.append(arrival)
        else:
            self.occupied = True
            self._dispatcher.dispatch(arrival)

    def put_ahead(self, arrivals: list[Arrival]) -> None:
        for _ in arrivals:
            self._waits.begin()
        self.waiting[:0] = arrivals

    def go_on(self) -> None:
        if not self._draining:
            # A loop, because packets that need no wait would nest as deep as the buffer holds.
            self._draining = True
            while self.waiting and not self.occupied:
                self.occupied = True
                arrival = self.waiting.pop(0)
                self._waits.end()
                self._dispatcher.dispatch(arrival)
            self._draining = False


class Arrival(Placing):
    """A packet in a receive buffer of a port, from its last byte on until it leaves both.

    It acts when it has come through the receive pipeline, and when its data has left. It holds its
    turn in its line until :meth:`finish`, and its room until :meth:`free`; the verdict of the half
    of a queue pair that it is for says when.

    Attributes:
        tail_at: when its last byte is here, in ps.
        half: what it is for, once it has been handed out.
    """

    changes: ClassVar[Changes] = Changes(times="tail_at")

    __slots__ = (
        "_has_turn",
        "_is_through",
        "_leaves",
        "_port",
        "_room",
        "_stands",
        "half",
        "line",
        "tail_at",
    )

    block: ClassVar[str] = "Port"

    line: ArrivalLine
    half: Half
    tail_at: int

    def __init__(self, port: Port, packet: Packet, room: Holder) -> None:
        self.packet = packet
        self._port = port
        self._room: Holder | None = room
        self._has_turn = True
        self._is_through = self._leaves = self._stands = False

    def act(self) -> None:
        if self._is_through:
            self.free()
            if self._leaves:
                self._port.leaving -= self.packet.payload
            if self._stands:
                self.half.placed(self.packet)
                self.finish()
        else:
            self._is_through = True
            self._port.through(self)

    @property
    def port(self) -> Port:
        return self._port

    def split(self, copies: list[Packet]) -> None:
        """Have copies dealt with in its place, in order; they share its room."""
        assert self._room is not None, f"the room of {self.packet} is free already"
        room = SharedRoom(self._room, self.packet, len(copies))
        arrivals = []
        for packet in copies:
            arrival = Arrival(self._port, packet, room)
            arrival.line, arrival.tail_at, arrival._is_through = self.line, self.tail_at, True
            arrivals.append(arrival)
        self._room = None
        self.line.put_ahead(arrivals)
        self.finish()

    def accept(self) -> None:
        self.settle(self.half.accept(self))

    def settle(self, verdict: Verdict) -> None:
        packet = self.packet
        if verdict is _PLACE:
            half = self.half
            if half.region is not None and packet.payload:
                if half.pieces is None:
                    self._port.dma.place(self, half.region, half.address)
                else:
                    self._port.dma.scatter(self, half.pieces)
                return
            self.free()
            self.placed()
            return
        if verdict is _HOLD:
            return
        if self._room is not None:
            self.free()
        if verdict is _ANSWER:
            self.half.answer(packet)
        elif verdict is _REFUSE:
            self.half.refuse(packet)
        self.finish()

    def placed(self) -> None:
        port = self._port
        if port.overruns and self._room is not None:
            self._leaves = True
            port.leaving += self.packet.payload
            if port.leaving > _QUEUED:
                # The bus is behind, and packets wait in the buffer without an answer.
                self._stands = True
                return
        self.half.placed(self.packet)
        self.finish()

    def finish(self) -> None:
        """It has been dealt with, but for data on its way to memory: the next has its turn."""
        assert self._has_turn, f"{self.packet} has finished before"
        self._has_turn = False
        line = self.line
        line.occupied = False
        if line.waiting:
            line.go_on()

    def occupy(self, duration_ps: int) -> int:
        """Have a receiving unit deal with it once more; return when that is done in ps."""
        return self._port.pipeline.reserve(duration_ps)

    def free(self) -> None:
        """Its data has left for memory, or it has none: its room is free from now on."""
        assert self._room is not None, f"the room of {self.packet} is free already"
        self._room.free(self.packet, self._port.sim.now)
        self._room = None


class Loopback(Receiver):
    """Where a port's way back into itself ends, with a receive buffer of its own."""

    def __init__(self, port: Port, way: Transmitter) -> None:
        self._port = port
        way.attach(self, port.buffer_bytes)
        self.buffer = receive_buffer(way, way)

    def receive(self, packet: Packet, head_at: int, tail_at: int) -> None:
        self._port.arrive(Arrival(self._port, packet, self.buffer), tail_at)


class Port(EndPort):
    """One port: what it sends leaves by its egress, what it receives is dealt with in order.

    Attributes:
        bad_pkeys, bad_qkeys: packets dropped for a key of a partition, or of datagrams.
        pipeline: its receiving units.
        lines: of arrivals that keep their order.
        members: of each multicast group, by its LID: GIDs and the queue pairs attached to them.
        leaving: bytes of data that wait for the bus, where the buffer may overrun.
    """

    changes: ClassVar[Changes] = Changes(
        slips="leaving", counts="packets_received payload_received bad_pkeys bad_qkeys"
    )

    def __init__(
        self,
        sim: Simulator,
        adapter: Adapter,
        order: InOrder,
        egress: Egress,
        dma: DmaEngine,
        dispatcher: Dispatcher,
    ) -> None:
        self.sim = sim
        self.dma = dma
        self.egress = egress
        self.lid = egress.lid
        self.transmitter = egress.transmitter
        self.buffer_bytes = adapter.receive.buffer
        Loopback(self, egress.loopback)
        self.packets_received = self.payload_received = 0
        self.bad_pkeys = self.bad_qkeys = self.leaving = 0
        way_in = adapter.receive.latency
        self._latency = adapter.send.latency if way_in is None else way_in
        self._service = adapter.receive.packet_service
        self._services = services_of(adapter.responder.services)
        self._ack_service = adapter.ack.service
        self._read_interval = adapter.responder.read_interval
        self.pipeline = servers(sim, f"{egress.name}.receive_pipeline", adapter.receive.units)
        self._probe = Probe(sim, egress.name)
        self._dispatcher = dispatcher
        self._parallel = adapter.receive.units > 1
        self._order = order
        self.lines: dict[int, ArrivalLine] = {}
        self.members: dict[int, list[tuple[int, int]]] = {}
        for server in (self.pipeline, self.transmitter, egress.loopback):
            sim.resources.serves(server.name, server)

    def receive(self, packet: Packet, head_at: int, tail_at: int) -> None:
        self.arrive(Arrival(self, packet, self.buffer), tail_at)

    def arrive(self, arrival: Arrival, tail_at: int) -> None:
        if self._probe.listeners:
            packet = arrival.packet
            self._probe.event("link", packet.operation, packet, tail_at)
        line = self._line(arrival.packet)
        arrival.line, arrival.tail_at = line, tail_at
        if self._parallel and not arrival.packet.first and not line.unserved:
            # It follows the first of its message, with which a unit deals.
            through = tail_at + self._service
            at = through if through > line.served_at else line.served_at
            self.sim.schedule(at + self._latency, arrival)
        elif line.unserved or (self._parallel and line.served_at > tail_at):
            # A unit is not held for a packet that may not begin yet.
            line.unserved.append(arrival)
            if len(line.unserved) == 1:
                self.sim.call_at(line.served_at, self._serve_next, line)
        else:
            self._serve(arrival)

    def _serve_next(self, line: ArrivalLine) -> None:
        self._serve(line.unserved[0])
        del line.unserved[0]
        if line.unserved:
            at = max(line.served_at, line.unserved[0].tail_at)
            self.sim.call_at(at, self._serve_next, line)

    def _serve(self, arrival: Arrival) -> None:
        rest, packet = 0, arrival.packet
        if self._services and packet.first:
            rest = self._services.get(packet.opcode, 0)
        if packet.ack_request:
            rest += self._ack_service
        tail_at, now = arrival.tail_at, self.sim.now
        service = self._service + rest
        served = self.pipeline.reserve_from(tail_at if tail_at > now else now, service)
        if self._parallel:
            interval = self._read_interval
            if interval > service and packet.opcode is _READ:
                # The unit goes on with other queue pairs.
                arrival.line.occupy(interval, served - service + interval)
            else:
                arrival.line.occupy(service, served)
        # What a request takes beside its packet holds up those behind it only.
        self.sim.schedule(served - rest + self._latency, arrival)

    def _line(self, packet: Packet) -> ArrivalLine:
        key = self._order.line(packet)
        return self.lines.get(key) or self._add_line(key)

    def _add_line(self, key: int) -> ArrivalLine:
        resources, name = self.sim.resources, name_of(key)
        waits = Waits(self.sim, f"{self.egress.name}.arrivals{name}")
        line = self.lines[key] = ArrivalLine(self._dispatcher, waits)
        if self._parallel and key:
            resources.serves(f"{self.pipeline.name}{name}", line)
        resources.keeps_waiting(waits.name, waits)
        return line

    def through(self, arrival: Arrival) -> None:
        packet = arrival.packet
        self.packets_received += 1
        self.payload_received += packet.payload
        if self._probe.listeners:
            since = max(arrival.tail_at, self.sim.now - self._latency - self._service)
            self._probe.event("receive pipeline", packet.operation, packet, None, since)
        arrival.line.add(arrival)
