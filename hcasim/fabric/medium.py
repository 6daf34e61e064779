"""What a link is made of: its rate, what surrounds a packet, and how a buffer's room is known."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from hcasim.catalog import EthernetLink, InfinibandLink
from hcasim.catalog.link import CODES, LANES
from hcasim.fabric.packet import FLOW_CONTROL_PACKET, FRAME_DELIMITERS
from hcasim.fabric.wire import AROUND_FRAME, GAP

CREDIT_BLOCK: Final = 64
SKIP_SYMBOLS: Final = 4
SKIP_INTERVAL: Final = 4480


@dataclass(frozen=True)
class Medium:
    """The physics of one direction of a link.

    Attributes:
        around, gap: bytes that a packet occupies the link beyond its own, and those after its last.
        block: bytes of a receive buffer that one credit stands for.
        update: bytes freed in a receive buffer for which one flow-control packet of ``update_size``
            bytes goes back, or 0.
        correction: time in ps that error correction holds back each packet.
        loss, corruption: packets that are dropped and corrupted, in parts of 10**9, by random
            numbers of this seed.
    """

    ps_per_byte: Fraction
    around: int
    gap: int
    block: int
    update: int
    update_size: int
    correction: int
    loss: int = 0
    corruption: int = 0
    seed: int = 0


def ps_per_byte(speed: str, width: int) -> Fraction:
    """Time per byte of an InfiniBand link in ps, line coding and skip ordered sets included.

    Source: InfiniBand Architecture Specification volume 2 chapter 5: a skip ordered set of 4
    symbols on each lane every 4352 to 4608 symbols.
    """
    lane = LANES[speed]
    skips = Fraction(SKIP_INTERVAL + SKIP_SYMBOLS, SKIP_INTERVAL)
    return Fraction(8000) * skips / (lane.gigabits * lane.coding * width)


ETHERNET_LANES: Final = {1: 1, 10: 1, 25: 1, 40: 4, 50: 2, 100: 4, 200: 4, 400: 8}
INTERLEAVED: Final = {200: 2, 400: 2}
"""Code words among which Ethernet deals out symbols in turn (IEEE 802.3 clause 119.2.4.7)."""


def correction(link: InfinibandLink | EthernetLink) -> int:
    """Time in ps by which error correction delays what a link carries.

    The first bit of a code word waits for its last, and then for the decoder.
    """
    if link.fec is None:
        return 0
    code = CODES[link.fec.code]
    if not code.bits:
        return 0
    if isinstance(link, EthernetLink):
        lanes, words = ETHERNET_LANES[link.gigabits], INTERLEAVED.get(link.gigabits, 1)
        rate = Fraction(link.gigabits)
    else:
        lane = LANES[link.speed]
        lanes, words, rate = link.width, 1, lane.gigabits * lane.coding * link.width
    bits = code.bits * (lanes if code.per_lane else words)
    return round(bits * 1000 / rate) + link.fec.decoding


def medium(link: InfinibandLink | EthernetLink) -> Medium:
    """The physics of a link.

    InfiniBand counts room in blocks of 64 bytes and sends flow-control packets (volume 1, 7.9).

    Ethernet has its nominal rate, from which the line coding (64b/66b, or 8b/10b on CX4) is taken.
    A full-duplex link that pauses (IEEE 802.3x, annex 31B) has room for all, too: it is as if the
    sender knew the room in the receive buffer to the byte, and what the few pause frames cost on
    the wire is left out.
    """
    late = correction(link)
    lost = link.loss or 0, link.corruption or 0, link.loss_seed or 0
    if isinstance(link, EthernetLink):
        rate = Fraction(8000, link.gigabits)
        return Medium(rate, AROUND_FRAME, GAP, 1, 0, 0, late, *lost)
    rate = ps_per_byte(link.speed, link.width)
    update = link.credit_update
    size = FLOW_CONTROL_PACKET
    return Medium(rate, FRAME_DELIMITERS, 0, CREDIT_BLOCK, update, size, late, *lost)
