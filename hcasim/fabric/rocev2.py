"""RoCEv2: InfiniBand's transport headers in UDP over IPv4 in Ethernet frames.

Sources: InfiniBand Architecture Specification volume 1, annex A17 (no LRH and no VCRC), RFC 791,
RFC 768.
"""

from __future__ import annotations

from typing import Final

from hcasim.fabric import ethernet
from hcasim.fabric.packet import LRH, VCRC, Header, Opcode, packet_size

IP: Final = 20
UDP: Final = 8


class Rocev2Format:
    """A packet of InfiniBand's reliable connection service in a frame; its MTU counts data only."""

    around = ethernet.AROUND

    def payload(self, mtu: int, opcode: Opcode = Opcode.RDMA_WRITE) -> int:
        """Data in a full packet: the path MTU, whatever the opcode."""
        return mtu

    @staticmethod
    def size(opcode: Opcode, payload: int, headers: tuple[Header, ...] = ()) -> int:
        """Bytes of a frame from the addresses to the FCS.

        Args:
            payload: bytes of data.
            headers: the extended transport headers.
        """
        inside = packet_size(opcode, payload, headers) - LRH - VCRC
        return ethernet.frame_size(IP + UDP + inside)
