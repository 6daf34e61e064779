"""Recovery that sends again, in order, everything from what was lost or refused on; its timer."""

from __future__ import annotations

from typing import ClassVar, Final

from hcasim.engine import Action, Call, Simulator
from hcasim.engine.changes import Changes
from hcasim.fabric.packet import Aeth, Opcode, Packet, Sender, Syndrome
from hcasim.hca.completion_queue import WCStatus
from hcasim.hca.qp.endpoint import Endpoint, State
from hcasim.hca.qp.reliable_requester import Recovery, ReliableRequester
from hcasim.hca.wqe import SendWqe

BASE_PS: Final = 4_096_000
"""Local ACK timeout of exponent 0, in ps (volume 1, 9.7.6.1.3): each step doubles it."""
TIMEOUT: Final = 14
RETRIES: Final = 7
LONGEST_TIMEOUT: Final = 31
"""Largest value of the 5 bits of the attribute."""
MOST_RETRIES: Final = 7

_ANSWERED: Final = (Opcode.RDMA_READ_REQUEST, Opcode.COMPARE_SWAP, Opcode.FETCH_ADD)
RETRY_FOR_EVER: Final = 7

_STATUS: Final = {
    Syndrome.RNR_NAK: WCStatus.RNR_RETRY_EXC_ERR,
    Syndrome.INVALID_REQUEST: WCStatus.REM_INV_REQ_ERR,
    Syndrome.REMOTE_ACCESS_ERROR: WCStatus.REM_ACCESS_ERR,
    Syndrome.REMOTE_OPERATIONAL_ERROR: WCStatus.REM_OP_ERR,
}


class RetryTimer(Sender):
    """Expires when a request has waited too long for an answer.

    It runs from ``heard_at``, the last answer, or from the oldest request sent since that asks for
    one. As long as answers come nobody can tell whether it runs, so nothing is scheduled: it begins
    to be watched when a packet is lost, of which whoever loses it tells.
    """

    changes: ClassVar[Changes] = Changes(since="heard_at")

    __slots__ = ("_end", "_expired", "_from", "_runs", "_sim", "_tries", "heard_at")

    def __init__(self, sim: Simulator, end: Endpoint, expired: Action) -> None:
        self._sim = sim
        self._end = end
        self._expired = expired
        self._runs = False
        self.heard_at = self._from = self._tries = 0

    @property
    def exhausted(self) -> bool:
        return self._tries > self._end.path.retries

    def lost(self, packet: Packet) -> None:
        asks = packet.ack_request or packet.opcode in _ANSWERED or packet.answers
        if asks and self._end.path.timeout and not self._runs:
            # Of an answer nobody knows when its request was sent.
            self._run(self._sim.now if packet.answers else packet.staged_at)

    def duration_ps(self) -> int:
        """How long it runs after as many expiries in a row as there have been."""
        return BASE_PS << self._end.path.timeout

    def go_on(self) -> None:
        """Run from now on, if it does not run: more may have been lost than it was told of."""
        if not self._runs:
            self._run(self._sim.now)

    def _run(self, since_ps: int) -> None:
        self._runs = True
        if self.heard_at > self._from:
            self._tries = 0
        self._from = max(since_ps, self.heard_at)
        ends_at = self._from + self.duration_ps()
        self._sim.schedule(max(ends_at, self._sim.now), self)

    def act(self) -> None:
        if self.heard_at > self._from:
            self._run(self.heard_at)
        else:
            self._runs = False
            self._tries += 1
            self._expired.act()


class GoBack(Recovery):
    """Sends again, in order, all requests from the one on of which a packet was lost or refused.

    A receiver that is not ready says after which pause. What has had no answer is sent again when
    the transport timer expires (volume 1, 9.7.5.1.3, 9.7.6.1).

    Attributes:
        wait_ps: pauses so far for receivers that were not ready.
    """

    changes: ClassVar[Changes] = Changes(counts="wait_ps")

    def __init__(self, requester: ReliableRequester, sim: Simulator) -> None:
        self.wait_ps = 0
        self._requester = requester
        self._sim = sim
        self._tries = self._refusals = 0
        self.watch = self._timer = self.timer(sim, requester.end)

    def timer(self, sim: Simulator, end: Endpoint) -> RetryTimer:
        return RetryTimer(sim, end, Call(self.unanswered, ()))

    def heard(self) -> None:
        self._timer.heard_at = self._sim.now

    def acknowledged(self) -> None:
        self._tries = self._refusals = 0

    def refused(self, psn: int, aeth: Aeth) -> None:
        requester = self._requester
        self.heard()
        before = requester.unanswered_psn
        wqe = requester.refuse_at(psn)
        if wqe is None:
            return
        if requester.unanswered_psn != before:
            # What is before it has been received.
            self._refusals = 0
        requester.retire()
        if aeth.syndrome is Syndrome.PSN_SEQUENCE_ERROR:
            self._go_back(wqe)
            return
        most = requester.end.path.rnr_retry
        not_ready = aeth.syndrome is Syndrome.RNR_NAK
        if not_ready and (most == RETRY_FOR_EVER or self._tries < most):
            self._tries += 1
            self.wait_ps += aeth.rnr_timer_ps
            requester.send_again(wqe, aeth.rnr_timer_ps)
        else:
            requester.fail(wqe, _STATUS[aeth.syndrome])

    def missed(self, wqe: SendWqe) -> None:
        self.heard()
        self._go_back(wqe)

    def _go_back(self, wqe: SendWqe) -> None:
        """Send a request again and all behind it, unless that has been tried too often."""
        self._refusals += 1
        if self._refusals > self._requester.end.path.retries:
            self._requester.fail(wqe, WCStatus.RETRY_EXC_ERR)
        else:
            self._requester.send_again(wqe)

    def unanswered(self) -> None:
        requester = self._requester
        waiting = requester.unacknowledged
        if requester.end.state is not State.RTS or not waiting:
            self.heard()
            return
        if self._timer.exhausted:
            requester.fail(waiting[0], WCStatus.RETRY_EXC_ERR)
        else:
            self.again(waiting[0])

    def again(self, wqe: SendWqe) -> None:
        """Send again what has had no answer in time, from a request on."""
        self._requester.send_again(wqe)
