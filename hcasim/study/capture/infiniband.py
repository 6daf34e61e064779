"""Packets of InfiniBand, from the LRH to the VCRC.

Source: InfiniBand Architecture Specification volume 1, 7.7 (LRH) and 7.8 (ICRC, VCRC).
"""

from __future__ import annotations

import struct
from functools import cache
from typing import ClassVar, Final

from hcasim.fabric.packet import ICRC, LRH, VCRC, Packet
from hcasim.study.capture import transport
from hcasim.study.capture.frames import Frame, Frames, Way
from hcasim.study.capture.pcap import ERF

_BTH_FOLLOWS: Final = 2
_LRH: Final = struct.Struct(">BBHHH")


class InfinibandFrames(Frames):
    """Packets of a subnet, without a global route header."""

    link_type: ClassVar[int] = ERF

    def of(self, packet: Packet, way: Way) -> list[Frame]:
        """The packet."""
        words, level = (packet.size - VCRC) // 4, packet.route.service_level << 4
        local = _LRH.pack(0, level | _BTH_FOLLOWS, way.lid, words, way.source_lid)
        found = local + transport.headers(packet, way.service)
        if self.keeps(packet.size):
            carried = transport.data(packet)
            found += carried
            # The virtual lane may change on the way.
            masked = transport.masked_bth(bytes([found[0] | 0xF0]) + found[1:], LRH)
            found += transport.invariant_crc(masked)
            head = len(found) - len(carried) - ICRC
            crc = _after_zeros(_crc(0xFFFF, found[:head]), len(carried))
            found += struct.pack("<H", _crc(crc, found[-ICRC:]) ^ 0xFFFF)
        return [self.cut(found, packet.size)]


def _table() -> list[int]:
    found = []
    for value in range(256):
        for _ in range(8):
            # The polynomial 0x100B, lowest bit first.
            value = value >> 1 ^ (0xD008 if value & 1 else 0)
        found.append(value)
    return found


_TABLE: Final = _table()


def _crc(crc: int, data: bytes) -> int:
    """The VCRC of what has another before it, without the last complement."""
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc


@cache
def _of_bits(zeros: int) -> list[int]:
    return [_crc(1 << bit, bytes(zeros)) for bit in range(16)]


def _after_zeros(crc: int, zeros: int) -> int:
    """What `_crc` makes of zeros: the sum of what it makes of each bit, which is soon found."""
    found = 0
    for bit, one in enumerate(_of_bits(zeros)):
        if crc >> bit & 1:
            found ^= one
    return found
