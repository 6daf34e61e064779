"""Queue pairs: one end and both halves of its transport."""

from __future__ import annotations

from typing import Final

from hcasim.catalog import IwarpProtocol
from hcasim.hca.completion_queue import CompletionQueue
from hcasim.hca.events import EventType
from hcasim.hca.parts import Parts
from hcasim.hca.qp.endpoint import Endpoint, Path, QPType, State
from hcasim.hca.qp.go_back import GoBack
from hcasim.hca.qp.iwarp import IwarpRequester, IwarpResponder, Reno
from hcasim.hca.qp.pacing import paced
from hcasim.hca.qp.queues import ReceiveQueue
from hcasim.hca.qp.reliable_requester import ReliableRequester
from hcasim.hca.qp.reliable_responder import ReliableResponder
from hcasim.hca.qp.requester import DatagramRequester, Line, Requester
from hcasim.hca.qp.responder import DatagramResponder, Responder
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
}


class QueuePair(Endpoint):
    """A queue pair: one end of a connection, whose transport is that of its two halves."""

    requester: Requester
    responder: Responder

    def open(
        self,
        queues: tuple[CompletionQueue, CompletionQueue],
        rings: tuple[Ring, Ring],
        parts: Parts,
        line: Line,
        shared: ReceiveQueue | None,
    ) -> None:
        """Choose the transport, with its completion queues, its memory and its line."""
        requester, responder = _HALVES[self.kind]
        if isinstance(parts.description.protocol, IwarpProtocol):
            requester, responder = IwarpRequester, IwarpResponder
        elif self.kind is QPType.RC and parts.repeats_selectively:
            requester, responder = SelectiveRequester, SelectiveResponder
        self.requester = requester(self, queues[0], rings[0], parts, line)
        if isinstance(self.requester, ReliableRequester):
            recovery = GoBack(self.requester, parts)
            if isinstance(self.requester, IwarpRequester):
                recovery = Reno(self.requester, parts)
            elif isinstance(self.requester, SelectiveRequester):
                recovery = SelectiveRepeat(self.requester, parts)
            self.requester.recover_by(recovery)
            parts.sim.resources.keeps_waiting(f"{parts.name}.receiver_not_ready", recovery)
        receives = shared or ReceiveQueue(rings[1], parts)
        self.responder = responder(self, queues[1], receives, parts)

    def connect(self, path: Path) -> None:
        if self.state is State.RESET:
            self.move(State.INIT, State.RTR)
        self.move(State.RTS)
        self.path = path
        link = self.requester.egress.transmitter
        self.requester.pacing = paced(link, path.slower)

    def fail(self) -> None:
        self.move(State.ERR)
        self.requester.flush()
        self.responder.flush()
        if self.responder.queue.shared:
            self.tell(EventType.QP_LAST_WQE_REACHED)
