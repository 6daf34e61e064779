"""InfiniBand packets and what they weigh on the wire.

Header sizes: InfiniBand Architecture Specification volume 1, chapters 7 and 9.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Protocol

LRH = 8
BTH = 12
RETH = 16
AETH = 4
ATOMIC_ETH = 28
IMMDT = 4
ICRC = 4
VCRC = 2
FRAME_DELIMITERS = 2
FLOW_CONTROL_PACKET = 6 + FRAME_DELIMITERS
MTUS = (256, 512, 1024, 2048, 4096)

BASE = LRH + BTH + ICRC + VCRC


class Opcode(Enum):
    """Operation of a packet of a reliable connection.

    The words are InfiniBand's; RESPONSE_ACKNOWLEDGE belongs to transports that also acknowledge
    read responses.
    """

    SEND = auto()
    RDMA_WRITE = auto()
    RDMA_READ_REQUEST = auto()
    RDMA_READ_RESPONSE = auto()
    ACKNOWLEDGE = auto()
    NAK = auto()
    COMPARE_SWAP = auto()
    FETCH_ADD = auto()
    ATOMIC_ACKNOWLEDGE = auto()
    RESPONSE_ACKNOWLEDGE = auto()


_ON_FIRST = dict.fromkeys(Opcode, 0) | {
    Opcode.RDMA_WRITE: RETH,
    Opcode.RDMA_READ_REQUEST: RETH,
    Opcode.COMPARE_SWAP: ATOMIC_ETH,
    Opcode.FETCH_ADD: ATOMIC_ETH,
}
_ON_EDGES = dict.fromkeys(Opcode, 0) | {
    Opcode.RDMA_READ_RESPONSE: AETH,
    Opcode.ACKNOWLEDGE: AETH,
    Opcode.NAK: AETH,
    # The AtomicAckETH is the original value, which counts as payload here.
    Opcode.ATOMIC_ACKNOWLEDGE: AETH,
}


def packet_size(opcode: Opcode, payload: int, *, first: bool = True, last: bool = True) -> int:
    """Bytes of a packet from the LRH to the VCRC, its payload padded to 4 bytes.

    Args:
        payload: bytes of data.
        first: whether it is the first (or only) packet of its message.
        last: whether it is the last (or only) packet of its message.
    """
    size = BASE + (payload + 3) // 4 * 4
    if first:
        size += _ON_FIRST[opcode]
    if first or last:
        size += _ON_EDGES[opcode]
    return size


class Room(Protocol):
    """A receive buffer."""

    def free(self, packet: Packet, at_ps: int) -> None:
        """Free the room of ``packet`` at the time ``at_ps``."""


class Packet:
    """One packet on its way.

    Attributes:
        lid: local identifier of the port it goes to.
        qpn: queue pair it goes to.
        payload: bytes of data it carries.
        size: bytes of the packet by its wire format: from LRH to VCRC in InfiniBand.
        offset: place of its first byte in the message.
        message: the work request it belongs to, at the requester.
        content: what the extended headers say, for the opcodes that have one.
        operation: number of the operation that waits for it, or 0.
        held_in: the adapter's buffer that it takes room in, once it has arrived.
    """

    __slots__ = (
        "ack_request",
        "content",
        "first",
        "held_in",
        "last",
        "lid",
        "message",
        "offset",
        "opcode",
        "operation",
        "payload",
        "psn",
        "qpn",
        "size",
    )

    def __init__(
        self,
        opcode: Opcode,
        lid: int,
        qpn: int,
        psn: int,
        payload: int = 0,
        *,
        first: bool = True,
        last: bool = True,
        offset: int = 0,
        ack_request: bool = False,
        message: Any = None,
        content: Any = None,
        operation: int = 0,
        size_of: Callable[..., int] = packet_size,
    ) -> None:
        self.opcode = opcode
        self.lid = lid
        self.qpn = qpn
        self.psn = psn
        self.payload = payload
        self.size = size_of(opcode, payload, first=first, last=last)
        self.first = first
        self.last = last
        self.offset = offset
        self.ack_request = ack_request
        self.message = message
        self.content = content
        self.operation = operation
        self.held_in: Room | None = None

    def __repr__(self) -> str:
        return f"{self.opcode.name} psn={self.psn} {self.payload} B to qp {self.qpn}"
