"""Wire formats: how much of a packet is data and how long it is, by protocol.

Sources: IEEE 802.3 clauses 3 and 4 (Ethernet); InfiniBand Architecture Specification volume 1,
annex A17 (RoCEv2: no LRH and no VCRC); IEEE 802.1Q (VLAN); RFC 791 (IPv4), RFC 8200 (IPv6),
RFC 768 (UDP), RFC 793 (TCP), RFC 7323 (timestamps), RFC 5044 (MPA),
RFC 5041 section 4 (DDP), RFC 5040 section 4 (RDMAP).
"""

from __future__ import annotations

from functools import cache
from typing import ClassVar, Final

from hcasim.catalog import IwarpProtocol
from hcasim.catalog.link import Protocol as ProtocolDescription
from hcasim.catalog.link import Rocev2Protocol
from hcasim.fabric.packet import (
    FRAME_DELIMITERS,
    GRH,
    LRH,
    VCRC,
    Header,
    Opcode,
    Sizes,
    packet_size,
)

FRAME_HEADER: Final = 14
FCS: Final = 4
PREAMBLE: Final = 8
GAP: Final = 12
MINIMUM_FRAME: Final = 64
AROUND_FRAME: Final = PREAMBLE + GAP
VLAN_TAG: Final = 4
IP: Final = 20
IPV6: Final = 40
UDP: Final = 8
TCP: Final = 20
TIMESTAMPS: Final = 12
MPA_LENGTH: Final = 2
MPA_CRC: Final = 4
MARKER: Final = 4
MARKER_SPACING: Final = 512
TAGGED: Final = 14
UNTAGGED: Final = 18
READ_REQUEST: Final = 28
TERMINATE: Final = 6
"""Control field and length of the refused segment, whose header follows."""

_HEADERS: Final = {
    Opcode.SEND: UNTAGGED,
    Opcode.RDMA_WRITE: TAGGED,
    Opcode.RDMA_READ_REQUEST: UNTAGGED + READ_REQUEST,
    Opcode.RDMA_READ_RESPONSE: TAGGED,
    # RDMAP's Terminate is what a negative acknowledgement is elsewhere; it quotes a DDP header.
    Opcode.NAK: UNTAGGED + TERMINATE + UNTAGGED,
}
_PURE_TCP: Final = (Opcode.ACKNOWLEDGE, Opcode.RESPONSE_ACKNOWLEDGE)


def mulpdu(emss: int, *, markers: bool) -> int:
    """Longest DDP segment, headers included, in a TCP segment (RFC 5044 section 4.5)."""
    spent = MARKER * -(-emss // MARKER_SPACING) if markers else 0
    return emss - (MPA_LENGTH + MPA_CRC + spent + emss % 4)


def fpdu_size(ulpdu: int) -> int:
    """Bytes of the FPDU around a DDP segment: length, padding to 4 bytes, and CRC, used or not."""
    return (MPA_LENGTH + ulpdu + 3) // 4 * 4 + MPA_CRC


def most_markers(fpdu: int) -> int:
    """Markers in a TCP segment with an FPDU: at most, by where in the stream it lies one less."""
    return -(-fpdu // (MARKER_SPACING - MARKER))


def frame_size(ip_packet: int) -> int:
    """Bytes of the Ethernet frame around an IP packet, from the addresses to the FCS."""
    return max(MINIMUM_FRAME, FRAME_HEADER + ip_packet + FCS)


# Bound once, because compiled code looks members of enumerations up each time.
_SEND: Final = Opcode.SEND


class RoutedSizes(Sizes):
    """Those of packets behind a global route header."""

    def size(self, opcode: Opcode, payload: int, headers: tuple[Header, ...] = ()) -> int:
        return packet_size(opcode, payload, headers) + GRH


ROUTED_SIZES: Final = RoutedSizes()


class WireFormat(Sizes):
    """What a protocol puts around data, and beyond a packet: InfiniBand, whose MTU counts data."""

    around: ClassVar[int] = FRAME_DELIMITERS
    agreed: ClassVar[bool] = True
    """Whether both ends agree on the data of a full packet."""

    def payload(self, mtu: int, opcode: Opcode = Opcode.RDMA_WRITE) -> int:
        """Data in a full packet of a request; a read stands for its response."""
        return mtu


class Rocev2Format(WireFormat):
    """InfiniBand's transport headers in UDP over IP in an Ethernet frame, perhaps with a tag."""

    around: ClassVar[int] = AROUND_FRAME

    def __init__(self, ip: str, tagged: bool) -> None:
        tag = VLAN_TAG if tagged else 0
        self._outer = tag + (IPV6 if ip == "ipv6" else IP) + UDP - LRH - VCRC

    def size(self, opcode: Opcode, payload: int, headers: tuple[Header, ...] = ()) -> int:
        return frame_size(self._outer + packet_size(opcode, payload, headers))


class IwarpFormat(WireFormat):
    """One FPDU, perhaps with markers, in one TCP segment, perhaps with timestamps, in one frame."""

    around: ClassVar[int] = AROUND_FRAME
    agreed: ClassVar[bool] = False

    def __init__(self, markers: bool, timestamps: bool) -> None:
        self.markers = markers
        self.timestamps = timestamps

    @property
    def _ip_and_tcp(self) -> int:
        return IP + TCP + (TIMESTAMPS if self.timestamps else 0)

    def payload(self, mtu: int, opcode: Opcode = Opcode.RDMA_WRITE) -> int:
        header = UNTAGGED if opcode is _SEND else TAGGED
        return mulpdu(mtu - self._ip_and_tcp, markers=self.markers) - header

    def size(self, opcode: Opcode, payload: int, headers: tuple[Header, ...] = ()) -> int:
        stream = 0
        if opcode not in _PURE_TCP:
            stream = fpdu_size(_HEADERS[opcode] + payload)
            if self.markers:
                stream += MARKER * most_markers(stream)
        return frame_size(self._ip_and_tcp + stream)


@cache
def wire_format(protocol: ProtocolDescription) -> WireFormat:
    """The format of what an adapter speaks."""
    if isinstance(protocol, IwarpProtocol):
        return IwarpFormat(protocol.markers, protocol.timestamps)
    if isinstance(protocol, Rocev2Protocol):
        return Rocev2Format(protocol.ip, protocol.vlan is not None)
    return WireFormat()
