"""What a process has asked a LogGP machine to do."""

from __future__ import annotations

from collections.abc import Generator
from enum import Enum
from typing import Protocol

from hcasim.engine import Event
from hcasim.mpi import ANY_SOURCE, ANY_TAG, Status


class Kind(Enum):
    """What is done."""

    CALC = "a calculation"
    SEND = "its send to"
    RECV = "a message from"


class Waiter(Protocol):
    """Who has asked for it."""

    def wait(self, request: Request) -> Generator[Event, object, Status | None]:
        """Wait until it is done."""

    def test(self, request: Request) -> Generator[Event, object, bool]:
        """Say whether it is done."""


class Request:
    """A calculation or a message.

    Attributes:
        rank: of the process.
        size: bytes, or picoseconds of a calculation.
        thread: of the process, by number, whose time it takes.
        adapter: by number, that a message takes.
        done: whether it is known when it ends.
        told: whether the program has been told.
        end_ps: when it ends.
        status: of what was received.
    """

    __slots__ = (
        "adapter",
        "done",
        "end_ps",
        "kind",
        "peer",
        "rank",
        "size",
        "status",
        "tag",
        "thread",
        "told",
        "waiter",
    )

    def __init__(
        self,
        waiter: Waiter,
        kind: Kind,
        rank: int,
        size: int,
        peer: int = 0,
        tag: int = 0,
        thread: int = 0,
        adapter: int = 0,
    ) -> None:
        self.waiter, self.kind, self.rank, self.size = waiter, kind, rank, size
        self.peer, self.tag, self.thread, self.adapter = peer, tag, thread, adapter
        self.done = self.told = False
        self.end_ps = 0
        self.status: Status | None = None

    def wait(self) -> Generator[Event, object, Status | None]:
        """Wait until it is done."""
        return (yield from self.waiter.wait(self))

    def test(self) -> Generator[Event, object, bool]:
        """Return whether it is done."""
        return (yield from self.waiter.test(self))

    def takes(self, message: Request) -> bool:
        """Whether a receive takes a message."""
        return self.peer in (ANY_SOURCE, message.rank) and self.tag in (ANY_TAG, message.tag)

    def __str__(self) -> str:
        if self.kind is Kind.CALC:
            return str(self.kind.value)
        peer = "any rank" if self.peer == ANY_SOURCE else f"rank {self.peer}"
        tag = "any tag" if self.tag == ANY_TAG else f"tag {self.tag}"
        return f"{self.kind.value} {peer} ({tag}, {self.size} B)"
