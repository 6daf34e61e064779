"""Ethernet frames with IP inside: RoCEv2, and segments of TCP with an FPDU of iWARP in each.

Nodes have no addresses of Ethernet and IP in a description: they are made of the LID.

Wireshark follows iWARP from the frames of MPA that open a connection. The simulator begins with
open connections; so these two, and only they, are added in front, at the time of the first packet.

Source: RFC 791 (IPv4), RFC 8200 (IPv6), RFC 768 (UDP), InfiniBand Architecture Specification annex
A17 (RoCEv2), RFC 793 (TCP), RFC 5044 (MPA), RFC 5041 section 4 (DDP), RFC 5040 section 4 (RDMAP),
RFC 2474 (DSCP), RFC 3168 (ECN), IEEE 802.1Q (tags of VLANs), 802.1Qbb (pauses by priority).
"""

from __future__ import annotations

import struct
from typing import Final
from zlib import crc32

from hcasim.catalog.classes import PRIORITIES
from hcasim.catalog.link import Rocev2Protocol
from hcasim.fabric.packet import INDEX, Opcode, Packet, Reth
from hcasim.fabric.priorities import PauseFrame, priority
from hcasim.fabric.route_header import LEAST_PORT, checksum, ipv6_header
from hcasim.fabric.wire import FCS, IP, MINIMUM_FRAME, TCP, UDP, UNTAGGED, fpdu_size, frame_size
from hcasim.study.capture import infiniband
from hcasim.study.capture.infiniband import Way

_ROCE_PORT: Final = 4791
_IPV4, _IPV6, _TAG = 0x0800, 0x86DD, 0x8100
_CONTROL, _PRIORITY_PAUSE = 0x8808, 0x0101
_CONTROLLED: Final = bytes.fromhex("0180c2000001")
"""Address of whoever is at the other end of a link."""
_LONGEST_PAUSE: Final = 0xFFFF
"""In times of 512 bits."""
_LOCAL: Final = b"\x02\x00\x00\x00"
"""Of addresses that no manufacturer has given away."""
_INTERFACE: Final = bytes.fromhex("fe80000000000000000000fffe00")
"""Local addresses of IPv6 begin so that are made of those."""
_HEADER: Final = struct.Struct(">BBHHHBBH4s4s")
_DO_NOT_CUT: Final = 0x4000
_HOPS: Final = 64
_UDP, _TCP_INSIDE = 17, 6
_TCP: Final = struct.Struct(">HHIIBBHHH")
_PUSH, _ACK = 0x08, 0x10
_WINDOW: Final = 0xFFFF
_PORT: Final = 20_000
"""Ports of TCP begin here, one for each queue pair."""
_FIRST: Final = 1
"""Sequence number of the first byte of each direction."""
_OPENINGS: Final = (b"MPA ID Req Frame", b"MPA ID Rep Frame")
# No markers and no CRC, revision 1, no private data.
_PLAIN: Final = struct.pack(">BBH", 0, 1, 0)

_TAGGED, _LAST, _VERSION = 0x80, 0x40, 0x01
_RDMAP_VERSION: Final = 0x40
_WRITE, _READ_REQUEST, _READ_RESPONSE, _SEND, _TERMINATE = 0, 1, 2, 3, 7
_QUEUES: Final = {_SEND: 0, _READ_REQUEST: 1, _TERMINATE: 2}
_KINDS: Final = {
    Opcode.RDMA_WRITE: _WRITE,
    Opcode.RDMA_READ_REQUEST: _READ_REQUEST,
    Opcode.RDMA_READ_RESPONSE: _READ_RESPONSE,
    Opcode.SEND: _SEND,
    Opcode.NAK: _TERMINATE,
}
_REMOTE_OPERATION: Final = struct.pack(">BBH", 0x02, 0xFF, 0xC000)
"""RDMAP, remote operation error, unspecified; the length and header of the segment follow."""


def _internet(lid: int, to: int, protocol: int, size: int, kind: int = 0) -> bytes:
    """The header of an IP packet with so many bytes behind it; of their kind DSCP and ECN tell."""
    parts = (0x45, kind, IP + size, 0, _DO_NOT_CUT, _HOPS, protocol)
    ends = [struct.pack(">BBH", 10, 0, one) for one in (lid, to)]
    return _HEADER.pack(*parts, checksum(_HEADER.pack(*parts, 0, *ends)), *ends)


def _ethernet(
    inside: bytes, lid: int, to: int, size: int, tag: bytes = b"", version: int = _IPV4
) -> bytes:
    """The frame around an IP packet, from the addresses to the frame check sequence."""
    ends = _LOCAL + struct.pack(">H", to) + _LOCAL + struct.pack(">H", lid)
    return _checked(ends + tag + struct.pack(">H", version) + inside, size)


def _checked(head: bytes, size: int) -> bytes:
    """A frame of so many bytes, with its check sequence."""
    head = head.ljust(size - FCS, b"\0")
    return head + struct.pack("<I", crc32(head))


def pause_frame(frame: PauseFrame, lid: int) -> bytes:
    """What pauses priorities, or lets them go on, from the port of a LID; 0 is a switch."""
    time = _LONGEST_PAUSE * frame.pause
    times = [time * (frame.priorities >> one & 1) for one in range(PRIORITIES)]
    head = _CONTROLLED + _LOCAL + struct.pack(">HH", lid, _CONTROL)
    said = struct.pack(">HH8H", _PRIORITY_PAUSE, frame.priorities, *times)
    return _checked(head + said, MINIMUM_FRAME)


