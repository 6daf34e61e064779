"""Wire formats: how much of a packet is data and how long it is, by protocol."""

from __future__ import annotations

from functools import cache
from typing import Protocol

from hcasim.catalog import IwarpProtocol
from hcasim.catalog.protocol import Protocol as ProtocolDescription
from hcasim.catalog.protocol import Rocev2Protocol
from hcasim.fabric.iwarp import IwarpFormat
from hcasim.fabric.packet import FRAME_DELIMITERS, Header, Opcode, packet_size
from hcasim.fabric.rocev2 import Rocev2Format


class WireFormat(Protocol):
    """What a protocol puts around data."""

    @property
    def around(self) -> int:
        """Bytes that a packet occupies the link beyond its own."""

    def payload(self, mtu: int, opcode: Opcode = Opcode.RDMA_WRITE) -> int:
        """Data in a full packet of a message.

        Args:
            mtu: bytes, as this kind of link counts them.
            opcode: of the request; a read stands for its response.
        """

    def size(self, opcode: Opcode, payload: int, headers: tuple[Header, ...]) -> int:
        """Bytes of a packet with ``payload`` bytes of data.

        Args:
            headers: its extended transport headers in InfiniBand's words.
        """


class InfinibandFormat:
    """InfiniBand's reliable connection service, whose MTU counts data only."""

    around = FRAME_DELIMITERS

    def payload(self, mtu: int, opcode: Opcode = Opcode.RDMA_WRITE) -> int:
        """Data in a full packet: the MTU, whatever the opcode."""
        return mtu

    def size(self, opcode: Opcode, payload: int, headers: tuple[Header, ...]) -> int:
        """Bytes of a packet from the LRH to the VCRC."""
        return packet_size(opcode, payload, headers)


@cache
def wire_format(protocol: ProtocolDescription) -> WireFormat:
    """The format of what an adapter speaks."""
    if isinstance(protocol, IwarpProtocol):
        return IwarpFormat(protocol.markers, protocol.timestamps)
    if isinstance(protocol, Rocev2Protocol):
        return Rocev2Format()
    return InfinibandFormat()
