"""Headers that lead from subnet to subnet, as receive buffers of datagrams show them.

Source: InfiniBand Architecture Specification volume 1, 8.3 (GRH), annex A17 (RoCEv2: the IPv4
header lies in the last 20 bytes of the 40, the 20 before it are undefined); RFC 791 (IPv4).
"""

from __future__ import annotations

import struct
from typing import Final

from hcasim.fabric.packet import GRH, LRH, VCRC, Packet, packet_size

IPV4: Final = 20
_UDP: Final = 8
_NEXT: Final = 0x1B
_IPV4: Final = struct.Struct(">BBHHHBBH4s4s")
_DO_NOT_CUT: Final = 0x4000
_UDP_INSIDE: Final = 17
_HOPS: Final = 64
_LABEL: Final = (1 << 20) - 1
LEAST_PORT: Final = 0xC000
"""The least UDP source port of RoCEv2, and that of datagrams without a flow label."""


def global_header(
    source: bytes,
    destination: bytes,
    traffic_class: int,
    flow_label: int,
    hop_limit: int,
    inside: int = _NEXT,
) -> bytes:
    """A global route header between two GIDs, whose payload length is not filled in.

    With another protocol ``inside`` it is the IPv6 header that it resembles.
    """
    first = 6 << 28 | traffic_class << 20 | flow_label
    return struct.pack(">IHBB", first, 0, inside, hop_limit) + source + destination


def ipv6_header(source: bytes, destination: bytes, traffic_class: int, hop_limit: int) -> bytes:
    """An IPv6 header, without its payload length."""
    hops = hop_limit or _HOPS
    return global_header(source, destination, traffic_class, 0, hops, _UDP_INSIDE)


def ipv4_header(source: bytes, destination: bytes, traffic_class: int, hop_limit: int) -> bytes:
    """An IPv4 header behind as many zeros as there is room, without total length and checksum."""
    hops = hop_limit or _HOPS
    parts = (0x45, traffic_class, 0, 0, _DO_NOT_CUT, hops, _UDP_INSIDE, 0, source, destination)
    return bytes(GRH - IPV4) + _IPV4.pack(*parts)


def source_port(label: int, qpn: int = 0, remote_qpn: int = 0) -> int:
    """UDP source port of a flow label, or else of the queue pairs of a connection; 0 of neither.

    Source: Linux, rdma/ib_verbs.h: rdma_get_udp_sport, by which mlx5 and others set it.
    """
    if not label:
        mixed = qpn * remote_qpn
        mixed ^= mixed >> 20
        label = (mixed ^ mixed >> 40) & _LABEL
        if not qpn:
            return 0
    return LEAST_PORT | (label ^ label >> 14) & ~LEAST_PORT & 0xFFFF


def turned(header: bytes) -> bytes:
    """The global route header of what goes back."""
    return header[:8] + header[24:] + header[8:24]


def filled(header: bytes, packet: Packet) -> bytes:
    """The header of a packet, with what depends on its length."""
    inner = packet_size(packet.opcode, packet.payload, packet.headers) - LRH - VCRC
    if header[0]:
        udp = _UDP if header[6] == _UDP_INSIDE else 0
        return header[:4] + struct.pack(">H", udp + inner) + header[6:]
    front, last = header[:-IPV4], bytearray(header[-IPV4:])
    last[2:4] = struct.pack(">H", IPV4 + _UDP + inner)
    last[10:12] = struct.pack(">H", checksum(last))
    return front + bytes(last)


def checksum(words: bytes | bytearray) -> int:
    """The Internet checksum."""
    total: int = sum(struct.unpack(f">{len(words) // 2}H", words))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF
