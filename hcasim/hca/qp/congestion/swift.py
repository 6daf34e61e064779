"""Swift: Kumar and others, "Swift: Delay is Simple and Effective for Congestion Control in the
Datacenter" (SIGCOMM 2020), section 3.
"""

from __future__ import annotations

from math import sqrt

from hcasim.catalog.congestion import Swift as Parameters
from hcasim.fabric.packet import Packet
from hcasim.fabric.telemetry import Telemetry
from hcasim.hca.qp.congestion.control import WHOLE, Gate, RateControl


class Swift(RateControl):
    """Sets a window by the delay of the network, which it keeps at a target (algorithm 1).

    A window of less than a packet spaces packets by a round trip divided by it.

    Attributes:
        window: in packets; 0 before the first acknowledgement.
    """

    window = 0.0
    _acknowledged = 0
    _payload = 1
    _last = 1
    _trip = 1
    _may_cut_at = 0

    def header(self) -> Telemetry | None:
        return Telemetry(self._parameters.header)

    def count(self, packet: Packet) -> None:
        self._last = self.duration(packet)
        self._payload = max(self._payload, packet.payload)

    def heard(self, gate: Gate, seen: Telemetry) -> None:
        parameters: Parameters = self._parameters
        packets = (gate.acknowledged - self._acknowledged) / self._payload
        self._acknowledged = gate.acknowledged
        self._trip = trip = max(1, self._sim.now - seen.left_at)
        if not self.window:
            self.window = max(1.0, gate.window / self._payload)
        excess = 1 - self._target() / trip
        if excess < 0:
            self._set(self.window + parameters.ai * packets / max(1.0, self.window))
        else:
            self._cut(min(parameters.beta / WHOLE * excess, parameters.max_mdf / WHOLE))

    def _target(self) -> float:
        """The delay that it tends to, in ps: longer over more switches, and of small windows."""
        parameters: Parameters = self._parameters
        most = 1 / sqrt(parameters.fs_max_cwnd)
        slope = parameters.fs_range / (1 / sqrt(parameters.fs_min_cwnd / WHOLE) - most)
        scaling = min(max(0.0, slope * (1 / sqrt(self.window) - most)), parameters.fs_range)
        return parameters.base_target + parameters.hops * parameters.per_hop + scaling

    def _cut(self, share: float) -> None:
        """Take a share of the window, once in a round trip."""
        if self._sim.now >= self._may_cut_at:
            self._may_cut_at = self._sim.now + self._trip
            self._set(self.window * (1 - share))

    def _set(self, window: float) -> None:
        parameters: Parameters = self._parameters
        self.window = min(max(parameters.min_cwnd / WHOLE, window), parameters.max_cwnd)
        self.rate = self.line_rate
        if self.window < 1:
            self.rate = max(1, int(self.line_rate * self._last * self.window / self._trip))
        if self.gate is not None:
            self.gate.window = max(1, int(self.window * self._payload))

    def went_back(self, psn: int) -> bool:
        if self.window:
            self._cut(self._parameters.max_mdf / WHOLE)
        return super().went_back(psn)

    def repairs(self) -> None:
        if self.window:
            self._cut(self._parameters.max_mdf / WHOLE)
        super().repairs()
