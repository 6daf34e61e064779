"""Send queues: the way of their entries to the chip."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from hcasim.hca.rings import Ring
from hcasim.hca.wqe import SendWqe


class SendQueue:
    """A send queue: the entries that the adapter has been told of and that have not had their turn.

    Attributes:
        ring: memory of the queue.
        posted: entries that are not on the chip.
        fetched: entries on the chip.
        fetching: entries on their way to the chip, the first ones of ``posted``.
    """

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.posted: deque[SendWqe] = deque()
        self.fetched: deque[SendWqe] = deque()
        self.fetching = 0

    @property
    def has_work(self) -> bool:
        """Whether an entry waits for its turn, on the chip or in memory."""
        return bool(self.fetched or self.posted)

    def post(self, wqe: SendWqe) -> None:
        """Add an entry."""
        if wqe.carried and not self.posted:
            self.fetched.append(wqe)
        else:
            self.posted.append(wqe)

    def fetch(self, most: int) -> int:
        """Begin to fetch entries that lie side by side, at most so many; return their bytes."""
        posted, ring = self.posted, self.ring
        first = last = posted[0]
        count = 1
        for _ in range(min(most, len(posted)) - 1):
            if posted[count].slot % ring.entries < last.slot % ring.entries:
                break
            last = posted[count]
            count += 1
        self.fetching = count
        return (last.slot - first.slot) * ring.stride + last.size

    def arrive(self) -> list[SendWqe]:
        """Take the entries that are fetched onto the chip; return them."""
        arrived = [self.posted.popleft() for _ in range(self.fetching)]
        self.fetched.extend(arrived)
        self.fetching = 0
        return arrived

    def take_back(self, wqes: Iterable[SendWqe]) -> None:
        """Begin again with entries that have had their turn, oldest first, all to be fetched."""
        self.posted.extendleft(reversed([*wqes, *self.fetched]))
        self.fetched.clear()
        self.fetching = 0

    def drain(self) -> list[SendWqe]:
        """Give up all entries, oldest first."""
        drained = [*self.fetched, *self.posted]
        self.fetched.clear()
        self.posted.clear()
        self.fetching = 0
        return drained
