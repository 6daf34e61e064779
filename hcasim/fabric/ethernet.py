"""Ethernet frames: what surrounds an IP packet (IEEE 802.3 clauses 3 and 4)."""

from __future__ import annotations

from typing import Final

HEADER: Final = 14
FCS: Final = 4
PREAMBLE: Final = 8
GAP: Final = 12
MINIMUM: Final = 64
AROUND: Final = PREAMBLE + GAP


def frame_size(ip_packet: int) -> int:
    """Bytes of the frame around an IP packet, from the addresses to the FCS."""
    return max(MINIMUM, HEADER + ip_packet + FCS)
