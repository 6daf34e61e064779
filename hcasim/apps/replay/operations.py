"""Operations of processes and what they require of each other: the form of all traces."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final


class Kind(IntEnum):
    """What an operation does; those behind COLL are of traces that are replayed call by call.

    A SENDRECV sends; the RECV behind it belongs to the same call.
    """

    CALC, SEND, RECV, COLL, ISEND, IRECV, SENDRECV, WAIT, WAITALL, TEST = range(10)


SENDS: Final = frozenset((Kind.SEND, Kind.ISEND, Kind.SENDRECV))
RECVS: Final = frozenset((Kind.RECV, Kind.IRECV))
ANY: Final = -1
"""Source or tag of a receive that takes each."""
UNKNOWN: Final = -1
"""Bytes of a receive whose trace does not tell them."""


class Operations:
    """The operations of one rank, in the order of the file.

    Attributes:
        kinds: each a `Kind`.
        sizes: bytes of a message, or that a process has before a collective; picoseconds of a
            calculation; of a WAIT or WAITALL, where its requests begin in `earlier`; of a TEST,
            its request, or -1.
        peers: ranks, or ANY; of a WAIT or WAITALL, the number of its requests; of a collective,
            the root's place in its group.
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
        self.counted = self._goes_on = False

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

    def then(self, kind: int, size: int, *message: int, goes_on: bool = False, **more: Any) -> int:
        """Add an operation that requires the one before, as `add` does.

        Parameters:
            goes_on: whether the next one requires only that this has begun.
        """
        one = self.add(kind, size, *message, **more)
        if one:
            self.require(one, one - 1, self._goes_on)
        self._goes_on = goes_on
        return one

    def require(self, later: int, earlier: int, begun: bool = False) -> None:
        """Let an operation wait for another one."""
        self.later.append(later)
        self.earlier.append(earlier)
        self.begun.append(begun)

    def missing(self) -> array[int]:
        count = array("q", bytes(8 * len(self)))
        for later in self.later:
            count[later] += 1
        return count


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
