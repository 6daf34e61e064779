"""TIMELY: Mittal and others, "TIMELY: RTT-based Congestion Control for the Datacenter" (2015)."""

from __future__ import annotations

from hcasim.catalog.congestion import Timely as Parameters
from hcasim.fabric.telemetry import Telemetry
from hcasim.hca.qp.congestion.control import MEGABIT, WHOLE, Gate, RateControl


class Timely(RateControl):
    """Sets the rate by how round trips change, once in each (algorithm 1 of section 4).

    Attributes:
        difference: moving average of that of one round trip and the one before it, in ps.
    """

    difference = 0.0
    _trip = 0
    _grown = 0

    def header(self) -> Telemetry | None:
        return Telemetry(self._parameters.header)

    def heard(self, gate: Gate, seen: Telemetry) -> None:
        if gate.whole_trip():
            trip = self._sim.now - seen.left_at
            if self._trip:
                self._change(trip)
            self._trip = trip

    def _change(self, trip: int) -> None:
        parameters: Parameters = self._parameters
        alpha, beta = parameters.alpha / WHOLE, parameters.beta / WHOLE
        self.difference += alpha * (trip - self._trip - self.difference)
        gradient = self.difference / parameters.min_rtt
        share = 1.0
        if trip > parameters.t_high:
            share -= beta * (1 - parameters.t_high / trip)
        elif trip >= parameters.t_low and gradient > 0:
            share -= beta * gradient
        if share < 1:
            self._grown = 0
            self.rate = max(parameters.min_rate * MEGABIT, int(self.rate * share))
            return
        step = parameters.ai_rate if self._grown < parameters.hai_after else parameters.hai_rate
        self._grown += 1
        self.rate = min(self.line_rate, self.rate + step * MEGABIT)
