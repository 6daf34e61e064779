"""Completion queues as the adapter and the application share them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntFlag, auto
from typing import ClassVar, Final

from hcasim.engine.changes import Changes, declare
from hcasim.hca.translation import Region, Ring


class WCStatus(Enum):
    """Completion status; the names are those of libibverbs."""

    SUCCESS = auto()
    LOC_LEN_ERR = auto()
    LOC_PROT_ERR = auto()
    WR_FLUSH_ERR = auto()
    REM_INV_REQ_ERR = auto()
    REM_ACCESS_ERR = auto()
    REM_OP_ERR = auto()
    RETRY_EXC_ERR = auto()
    RNR_RETRY_EXC_ERR = auto()


class WCOpcode(Enum):
    """What has completed; names and numbers are those of libibverbs.

    The requests that the kernel adds take the numbers of Linux (ib_verbs.h, ib_wc_opcode).
    """

    SEND = 0
    RDMA_WRITE = 1
    RDMA_READ = 2
    COMP_SWAP = 3
    FETCH_ADD = 4
    BIND_MW = 5
    LOCAL_INV = 6
    REG_MR = 8
    RECV = 128
    RECV_RDMA_WITH_IMM = 129


class WCFlags(IntFlag):
    """What else a completion tells; the names are those of libibverbs."""

    NONE = 0
    GRH = 1
    WITH_IMM = 2
    WITH_INV = 8


@dataclass(slots=True, eq=False)
class End:
    """What a received message tells in its completion, beside its length.

    Attributes:
        written: whether it is a write, which has placed its data elsewhere.
        immediate: its immediate data, or None.
        invalidated: the key that it has made invalid, or 0.
        solicited: whether its sender wants an event.
        source_qpn, source_lid: where a datagram comes from.
        routed: whether a global route header is in front of its data.
    """

    written: bool = False
    immediate: int | None = None
    invalidated: int = 0
    solicited: bool = False
    source_qpn: int = 0
    source_lid: int = 0
    routed: bool = False


_NO_END: Final = End()


@dataclass(slots=True, eq=False)
class Completion:
    """What a completion queue entry says.

    Attributes:
        posted: which request of its queue has completed, counted from 1.
        operation: number of the operation whose duration it ends, or 0.
        opcode: what has completed; of use if it has succeeded.
        end: what else a received message tells.
        timestamp_ps: when the entry became visible.
        written_ps: when it began to be written, if somebody listens.
        data: region, address, length and bytes, if they are known, of a message that is in the
            entry, from where the application's library copies it.
    """

    wr_id: int
    status: WCStatus
    qpn: int
    byte_len: int
    is_receive: bool
    posted: int = 0
    operation: int = 0
    timestamp_ps: int = 0
    written_ps: int = 0
    data: tuple[Region, int, int, bytes | None] | None = None
    opcode: WCOpcode = WCOpcode.RECV
    end: End = _NO_END

    @property
    def imm_data(self) -> int:
        """Immediate data, if `wc_flags` say so; 0 without any."""
        return self.end.immediate or 0

    @property
    def invalidated_rkey(self) -> int:
        return self.end.invalidated

    @property
    def src_qp(self) -> int:
        return self.end.source_qpn

    @property
    def slid(self) -> int:
        return self.end.source_lid

    @property
    def wc_flags(self) -> WCFlags:
        flags = WCFlags.NONE
        if self.end.immediate is not None:
            flags |= WCFlags.WITH_IMM
        if self.end.invalidated:
            flags |= WCFlags.WITH_INV
        if self.end.routed:
            flags |= WCFlags.GRH
        return flags

    def __str__(self) -> str:
        return f"{self.status.name} qp {self.qpn}"


declare(End, unseen="immediate invalidated")
declare(Completion, counts="wr_id posted operation", unseen="timestamp_ps written_ps")


class CompletionQueue:
    """A completion queue in host memory; an entry is visible once its write has landed.

    Attributes:
        entries: what the application has not polled yet; ``unwritten`` is still to be written.
        overrun: whether an entry was lost because the queue was full; then all that follow are.
    """

    changes: ClassVar[Changes] = Changes(counts="produced")

    def __init__(self, number: int, depth: int, ring: Ring) -> None:
        self.number = number
        self.depth = depth
        self.ring = ring
        self.produced = 0
        self.unwritten: deque[Completion] = deque()
        self.entries: deque[Completion] = deque()
        self.overrun = False
        self.on_entry: Callable[[], None] | None = None
        self.on_overrun: Callable[[], None] | None = None

    def push(self, completion: Completion, now_ps: int) -> None:
        if self.overrun or len(self.entries) >= self.depth:
            first, self.overrun = not self.overrun, True
            if first and self.on_overrun is not None:
                self.on_overrun()
            return
        completion.timestamp_ps = now_ps
        self.entries.append(completion)
        if self.on_entry is not None:
            self.on_entry()
