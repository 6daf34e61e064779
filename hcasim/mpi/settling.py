"""Caches as a program leaves them that has exchanged messages for long.

What is used in turn (slots of rings, entries of queues) has been used all, each as long ago as the
counts of the first messages say. What these did not need, like the receives that serve when a ring
is full, was used before. A short run then shows what a long one would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import Final, Protocol

from hcasim.hca import HostChannelAdapter
from hcasim.hca.translation import Ring

PAGE: Final = 4096
SELDOM: Final = 1e6
"""How long ago, in parts of the time so far, what has not been used in it was used."""
LOOK: Final = 64
"""Places between two looks whether there is room."""


@dataclass(slots=True)
class Turns:
    """Places that are used in turn, ``step`` in a row by one call, ``used`` of them so far.

    ``hold`` has the place of the use with a number, counted from 0, in the caches, if there is
    room, as if it had been used before all others there.
    """

    used: int
    places: int
    hold: Callable[[int], None]
    step: int = 1


def entries(adapter: HostChannelAdapter, used: tuple[Ring, int]) -> Turns:
    """The turns of a queue's entries."""
    ring, count = used

    def hold(number: int) -> None:
        adapter.tables.hold(ring.region, ring.address(number), ring.stride)

    return Turns(count, ring.entries, hold, max(1, PAGE // ring.stride))


class Holding(Protocol):
    """A cache."""

    @property
    def full(self) -> bool:
        """Whether nothing can come in without something else leaving."""


def settle(turns: Iterable[Turns], caches: Sequence[Holding]) -> None:
    """Have all places in the caches that keep them; the shorter ago their use, the sooner.

    The turns and caches are those of one node; when these are full there is nothing more to do.
    """
    known = list(turns)

    def ages(index: int, one: Turns) -> Iterator[tuple[float, int, int]]:
        seldom = 0 if one.used else SELDOM
        for back in range(1, one.places + 1, one.step):
            yield seldom + back / max(1, one.used), index, back

    sooner = merge(*(ages(index, one) for index, one in enumerate(known)))
    for number, (age, index, back) in enumerate(sooner):
        # After as long as has been counted each region has been looked up.
        if age > 1 and number % LOOK == 0 and all(cache.full for cache in caches):
            break
        one = known[index]
        one.hold(one.used - back)
