"""The dynamically connected transport: one initiator sends to many targets, one at a time.

Sources: patents US 8,213,315 and US 8,761,189 (Mellanox): a connect packet goes ahead of the first
data for another target, which do not wait for an answer to it, and a connection is closed when all
its data have been acknowledged; rdma-core, mlx5dv_wr_post; UCX, uct/ib/mlx5/dc, whose default is
not to wait either (DCI_FULL_HANDSHAKE). What packets look like is not published: their headers
have the sizes of what they have to say. Data are acknowledged and sent again as those of reliable
connections.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from hcasim.engine import Retry
from hcasim.engine.changes import Changes
from hcasim.fabric.packet import Aeth, Dceth, Opcode, Packet, Route, Syndrome
from hcasim.fabric.route_header import turned
from hcasim.fabric.wire import ROUTED_SIZES
from hcasim.hca.completion_queue import CompletionQueue, WCStatus
from hcasim.hca.parts import Parts
from hcasim.hca.port import Arrival, Verdict
from hcasim.hca.qp.endpoint import Endpoint, State
from hcasim.hca.qp.pacing import paced
from hcasim.hca.qp.queues import ReceiveQueue
from hcasim.hca.qp.reliable_requester import ReliableRequester
from hcasim.hca.qp.reliable_responder import ReliableResponder
from hcasim.hca.qp.requester import Line
from hcasim.hca.qp.responder import Responder
from hcasim.hca.translation import Ring
from hcasim.hca.wqe import SendWqe

IDLE_PS: Final = 100_000_000
"""How long an initiator without work stays connected, in ps. Nothing published says how long."""

# Bound once, because compiled code looks members of enumerations up each time.
_RTS: Final = State.RTS
_LOCAL: Final = (Opcode.REGISTER, Opcode.INVALIDATE, Opcode.BIND)
"""What goes to no target."""


class DciRequester(ReliableRequester):
    """The requester of an initiator, which is connected to the target of its last request.

    It turns to another when all requests before have been answered. Each connect and each
    disconnect packet takes a processing unit as long as the first packet of a message.

    Attributes:
        session: number of the connection, the last one or the present one.
        turning: whether its next request has to wait for answers of another target.
        quiet_since: when its last request was answered, in ps.
    """

    changes: ClassVar[Changes] = Changes(counts="session", since="quiet_since")

    def __init__(
        self, end: Endpoint, cq: CompletionQueue, ring: Ring, parts: Parts, line: Line
    ) -> None:
        super().__init__(end, cq, ring, parts, line)
        self.session = self.quiet_since = 0
        self.turning = False
        self._key = self._first_psn = 0
        self._connected = self._waits_for_connect = self._watched = False
        self._header: Dceth | None = None
        self._leaving: deque[Packet] = deque()

    @property
    def ready(self) -> bool:
        return not self.turning and super().ready

    # From target to target.

    def _make_ready(self, wqe: SendWqe) -> None:
        if wqe.opcode in _LOCAL:
            super()._make_ready(wqe)
            return
        path = self.end.path
        if wqe.route is None:
            # Its address is of another protection domain.
            self.give_up(wqe, WCStatus.LOC_QP_OP_ERR)
            return
        target = wqe.route.lid, wqe.remote_qpn, wqe.extras.dc_key
        stays = target == (path.route.lid, path.qpn, self._key)
        if stays and self._connected:
            super()._make_ready(wqe)
        elif self.unacknowledged and not stays:
            self.turning = True
            self.waits.begin()
            self._line.leave(self)
        else:
            if not stays:
                self._turn(wqe, wqe.route)
            self._connect()

    def _turn(self, wqe: SendWqe, route: Route) -> None:
        self._disconnect()
        self.session += 1
        self._key, self._first_psn = wqe.extras.dc_key, self.next_psn
        end, wire = self.end, self._parts.wire
        end.path = replace(end.path, route=route, qpn=wqe.remote_qpn)
        end.sizes = ROUTED_SIZES if route.extra else wire
        self.pacing = paced(self.egress.transmitter, route.slower)
        self._header = Dceth(end.qpn, self.egress.lid, self.session)

    def _connect(self) -> None:
        self._connected = self._waits_for_connect = True
        header = Dceth(self.end.qpn, self.egress.lid, self.session, self._key)
        self._announce(Opcode.CONNECT, self._first_psn, header)

    def _disconnect(self) -> None:
        if self._connected and self._header is not None and self.end.state is _RTS:
            self._connected, self._key = False, -1
            self._announce(Opcode.DISCONNECT, self.next_psn, self._header)

    def _announce(self, opcode: Opcode, psn: int, header: Dceth) -> None:
        end, path = self.end, self.end.path
        packet = Packet(opcode, path.route, path.qpn, psn, 0, (header,), sizes=end.sizes)
        self._leaving.append(packet)
        if len(self._leaving) == 1:
            self._take_unit()

    def _take_unit(self) -> None:
        service = self._packet_service.first
        self.busy_ps += service
        self._sim.call_at(self._parts.units.reserve(service), self._ask_for_room)

    def _ask_for_room(self) -> None:
        staging = self.egress.requests
        staging.room.acquire(staging.full, self._send_on)

    def _send_on(self) -> None:
        staging, packet = self.egress.requests, self._leaving.popleft()
        staging.stage(packet)
        packet.staged_at = self._sim.now
        staging.complete(packet)
        if self._leaving:
            self._take_unit()
        elif self._waits_for_connect:
            self._waits_for_connect = False
            if self.current is not None and self.sends:
                self._make_ready(self.current)
            else:
                self._line.leave(self)

    def send(self, wqe: SendWqe) -> Packet:
        packet = super().send(wqe)
        assert self._header is not None
        packet.headers = (self._header, *packet.headers)
        packet.size = self.end.sizes.size(packet.opcode, packet.payload, packet.headers)
        return packet

    # When all has been answered, or something is lost.

    def retire(self) -> None:
        super().retire()
        if self.unacknowledged:
            return
        self.quiet_since = self._sim.now
        if not self._watched:
            self._watched = True
            self._sim.call_after(IDLE_PS, self._look)
        if self.turning:
            self._stop_turning()
            self._line.schedule(self)

    def _look(self) -> None:
        """Disconnect if it has had nothing to do."""
        if self.unacknowledged or self.current is not None or self.queue.has_work:
            self._watched = False
        elif self.quiet_since + IDLE_PS > self._sim.now:
            self._sim.call_at(self.quiet_since + IDLE_PS, self._look)
        else:
            self._watched = False
            self._disconnect()

    def _stop_turning(self) -> None:
        if self.turning:
            self.turning = False
            self.waits.end()

    def send_again(
        self, wqe: SendWqe, pause_ps: int | None = None, retry: Retry | None = None
    ) -> None:
        if pause_ps is None:
            # The connect packet may have been lost, too.
            self._connected = False
        super().send_again(wqe, pause_ps, retry)

    def rewind(self, wqe: SendWqe) -> None:
        self._stop_turning()
        super().rewind(wqe)

    def drain(self) -> list[SendWqe]:
        self._stop_turning()
        return super().drain()


@dataclass(eq=False)
class Session(Endpoint):
    """The end of a connection at a target: a context that lasts as long as the connection does.

    Attributes:
        number: which of the initiator's connections it is.
        over: told when it fails.
    """

    number: int = 0
    over: Callable[[Session], None] | None = None

    def fail(self) -> None:
        """An error is the initiator's; the target serves others."""
        if self.over is not None:
            self.over(self)


