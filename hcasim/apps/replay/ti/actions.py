"""What processes do in a time-independent trace, in arrays: most traces are long."""

from __future__ import annotations

from array import array
from typing import Final

from hcasim.apps.replay.trace import MOST_ACTIONS

NAMES: Final = (
    *("compute", "sleep", "send", "isend", "recv", "irecv", "sendRecv", "wait", "test", "waitall"),
    *("barrier", "bcast", "reduce", "allreduce", "alltoall", "alltoallv", "gather", "gatherv"),
    *("allgather", "allgatherv", "scatter", "scatterv", "reducescatter"),
)
"""Of actions, by kind."""
COMPUTE, SLEEP, SEND, ISEND, RECV, IRECV, SENDRECV, WAIT, TEST, WAITALL = range(10)
BARRIER, BCAST, REDUCE, ALLREDUCE, ALLTOALL, ALLTOALLV, GATHER, GATHERV = range(10, 18)
ALLGATHER, ALLGATHERV, SCATTER, SCATTERV, REDUCESCATTER = range(18, 23)
ROOTED: Final = (BCAST, REDUCE, GATHER, GATHERV, SCATTER, SCATTERV)
FROM_ROOT: Final = (BCAST, SCATTER, SCATTERV)
TO_ROOT: Final = (REDUCE, GATHER, GATHERV)
ANY: Final = -1
"""Source or tag of a receive that takes each."""
UNKNOWN: Final = -1
"""Bytes of a receive whose trace does not tell them."""


class Actions:
    """The actions of one rank.

    Attributes:
        kinds: places in NAMES.
        sizes: bytes of a message or, of a collective, of each part.
        peers: rank of the partner, or the root; of what waits, the source.
        others: of a `sendRecv`, the bytes that it receives; of what waits, the receiver; of a
            collective with a count for each process, the place of these among the `Counts`.
        tags: of messages; of a `sendRecv`, whose tag is 0, the source.
        amounts: operations to compute, or seconds to sleep.
        lines: of the file, from 1.
    """

    __slots__ = ("amounts", "kinds", "lines", "others", "peers", "sizes", "tags")

    def __init__(self) -> None:
        self.kinds = bytearray()
        self.sizes = array("q")
        self.peers = array("i")
        self.others = array("q")
        self.tags = array("i")
        self.amounts = array("d")
        self.lines = array("I")

    def __len__(self) -> int:
        return len(self.kinds)

    def add(
        self,
        kind: int,
        line: int,
        size: int = 0,
        peer: int = 0,
        other: int = 0,
        tag: int = 0,
        amount: float = 0.0,
    ) -> None:
        """Add an action."""
        self.kinds.append(kind)
        self.lines.append(line)
        self.sizes.append(size)
        self.peers.append(peer)
        self.others.append(other)
        self.tags.append(tag)
        self.amounts.append(amount)


class Counts:
    """Bytes for each process, of all collectives that have them; the same ones are kept once.

    Attributes:
        numbers: one behind the other.
    """

    def __init__(self) -> None:
        self.numbers = array("q")
        self._places: dict[bytes, int] = {}

    def keep(self, numbers: array[int]) -> int:
        """Return the place of these numbers.

        Raises:
            ValueError: they are too many.
        """
        key = numbers.tobytes()
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self.numbers)
            if place + len(numbers) > MOST_ACTIONS:
                raise ValueError(f"found more than {MOST_ACTIONS:,} counts that differ; divide it")
            self.numbers.extend(numbers)
        return place

    def take(self, place: int, number: int) -> list[int]:
        """Return so many of them from a place on."""
        return self.numbers[place : place + number].tolist()
