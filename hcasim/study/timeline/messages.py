"""The critical path of messages of MPI: what was done for each, one after the other.

A message begins with the call that sends it. Its path is work of that process until it posts an
operation, the way of that, work of the process that notices it, and so on, as the protocol has it:
a long message goes there, back and there again. It ends with the last work for it before the
receiver's next call, so that the messages of a ping-pong add up to its round trips.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import Final

Step = tuple[int, int, str]
"""Begin and end in ps, and what ends then."""

_CORE: Final = re.compile(r"\.cpu\d+$")
_SEND: Final = "call send"
_OTHER: Final = ("compute",)
"""Calls that are not for the message before them."""
_IDLE: Final = ("call recv", "wait", "poll")
_TAKEN: Final = "post CTS"
"""What tells the sender of a long message to go on."""
_REST: Final = "other"
_MOST: Final = 1000
"""Steps of a path, and operations whose arrival is awaited; what has more is given up."""


@dataclass(frozen=True)
class Message:
    """A message that has been received.

    Attributes:
        block: processor of the sender.
        what: it is.
        steps: its path, without a gap.
    """

    block: str
    what: str
    steps: list[Step]


class _Chain:
    """The path of a message up to now, as a process knows it.

    Attributes:
        number: of the message.
        block: processor that sends it.
        at: processor that has come so far.
        goes_on: whether another process has been told to go on.
        end: of its last step, in ps.
    """

    __slots__ = ("at", "block", "end", "goes_on", "number", "steps", "what")

    def __init__(self, number: int, block: str, what: str, begin: int) -> None:
        self.number = number
        self.block = self.at = block
        self.what = what
        self.goes_on = False
        self.steps: list[Step] = []
        self.end = begin

    def add(self, time_ps: int, name: str) -> None:
        """Go on until a time; what takes none is left out."""
        if time_ps > self.end:
            self.steps.append((self.end, time_ps, name))
            self.end = time_ps

    def copy(self) -> _Chain:
        """The path up to here, to go on elsewhere."""
        found = _Chain(self.number, self.block, self.what, self.end)
        found.at = self.at
        found.steps = self.steps.copy()
        return found


class Messages:
    """Follows messages by the events of processors."""

    def __init__(self) -> None:
        self._cores: dict[str, bool] = {}
        self._chains: dict[str, _Chain] = {}
        self._posted: OrderedDict[int, _Chain] = OrderedDict()
        self._numbers = count()

    def has(self, block: str) -> bool:
        """Whether a block is a processor."""
        found = self._cores.get(block)
        if found is None:
            found = self._cores[block] = _CORE.search(block) is not None
        return found

    def note(
        self,
        block: str,
        what: str,
        start_ps: int,
        end_ps: int,
        operation: int,
        details: str,
        marks: Iterable[tuple[int, str]],
    ) -> Message | None:
        """Note what a processor has done; return the message that was over when it began.

        Parameters:
            operation: that it posts or notices, or 0.
            marks: what blocks have done for that, with the time in ps at which it ended.
        """
        chain, over = self._chains.get(block), None
        if what == _SEND or what in _OTHER:
            over = self._end(block, start_ps)
            if what == _SEND:
                chain = self._chains[block] = _Chain(
                    next(self._numbers), block, details.removeprefix("its "), start_ps
                )
                chain.add(end_ps, what)
            return over
        arrived = self._posted.get(operation) if what.startswith("poll") else None
        if arrived is not None and arrived.at != block:
            del self._posted[operation]
            if chain is not None and chain.number != arrived.number:
                over = self._end(block, None)
            for time_ps, event in sorted(marks, key=lambda mark: mark[0]):
                if time_ps <= start_ps:
                    arrived.add(time_ps, event)
            arrived.add(end_ps, what)
            arrived.at = block
            self._chains[block] = arrived
        elif chain is not None:
            chain.add(end_ps, what)
            if what == _TAKEN:
                chain.goes_on = True
            if len(chain.steps) > _MOST:
                del self._chains[block]
            elif what == "post_send":
                self._posted[operation] = chain.copy()
                if len(self._posted) > _MOST:
                    self._posted.popitem(last=False)
        return over

    def rest(self) -> list[Message]:
        """Those that nothing has followed."""
        return [found for block in [*self._chains] if (found := self._end(block, None))]

    def _end(self, block: str, time_ps: int | None) -> Message | None:
        """The message that a process has received last, up to a time or to its last work for it."""
        chain = self._chains.pop(block, None)
        if chain is None or chain.block == block or chain.goes_on:
            return None
        steps = chain.steps
        if any(name in _IDLE for _, _, name in steps[-1:]):
            while steps and steps[-1][2] in _IDLE:
                steps.pop()
        elif time_ps is not None:
            chain.add(time_ps, _REST)
        return Message(chain.block, chain.what, steps)
