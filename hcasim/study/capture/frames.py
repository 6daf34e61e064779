"""Frames of packets, and files of them.

Wireshark does not read files of the link type of InfiniBand (247), but packets of InfiniBand in the
records of Endace's cards. Times are in nanoseconds.

Source: PCAP Capture File Format, draft-ietf-opsawg-pcap; Endace, ERF Types Reference (type 21).
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

from hcasim.fabric.packet import Packet
from hcasim.hca import QPType

_NANOSECONDS: Final = 0xA1B23C4D
_MOST: Final = 1 << 18
"""Bytes of a packet that readers take at most."""
ERF: Final = 197
"""Extensible record format: a header in front of each packet says what it is."""
ETHERNET: Final = 1 | 1 << 26 | 2 << 28
"""With the two words of the frame check sequence behind each frame."""

_RECORD: Final = struct.Struct("<IIII")
_ERF_TIME: Final = struct.Struct("<Q")
_ERF: Final = struct.Struct(">BBHHH")
_ERF_HEADER: Final = 16
_ERF_INFINIBAND: Final = 21
_VARYING: Final = 4
"""Records have different lengths."""
Frame = tuple[bytes, int]
"""The bytes that are kept, and how many there are."""


@dataclass(frozen=True)
class Way:
    """From where a packet goes to where.

    Attributes:
        source_lid, source_qpn: the port and queue pair that have sent it; 0 if nobody knows.
        lid, qpn: where it goes.
        service: of the queue pair.
    """

    source_lid: int
    source_qpn: int
    lid: int
    qpn: int
    service: QPType = QPType.RC


class Frames(ABC):
    """Makes the frames of packets, of which `snap` bytes are kept at most; None keeps all."""

    link_type: ClassVar[int]

    def __init__(self, snap: int | None) -> None:
        self.snap = snap

    @abstractmethod
    def of(self, packet: Packet, way: Way) -> list[Frame]:
        """The frame of a packet, behind those that Wireshark has to see before it."""

    def keeps(self, size: int) -> bool:
        """Whether all bytes of so long a frame are kept."""
        return self.snap is None or size <= self.snap

    def cut(self, head: bytes, size: int) -> Frame:
        """Return a frame that begins with some bytes, and goes on with zeros."""
        kept = size if self.snap is None else min(self.snap, size)
        return head[:kept].ljust(kept, b"\0"), size


class PcapFile:
    """Writes packets of a link type, of which `snap` bytes are kept at most; None keeps all."""

    def __init__(self, write: Callable[[bytes], object], link_type: int, snap: int | None) -> None:
        self._write = write
        self._erf = link_type == ERF
        snap = None if snap is None else snap + _ERF_HEADER * self._erf
        write(struct.pack("<IHHiIII", _NANOSECONDS, 2, 4, 0, 0, snap or _MOST, link_type))

    def add(self, time_ps: int, kept: bytes, size: int) -> None:
        """Add a packet of ``size`` bytes, of which some are kept; its time is cut off to ns."""
        if self._erf:
            length = _ERF_HEADER + len(kept)
            head = _ERF.pack(_ERF_INFINIBAND, _VARYING, length, 0, size)
            # Seconds as a fraction of binary digits.
            kept = _ERF_TIME.pack((time_ps << 32) // 10**12) + head + kept
            size += _ERF_HEADER
        seconds, nanoseconds = divmod(time_ps // 1000, 10**9)
        self._write(_RECORD.pack(seconds, nanoseconds, len(kept), size) + kept)