def rocev2_frames(protocol: Rocev2Protocol, packet: Packet, way: Way) -> list[bytes]:
    """Return InfiniBand's packet in a UDP datagram."""
    inner = infiniband.headers(packet, way.service) + infiniband.data(packet)
    size = UDP + len(inner) + 4
    port = packet.route.flow & 0xFFFF | LEAST_PORT
    ends, level, tag = (way.source_lid, way.lid), priority(packet), b""
    kind = level << 5 | way.ecn
    if protocol.vlan is not None:
        kind, tag = way.ecn, struct.pack(">HH", _TAG, level << 13 | protocol.vlan)
    # What may change on the way counts as ones: type of service, hops and checksum of IPv4, traffic
    # class, flow label and hops of IPv6, the checksum of UDP and a byte of the BTH.
    if protocol.ip == "ipv6":
        source, goal = (_INTERFACE + struct.pack(">H", one) for one in ends)
        outer = ipv6_header(source, goal, kind, 0)
        outer = outer[:4] + struct.pack(">H", size) + outer[6:]
        version, masks = _IPV6, {0: 0x0F, **dict.fromkeys((1, 2, 3, 7), 0xFF)}
    else:
        outer, version = _internet(*ends, _UDP, size, kind), _IPV4
        masks = dict.fromkeys((1, 8, 10, 11), 0xFF)
    first = len(outer)
    masks |= dict.fromkeys((first + 6, first + 7, first + UDP + 4), 0xFF)
    inside = outer + struct.pack(">HHHH", port, _ROCE_PORT, size, 0) + inner
    inside += infiniband.invariant_crc(inside, masks, b"\xff" * 8)
    if version == _IPV6:
        # It may not be left out there; the pseudo header has the addresses, length and protocol.
        pseudo = outer[8:] + struct.pack(">II", size, _UDP)
        said = checksum(pseudo + inside[first:]) or 0xFFFF
        inside = inside[: first + 6] + struct.pack(">H", said) + inside[first + 8 :]
    return [_ethernet(inside, *ends, packet.size, tag, version)]


class _Direction:
    """One direction of a connection: the number of its next byte, where its next tagged segment
    goes, the numbers of the last message of each queue, and the place of the next untagged segment
    in its message."""

    def __init__(self) -> None:
        self.sent = _FIRST
        self.steering = self.address = self.offset = 0
        self.numbers = dict.fromkeys(_QUEUES.values(), 0)


class IwarpFrames:
    """Frames of connections, whose TCP segments carry timestamps or do not."""

    def __init__(self, timestamps: bool) -> None:
        self._timestamps = timestamps
        self._directions: dict[tuple[int, int, int, int], _Direction] = {}

    def __call__(self, packet: Packet, way: Way) -> list[bytes]:
        """Return the segment of a packet; the two that open a connection before its first."""
        there = way.source_lid, way.source_qpn, way.lid, way.qpn
        back = there[2:] + there[:2]
        found: list[bytes] = []
        if there not in self._directions:
            self._directions[there], self._directions[back] = _Direction(), _Direction()
            for opening, ends in zip(_OPENINGS, (there, back), strict=True):
                found.append(self._segment(ends, opening + _PLAIN, len(opening + _PLAIN)))
        size, head = 0, b""
        if packet.opcode in _KINDS:
            ulpdu = self._ddp(packet, self._directions[there])
            length = len(ulpdu) + packet.payload
            head = struct.pack(">H", length) + ulpdu
            size = fpdu_size(length)
        found.append(self._segment(there, head, size))
        return found

    def _segment(self, ends: tuple[int, int, int, int], head: bytes, size: int) -> bytes:
        """The segment that begins with some bytes of the stream, and has so many of them."""
        lid, qpn, to, to_qpn = ends
        mine = self._directions[ends]
        yours = self._directions[ends[2:] + ends[:2]]
        options = b""
        if self._timestamps:
            options = b"\x01\x01\x08\x0a" + struct.pack(">II", mine.sent % 2**32, 0)
        words = (TCP + len(options)) // 4
        segment = _TCP.pack(
            *(_PORT + qpn & INDEX, _PORT + to_qpn & INDEX, mine.sent % 2**32, yours.sent % 2**32),
            *(words << 4, _ACK | (_PUSH if size else 0), _WINDOW, 0, 0),
        )
        mine.sent += size
        outer = _internet(lid, to, _TCP_INSIDE, len(segment) + len(options) + size)
        inside = outer + segment + options + head
        whole = frame_size(len(outer) + len(segment) + len(options) + size)
        return _ethernet(inside, lid, to, whole)

    def _ddp(self, packet: Packet, mine: _Direction) -> bytes:
        """The headers of DDP and RDMAP, and what a request or a refusal says behind them."""
        kind = _KINDS[packet.opcode]
        control = _VERSION | (_LAST if packet.last else 0)
        if kind in (_WRITE, _READ_RESPONSE):
            if packet.first:
                mine.steering = mine.address = 0
            if (target := packet.header(Reth)) is not None:
                mine.steering, mine.address = target.rkey, target.address
            found = struct.pack(
                *(">BBIQ", control | _TAGGED, _RDMAP_VERSION | kind, mine.steering, mine.address)
            )
            mine.address += packet.payload
            return found
        queue = _QUEUES[kind]
        if packet.first:
            mine.numbers[queue] += 1
            mine.offset = 0
        found = struct.pack(
            *(">BBIIII", control, _RDMAP_VERSION | kind, 0),
            *(queue, mine.numbers[queue] % 2**32, mine.offset),
        )
        mine.offset = 0 if packet.last else mine.offset + packet.payload
        if (header := packet.header(Reth)) is not None:
            found += struct.pack(">IQIIQ", 0, 0, header.length, header.rkey, header.address)
        elif kind == _TERMINATE:
            found += _REMOTE_OPERATION + struct.pack(">H", UNTAGGED) + bytes(UNTAGGED)
        return found
