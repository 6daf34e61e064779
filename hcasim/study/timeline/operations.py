"""The critical path of operations: what each moment between their begin and end was spent on."""

from __future__ import annotations

from collections import deque
from typing import Final

_LATE: Final = 64
"""Operations that are over for the adapter, and of which an application may still tell."""

Stage = tuple[int, int, str]
"""Begin and end in ps, and what ends then."""


class Operation:
    """A work request on its way.

    Attributes:
        block: of the processor that has posted it.
        queue: its queue pair.
        begin_ps: when the verb was called.
        marks: (time in ps, the work that ends then), in any order.
        what: it is, once that is known.
    """

    __slots__ = ("begin_ps", "block", "marks", "number", "queue", "what")

    def __init__(self, number: int, block: str, queue: str, begin_ps: int) -> None:
        self.number = number
        self.block = block
        self.queue = queue
        self.begin_ps = begin_ps
        self.marks: list[tuple[int, str]] = []
        self.what = ""

    def stages(self) -> list[Stage]:
        """What follows each other without a gap; what takes no time is left out."""
        found: list[Stage] = []
        before = self.begin_ps
        for time_ps, event in sorted(self.marks, key=lambda mark: mark[0]):
            if time_ps > before:
                found.append((before, time_ps, event))
                before = time_ps
        return found


class Operations:
    """Operations under way, and the last of those that are over."""

    def __init__(self) -> None:
        self._known: dict[int, Operation] = {}
        self._over: deque[Operation] = deque()

    def begin(self, number: int, block: str, queue: str, begin_ps: int) -> Operation:
        """Follow one more."""
        found = self._known[number] = Operation(number, block, queue, begin_ps)
        return found

    def __contains__(self, number: int) -> bool:
        return number in self._known

    def mark(self, number: int, time_ps: int, event: str) -> None:
        """Note that work for an operation ends at a time."""
        found = self._known.get(number)
        if found is not None:
            found.marks.append((time_ps, event))

    def marks(self, number: int) -> list[tuple[int, str]]:
        """What has been done for one, and when it ended; nothing if it is not known."""
        found = self._known.get(number)
        return [] if found is None else found.marks

    def end(self, number: int, what: str) -> Operation | None:
        """Note that one is over for the adapter; return one of which nobody tells any more."""
        found = self._known.get(number)
        if found is None:
            return None
        found.what = what
        self._over.append(found)
        if len(self._over) <= _LATE:
            return None
        late = self._over.popleft()
        del self._known[late.number]
        return late

    def rest(self) -> list[Operation]:
        """Those that are left at the end of the run, in the order of their begin."""
        return [*self._known.values()]
