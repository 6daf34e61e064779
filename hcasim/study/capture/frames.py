"""What the packets of a link look like on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from hcasim.fabric.packet import Packet
from hcasim.hca import QPType

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
    """Makes the frames of packets.

    Parameters:
        snap: bytes of each that are kept at most; None keeps all.
    """

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
        """A frame that begins with some bytes, and goes on with zeros as far as it is kept."""
        kept = size if self.snap is None else min(self.snap, size)
        return (head + bytes(max(0, kept - len(head))))[:kept], size
