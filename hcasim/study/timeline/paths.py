"""Critical paths: what each moment of an operation, or of a message of MPI, was spent on.

A message begins with the call that sends it. Its path is work of that process until it posts an
operation, the way of that, work of the process that notices it, and so on, as the protocol has it:
a long message goes there, back and there again. It ends with the last work for it before the
receiver's next call, so that the messages of a ping-pong add up to its round trips.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable
from copy import copy
from functools import cache
from itertools import count
from operator import itemgetter
from typing import Final

Step = tuple[int, int, str]
"""Begin and end in ps, and what ends then."""
Mark = tuple[int, str]
"""A time in ps, and the work that ends then."""

_CORE: Final = re.compile(r"\.cpu\d+$")
_SEND: Final = "call send"
_COMPUTE: Final = "compute"
"""A call that is not for the message before it."""
_IDLE: Final = ("call recv", "wait", "poll")
_TAKEN: Final = "post CTS"
"""What tells the sender of a long message to go on."""
_REST: Final = "other"
_MOST: Final = 1000
"""Steps of a path, and operations whose arrival is awaited; what has more is given up."""


class Path:
    """Steps that follow each other without a gap, from the processor at which it begins; those that
    take no time are left out. `end` is that of the last of them, in ps."""

    __slots__ = ("block", "end", "steps", "what")

    def __init__(self, block: str, what: str, begin_ps: int) -> None:
        self.block, self.what, self.end = block, what, begin_ps
        self.steps: list[Step] = []

    def add(self, time_ps: int, name: str) -> None:
        """Go on until a time."""
        if time_ps > self.end:
            self.steps.append((self.end, time_ps, name))
            self.end = time_ps


class Operation(Path):
    """A work request of a queue pair on its way, with marks of what was done for it."""

    __slots__ = ("marks", "number", "queue")

    def __init__(self, number: int, block: str, queue: str, begin_ps: int) -> None:
        super().__init__(block, "", begin_ps)
        self.number, self.queue = number, queue
        self.marks: list[Mark] = []

    def finish(self) -> None:
        """Make steps of the marks."""
        for time_ps, event in sorted(self.marks, key=itemgetter(0)):
            self.add(time_ps, event)


class Message(Path):
    """A message up to now, as the processor knows it that has come so far, and whether another has
    been told to go on."""

    __slots__ = ("at", "goes_on", "number")

    def __init__(self, number: int, block: str, what: str, begin_ps: int) -> None:
        super().__init__(block, what, begin_ps)
        self.number, self.at, self.goes_on = number, block, False

    def copy(self) -> Message:
        """Return the path up to here, to go on elsewhere."""
        found = copy(self)
        found.goes_on, found.steps = False, self.steps.copy()
        return found


@cache
def is_core(block: str) -> bool:
    """Whether a block is a processor."""
    return _CORE.search(block) is not None


class Messages:
    """Follows messages by the events of processors."""

    def __init__(self) -> None:
        self._under_way: dict[str, Message] = {}
        self._posted: OrderedDict[int, Message] = OrderedDict()
        self._numbers = count()

    def note(
        self,
        block: str,
        what: str,
        start_ps: int,
        end_ps: int,
        operation: int,
        details: str,
        marks: Iterable[Mark],
    ) -> Message | None:
        """Note what a processor has done, for an operation that it posts or notices if there is
        one, with the marks of that; return the message that was over when it began."""
        known, over = self._under_way.get(block), None
        if what in (_SEND, _COMPUTE):
            over = self._end(block, start_ps)
            if what == _SEND:
                sent = Message(next(self._numbers), block, details.removeprefix("its "), start_ps)
                self._under_way[block] = sent
                sent.add(end_ps, what)
            return over
        arrived = self._posted.get(operation) if what.startswith("poll") else None
        if arrived is not None and arrived.at != block:
            del self._posted[operation]
            if known is not None and known.number != arrived.number:
                over = self._end(block, None)
            for time_ps, event in sorted(marks, key=itemgetter(0)):
                if time_ps <= start_ps:
                    arrived.add(time_ps, event)
            arrived.add(end_ps, what)
            arrived.at = block
            self._under_way[block] = arrived
        elif known is not None:
            known.add(end_ps, what)
            known.goes_on |= what == _TAKEN
            if len(known.steps) > _MOST:
                del self._under_way[block]
            elif what == "post_send":
                self._posted[operation] = known.copy()
                if len(self._posted) > _MOST:
                    self._posted.popitem(last=False)
        return over

    def rest(self) -> list[Message]:
        """Return those that nothing has followed."""
        return [found for block in [*self._under_way] if (found := self._end(block, None))]

    def _end(self, block: str, time_ps: int | None) -> Message | None:
        """Return what a process has received last, up to a time or to its last work for it."""
        found = self._under_way.pop(block, None)
        if found is None or found.block == block or found.goes_on:
            return None
        steps = found.steps
        if steps and steps[-1][2] in _IDLE:
            while steps and steps[-1][2] in _IDLE:
                steps.pop()
        elif time_ps is not None:
            found.add(time_ps, _REST)
        return found
