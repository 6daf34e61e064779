"""Ethernet frames: what surrounds an IP packet (IEEE 802.3 clauses 3 and 4)."""

from __future__ import annotations

HEADER = 14
FCS = 4
PREAMBLE = 8
GAP = 12
MINIMUM = 64
AROUND = PREAMBLE + GAP


def frame_size(ip_packet: int) -> int:
    """Bytes of the frame around an IP packet, from the addresses to the FCS."""
    return max(MINIMUM, HEADER + ip_packet + FCS)
