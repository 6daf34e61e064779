"""Work queue entries (WQEs), and how far the adapter has got with each."""

from __future__ import annotations

from dataclasses import dataclass

from hcasim.fabric.packet import Opcode
from hcasim.hca.completion_queue import Status
from hcasim.hca.translation import Region

NEXT_SEGMENT = 8
CONTROL_SEGMENT = 8
REMOTE_ADDRESS_SEGMENT = 16
DATA_SEGMENT = 16
ATOMIC_SEGMENT = 16
INLINE_HEADER = 4


@dataclass(slots=True, eq=False)
class SendWqe:
    """A WQE of a send queue.

    Attributes:
        length: bytes of the message.
        posted: its number among the requests of its queue pair, counted from 1.
        operation: its number among all requests of a run, by which it can be followed.
        is_atomic: whether it is a fetch-and-add or a compare-and-swap.
        awaits_response: whether it completes with a response that carries data.
        segment: bytes of data in each of its packets but the last.
        region: local memory, once the adapter has looked it up.
        first_psn: sequence number of its first packet, once execution has begun.
        packets: packets of the request (of the response, for a read), likewise; 0 before.
        sent: packets of the request handed to the port so far.
        received: packets of the response received so far.
        responded: whether it has been answered and may complete in its turn.
        fault: the error with which it completes when its turn comes, or None.
    """

    opcode: Opcode
    wr_id: int
    length: int
    address: int = 0
    key: int = 0
    remote_address: int = 0
    remote_key: int = 0
    inline: bool = False
    signaled: bool = True
    posted: int = 0
    compare_add: int = 0
    swap: int = 0
    operation: int = 0
    is_atomic: bool = False
    awaits_response: bool = False
    segment: int = 0
    region: Region | None = None
    first_psn: int = -1
    packets: int = 0
    sent: int = 0
    received: int = 0
    responded: bool = False
    fault: Status | None = None

    def __post_init__(self) -> None:
        self.is_atomic = self.opcode is Opcode.FETCH_ADD or self.opcode is Opcode.COMPARE_SWAP
        self.awaits_response = self.is_atomic or self.opcode is Opcode.RDMA_READ_REQUEST

    def reset(self) -> None:
        """Forget how far it has got, so that it can be sent again under the same numbers."""
        self.sent = self.received = 0
        self.responded = False
        self.fault = None

    @property
    def request_packets(self) -> int:
        """Packets that the requester sends for it."""
        return 1 if self.awaits_response else self.packets

    def size(self, stride: int) -> int:
        """Bytes of the entry, rounded up to the stride of the work queue."""
        size = NEXT_SEGMENT + CONTROL_SEGMENT
        if self.opcode is not Opcode.SEND:
            size += REMOTE_ADDRESS_SEGMENT
        if self.is_atomic:
            size += ATOMIC_SEGMENT
        size += INLINE_HEADER + self.length if self.inline else DATA_SEGMENT
        return -(-size // stride) * stride


@dataclass(slots=True, eq=False)
class ReceiveWqe:
    """A WQE of a receive queue.

    Attributes:
        posted: its number among the requests of its queue, counted from 1.
        length: bytes of the buffer.
        signaled: whether success makes a completion queue entry; a fault always does.
        region: the buffer's region once the adapter has looked it up.
        received: bytes of the message so far.
    """

    wr_id: int
    posted: int
    address: int
    length: int
    key: int
    signaled: bool = True
    region: Region | None = None
    received: int = 0


def send_stride(max_inline: int, stride: int) -> int:
    """Bytes of a send queue entry that holds any request: a power of two.

    Args:
        max_inline: bytes that a request may carry inline.
        stride: the least distance of two entries in bytes.

    Source: Linux mthca_qp.c, which rounds the largest entry up to a power of two.
    """
    fixed = NEXT_SEGMENT + CONTROL_SEGMENT + REMOTE_ADDRESS_SEGMENT
    largest = fixed + max(ATOMIC_SEGMENT + DATA_SEGMENT, INLINE_HEADER + max_inline)
    while stride < largest:
        stride *= 2
    return stride
