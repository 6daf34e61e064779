"""Completion queues as the adapter and the application share them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import ClassVar

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


@dataclass(slots=True, eq=False)
class Completion:
    """What a completion queue entry says.

    Attributes:
        posted: which request of its queue has completed, counted from 1.
        operation: number of the operation whose duration it ends, or 0.
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

    def __str__(self) -> str:
        return f"{self.status.name} qp {self.qpn}"


declare(Completion, counts="wr_id posted operation", unseen="timestamp_ps written_ps")


class CompletionQueue:
    """A completion queue in host memory; an entry is visible once its write has landed.

    Attributes:
        entries: what the application has not polled yet; ``unwritten`` is still to be written.
        overrun: whether an entry was lost because the queue was full.
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

    def push(self, completion: Completion, now_ps: int) -> None:
        if len(self.entries) >= self.depth:
            self.overrun = True
            return
        completion.timestamp_ps = now_ps
        self.entries.append(completion)
        if self.on_entry is not None:
            self.on_entry()
