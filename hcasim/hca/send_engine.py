"""The send engine of a port: lets requesters send their packets, in turn."""

from __future__ import annotations

from typing import ClassVar, Final

from hcasim.engine import Action
from hcasim.engine.changes import ALIKE, Changes
from hcasim.fabric.packet import Opcode
from hcasim.hca.parts import Parts
from hcasim.hca.qp.endpoint import State
from hcasim.hca.qp.requester import Line, Requester
from hcasim.hca.scheduler import Scheduler
from hcasim.hca.wqe import CHECKPOINT, LONG, SendWqe, cut

# Bound once, because compiled code looks members of enumerations up each time.
_RTS: Final = State.RTS
_BY_ITSELF: Final = (Opcode.REGISTER, Opcode.INVALIDATE, Opcode.BIND)


class _Service(Action):
    """The turn of a requester at a processing unit."""

    changes: ClassVar[Changes] = Changes(unseen="_since")

    __slots__ = ("_engine", "_requester", "_since")

    block: ClassVar[str] = "SendEngine"

    def __init__(self, engine: SendEngine, requester: Requester, since_ps: int) -> None:
        self._engine = engine
        self._since = since_ps
        self._requester = requester

    def act(self) -> None:
        self._engine.execute(self._requester, self._since)


class SendEngine(Line):
    """Has entries of send queues turned into packets of a port.

    The requester in hand of each schedule queue has one WQE in execution, and as many ready
    behind it as the adapter fetches ahead. Without that the next is fetched when all packets of
    the last have been handed to the port, by the same requester or by the next in line. Ports
    take turns at the processing units packet by packet, and within a port the schedule queues do;
    no two units work on the same requester.
    """

    def __init__(self, parts: Parts, port: int) -> None:
        self.sim = parts.sim
        self.scheduler = Scheduler(parts.description.scheduler.queues)
        self._server = parts.units
        self._units = parts.description.send.units
        self._burst = parts.description.scheduler.burst
        self._busy = self._asking = 0
        self._probe = parts.send_probe
        self._dma = parts.dma
        self._staging = parts.egresses[port].requests

    # In line and in hand.

    def schedule(self, requester: Requester) -> None:
        scheduler = self.scheduler
        if requester not in scheduler.members and requester.ready and scheduler.enqueue(requester):
            requester.load()

    def compete(self, requester: Requester) -> None:
        pacing = requester.pacing
        if pacing is not None:
            earliest = pacing.earliest(requester.current)
            if earliest > self.sim.now:
                requester.pause(earliest)
                self.leave(requester)
                return
            pacing.begin()
        self.scheduler.add(requester)
        self._pump()

    def leave(self, requester: Requester) -> None:
        follower = self.scheduler.release(requester)
        if follower is not None:
            follower.load()
        self.schedule(requester)

    def go_on(self, requester: Requester) -> None:
        if requester.queue.has_work and not self.scheduler.contended(requester):
            requester.load()
        else:
            self.leave(requester)

    # From the schedule queues to the port, one packet at a time.

    def _pump(self) -> None:
        staging = self._staging
        while self._busy < self._units and self._asking < self.scheduler.competing:
            self._busy += 1
            self._asking += 1
            if staging.room.take(staging.full):
                self.act()
            else:
                staging.room.wait(staging.full, self)

    def _idle(self) -> None:
        self._busy -= 1
        self._staging.room.release(self._staging.full)

    def act(self) -> None:
        """Give the requester whose turn it is a processing unit: there is room for its packet."""
        self._asking -= 1
        requester = self.scheduler.take()
        service = requester.service()
        end = self._server.reserve(service)
        self.sim.schedule(end, _Service(self, requester, end - service))

    def execute(self, requester: Requester, since_ps: int) -> None:
        wqe = requester.current
        ready = wqe is not None and (requester.end.state is _RTS or requester.sends)
        if wqe is not None and ready and wqe.opcode in _BY_ITSELF:
            self._idle()
            requester.register(wqe)
        elif wqe is not None and ready and (wqe.sent or requester.begin(wqe)):
            self._busy -= 1
            self._send_packet(requester, wqe, since_ps)
        else:
            self._idle()
            self.leave(requester)
        self._pump()

    def _send_packet(self, requester: Requester, wqe: SendWqe, since_ps: int) -> None:
        offset = wqe.sent * wqe.segment
        packet = requester.send(wqe)
        staging = self._staging
        staging.stage(packet)
        packet.staged_at = self.sim.now
        if self._probe.listeners:
            self._probe.event("send engine", packet.operation, packet, None, since_ps)
        scheduler = self.scheduler
        if requester.pacing is not None:
            requester.pacing.sent(packet)
        if packet.last:
            self.go_on(requester)
        elif requester.pacing is not None:
            self.compete(requester)
        else:
            turn = wqe.sent * wqe.segment % self._burst
            scheduler.add(requester, goes_on=turn >= wqe.segment)
            wqe.burst_sent = 0 if scheduler.alone else turn
        forward = self.sim.forward
        if (
            wqe.packets > LONG
            and wqe.extras.pieces is None
            and wqe.sent % CHECKPOINT == 0
            and forward is not None
        ):
            place = wqe.burst_sent * ALIKE + offset % ALIKE
            forward.checkpoint(wqe, (wqe.request_packets - wqe.sent) // CHECKPOINT, place)
        if wqe.region is None or packet.payload == 0:
            staging.complete(packet)
        elif wqe.extras.pieces is not None:
            self._dma.gather_pieces(staging, packet, cut(wqe.extras.pieces, offset, packet.payload))
        else:
            self._dma.gather(staging, packet, wqe.region, wqe.address + offset)
