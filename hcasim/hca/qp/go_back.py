"""Recovery that sends again, in order, everything from what was lost or refused on."""

from __future__ import annotations

from typing import ClassVar, Final

from hcasim.engine import Call, Retry, Simulator
from hcasim.engine.changes import Changes
from hcasim.fabric.packet import Aeth, Syndrome
from hcasim.hca.completion_queue import WCStatus
from hcasim.hca.parts import Parts
from hcasim.hca.qp.endpoint import Endpoint, State
from hcasim.hca.qp.reliable_requester import Recovery, ReliableRequester
from hcasim.hca.qp.retry_timer import RetryTimer, retry_timer
from hcasim.hca.wqe import SendWqe

TIMEOUT: Final = 14
RETRIES: Final = 7
LONGEST_TIMEOUT: Final = 31
"""Largest value of the 5 bits of the attribute."""
MOST_RETRIES: Final = 7

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

    Attributes:
        wait_ps: pauses so far for receivers that were not ready.
    """

    changes: ClassVar[Changes] = Changes(counts="wait_ps")

    def __init__(self, requester: ReliableRequester, parts: Parts) -> None:
        self.wait_ps = 0
        self._requester = requester
        self._sim = parts.sim
        self._parts = parts
        self._tries = self._refusals = 0
        self._retry: Retry | None = None
        self.watch = self._timer = self.timer(parts.sim, requester.end)

    def timer(self, sim: Simulator, end: Endpoint) -> RetryTimer:
        """Make the timer, which tells of requests without an answer."""
        return retry_timer(self._parts, end, Call(self.unanswered, ()))

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
            if requester.end.path.timeout:
                self._timer.go_on()
            return
        if requester.unanswered_psn != before:
            # What is before it has been received.
            self._refusals = 0
        requester.retire()
        if aeth.syndrome is Syndrome.PSN_SEQUENCE_ERROR:
            self._parts.counts["packet_seq_err"] += 1
            self._go_back(wqe)
            return
        most = requester.end.path.rnr_retry
        not_ready = aeth.syndrome is Syndrome.RNR_NAK
        if not_ready:
            self._parts.counts["rnr_nak_retry_err"] += 1
        if not_ready and (most == RETRY_FOR_EVER or self._tries < most):
            self._tries += 1
            self.wait_ps += aeth.rnr_timer_ps
            retry = self._without_end() if most == RETRY_FOR_EVER else None
            requester.send_again(wqe, aeth.rnr_timer_ps, retry)
        else:
            requester.fail(wqe, _STATUS[aeth.syndrome])

    def _without_end(self) -> Retry:
        """Return what sends again after each pause."""
        if self._retry is None:
            what = f"{self._parts.name} {self._requester.end}"
            self._retry = Retry(self._sim, what, self._requester.resume)
        return self._retry

    def missed(self, wqe: SendWqe) -> None:
        """Ask again for a response from where it breaks off: further on than the last time."""
        self._parts.counts["implied_nak_seq_err"] += 1
        self.heard()
        self._refusals = 0
        self._go_back(wqe)

    def _go_back(self, wqe: SendWqe) -> None:
        """Send a request again and all behind it, unless that has been tried too often."""
        self._refusals += 1
        if self._refusals > self._requester.end.path.retries:
            self._requester.fail(wqe, WCStatus.RETRY_EXC_ERR)
        else:
            self.restart()
            self._requester.send_again(wqe)

    def restart(self) -> None:
        """Take what is sent again for a notice of congestion, as slow restart does."""
        accl = self._parts.description.roce_accl
        if accl is not None and accl.roce_slow_restart_en and self._parts.over_ethernet:
            self._parts.counts["rp_cnp_handled"] += 1
            self._requester.slow_down()

    def unanswered(self) -> None:
        requester = self._requester
        waiting = requester.unacknowledged
        if requester.end.state not in (State.RTS, State.SQD) or not waiting:
            self.heard()
            return
        parts, timer = self._parts, self._timer
        parts.overdue.expired(timer.since_ps, self._sim.now)
        for counter in timer.counters:
            parts.counts[counter] += 1
        if parts.send_probe.listeners:
            parts.send_probe.event(timer.counters[0], 0, requester.end)
            parts.send_probe.event("retry timer", waiting[0].operation, requester.end)
        if self._timer.exhausted:
            requester.fail(waiting[0], WCStatus.RETRY_EXC_ERR)
        else:
            self.again(waiting[0])

    def again(self, wqe: SendWqe) -> None:
        """Send again what has had no answer in time, from a request on."""
        self._requester.send_again(wqe)
