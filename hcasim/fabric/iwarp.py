"""iWARP: one FPDU in one TCP segment in one Ethernet frame.

Sources: RFC 791 (IPv4), RFC 793 (TCP), RFC 7323 (timestamps), RFC 5044 (MPA), RFC 5041 section 4
(DDP), RFC 5040 section 4 (RDMAP).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hcasim.fabric import ethernet
from hcasim.fabric.packet import Header, Opcode

IP: Final = 20
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
    """Longest DDP segment, headers included, in a TCP segment (RFC 5044 section 4.5).

    Args:
        emss: bytes that a TCP segment may carry.
        markers: whether MPA puts markers into the stream.
    """
    spent = MARKER * -(-emss // MARKER_SPACING) if markers else 0
    return emss - (MPA_LENGTH + MPA_CRC + spent + emss % 4)


def fpdu_size(ulpdu: int) -> int:
    """Bytes of the FPDU around a DDP segment: length, padding to 4 bytes and CRC.

    The field of the CRC is there even if it is not in use.
    """
    return (MPA_LENGTH + ulpdu + 3) // 4 * 4 + MPA_CRC


def most_markers(fpdu: int) -> int:
    """Markers that a TCP segment with an FPDU can have at most.

    How many it has, this many or one less, depends on where in the stream the segment lies; the
    difference is 4 B.
    """
    return -(-fpdu // (MARKER_SPACING - MARKER))


@dataclass(frozen=True)
class IwarpFormat:
    """What iWARP puts around data.

    Attributes:
        markers: whether MPA puts markers into the stream.
        timestamps: whether TCP segments carry timestamps.
        around: bytes that a frame occupies the link beyond its own.
    """

    markers: bool
    timestamps: bool
    around: int = ethernet.AROUND

    @property
    def _ip_and_tcp(self) -> int:
        return IP + TCP + (TIMESTAMPS if self.timestamps else 0)

    def payload(self, mtu: int, opcode: Opcode = Opcode.RDMA_WRITE) -> int:
        """Data in a full segment of a message, where ``mtu`` is that of IP.

        Args:
            opcode: of the request; a read stands for its response.
        """
        header = UNTAGGED if opcode is Opcode.SEND else TAGGED
        return mulpdu(mtu - self._ip_and_tcp, markers=self.markers) - header

    def size(self, opcode: Opcode, payload: int, headers: tuple[Header, ...] = ()) -> int:
        """Bytes of a frame from the addresses to the FCS.

        Args:
            payload: bytes of data.
            headers: carried by DDP's headers, which all segments of an operation have.
        """
        stream = 0
        if opcode not in _PURE_TCP:
            stream = fpdu_size(_HEADERS[opcode] + payload)
            if self.markers:
                stream += MARKER * most_markers(stream)
        return ethernet.frame_size(self._ip_and_tcp + stream)
