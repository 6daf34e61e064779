"""Pacing: when a queue pair may send its next packet, one class for each way to tell."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Final

from hcasim.engine.changes import Changes
from hcasim.fabric.link import Transmitter
from hcasim.fabric.packet import Packet

RATES: Final[dict[float, int]] = {
    2.5: 2_500,
    5: 5_000,
    10: 10_000,
    20: 20_000,
    30: 30_000,
    40: 40_000,
    60: 60_000,
    80: 80_000,
    120: 120_000,
    14: 14_062,
    56: 56_250,
    112: 112_500,
    168: 168_750,
    25: 25_781,
    100: 103_125,
    200: 206_250,
    300: 309_375,
    28: 28_125,
    50: 53_125,
    400: 425_000,
    600: 637_500,
}
"""Mbit/s that rates signal which are called so many Gbit/s (rdma-core, ibv_rate_to_mbps)."""


class Pacing:
    """Holds the packets of a queue pair back.

    Attributes:
        next_at: when the next packet may be sent, in ps.
    """

    changes: ClassVar[Changes] = Changes(times="next_at")

    def __init__(self) -> None:
        self.next_at = 0

    def sent(self, packet: Packet, now: int) -> None:
        """Note that a packet has been handed over at a time in ps."""
        raise NotImplementedError


class StaticRate(Pacing):
    """Lets a packet take as long as on a slower link somewhere on its way.

    Source: InfiniBand Architecture Specification volume 1, 9.11, where the pause between two
    packets is a whole multiple of the time of the first; here it is a fraction.

    Args:
        link: over which they leave.
        slower: how many times slower the rate is than that of the link.
    """

    def __init__(self, link: Transmitter, slower: Fraction) -> None:
        super().__init__()
        self._link = link
        self._numerator, self._denominator = slower.numerator, slower.denominator

    def sent(self, packet: Packet, now: int) -> None:
        """Note that a packet has been handed over at a time in ps."""
        duration = self._link.serialisation(packet) * self._numerator // self._denominator
        # A packet that had to wait for its turn at the port does not delay those behind it.
        waited = now < self.next_at + duration
        self.next_at = (self.next_at if waited else now) + duration
