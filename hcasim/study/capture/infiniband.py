"""Packets of InfiniBand, byte for byte: transport headers, and the frame from LRH to VCRC.

Source: InfiniBand Architecture Specification volume 1: LRH 7.7, ICRC and VCRC 7.8, BTH 9.2,
extended headers 9.3, opcodes table 38, syndromes 9.7.5, FECN and BECN annex A10.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, reduce
from operator import xor
from typing import Final
from zlib import crc32

from hcasim.fabric.packet import (
    GRH,
    LRH,
    VCRC,
    Aeth,
    AtomicEth,
    Dceth,
    Deth,
    Ieth,
    Immediate,
    Opcode,
    Packet,
    Reth,
    Syndrome,
)
from hcasim.fabric.route_header import filled
from hcasim.hca import QPType
from hcasim.hca.qp.congestion.table import BECN
from hcasim.hca.qp.rnr import rnr_timer_code

_BTH_FOLLOWS: Final = 2
_GRH_FOLLOWS: Final = 3
_LRH: Final = struct.Struct(">BBHHH")
_BTH: Final = struct.Struct(">BBHII")
_RETH: Final = struct.Struct(">QII")
_ATOMIC: Final = struct.Struct(">QIQQ")
_DETH: Final = struct.Struct(">II")

_SERVICE: Final = {QPType.RC: 0x00, QPType.UC: 0x20, QPType.UD: 0x60, QPType.DCI: 0xC0}
"""That of the manufacturer for dynamic connections, whose packets are not published (table 38)."""
# First, middle, last, only.
_PARTS: Final = {
    Opcode.SEND: (0x00, 0x01, 0x02, 0x04),
    Opcode.RDMA_WRITE: (0x06, 0x07, 0x08, 0x0A),
    Opcode.RDMA_READ_RESPONSE: (0x0D, 0x0E, 0x0F, 0x10),
}
_WITH_IMMEDIATE: Final = {Opcode.SEND: (0x03, 0x05), Opcode.RDMA_WRITE: (0x09, 0x0B)}
_WITH_INVALIDATE: Final = (0x16, 0x17)
"""Last, only."""
_WHOLE: Final = {
    Opcode.RDMA_READ_REQUEST: 0x0C,
    Opcode.ACKNOWLEDGE: 0x11,
    Opcode.NAK: 0x11,
    Opcode.ATOMIC_ACKNOWLEDGE: 0x12,
    Opcode.COMPARE_SWAP: 0x13,
    Opcode.FETCH_ADD: 0x14,
    Opcode.CONNECT: 0x1E,
    Opcode.DISCONNECT: 0x1F,
}
_CNP: Final = 0x81
_NAK: Final = 0x60
_SYNDROMES: Final = {
    # Without end-to-end credits.
    Syndrome.ACK: 0x1F,
    Syndrome.PSN_SEQUENCE_ERROR: _NAK,
    Syndrome.INVALID_REQUEST: _NAK | 1,
    Syndrome.REMOTE_ACCESS_ERROR: _NAK | 2,
    Syndrome.REMOTE_OPERATIONAL_ERROR: _NAK | 3,
}
_RNR: Final = 0x20
_ASKS: Final = 1 << 31
CONGESTED: Final = 3
"""What marks packets that met congestion, CE (RFC 3168, 5); in a subnet it is FECN."""
_SOLICITED: Final = 1 << 7


@dataclass(frozen=True)
class Way:
    """From where a packet goes to where.

    Attributes:
        source_lid, source_qpn: the port and queue pair that have sent it; 0 if nobody knows.
        lid, qpn: where it goes.
        service: of the queue pair.
        ecn: what it says of congestion (RFC 3168).
    """

    source_lid: int
    source_qpn: int
    lid: int
    qpn: int
    service: QPType = QPType.RC
    ecn: int = 0


def opcode(packet: Packet, service: QPType) -> int:
    """What a packet is, with the service of its queue pair."""
    if packet.opcode is Opcode.CNP:
        return _CNP
    parts = _PARTS.get(packet.opcode)
    if parts is None:
        return _SERVICE[service] | _WHOLE[packet.opcode]
    if packet.header(Immediate) is not None:
        return _SERVICE[service] | _WITH_IMMEDIATE[packet.opcode][packet.first]
    if packet.header(Ieth) is not None:
        return _SERVICE[service] | _WITH_INVALIDATE[packet.first]
    if packet.first:
        return _SERVICE[service] | parts[3 if packet.last else 0]
    return _SERVICE[service] | parts[2 if packet.last else 1]


def headers(packet: Packet, service: QPType, forward: int = 0) -> bytes:
    """The base transport header, with FECN if ``forward`` says so, and the extended ones."""
    backward = packet.opcode is Opcode.CNP or BECN in packet.headers
    found = _BTH.pack(
        opcode(packet, service),
        -packet.payload % 4 << 4 | (_SOLICITED if packet.solicited else 0),
        packet.route.pkey,
        forward << 31 | backward << 30 | packet.qpn,
        packet.psn | (_ASKS if packet.ack_request else 0),
    )
    for header in packet.headers:
        if isinstance(header, Reth):
            found += _RETH.pack(header.address, header.rkey, header.length)
        elif isinstance(header, AtomicEth):
            found += _ATOMIC.pack(header.address, header.rkey, header.swap_add, header.compare)
        elif isinstance(header, Dceth):
            key = b"" if header.key is None else struct.pack(">Q", header.key)
            found += key + _DETH.pack(header.session, header.source_qpn)
        elif isinstance(header, Deth):
            found += _DETH.pack(header.qkey, header.source_qpn)
        elif isinstance(header, Immediate):
            found += struct.pack(">I", header.value)
        elif isinstance(header, Ieth):
            found += struct.pack(">I", header.rkey)
        elif isinstance(header, Aeth):
            found += struct.pack(">I", _syndrome(header) << 24 | header.msn % (1 << 24))
            if packet.opcode is Opcode.ATOMIC_ACKNOWLEDGE:
                found += struct.pack(">Q", header.original)
        else:
            found += bytes(header.size)
    return found


def _syndrome(header: Aeth) -> int:
    if header.syndrome is Syndrome.RNR_NAK:
        return _RNR | rnr_timer_code(header.rnr_timer_ps)
    return _SYNDROMES[header.syndrome]


def data(packet: Packet) -> bytes:
    """What a packet carries behind its headers, zeros if nobody knows it, and its padding."""
    carried = 0 if packet.opcode is Opcode.ATOMIC_ACKNOWLEDGE else packet.payload
    known = packet.data.content() if carried and packet.data is not None else b""
    return known.ljust(carried + -packet.payload % 4, b"\0")


def invariant_crc(packet: bytes, masks: Mapping[int, int], before: bytes = b"") -> bytes:
    """The ICRC of a packet, of which bits that may change on the way count as ones."""
    found = bytearray(packet)
    for place, bits in masks.items():
        found[place] |= bits
    return struct.pack("<I", crc32(before + found))


def infiniband_frames(packet: Packet, way: Way) -> list[bytes]:
    """Return a packet of a subnet, with a global route header if it has one."""
    route = packet.route
    words, level, first = (packet.size - VCRC) // 4, route.service_level << 4, LRH
    # The virtual lane may change on the way, and a byte of the BTH is reserved.
    masks, follows, routed = {0: 0xF0}, _BTH_FOLLOWS, b""
    if route.extra and route.grh is not None:
        follows, routed, first = _GRH_FOLLOWS, filled(route.grh, packet), LRH + GRH
        # Traffic class, flow label and hop limit may change, too.
        masks |= {LRH: 0x0F, **dict.fromkeys((LRH + 1, LRH + 2, LRH + 3, LRH + 7), 0xFF)}
    local = _LRH.pack(0, level | follows, way.lid, words, way.source_lid) + routed
    head, carried = local + headers(packet, way.service, way.ecn == CONGESTED), data(packet)
    end = invariant_crc(head + carried, masks | {first + 4: 0xFF})
    crc = _crc(0xFFFF, head)
    crc = _crc(crc, carried) if any(carried) else _after_zeros(crc, len(carried))
    return [head + carried + end + struct.pack("<H", _crc(crc, end) ^ 0xFFFF)]


@cache
def _crc_of(byte: int) -> int:
    for _ in range(8):
        # The polynomial 0x100B, lowest bit first.
        byte = byte >> 1 ^ (0xD008 if byte & 1 else 0)
    return byte


def _crc(crc: int, data: bytes) -> int:
    """Return the VCRC of what has another before it, without the last complement."""
    for byte in data:
        crc = crc >> 8 ^ _crc_of((crc ^ byte) & 0xFF)
    return crc


@cache
def _of_bits(zeros: int) -> list[int]:
    return [_crc(1 << bit, bytes(zeros)) for bit in range(16)]


def _after_zeros(crc: int, zeros: int) -> int:
    """Return what `_crc` makes of zeros: the sum of what it makes of each bit."""
    return reduce(xor, (one for bit, one in enumerate(_of_bits(zeros)) if crc >> bit & 1), 0)
