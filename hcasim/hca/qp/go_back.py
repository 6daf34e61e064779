"""Recovery that sends again, in order, everything from what was lost or refused on."""

from __future__ import annotations

from typing import Final

from hcasim.engine import Call, Simulator
from hcasim.fabric.packet import Aeth, Syndrome
from hcasim.hca.completion_queue import WCStatus
from hcasim.hca.qp.endpoint import State
from hcasim.hca.qp.reliable_requester import Recovery, ReliableRequester
from hcasim.hca.qp.retry_timer import RetryTimer

RETRY_FOR_EVER: Final = 7

_STATUS: Final = {
    Syndrome.RNR_NAK: WCStatus.RNR_RETRY_EXC_ERR,
    Syndrome.INVALID_REQUEST: WCStatus.REM_INV_REQ_ERR,
    Syndrome.REMOTE_ACCESS_ERROR: WCStatus.REM_ACCESS_ERR,
    Syndrome.REMOTE_OPERATIONAL_ERROR: WCStatus.REM_OP_ERR,
}


class GoBack(Recovery):
    """Sends again, in order, all requests from the one on of which a packet was lost or refused.

    A receiver that is not ready says after which pause. What has had no answer is sent again when
    the transport timer expires (volume 1, 9.7.5.1.3, 9.7.6.1).

    Args:
        requester: whose packets they are.
    """

    def __init__(self, requester: ReliableRequester, sim: Simulator) -> None:
        self._requester = requester
        self._sim = sim
        self._tries = 0
        self.watch = self._timer = RetryTimer(sim, requester.end, Call(self._unanswered, ()))

    def heard(self) -> None:
        """Learn that an answer has come."""
        self._timer.heard_at = self._sim.now

    def acknowledged(self) -> None:
        """Learn that the responder has received something."""
        self._tries = 0

    def refused(self, psn: int, aeth: Aeth) -> None:
        """Send the request again after the pause that a receiver asks for, or give it up."""
        requester = self._requester
        wqe = requester.refuse_at(psn)
        if wqe is None:
            return
        requester.retire()
        most = requester.end.path.rnr_retry
        not_ready = aeth.syndrome is Syndrome.RNR_NAK
        if not_ready and (most == RETRY_FOR_EVER or self._tries < most):
            self._tries += 1
            requester.send_again(wqe, aeth.rnr_timer_ps)
        else:
            requester.fail(wqe, _STATUS[aeth.syndrome])

    def _unanswered(self) -> None:
        """Send again what has had no answer for too long, or give it up."""
        requester = self._requester
        waiting = requester.unacknowledged
        if requester.end.state is not State.RTS or not waiting:
            return
        if self._timer.exhausted:
            requester.fail(waiting[0], WCStatus.RETRY_EXC_ERR)
        else:
            requester.send_again(waiting[0])
