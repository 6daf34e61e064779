"""Work queues: the way of their entries to the chip."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar, Final

from hcasim.engine.changes import Changes
from hcasim.hca.parts import Parts
from hcasim.hca.port import Arrival
from hcasim.hca.translation import Ring
from hcasim.hca.wqe import ReceiveWqe, SendWqe

LINE: Final = 64
"""Bytes of receive entries that are worth a fetch: a cache line of the host."""


class SendQueue:
    """A send queue: the entries that the adapter has been told of and that have not had their turn.

    Attributes:
        posted, fetched: entries that are not on the chip, and those that are.
        fetching: entries on their way to the chip, the first ones of ``posted``.
    """

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.posted: deque[SendWqe] = deque()
        self.fetched: deque[SendWqe] = deque()
        self.fetching = 0

    @property
    def has_work(self) -> bool:
        return bool(self.fetched or self.posted)

    def post(self, wqe: SendWqe) -> None:
        if wqe.carried and not self.posted:
            self.fetched.append(wqe)
        else:
            self.posted.append(wqe)

    def fetch(self, most: int) -> int:
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
        drained = [*self.fetched, *self.posted]
        self.fetched.clear()
        self.posted.clear()
        self.fetching = 0
        return drained


class ReceiveQueue:
    """A receive queue: the entries that the adapter has been told of; `ready` are on the chip.

    Several queue pairs may take entries of one that is ``shared``. As long as its limit is not 0,
    `on_limit` is told once when fewer entries are left.
    """

    changes: ClassVar[Changes] = Changes(counts="_posted _fetched _taken")

    def __init__(self, ring: Ring, parts: Parts, *, shared: bool = False) -> None:
        self.ring = ring
        self.shared = shared
        self.limit = 0
        self.on_limit: Callable[[], None] | None = None
        self.ready = 0
        self._entries: deque[ReceiveWqe] = deque()
        self._settled: Iterator[ReceiveWqe] = iter(())
        self._posted = self._fetched = self._taken = 0
        self._ahead = parts.description.receive_queue.ahead
        self._stride = parts.description.wqe.stride
        self._latency = parts.description.receive_queue.latency
        self._parts = parts
        self._awaiting: list[tuple[Callable[[Arrival], None], Arrival]] = []

    def arm(self, limit: int, told: Callable[[], None]) -> None:
        """Tell once when fewer entries than that are left; never if it is 0."""
        self.limit, self.on_limit = limit, told

    def post(self, wqe: ReceiveWqe) -> None:
        self._entries.append(wqe)
        self._posted = wqe.posted
        if self._ahead:
            self._fetch_ahead()

    def post_list(self, wqes: Sequence[ReceiveWqe]) -> None:
        for wqe in wqes:
            self.post(wqe)

    def fill(self, entries: Iterator[ReceiveWqe], count: int) -> None:
        """Hold entries, counted from 1, in an empty queue; each is made when a message takes it."""
        self._settled = entries
        self._posted = count
        self.ready = self._fetched = min(self._ahead, count)

    def begin_behind(self, posted: int) -> None:
        """Number the next entries behind so many, in an empty queue."""
        self._posted = self._fetched = self._taken = posted

    def take(self) -> ReceiveWqe | None:
        wqe = next(self._settled, None)
        if wqe is None:
            if not self._entries:
                return None
            wqe = self._entries.popleft()
        self._taken = wqe.posted
        if self.limit and self._posted - self._taken < self.limit and self.on_limit is not None:
            self.limit = 0
            self.on_limit()
        return wqe

    def bring(self, wqe: ReceiveWqe, here: Callable[[Arrival], None], arrival: Arrival) -> None:
        if not self._ahead:
            self._parts.counts["receive_wqes_fetched"] += 1
            dma = self._parts.dma
            dma.fetch_entry(self.ring, wqe.posted - 1, self._stride, self.use, here, arrival)
            return
        if self.ready:
            self.ready -= 1
            self.use(here, arrival)
        else:
            self._awaiting.append((here, arrival))
            self._parts.receive_entries.begin()
        self._fetch_ahead()

    def use(self, here: Callable[[Arrival], None], arrival: Arrival) -> None:
        self._parts.sim.call_after(self._latency, here, arrival)

    def _fetch_ahead(self) -> None:
        """Fetch entries that lie side by side before messages take them.

        While half as many as may be are on the chip, less than a line is not worth a fetch.
        """
        known = self._fetched - self._taken
        count = min(self._ahead - known, self._posted - self._fetched)
        if count <= 0 or (count < LINE // self._stride and 2 * known >= self._ahead):
            return
        first = self._fetched
        count = min(count, self.ring.entries - first % self.ring.entries)
        self._fetched += count
        self._parts.counts["receive_wqes_fetched"] += count
        self._parts.dma.fetch_entry(self.ring, first, count * self._stride, self._arrived, count)

    def _arrived(self, count: int) -> None:
        self.ready += count
        while self._awaiting and self.ready:
            self.ready -= 1
            self._parts.receive_entries.end()
            self.use(*self._awaiting.pop(0))

    def ends(self) -> dict[str, int]:
        """A message that takes an entry is like none before it."""
        return {"_taken": self._taken}

    def drain(self) -> list[ReceiveWqe]:
        drained = [*self._settled, *self._entries]
        self._entries.clear()
        self.ready = 0
        self._fetched = self._taken = self._posted
        return drained
