"""The send engine: lets requesters send their packets, in turn."""

from __future__ import annotations

from typing import ClassVar

from hcasim.engine import Action
from hcasim.fabric.packet import Opcode
from hcasim.hca.beats import LONG
from hcasim.hca.parts import Parts
from hcasim.hca.qp.endpoint import State
from hcasim.hca.qp.requester import Line, Requester
from hcasim.hca.registrations import RegistrationUnit
from hcasim.hca.scheduler import Scheduler
from hcasim.hca.wqe import SendWqe


class _Room(Action):
    """Room for a packet that a port's engine has waited for."""

    __slots__ = ("_engine", "_port")

    def __init__(self, engine: SendEngine, port: int) -> None:
        self._engine = engine
        self._port = port

    def act(self) -> None:
        """It is held."""
        self._engine.room_held(self._port)


class _Turn(Action):
    """The turn of a requester at a processing unit."""

    __slots__ = ("_engine", "_port", "_requester", "_since")

    block: ClassVar[str] = "SendEngine"

    def __init__(self, engine: SendEngine, port: int, requester: Requester, since_ps: int) -> None:
        self._engine = engine
        self._since = since_ps
        self._port = port
        self._requester = requester

    def act(self) -> None:
        """Its time is over."""
        self._engine.execute(self._port, self._requester, self._since)


class SendEngine(Line):
    """Has entries of send queues turned into packets; shared by the ports of the adapter.

    The requester in hand of each schedule queue has one WQE in execution, and as many ready
    behind it as the adapter fetches ahead. Without that the next is fetched when all packets of
    the last have been handed to the port, by the same requester or by the next in line. Ports
    take turns at the processing units packet by packet, and within a port the schedule queues do;
    no two units work on the same requester.

    Attributes:
        schedulers: of each port, the requesters that have work for it.
    """

    def __init__(self, name: str, parts: Parts) -> None:
        self.sim = parts.sim
        self.schedulers = [Scheduler(parts.adapter.scheduler.queues) for _ in parts.egresses]
        self._server = parts.units
        self._units = parts.adapter.send.units
        self._burst = parts.adapter.scheduler.burst
        self._busy = [0 for _ in parts.egresses]
        self._asking = [0 for _ in parts.egresses]
        self._rooms = [_Room(self, port) for port in range(len(parts.egresses))]
        self._beats = parts.beats
        self._probe = parts.send_probe
        self._dma = parts.dma
        self._egresses = parts.egresses
        self.registrations = RegistrationUnit(
            parts.sim, f"{name}.registrations", parts.adapter.umr, parts.dma, self._registered
        )

    # In line and in hand.

    def schedule(self, requester: Requester) -> None:
        """Put a requester in line if it has work and is not in line yet."""
        scheduler = self.schedulers[requester.end.port]
        if requester in scheduler.members or not requester.ready:
            return
        if scheduler.enqueue(requester):
            requester.load()

    def compete(self, requester: Requester) -> None:
        """Let a requester that is in hand send packets in its turn."""
        port = requester.end.port
        self.schedulers[port].add(requester)
        self._pump(port)

    def leave(self, requester: Requester) -> None:
        """Let the next in line take the place of a requester, which lines up again with work."""
        follower = self.schedulers[requester.end.port].release(requester)
        if follower is not None:
            follower.load()
        self.schedule(requester)

    def _go_on(self, requester: Requester) -> None:
        """Begin the next request of a requester, or let others have their turn."""
        scheduler = self.schedulers[requester.end.port]
        if requester.queue.has_work and not scheduler.contended(requester):
            requester.load()
        else:
            self.leave(requester)

    # From the schedule queues to the port, one packet at a time.

    def _pump(self, port: int) -> None:
        """Put processing units to work, as many as there are and requesters compete."""
        staging = self._egresses[port].requests
        scheduler = self.schedulers[port]
        while self._busy[port] < self._units and self._asking[port] < scheduler.competing:
            self._busy[port] += 1
            self._asking[port] += 1
            if staging.room.take(staging.full):
                self.room_held(port)
            else:
                staging.room.wait(staging.full, self._rooms[port])

    def _idle(self, port: int) -> None:
        """Give back a unit and the room that nobody needs."""
        self._busy[port] -= 1
        staging = self._egresses[port].requests
        staging.room.release(staging.full)

    def room_held(self, port: int) -> None:
        """Give the requester whose turn it is a processing unit."""
        self._asking[port] -= 1
        requester = self.schedulers[port].take()
        service = requester.service()
        end = self._server.reserve(service)
        self.sim.schedule(end, _Turn(self, port, requester, end - service))

    def execute(self, port: int, requester: Requester, since_ps: int) -> None:
        """Send the packet of a requester for which a processing unit is done."""
        wqe = requester.current
        ready = wqe is not None and requester.end.state is State.RTS
        if wqe is not None and ready and wqe.opcode is Opcode.REGISTER:
            self._idle(port)
            self.registrations.add(requester, wqe)
        elif wqe is not None and ready and (wqe.sent or requester.begin(wqe)):
            self._busy[port] -= 1
            self._send_packet(port, requester, wqe, since_ps)
        else:
            self._idle(port)
            self.leave(requester)
        self._pump(port)

    def _registered(self, requester: Requester, wqe: SendWqe) -> None:
        """A registration has been done, for which the requests behind it have waited."""
        if requester.registered(wqe):
            self._go_on(requester)

    def _send_packet(self, port: int, requester: Requester, wqe: SendWqe, since_ps: int) -> None:
        offset = wqe.sent * wqe.segment
        packet = requester.send(wqe)
        staging = self._egresses[port].requests
        staging.stage(packet)
        packet.staged_at = self.sim.now
        if self._probe.listeners:
            self._probe.event("send engine", packet.operation, packet, None, since_ps)
        scheduler = self.schedulers[port]
        if packet.last:
            self._go_on(requester)
        else:
            turn = wqe.sent * wqe.segment % self._burst
            scheduler.add(requester, goes_on=turn >= wqe.segment)
            wqe.turn = 0 if scheduler.alone else turn
        if wqe.packets > LONG:
            self._beats.sent(wqe, wqe.sent, wqe.request_packets, wqe.segment, scheduler.alone)
        if wqe.region is None or packet.payload == 0:
            staging.complete(packet)
        else:
            self._dma.gather(staging, packet, wqe.region, wqe.address + offset)
