"""Work queue entries, queue pairs and completion queues as the adapter holds them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from hcasim.fabric.packet import Opcode
from hcasim.hca.translation import Region

NEXT_SEGMENT = 8
CONTROL_SEGMENT = 8
REMOTE_ADDRESS_SEGMENT = 16
DATA_SEGMENT = 16
ATOMIC_SEGMENT = 16
INLINE_HEADER = 4
PSN_MODULUS = 1 << 24


class Status(Enum):
    """Completion status; the names are those of libibverbs."""

    SUCCESS = auto()
    LOC_LEN_ERR = auto()
    LOC_PROT_ERR = auto()
    WR_FLUSH_ERR = auto()
    REM_INV_REQ_ERR = auto()
    REM_ACCESS_ERR = auto()
    REM_OP_ERR = auto()
    RNR_RETRY_EXC_ERR = auto()


@dataclass(slots=True)
class Completion:
    """What a completion queue entry says.

    Attributes:
        wr_id: the application's name of the work request.
        byte_len: bytes received, for a receive.
        is_receive: whether a receive request has completed.
        timestamp_ps: when the entry became visible.
        posted: which request of its queue has completed, counted from 1.
    """

    wr_id: int
    status: Status
    qpn: int
    byte_len: int
    is_receive: bool
    timestamp_ps: int = 0
    posted: int = 0

    def __str__(self) -> str:
        return f"{self.status.name} qp {self.qpn}"


class Ring:
    """A queue in host memory: entries of one stride, used in turn.

    Attributes:
        region: the registered memory that it lies in.
    """

    __slots__ = ("_entries", "_first", "_stride", "region")

    def __init__(self, region: Region, offset: int, stride: int, entries: int) -> None:
        self.region = region
        self._first = region.address + offset
        self._stride = stride
        self._entries = entries

    def address(self, index: int) -> int:
        """Address of the entry that the ``index``-th use of the queue takes, counted from 0."""
        return self._first + index % self._entries * self._stride


@dataclass(frozen=True)
class WorkQueueBuffer:
    """How a send and a receive queue lie in one buffer: the receive queue first.

    Attributes:
        send_entries: entries of the send queue.
        send_stride: bytes from one of them to the next.
        receive_entries: entries of the receive queue.
        receive_stride: bytes from one of them to the next.
    """

    send_entries: int
    send_stride: int
    receive_entries: int
    receive_stride: int

    @property
    def send_offset(self) -> int:
        """Bytes from the start of the buffer to the send queue."""
        return -(-self.receive_entries * self.receive_stride // self.send_stride) * self.send_stride

    @property
    def size(self) -> int:
        """Bytes of the buffer."""
        return self.send_offset + self.send_entries * self.send_stride


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


class CompletionQueue:
    """A completion queue in host memory; an entry is visible once its write has landed.

    Attributes:
        depth: entries it can hold.
        ring: the memory of its entries.
        entries: what the application has not polled yet.
        produced: entries written so far.
        unwritten: what is to be written, oldest first.
        overrun: whether an entry was lost because the queue was full.
    """

    def __init__(self, number: int, depth: int, ring: Ring) -> None:
        self.number = number
        self.depth = depth
        self.ring = ring
        self.produced = 0
        self.unwritten: deque[tuple[Completion, int]] = deque()
        self.entries: deque[Completion] = deque()
        self.overrun = False
        self.on_entry: Callable[[], None] | None = None

    def push(self, completion: Completion, now_ps: int) -> None:
        """Make an entry visible to the application."""
        if len(self.entries) >= self.depth:
            self.overrun = True
            return
        completion.timestamp_ps = now_ps
        self.entries.append(completion)
        if self.on_entry is not None:
            self.on_entry()


class SendEntry:
    """A WQE of a send queue, and how far the adapter has got with it.

    Attributes:
        length: bytes of the message.
        posted: its number among the requests of its queue pair, counted from 1.
        operation: its number among all requests of a run, by which it can be followed.
        region: local memory, once the adapter has looked it up.
        first_psn: sequence number of its first packet, once execution has begun.
        packets: packets of the request (of the response, for a read).
        fault: the error with which it completes when its turn comes, or None.
        sent: packets of the request handed to the port so far.
        segment: bytes of data in each of its packets but the last.
        is_atomic: whether it is a fetch-and-add or a compare-and-swap.
        awaits_response: whether it completes with a response that carries data.
    """

    __slots__ = (
        "address",
        "awaits_response",
        "compare_add",
        "fault",
        "first_psn",
        "inline",
        "is_atomic",
        "key",
        "length",
        "opcode",
        "operation",
        "packets",
        "posted",
        "received",
        "region",
        "remote_address",
        "remote_key",
        "responded",
        "segment",
        "sent",
        "signaled",
        "swap",
        "wr_id",
    )

    def __init__(
        self,
        opcode: Opcode,
        wr_id: int,
        length: int,
        *,
        address: int = 0,
        key: int = 0,
        remote_address: int = 0,
        remote_key: int = 0,
        inline: bool = False,
        signaled: bool = True,
        posted: int = 0,
        compare_add: int = 0,
        swap: int = 0,
        operation: int = 0,
    ) -> None:
        self.opcode = opcode
        self.wr_id = wr_id
        self.length = length
        self.address = address
        self.key = key
        self.remote_address = remote_address
        self.remote_key = remote_key
        self.inline = inline
        self.signaled = signaled
        self.posted = posted
        self.compare_add = compare_add
        self.swap = swap
        self.operation = operation
        self.is_atomic = opcode in (Opcode.FETCH_ADD, Opcode.COMPARE_SWAP)
        self.awaits_response = self.is_atomic or opcode is Opcode.RDMA_READ_REQUEST
        self.region: Region | None = None
        self.first_psn = -1
        self.packets = 1
        self.segment = 0
        self.sent = 0
        self.received = 0
        self.responded = False
        self.fault: Status | None = None

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


@dataclass(slots=True)
class ReceiveEntry:
    """A WQE of a receive queue.

    Attributes:
        posted: its number among the requests of its queue pair, counted from 1.
        length: bytes of the buffer.
        signaled: whether success makes a completion queue entry; a fault always does.
        region: the buffer's region once the adapter has looked it up.
    """

    wr_id: int
    posted: int
    address: int
    length: int
    key: int
    signaled: bool = True
    region: Region | None = None
    received: int = 0


class State(Enum):
    """State of a queue pair."""

    RESET = auto()
    RTS = auto()
    ERR = auto()


class QueuePair:
    """The context of a queue pair: what the adapter must know to send and to receive.

    Attributes:
        port: index of the adapter port it uses.
        send_ring: memory of the send queue.
        receive_ring: memory of the receive queue.
        send_queue: entries the adapter has been told of by a doorbell and has not fetched.
        current: the entry being executed.
        unacknowledged: entries sent, oldest first, whose completion is still due.
        stalled: whether the current entry waits for an earlier read or atomic to end.
        receive_queue: receive entries the adapter has been told of.
    """

    def __init__(
        self,
        qpn: int,
        pd: int,
        port: int,
        send_cq: CompletionQueue,
        receive_cq: CompletionQueue,
        send_ring: Ring,
        receive_ring: Ring,
        *,
        rnr_retry: int = 7,
        rnr_timer_ps: int = 10_000_000,
    ) -> None:
        self.qpn = qpn
        self.pd = pd
        self.port = port
        self.send_cq = send_cq
        self.receive_cq = receive_cq
        self.send_ring = send_ring
        self.receive_ring = receive_ring
        self.rnr_retry = rnr_retry
        self.rnr_timer_ps = rnr_timer_ps
        self.state = State.RESET
        self.mtu = 0
        self.remote_lid = 0
        self.remote_qpn = 0
        # requester
        self.send_queue: deque[SendEntry] = deque()
        self.current: SendEntry | None = None
        self.scheduled = False
        self.unacknowledged: deque[SendEntry] = deque()
        self.next_psn = 0
        self.since_ack_request = 0
        self.outstanding_reads = 0
        self.max_rd_atomic = 1
        self.stalled = False
        self.rnr_tries = 0
        self.rnr_waiting = False
        # responder
        self.receive_queue: deque[ReceiveEntry] = deque()
        self.expected_psn = 0
        self.write_region: Region | None = None
        self.receiving: ReceiveEntry | None = None
        self.jobs: deque[Callable[[], None]] = deque()

    def __str__(self) -> str:
        return f"qp {self.qpn}"

    def connect(self, mtu: int, remote_lid: int, remote_qpn: int, max_rd_atomic: int) -> None:
        """Make it ready to send to and receive from a remote queue pair.

        Args:
            max_rd_atomic: reads and atomics that both ends agree to have outstanding at once.
        """
        self.mtu = mtu
        self.max_rd_atomic = max_rd_atomic
        self.remote_lid = remote_lid
        self.remote_qpn = remote_qpn
        self.state = State.RTS
