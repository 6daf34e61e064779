"""DCTCP: Alizadeh and others, "Data Center TCP (DCTCP)" (SIGCOMM 2010), section 3.

Its window is that of a rate here, as in alibaba-edu/High-Precision-Congestion-Control, rdma-hw.cc.
"""

from __future__ import annotations

from hcasim.catalog.congestion import Dctcp as Parameters
from hcasim.fabric.telemetry import Telemetry
from hcasim.hca.qp.congestion.control import MEGABIT, WHOLE, Gate, RateControl


class Dctcp(RateControl):
    """Cuts the rate once in a round trip, by half of the share of packets that come marked.

    Attributes:
        alpha: moving average of that share.
    """

    alpha = 1.0
    _marked = 0
    _packets = 0
    _cut_until = -1

    def header(self) -> Telemetry | None:
        # The mark goes back in a bit that each acknowledgement has.
        return Telemetry(0)

    def heard(self, gate: Gate, seen: Telemetry) -> None:
        parameters: Parameters = self._parameters
        here = gate.acknowledged
        self._marked += seen.marked
        whole_trip = gate.whole_trip()
        if whole_trip:
            if self._packets:
                share = min(1.0, self._marked / self._packets)
                gain = parameters.gain / WHOLE
                self.alpha += gain * (share - self.alpha)
                self._marked = 0
            self._packets = gate.packets + 1
        if here > self._cut_until >= 0:
            self._cut_until = -1
        if seen.marked and self._cut_until < 0:
            least = parameters.min_rate * MEGABIT
            self.rate = max(least, int(self.rate * (1 - self.alpha / 2)))
            self._cut_until = gate.next_byte
        if whole_trip and self._cut_until < 0:
            self.rate = min(self.line_rate, self.rate + parameters.ai_rate * MEGABIT)
