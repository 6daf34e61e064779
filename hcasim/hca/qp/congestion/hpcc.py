"""HPCC: Li and others, "HPCC: High Precision Congestion Control" (SIGCOMM 2019), section 3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hcasim.catalog.congestion import Hpcc as Parameters
from hcasim.catalog.congestion import RoceCc
from hcasim.fabric.link import Transmitter
from hcasim.fabric.packet import Packet
from hcasim.fabric.telemetry import Hop, Telemetry
from hcasim.hca.qp.congestion.control import MEGABIT, WHOLE, Gate, RateControl
from hcasim.hca.qp.congestion.notifications import HeldBack

_NANOSECOND: Final = 1000


class Hpcc(RateControl):
    """Sets the rate by the utilisation of the busiest link, which acknowledgements bring back.

    The utilisation is a moving average over a round trip of what each hop has sent since the last
    acknowledgement and of its queue (algorithm 1 of the paper). Each acknowledgement sets the rate
    from a reference, which changes once in a round trip.

    Attributes:
        utilisation: of the busiest link; 1: as much as it carries.
        reference: bit/s.
    """

    def __init__(
        self, link: Transmitter, described: RoceCc, held: HeldBack, release: Callable[[], None]
    ) -> None:
        super().__init__(link, described.hpcc, held, release)
        self._round_trip = described.round_trip
        self._window = self.line_rate * described.round_trip / 8e12
        self.utilisation = 1.0
        self.reference = self.line_rate
        self._stages = self._last = 0
        self._hops: list[Hop] = []

    def header(self) -> Telemetry | None:
        return Telemetry(self._parameters.header)

    def count(self, packet: Packet) -> None:
        self._last = self._link.serialisation(packet)

    def heard(self, gate: Gate, seen: Telemetry) -> None:
        before, self._hops = self._hops, self._seen(seen)
        whole_trip = gate.whole_trip()
        # What has come another way tells nothing about this one.
        ways = [[hop.output for hop in hops] for hops in (before, self._hops)]
        if ways[0] == ways[1] and before:
            rate = self._rate(before, whole_trip)
            old = self._last * self.line_rate // self.rate
            self.rate = rate
            self.next_at += self._last * self.line_rate // rate - old
            if whole_trip:
                self.reference = rate

    def _seen(self, seen: Telemetry) -> list[Hop]:
        """What switches have written, in their units."""
        parameters: Parameters = self._parameters
        bytes_, queues = parameters.byte_unit, parameters.queue_unit
        return [
            Hop(
                hop.at_ps // _NANOSECOND * _NANOSECOND,
                hop.sent // bytes_ * bytes_,
                hop.queue // queues * queues,
                hop.rate,
                hop.output,
            )
            for hop in seen.hops
        ]

    def _rate(self, before: list[Hop], whole_trip: bool) -> int:
        """Measure the utilisation; return the rate that it leads to."""
        busiest, since = 0.0, 0
        for hop, last in zip(self._hops, before, strict=True):
            time = hop.at_ps - last.at_ps
            if time <= 0:
                continue
            sent = (hop.sent - last.sent) * 8e12 / time
            waits = min(hop.queue, last.queue) * self.line_rate / hop.rate / self._window
            used = sent / hop.rate + waits
            if used > busiest:
                busiest, since = used, time
        parameters: Parameters = self._parameters
        trip = self._round_trip
        since = min(since, trip)
        self.utilisation = (self.utilisation * (trip - since) + busiest * since) / trip
        excess = self.utilisation * WHOLE / parameters.target
        rate = float(self.reference)
        stages = self._stages + 1
        if excess >= 1 or self._stages >= parameters.stages:
            rate /= excess
            stages = 0
        if whole_trip:
            self._stages = stages
        least = parameters.min_rate * MEGABIT
        found = int(rate) + parameters.ai_rate * MEGABIT
        return min(max(found, least), self.line_rate)
