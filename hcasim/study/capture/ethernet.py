"""Ethernet frames with IPv4 inside, and RoCEv2 in them.

Nodes have no addresses of Ethernet and IP in a description: they are made of the LID.
Source: RFC 791 (IPv4), RFC 768 (UDP), InfiniBand Architecture Specification annex A17 (RoCEv2).
"""

from __future__ import annotations

import struct
from typing import ClassVar, Final
from zlib import crc32

from hcasim.fabric.ethernet import FCS
from hcasim.fabric.packet import Packet
from hcasim.fabric.rocev2 import IP, UDP
from hcasim.study.capture import infiniband
from hcasim.study.capture.frames import ETHERNET, Frame, Frames, Way

ROCE_PORT: Final = 4791
_IPV4: Final = 0x0800
_LOCAL: Final = b"\x02\x00\x00\x00"
"""Of addresses that no manufacturer has given away."""
_HEADER: Final = struct.Struct(">BBHHHBBH4s4s")
_DO_NOT_CUT: Final = 0x4000
_HOPS: Final = 64
_UDP, TCP_INSIDE = 17, 6


def internet_address(lid: int) -> bytes:
    """The address of a port."""
    return struct.pack(">BBH", 10, 0, lid)


def internet(lid: int, to: int, protocol: int, size: int) -> bytes:
    """The header of an IP packet with so many bytes behind it."""
    parts = (0x45, 0, IP + size, 0, _DO_NOT_CUT, _HOPS, protocol)
    ends = internet_address(lid), internet_address(to)
    return _HEADER.pack(*parts, checksum(_HEADER.pack(*parts, 0, *ends)), *ends)


def checksum(words: bytes) -> int:
    """The Internet checksum."""
    total: int = sum(struct.unpack(f">{len(words) // 2}H", words))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


class EthernetFrames(Frames):
    """Frames from the addresses to the frame check sequence."""

    link_type: ClassVar[int] = ETHERNET

    def around(self, inside: bytes, lid: int, to: int, size: int) -> Frame:
        """The frame around an IP packet, which may be cut."""
        head = _LOCAL + struct.pack(">H", to) + _LOCAL + struct.pack(">HH", lid, _IPV4) + inside
        if self.keeps(size):
            head += bytes(size - FCS - len(head))
            head += struct.pack("<I", crc32(head))
        return self.cut(head, size)


class Rocev2Frames(EthernetFrames):
    """InfiniBand's packets in UDP datagrams."""

    def of(self, packet: Packet, way: Way) -> list[Frame]:
        """The frame."""
        base = infiniband.headers(packet, way.service)
        carried = infiniband.data(packet)
        size = UDP + len(base) + len(carried) + 4
        # The source port spreads the flows of a node over the paths of a network.
        port = 0xC000 | (way.source_qpn * 0x9E37 ^ way.qpn) & 0x3FFF
        outer = internet(way.source_lid, way.lid, _UDP, size)
        inside = outer + struct.pack(">HHHH", port, ROCE_PORT, size, 0) + base
        if self.keeps(packet.size):
            inside += carried
            inside += infiniband.invariant_crc(_masked(inside))
        return [self.around(inside, way.source_lid, way.lid, packet.size)]


def _masked(inside: bytes) -> bytes:
    """What the ICRC covers: type of service, hops, both checksums and a reserved byte are ones."""
    found = bytearray(inside)
    for place in (1, 8, 10, 11, IP + 6, IP + 7):
        found[place] = 0xFF
    return b"\xff" * 8 + infiniband.masked_bth(bytes(found), IP + UDP)
