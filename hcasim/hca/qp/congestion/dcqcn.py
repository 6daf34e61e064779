"""DCQCN: Zhu and others, "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM 2015).

The parameters bear the names that mstconfig's help of ROCE CC ECN has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hcasim.catalog.congestion import Dcqcn as Parameters
from hcasim.fabric.link import Transmitter
from hcasim.fabric.packet import Packet
from hcasim.hca.qp.congestion.control import MEGABIT, RateControl
from hcasim.hca.qp.congestion.notifications import HeldBack

_NEVER: Final = 1 << 62
_FRACTION: Final = 10
"""Bits behind the point of fixed-point parameters."""
_FINER: Final = 20
"""Bits that alpha has behind those."""


class Dcqcn(RateControl):
    """DCQCN: a CNP cuts the rate by a share, alpha, of its half; it comes back to what it was, and
    from there on grows by steps.

    The cut is made as the next period of the monitor begins, whose first begins with the first CNP.

    Alpha is a moving average of whether a CNP has come. Each expiry of a timer and each so many
    bytes sent, counted from the last cut, are a stage: the first of either halve the way to the
    target; then the target grows, faster once both are through.

    All is done when a packet or a CNP comes, for the times before: no event is spent on it.

    Attributes:
        target: bit/s that the rate tends to.
        alpha: of 2 ** 30.
        stages: expiries of the timer, and how often the byte counter has run over.
    """

    def __init__(
        self,
        link: Transmitter,
        parameters: Parameters,
        held: HeldBack,
        release: Callable[[], None],
    ) -> None:
        super().__init__(link, parameters, held, release)
        self.target = self.line_rate
        self.alpha = parameters.initial_alpha_value << _FINER
        self.stages = [0, 0]
        self._since = self._alpha_at = self._sim.now
        self._cut_at = self._timer_at = _NEVER
        self._bytes = 0
        self._noticed = self._told = False

    def notified(self) -> None:
        now = self._sim.now
        period: int = self._parameters.rate_reduce_monitor_period
        if not self._told:
            self._told = True
            self._since = self._alpha_at = now
        self.go_on()
        self._average(now)
        self._noticed = now > self._since
        if self._cut_at == _NEVER:
            self._cut_at = now + period - (now - self._since) % period

    def go_on(self) -> bool:
        now = self._sim.now
        if self._cut_at <= now:
            self._expire(self._cut_at)
            self._cut(self._cut_at)
        self._expire(now)
        return self.rate >= self.line_rate and self._cut_at == _NEVER

    def count(self, packet: Packet) -> None:
        reset: int = self._parameters.rpg_byte_reset
        self._bytes += packet.size
        while 0 < reset <= self._bytes:
            self._bytes -= reset
            self._increase()
            self.stages[1] += 1

    def _average(self, until_ps: int) -> None:
        """Bring alpha up to date."""
        parameters: Parameters = self._parameters
        keep, period = parameters.dce_tcp_g, parameters.dce_tcp_rtt
        periods = (until_ps - self._alpha_at) // period
        self._alpha_at += periods * period
        while periods and (self.alpha or self._noticed):
            self.alpha = self.alpha * keep >> _FRACTION
            if self._noticed:
                self._noticed = False
                self.alpha += (1 << _FRACTION) - keep << _FINER
            periods -= 1

    def _cut(self, at_ps: int) -> None:
        parameters: Parameters = self._parameters
        rate = self.rate
        self._average(at_ps)
        by_time, by_bytes = self.stages
        if (
            parameters.clamp_tgt_rate
            or by_bytes
            or (by_time and parameters.clamp_tgt_rate_after_time_inc)
        ):
            self.target = rate
        cut = rate - (rate * self.alpha >> (parameters.rpg_gd + _FINER))
        least = max(rate * parameters.rpg_min_dec_fac // 100, parameters.rpg_min_rate * MEGABIT)
        self.rate = min(rate, max(cut, least))
        self.stages = [0, 0]
        self._bytes = 0
        self._timer_at = at_ps + parameters.rpg_time_reset
        self._cut_at = _NEVER

    def _expire(self, until_ps: int) -> None:
        """Deal with what the timer has come to."""
        while self._timer_at <= until_ps and self.rate < self.line_rate:
            self._timer_at += self._parameters.rpg_time_reset
            self._increase()
            self.stages[0] += 1

    def _increase(self) -> None:
        parameters: Parameters = self._parameters
        by_time, by_bytes = self.stages
        if not parameters.rpg_byte_reset:
            by_bytes = by_time
        if min(by_time, by_bytes) > parameters.rpg_threshold:
            self.target += parameters.rpg_hai_rate * MEGABIT
        elif max(by_time, by_bytes) >= parameters.rpg_threshold:
            self.target += parameters.rpg_ai_rate * MEGABIT
        self.target = min(self.target, self.line_rate)
        self.rate = (self.rate + self.target + 1) // 2
