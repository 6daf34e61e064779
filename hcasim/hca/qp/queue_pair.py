"""Queue pairs: one end and both halves of its transport."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hcasim.catalog import IwarpProtocol
from hcasim.fabric.route_header import source_port
from hcasim.fabric.wire import ROUTED_SIZES
from hcasim.hca.completion_queue import CompletionQueue
from hcasim.hca.events import EventType
from hcasim.hca.parts import Parts
from hcasim.hca.qp.congestion.algorithms import from_first
from hcasim.hca.qp.datagram import DatagramRequester, DatagramResponder
from hcasim.hca.qp.dynamic import DciRequester, DctResponder
from hcasim.hca.qp.endpoint import ALL_ACCESS, Endpoint, Path, QPType, State
from hcasim.hca.qp.go_back import GoBack
from hcasim.hca.qp.iwarp import IwarpRequester, IwarpResponder, Reno
from hcasim.hca.qp.pacing import paced
from hcasim.hca.qp.queues import ReceiveQueue
from hcasim.hca.qp.reliable_requester import ReliableRequester
from hcasim.hca.qp.reliable_responder import ReliableResponder
from hcasim.hca.qp.requester import Line, Requester
from hcasim.hca.qp.responder import Responder
from hcasim.hca.qp.selective_repeat import (
    SelectiveRepeat,
    SelectiveRequester,
    SelectiveResponder,
)
from hcasim.hca.translation import Ring

_HALVES: Final[dict[QPType, tuple[type[Requester], type[Responder]]]] = {
    QPType.RC: (ReliableRequester, ReliableResponder),
    QPType.UC: (Requester, Responder),
    QPType.UD: (DatagramRequester, DatagramResponder),
    QPType.DCI: (DciRequester, DctResponder),
    QPType.DCT: (Requester, DctResponder),
}


class QueuePair(Endpoint):
    """A queue pair: one end of a connection, whose transport is that of its two halves.

    What it sends to a multicast group comes back to it if it is attached, unless it is
    ``deaf_to_itself``.
    """

    requester: Requester
    responder: Responder
    _told: Callable[[], None] | None = None
    deaf_to_itself: bool = False

    def create(
        self,
        queues: tuple[CompletionQueue, CompletionQueue],
        rings: tuple[Ring, Ring],
        parts: Parts,
        line: Line,
        shared: ReceiveQueue | None,
    ) -> None:
        """Take its completion queues, its memory and its line, and choose the transport."""
        self._queues, self._rings, self._parts, self._line = queues, rings, parts, line
        self._shared = shared
        self.open()
        resources, requester = parts.sim.resources, self.requester
        if parts.description.send.units > 1:
            resources.serves(f"{parts.units.name}.qp{self.index}", requester)
        resources.serves(f"{parts.name}.responder.qp{self.index}", self.responder)

    def open(self) -> None:
        """Make both halves, which have done nothing yet."""
        parts = self._parts
        requester, responder = _HALVES[self.kind]
        if isinstance(parts.description.protocol, IwarpProtocol):
            requester, responder = IwarpRequester, IwarpResponder
        elif self.kind is QPType.RC and parts.repeats_selectively:
            requester, responder = SelectiveRequester, SelectiveResponder
        resources, rings, queues = parts.sim.resources, self._rings, self._queues
        self.requester = requester(self, queues[0], rings[0], parts, self._line)
        if isinstance(self.requester, ReliableRequester):
            recovery = GoBack(self.requester, parts)
            if isinstance(self.requester, IwarpRequester):
                recovery = Reno(self.requester, parts)
            elif isinstance(self.requester, SelectiveRequester):
                recovery = SelectiveRepeat(self.requester, parts)
            self.requester.recover_by(recovery)
            resources.keeps_waiting(f"{parts.name}.receiver_not_ready", recovery)
        if self.kind is QPType.RC and (by := parts.notifications) is not None:
            new = self.requester
            new.pacing = from_first(by, new.egress, new.go_on, new.release)
        receives = self._shared or ReceiveQueue(rings[1], parts)
        self.responder = responder(self, queues[1], receives, parts)
        resources.keeps_waiting(self.requester.waits.name, self.requester)

    def connect(self, path: Path) -> None:
        """Go from RESET to RTS in one step, or another way if it is there already."""
        if self.state is State.RESET:
            self.move(State.INIT, State.RTR)
            self.follow(path)
            self.resume()
        else:
            self.move(State.RTS)
            self.follow(path)

    def follow(self, path: Path) -> None:
        """Send and answer with other attributes from now on."""
        rate, self.path = self.path.route.slower, path
        parts, pkeys = self._parts, self._parts.pkeys(self.port)
        self.denies = ALL_ACCESS.value & ~path.access
        self.segment = 0
        if self.kind is not QPType.UD and parts.wire.agreed:
            self.segment = path.mtu
        self.sizes = ROUTED_SIZES if path.route.extra else parts.wire
        self.join(pkeys[path.pkey_index])
        if path.qpn and not path.route.flow & 0xFFFF:
            port = source_port(0, self.qpn, path.qpn)
            path.route.flow = self.requester.egress.lid << 16 | port
        if self.state is State.RTR:
            # Packets are counted from the numbers that both ends have agreed on.
            self.responder.expected_psn = path.rq_psn
        if path.route.slower != rate:
            # What holds packets back otherwise goes on: rates of datagrams, a window of TCP.
            self.requester.pacing = paced(self.requester.egress.transmitter, path.route.slower)

    def hold(self, drained: Callable[[], None]) -> None:
        """Hold all that it has not begun to send (SQD), and call once what it had has ended."""
        self._told = drained
        self.move(State.SQD)
        if self.requester.drained:
            self.drained()

    def resume(self) -> None:
        """Send what was held, or what comes behind an error of a send."""
        if self.state is State.RTR:
            self.requester.count_from(self.path.sq_psn)
        self.move(State.RTS)
        self.requester.resume()

    def drained(self) -> None:
        told, self._told = self._told, None
        if told is not None:
            told()

    def fail(self) -> None:
        self.move(State.ERR)
        self.requester.flush()
        self.responder.flush()
        if self.responder.queue.shared:
            self.tell(EventType.QP_LAST_WQE_REACHED)

    def fail_send(self) -> None:
        """End what is acknowledged; without that only sends are flushed (volume 1, 10.3.1.6)."""
        if isinstance(self.requester, ReliableRequester):
            self.fail()
        elif self.state is not State.ERR:
            self.move(State.SQE)
            self.requester.flush()

    def change_port(self, port: int, line: Line) -> None:
        """Use another port from now on; it has done nothing yet."""
        self.port, self._line = port, line
        self.open()
        self._succeed()

    def reset(self, posted: int) -> None:
        """Forget all requests and begin anew, after so many receive requests.

        What is under way for the halves that it had finds them at an end that sends to nobody.
        """
        old = Endpoint(self.qpn, self.pd, self.port, self.kind, self.signals_all, self.sizes)
        requester, responder = self.requester, self.responder
        requester.end = responder.end = old
        requester.discard()
        responder.discard()
        self.move(State.RESET)
        self.path, self._told = Path(), None
        self.open()
        if self._shared is None:
            self.responder.queue.begin_behind(posted)
        # Old halves and new ones are one resource.
        self.requester.busy_ps, self.responder.busy_ps = requester.busy_ps, responder.busy_ps
        self._succeed()

    def _succeed(self) -> None:
        resources, parts = self._parts.sim.resources, self._parts
        if parts.description.send.units > 1:
            resources.succeeds(f"{parts.units.name}.qp{self.index}", self.requester)
        resources.succeeds(f"{parts.name}.responder.qp{self.index}", self.responder)
