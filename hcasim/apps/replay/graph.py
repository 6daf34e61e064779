"""Operations of processes and what they require of each other: a schedule, as GOAL has it."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final

CALC: Final = 0
SEND: Final = 1
RECV: Final = 2
COLL: Final = 3
NAMES: Final = ("calc", "send", "recv", "collective")
ANY: Final = -1
"""Source or tag of a receive that takes each."""


class Operations:
    """The operations of one rank, in the order of the file.

    Attributes:
        kinds: CALC, SEND, RECV or COLL.
        sizes: bytes of a message, picoseconds of a calculation, place of a collective among those
            of its group.
        peers: ranks, or ANY.
        tags: or ANY; of a collective, the number of its group.
        threads: of the process, by number, that does it.
        adapters: by number, that it uses.
        lines: of the file, from 1; 0 if there are none.
        counted: the calculations whose size is in operations of a processor.
        later: of each requirement, which operation has it.
        earlier: and which one it requires.
        begun: whether that one has to have begun only, rather than ended.
    """

    __slots__ = (
        "adapters",
        "begun",
        "counted",
        "earlier",
        "kinds",
        "later",
        "lines",
        "peers",
        "sizes",
        "tags",
        "threads",
    )

    def __init__(self) -> None:
        self.kinds = bytearray()
        self.sizes = array("q")
        self.peers = array("i")
        self.tags = array("q")
        self.threads = bytearray()
        self.adapters = bytearray()
        self.lines = array("q")
        self.later = array("q")
        self.earlier = array("q")
        self.begun = bytearray()
        self.counted: set[int] = set()

    def __len__(self) -> int:
        return len(self.kinds)

    def add(
        self,
        kind: int,
        size: int,
        peer: int = 0,
        tag: int = 0,
        thread: int = 0,
        adapter: int = 0,
        line: int = 0,
    ) -> int:
        """Add an operation; return its number."""
        self.kinds.append(kind)
        self.sizes.append(size)
        self.peers.append(peer)
        self.tags.append(tag)
        self.threads.append(thread)
        self.adapters.append(adapter)
        self.lines.append(line)
        return len(self.kinds) - 1

    def require(self, later: int, earlier: int, begun: bool = False) -> None:
        """Let an operation wait for another one."""
        self.later.append(later)
        self.earlier.append(earlier)
        self.begun.append(begun)

    def followers(self) -> Followers:
        """Who waits for whom."""
        return Followers(self)

    def missing(self) -> array[int]:
        """How many requirements each operation has."""
        count = array("q", bytes(8 * len(self)))
        for later in self.later:
            count[later] += 1
        return count


class Followers:
    """Which operations of a rank wait for others to begin or to end.

    Attributes:
        on_begin: by operation, the numbers of those that wait for it to begin.
        on_end: and to end.
    """

    __slots__ = ("on_begin", "on_end")

    def __init__(self, operations: Operations) -> None:
        self.on_begin: dict[int, list[int]] = {}
        self.on_end: dict[int, list[int]] = {}
        for later, earlier, begun in zip(
            operations.later, operations.earlier, operations.begun, strict=True
        ):
            (self.on_begin if begun else self.on_end).setdefault(earlier, []).append(later)


Ranks = Sequence[Operations]
