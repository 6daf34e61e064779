"""Completion queues as the adapter and the application share them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntFlag
from typing import ClassVar, Final

from hcasim.engine.changes import Changes, declare
from hcasim.fabric.packet import INDEX, Opcode
from hcasim.hca.translation import Region, Ring


class WCStatus(Enum):
    """Completion status; names and numbers are those of libibverbs (verbs.h, ibv_wc_status).

    Those of reliable datagrams, of end-to-end contexts and of tag matching come from nothing that
    is modelled.
    """

    SUCCESS = 0
    LOC_LEN_ERR = 1
    LOC_QP_OP_ERR = 2
    LOC_EEC_OP_ERR = 3
    LOC_PROT_ERR = 4
    WR_FLUSH_ERR = 5
    MW_BIND_ERR = 6
    BAD_RESP_ERR = 7
    LOC_ACCESS_ERR = 8
    REM_INV_REQ_ERR = 9
    REM_ACCESS_ERR = 10
    REM_OP_ERR = 11
    RETRY_EXC_ERR = 12
    RNR_RETRY_EXC_ERR = 13
    LOC_RDD_VIOL_ERR = 14
    REM_INV_RD_REQ_ERR = 15
    REM_ABORT_ERR = 16
    INV_EECN_ERR = 17
    INV_EEC_STATE_ERR = 18
    FATAL_ERR = 19
    RESP_TIMEOUT_ERR = 20
    GENERAL_ERR = 21
    TM_ERR = 22
    TM_RNDV_INCOMPLETE = 23


_WORDS: Final = (
    "success",
    "local length error",
    "local QP operation error",
    "local EE context operation error",
    "local protection error",
    "Work Request Flushed Error",
    "memory management operation error",
    "bad response error",
    "local access error",
    "remote invalid request error",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "RNR retry counter exceeded",
    "local RDD violation error",
    "remote invalid RD request",
    "aborted error",
    "invalid EE context number",
    "invalid EE context state",
    "fatal error",
    "response timeout error",
    "general error",
    "TM error",
    "TM software rendezvous",
)


def wc_status_str(status: WCStatus) -> str:
    """What libibverbs calls a status (ibv_wc_status_str)."""
    return _WORDS[status.value]


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
        source_qpn, source_lid: where a datagram comes from, with a priority, ``service_level``.
        routed: whether a global route header, or an IP header, is in front of its data.
    """

    written: bool = False
    immediate: int | None = None
    invalidated: int = 0
    solicited: bool = False
    source_qpn: int = 0
    source_lid: int = 0
    service_level: int = 0
    routed: bool = False


NO_END: Final = End()


_COMPLETED: Final = {
    Opcode.SEND: WCOpcode.SEND,
    Opcode.RDMA_WRITE: WCOpcode.RDMA_WRITE,
    Opcode.RDMA_READ_REQUEST: WCOpcode.RDMA_READ,
    Opcode.COMPARE_SWAP: WCOpcode.COMP_SWAP,
    Opcode.FETCH_ADD: WCOpcode.FETCH_ADD,
    Opcode.REGISTER: WCOpcode.REG_MR,
    Opcode.INVALIDATE: WCOpcode.LOCAL_INV,
    Opcode.BIND: WCOpcode.BIND_MW,
}


class Completion:
    """What a completion queue entry says.

    Parameters:
        request: what was asked for; None of a receive.

    Attributes:
        posted: which request of its queue has completed, counted from 1.
        operation: number of the operation whose duration it ends, or 0.
        end: what else a received message tells.
        timestamp_ps: when the entry became visible.
        written_ps: when it began to be written, if somebody listens.
        data: region, address, length and bytes, if they are known, of a message that is in the
            entry, from where the application's library copies it.
        vendor_err: what the adapter says beside of an error; 0 if no driver tells.
    """

    def __init__(
        self,
        wr_id: int,
        status: WCStatus,
        qpn: int,
        byte_len: int,
        request: Opcode | None,
        posted: int = 0,
        operation: int = 0,
        end: End = NO_END,
    ) -> None:
        self.wr_id = wr_id
        self.status = status
        self.qpn = qpn
        self.byte_len = byte_len
        self.is_receive = request is None
        self.posted = posted
        self.operation = operation
        self.timestamp_ps = self.written_ps = 0
        self.data: tuple[Region, int, int, bytes | None] | None = None
        self.end = end
        self.vendor_err = 0
        self._request = request

    @property
    def opcode(self) -> WCOpcode:
        """What has completed; of use if it has succeeded."""
        if self._request is not None:
            return _COMPLETED[self._request]
        return WCOpcode.RECV_RDMA_WITH_IMM if self.end.written else WCOpcode.RECV

    @property
    def qp_num(self) -> int:
        return self.qpn

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
    def sl(self) -> int:
        """Service level of a datagram."""
        return self.end.service_level

    @property
    def pkey_index(self) -> int:
        """Place of the partition's key; libibverbs tells it of management packets only."""
        return 0

    @property
    def dlid_path_bits(self) -> int:
        """Low bits of the LID that it was sent to; ports have one LID each."""
        return 0

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
        return f"{self.status.name} qp {self.qpn & INDEX}"


declare(End, unseen="immediate invalidated")
declare(Completion, counts="wr_id posted operation", unseen="timestamp_ps written_ps")


class CompletionQueue:
    """A completion queue in host memory; an entry is visible once its write has landed.

    Attributes:
        entries: what the application has not polled yet; ``unwritten`` is still to be written.
        overrun: whether an entry was lost because the queue was full; then all that follow are.
        cleaned: number of the last request of a queue pair's queue before it was reset, whose
            completions nobody sees any more, by its number and whether it is of receives.
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
        self.cleaned: dict[tuple[int, bool], int] = {}

    def resize(self, depth: int, ring: Ring) -> None:
        """Go on with another buffer."""
        self.depth, self.ring = depth, ring

    def clean(self, qpn: int, receives: bool, posted: int) -> list[Completion]:
        """Take out the entries of a queue that has been reset, and return them.

        Those of its first ``posted`` requests that are on their way are lost, too.
        Source: rdma-core, mlx5/cq.c and mthca/cq.c, which do so when a queue pair is reset.
        """
        self.cleaned[qpn, receives] = posted
        found = [one for one in self.entries if (one.qpn, one.is_receive) == (qpn, receives)]
        for one in found:
            self.entries.remove(one)
        return found

    def _is_stale(self, completion: Completion) -> bool:
        last = self.cleaned.get((completion.qpn, completion.is_receive), 0)
        return completion.posted <= last

    def push(self, completion: Completion, now_ps: int) -> None:
        if self.cleaned and self._is_stale(completion):
            return
        if self.overrun or len(self.entries) >= self.depth:
            first, self.overrun = not self.overrun, True
            if first and self.on_overrun is not None:
                self.on_overrun()
            return
        completion.timestamp_ps = now_ps
        self.entries.append(completion)
        if self.on_entry is not None:
            self.on_entry()
