"""Operations of processes and what they require of each other: the form of all traces."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from enum import IntEnum
from typing import Final


class Kind(IntEnum):
    """What an operation does."""

    CALC, SEND, RECV, COLL = range(4)


ANY: Final = -1
"""Source or tag of a receive that takes each."""


class Operations:
    """The operations of one rank, in the order of the file.

    Attributes:
        kinds: each a `Kind`.
        sizes: bytes of a message, or that a process has before a collective; picoseconds of a
            calculation.
        peers: ranks, or ANY; of a collective, the root's place in its group.
        tags: or ANY; of a collective, the number of its group.
        threads: of the process, by number, that does it; of a collective, which it is of `CALLS`.
        lines: of the file, from 1, or whatever tells operations of a rank apart.
        amounts: operations of the processor that a calculation has in place of its time, or 0.
        received: what the trace tells of the bytes that a process has behind a collective.
        counted: whether there are calculations that have amounts.
        later: of each requirement, which operation has it.
        earlier: and which one it requires.
        begun: whether that one has to have begun only, rather than ended.
    """

    def __init__(self) -> None:
        self.kinds, self.threads, self.begun = bytearray(), bytearray(), bytearray()
        self.sizes, self.tags, self.received = array("q"), array("q"), array("q")
        self.peers, self.lines, self.amounts = array("i"), array("Q"), array("d")
        self.later, self.earlier = array("q"), array("q")
        self.counted = False

    def __len__(self) -> int:
        return len(self.kinds)

    def add(
        self,
        kind: int,
        size: int,
        peer: int = 0,
        tag: int = 0,
        *,
        thread: int = 0,
        line: int = 0,
        amount: float | None = None,
        received: int = 0,
    ) -> int:
        """Add an operation; return its number."""
        self.kinds.append(kind)
        self.sizes.append(size)
        self.peers.append(peer)
        self.tags.append(tag)
        self.threads.append(thread)
        self.lines.append(line)
        self.amounts.append(amount or 0)
        self.received.append(received)
        self.counted |= amount is not None
        return len(self.kinds) - 1

    def require(self, later: int, earlier: int, begun: bool = False) -> None:
        """Let an operation wait for another one."""
        self.later.append(later)
        self.earlier.append(earlier)
        self.begun.append(begun)


class Followers:
    """Which operations of a rank wait for others to begin or to end."""

    def __init__(self, operations: Operations) -> None:
        from numpy import arange, argsort, frombuffer, searchsorted
        from numpy import array as numbers

        earlier = numbers(operations.earlier)
        order = argsort(earlier, kind="stable")
        first = searchsorted(earlier[order], arange(len(operations) + 1))
        self._first = array("q", first.astype("int64").tobytes())
        self._later = array("q", numbers(operations.later)[order].tobytes())
        self._begun = frombuffer(bytes(operations.begun), "uint8")[order].tobytes()

    def of(self, one: int, begun: bool) -> list[int]:
        """Those that wait for an operation to begin, or to end."""
        places = range(self._first[one], self._first[one + 1])
        return [self._later[place] for place in places if self._begun[place] == begun]


Ranks = Sequence[Operations]
