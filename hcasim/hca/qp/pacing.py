"""Pacing: when a queue pair may send its next packet, one class for each way to tell."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Final

from hcasim.engine import Simulator
from hcasim.engine.changes import Changes
from hcasim.fabric.link import Transmitter
from hcasim.fabric.packet import Header, Packet
from hcasim.hca.wqe import SendWqe

STATIC_RATES: Final[dict[float, int]] = {
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

LEAST: Final = Fraction(5, 4)
"""How many times slower a rate has to be: lanes signal up to 3 % more than their names say."""


FOR_EVER: Final = 1 << 60
"""A time in ps up to which a requester pauses that is told when to go on."""


class Pacing:
    """Holds the packets of a queue pair back, until `next_at` in ps; a class as `Half` is."""

    changes: ClassVar[Changes] = Changes(times="next_at _begun_at")

    def __init__(self, sim: Simulator) -> None:
        self.next_at = self._begun_at = 0
        self._begun = False
        self._sim = sim

    def phase(self) -> tuple[int, ...]:
        """For how long the next packet has waited, in ps: times that have passed are equal."""
        return (self._sim.now - self._begun_at if self._begun else 0,)

    def begin(self) -> None:
        self._begun_at = self._sim.now
        self._begun = True

    def earliest(self, wqe: SendWqe | None) -> int:
        """When the next packet of a requester may go, in ps, which is of an entry."""
        return self.next_at

    def sent(self, packet: Packet) -> None:
        raise NotImplementedError

    # What the requester of a reliable connection tells it, and asks.

    def asks(self) -> bool:
        """Whether each packet is to ask for an acknowledgement."""
        return False

    def headed(self, headers: tuple[Header, ...]) -> tuple[Header, ...]:
        """The headers of the next packet with data, and what it adds to them."""
        return headers

    def acknowledged(self, psn: int, packet: Packet) -> None:
        """A packet acknowledges, or refuses, and all before ``psn`` has been received."""

    def went_back(self, psn: int) -> bool:
        """All from ``psn`` on is sent again; return whether the requester has waited for it."""
        return False

    def repairs(self) -> None:
        """A single packet is to be sent again, at once."""


class StaticRate(Pacing):
    """Lets a packet take as long as on a link somewhere on its way that is so many times slower.

    The time counts from when the packet could have gone: to wait for others does not make the
    queue pair slower. InfiniBand's pause between two packets is a whole multiple of the time of the
    first (Architecture Specification volume 1, 9.11); here it is a fraction.
    """

    def __init__(self, link: Transmitter, slower: Fraction) -> None:
        super().__init__(link.sim)
        self._link = link
        self._numerator, self._denominator = slower.numerator, slower.denominator

    def sent(self, packet: Packet) -> None:
        duration = self._link.serialisation(packet) * self._numerator // self._denominator
        self.next_at = self._begun_at + duration
        self._begun = False


class AddressRates(Pacing):
    """Lets datagrams take as long as on the slowest link to where they go, by the rate of each.

    A datagram waits only for those before it to the same port, and what is behind it for it.
    """

    changes: ClassVar[Changes] = Changes(times="_next_at")

    def __init__(self, link: Transmitter) -> None:
        super().__init__(link.sim)
        self._link = link
        self._next_at: dict[int, int] = {}

    def earliest(self, wqe: SendWqe | None) -> int:
        route = None if wqe is None else wqe.route
        return 0 if route is None else self._next_at.get(route.lid, 0)

    def sent(self, packet: Packet) -> None:
        slower = packet.route.slower
        if slower is not None:
            duration = int(self._link.serialisation(packet) * slower)
            self._next_at[packet.route.lid] = self._begun_at + duration
        self._begun = False


def paced(link: Transmitter, slower: Fraction | None) -> Pacing | None:
    """What holds packets back that are to leave so many times slower than the link lets them."""
    return None if slower is None else StaticRate(link, slower)
