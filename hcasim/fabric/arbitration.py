"""Which of the sources that have packets for a link goes next, one class for each arbitration."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import ClassVar, Final

from hcasim.engine.changes import Changes
from hcasim.fabric.packet import Packet

_FEW: Final = 32
"""Of fewer sources orders are kept."""


def _turns(count: int, urgent: int, turn: int) -> tuple[int, ...]:
    return (*range(urgent), *range(turn, count), *range(urgent, turn))


_known: Final[list[tuple[int, ...]]] = [()] * _FEW**3
"""Orders by the numbers of sources, of urgent ones, and of those before whose turn it is."""


class RoundRobin:
    """Sources take turns in order, but the urgent ones, with the smallest numbers, go first."""

    changes: ClassVar[Changes] = Changes(wraps="_next")

    def __init__(self, urgent: int = 0) -> None:
        self._urgent = urgent
        self._next = urgent

    def order(self, sources: list[int], queues: list[list[Packet]]) -> Sequence[int]:
        """Places of the sources that have packets, in the order in which they may go."""
        count, turn, urgent = len(sources), bisect_left(sources, self._next), 0
        if self._urgent:
            urgent = bisect_left(sources, self._urgent)
        if count >= _FEW:
            return _turns(count, urgent, turn)
        key = (count * _FEW + urgent) * _FEW + turn
        found = _known[key]
        if not found:
            found = _known[key] = _turns(count, urgent, turn)
        return found

    def ages(self, queues: list[list[Packet]]) -> tuple[int, ...]:
        """What has to be equal beside the attributes of packets when a machine repeats itself."""
        return ()

    def served(self, source: int, size: int) -> None:
        """Learn that a source sends a packet of so many bytes."""
        if source >= self._urgent:
            self._next = source + 1


class OldestFirst(RoundRobin):
    """The packet goes that has waited longest; of equally old ones, that of the first source."""

    def order(self, sources: list[int], queues: list[list[Packet]]) -> Sequence[int]:
        urgent = bisect_left(sources, self._urgent)
        waiting = sorted([(queues[n][0].ready_at, n) for n in range(urgent, len(sources))])
        return (*range(urgent), *[place for _, place in waiting])

    def ages(self, queues: list[list[Packet]]) -> tuple[int, ...]:
        """The places of packets by age, because times that have passed are equal."""
        ready = [packet.ready_at for queue in queues for packet in queue]
        return tuple(sorted(range(len(ready)), key=ready.__getitem__))

    def served(self, source: int, size: int) -> None:
        """Nothing depends on it."""


ARBITRATIONS: Final[dict[str, type[RoundRobin]]] = {
    "round_robin": RoundRobin,
    "oldest_first": OldestFirst,
}
"""By their names in descriptions."""