class DctResponder(Responder):
    """The responder of a target: it finds that of the connection by the initiator of a packet.

    All packets of a target keep their order in its adapter, and its context in the cache is one.
    What belongs to no connection it drops without a word. An initiator has the key of a target, or
    is refused with an access error.

    Attributes:
        sessions: responders by LID and number of the initiator.
    """

    def __init__(
        self, end: Endpoint, cq: CompletionQueue, queue: ReceiveQueue, parts: Parts
    ) -> None:
        super().__init__(end, cq, queue, parts)
        self.sessions: dict[int, ReliableResponder] = {}

    def accept(self, arrival: Arrival) -> Verdict:
        packet = arrival.packet
        origin = packet.header(Dceth)
        if origin is None:
            self._parts.lose(packet)
            return Verdict.DROP
        name, found = self._session(origin)
        if packet.opcode is Opcode.CONNECT:
            if found is None:
                self._connect(packet, origin, name)
        elif found is None:
            self._parts.lose(packet)
        elif packet.opcode is Opcode.DISCONNECT:
            self._drop(name)
        else:
            arrival.half = found
            return found.accept(arrival)
        return Verdict.DROP

    def _session(self, origin: Dceth) -> tuple[int, ReliableResponder | None]:
        """The name of the connection of a packet, and its responder if there is one."""
        name = origin.source_lid << 24 | origin.source_qpn
        found = self.sessions.get(name)
        return name, None if found is None or number_of(found) != origin.session else found

    def peer(self, packet: Packet) -> Endpoint | None:
        origin = packet.header(Dceth)
        found = None if origin is None else self._session(origin)[1]
        return None if found is None else found.end

    def _connect(self, packet: Packet, origin: Dceth, name: int) -> None:
        end, way, wire = self.end, packet.route, self._parts.wire
        sizes = ROUTED_SIZES if way.extra else wire
        session = Session(end.qpn, end.pd, end.port, end.kind, False, sizes, _RTS)
        session.segment, session.denies = end.segment, end.denies
        grh = None if way.grh is None or not way.extra else turned(way.grh)
        level, flow = way.service_level, way.lid << 16
        route = Route(origin.source_lid, level, end.pkey, grh, way.extra, flow=flow)
        reads = self._parts.description.responder.outstanding
        session.path = replace(
            end.path, route=route, qpn=origin.source_qpn, max_dest_rd_atomic=reads
        )
        session.number = origin.session
        if origin.key != end.dc_key:
            self._parts.counts["naks"] += 1
            aeth = Aeth(Syndrome.REMOTE_ACCESS_ERROR, 0)
            self._egress.acknowledge_at_once(session.answer(Opcode.NAK, packet.psn, (aeth,)))
            return
        self._drop(name)
        responder = ReliableResponder(session, self.cq, self.queue, self._parts)
        responder.expected_psn = packet.psn
        session.over = self._failed
        self.sessions[name] = responder

    def _failed(self, session: Session) -> None:
        self._drop(session.path.route.lid << 24 | session.path.qpn)

    def _drop(self, name: int) -> None:
        gone = self.sessions.pop(name, None)
        if gone is not None:
            gone.flush()

    def flush(self) -> None:
        for name in list(self.sessions):
            self._drop(name)

    def discard(self) -> None:
        for session in self.sessions.values():
            session.discard()
        self.sessions.clear()


def number_of(responder: Responder) -> int:
    """Which of the initiator's connections a responder serves."""
    end = responder.end
    return end.number if isinstance(end, Session) else 0
