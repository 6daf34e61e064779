"""The critical path that ends in a process: what its time was spent on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

COMPUTING: Final = "computing"
MESSAGES: Final = "messages"
OWN: Final = "own operations"
_UNSET: Final = -1


@dataclass(slots=True)
class Mark:
    """A path up to the moment in which something was sent."""

    spent: dict[str, int]
    at: int
    hops: int


class Path:
    """The chain of work and messages without which a process would not be where it is.

    A process that has slept goes on because of a packet, or of an operation of its own. Its path is
    then that of who sent it, up to there, and the way of it. So paths need to be followed forward
    only, and what there is of each does not grow.
    Source: the idea is that of M. Geimer and others, Recent Developments in the Scalasca Toolset
    (2009), to send along with messages what is known at the sender.

    Attributes:
        spent: picoseconds, by what they were spent on; they add up to the time since its begin.
        doing: what the time until the next change is spent on.
    """

    def __init__(self, now: int, doing: str) -> None:
        self.spent: dict[str, int] = {}
        self.hops = 0
        self.doing = doing
        self._since = now
        self._woken = _UNSET

    def _charge(self, what: str, now: int) -> None:
        if now > self._since:
            self.spent[what] = self.spent.get(what, 0) + now - self._since
            self._since = now

    def turn_to(self, doing: str, now: int) -> str:
        self.at(now)
        before, self.doing = self.doing, doing
        return before

    def at(self, now: int) -> None:
        if self._woken != _UNSET:
            # By room for what could not be sent: nothing has come along with it.
            self._charge(OWN, self._woken)
            self._woken = _UNSET
        self._charge(self.doing, now)

    def woken(self, now: int) -> None:
        """The process has slept until now."""
        self._woken = now

    def mark(self, now: int) -> Mark:
        self.at(now)
        return Mark(self.spent.copy(), now, self.hops)

    def resume(self, mark: Mark, now: int) -> None:
        """Since a moment it was computing that counts, whatever was dealt with beside it."""
        self.spent = mark.spent.copy()
        self.hops = mark.hops
        self._since, self._woken = mark.at, _UNSET
        self._charge(COMPUTING, now)

    def adopt(self, mark: Mark, what: str) -> None:
        """Deal with something that has come in; if it has woken the process, go on from there."""
        if self._woken == _UNSET or mark.at > self._woken:
            return
        self.spent = mark.spent.copy()
        self.hops = mark.hops + (what == MESSAGES)
        self._since = mark.at
        self._charge(what, self._woken)
        self._since, self._woken = self._woken, _UNSET
