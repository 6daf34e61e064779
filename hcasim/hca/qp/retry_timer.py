"""The timers of reliable connections: after what time a request without an answer is sent again."""

from __future__ import annotations

from typing import ClassVar, Final

from hcasim.catalog import RoceAccl
from hcasim.engine import Action, Simulator
from hcasim.engine.changes import Changes
from hcasim.fabric.packet import Opcode, Packet, Sender
from hcasim.hca.parts import Parts
from hcasim.hca.qp.endpoint import Endpoint

BASE_PS: Final = 4_096_000
"""Local ACK timeout of exponent 0, in ps (volume 1, 9.7.6.1.3): each step doubles it."""

_ANSWERED: Final = (Opcode.RDMA_READ_REQUEST, Opcode.COMPARE_SWAP, Opcode.FETCH_ADD)


class RetryTimer(Sender):
    """Expires when a request has waited too long for an answer.

    It runs from ``heard_at``, the last answer, or from the oldest request sent since that asks for
    one. As long as answers come nobody can tell whether it runs, so nothing is scheduled: it begins
    to be watched when a packet is lost, of which whoever loses it tells.

    The specification lets it expire after the local ACK timeout or up to four times as late
    (volume 1, 9.7.6.1.3): here it is never late.
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
    def since_ps(self) -> int:
        """When it has begun to run."""
        return self._from

    @property
    def exhausted(self) -> bool:
        """Whether it has expired so often in a row that the request is given up."""
        return self._tries > self._end.path.retries

    def duration_ps(self) -> int:
        """How long it runs after as many expiries in a row as there have been."""
        return BASE_PS << self._end.path.timeout

    @property
    def counters(self) -> tuple[str, ...]:
        """The counters of the adapter that note that it has just expired while a request waited."""
        return ("local_ack_timeout_err",)

    def lost(self, packet: Packet) -> None:
        asks = packet.ack_request or packet.opcode in _ANSWERED or packet.answers
        if asks and self._end.path.timeout and not self._runs:
            # Of an answer nobody knows when its request was sent.
            self._run(self._sim.now if packet.answers else packet.staged_at)

    def go_on(self) -> None:
        """Run from now on, if it does not run: more may have been lost than it was told of."""
        if not self._runs:
            self._run(self._sim.now)

    def _run(self, since_ps: int) -> None:
        self._runs = True
        if self.heard_at > self._from:
            self._tries = 0
        self._from = max(since_ps, self.heard_at)
        self._sim.schedule(max(self._from + self.duration_ps(), self._sim.now), self)

    def act(self) -> None:
        if self.heard_at > self._from:
            self._run(self.heard_at)
        else:
            self._runs = False
            self._tries += 1
            self._expired.act()


class RoceTimer(RetryTimer):
    """The timer of mlx5 firmware over Ethernet, as it was measured.

    The first retransmissions are adaptive: their steps do not depend on the local ACK timeout, go
    on as long as they are not longer than that, and use one unit of ``retry_cnt`` together. Then
    regular timeouts follow, each of which uses one. Firmware takes no local ACK timeout below a
    floor. Without the floor there are regular timeouts only, one more than ``retry_cnt``.

    With a ``retry_cnt`` of 0 there is no unit for the adaptive ones to use: the first regular
    timeout sends once more, and only the longest time that the specification lets a timer run,
    four times the local ACK timeout, ends the request.

    Source: github.com/unionxic/rdma-fault-characterization, harness/ack_timeout/NOTES.md.
    """

    __slots__ = ("_accl",)

    def __init__(self, sim: Simulator, end: Endpoint, expired: Action, accl: RoceAccl) -> None:
        super().__init__(sim, end, expired)
        self._accl = accl

    @property
    def _limit_ps(self) -> int:
        """The local ACK timeout that firmware takes."""
        exponent = self._end.path.timeout
        if not self._accl.min_ack_timeout_limit_disabled:
            exponent = max(exponent, self._accl.timer.floor)
        return BASE_PS << exponent

    @property
    def _adaptive(self) -> int:
        """How many retransmissions are adaptive."""
        accl = self._accl
        if accl.min_ack_timeout_limit_disabled or not accl.roce_adp_retrans_en:
            return 0
        steps, limit = accl.timer.adaptive.steps, self._limit_ps
        number = 0
        while number < len(steps) and steps[number] <= limit:
            number += 1
        return number

    @property
    def exhausted(self) -> bool:
        adaptive, retries = self._adaptive, self._end.path.retries
        if not adaptive:
            return self._tries > retries
        return self._tries >= adaptive + (retries - 1 if retries else 2)

    def duration_ps(self) -> int:
        timer, tries, limit = self._accl.timer, self._tries, self._limit_ps
        if self._accl.min_ack_timeout_limit_disabled:
            share = timer.interval_without_floor if tries else timer.first_without_floor
            return limit * share // 100
        interval = limit * timer.interval // 100
        adaptive, steps = self._adaptive, timer.adaptive.steps
        if tries < adaptive:
            return steps[tries]
        if tries == adaptive and 0 < adaptive < len(steps):
            return min(steps[tries], interval)
        if tries > adaptive > 0 and not self._end.path.retries:
            return limit * timer.last // 100
        return interval

    @property
    def counters(self) -> tuple[str, ...]:
        """Those of regular and adaptive retransmissions are apart.

        With slow restart each retransmission is counted as a notice of congestion, too, that has
        been handled.
        """
        adaptive = self._adaptive
        found: tuple[str, ...] = ("local_ack_timeout_err",)
        if self._tries <= adaptive:
            found = ("roce_adp_retrans",)
            if self._tries == adaptive:
                found = ("roce_adp_retrans", "roce_adp_retrans_to")
        if self._accl.roce_slow_restart_en and not self.exhausted:
            found = (*found, "rp_cnp_handled")
        return found


def retry_timer(parts: Parts, end: Endpoint, expired: Action) -> RetryTimer:
    """Return the timer of a connection, by the adapter and the kind of its links.

    Adaptive retransmission and its register are RoCE's: over InfiniBand the timer is that of the
    specification.
    """
    accl = parts.description.roce_accl
    if accl is not None and parts.over_ethernet:
        return RoceTimer(parts.sim, end, expired, accl)
    return RetryTimer(parts.sim, end, expired)
