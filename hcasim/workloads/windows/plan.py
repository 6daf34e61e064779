"""How many messages of a window have to be run before the rest of it is known."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from hcasim.engine import bounded_mean, find_period, mean_error

COLD = 1
SHORTEST = 5
PACKETS = 1024
PERIOD_SLACK = 1e-4
ERROR = 8e-3
ENOUGH = 6
IRREGULAR_PACKETS = 6144
FEWEST, MOST = 2, 8


class Pace(NamedTuple):
    """Time between messages in ps, its relative error, and whether they follow periodically."""

    step_ps: int
    periodic: bool
    error: float


def find_pace(finished_ps: Sequence[int]) -> Pace | None:
    """The pace of messages in the middle of a window, or None if it is not steady.

    If the messages are not periodic, which happens when several streams compete out of step, it
    is their mean, provided that it is known within 0.8 percent.

    Args:
        finished_ps: when each message, or each group of messages abreast, was complete.
    """
    intervals = [b - a for a, b in itertools.pairwise(finished_ps)][1:-1]
    period = find_period(intervals, longest=4, repeats=2, slack=PERIOD_SLACK)
    if period is not None:
        return Pace(sum(intervals[-period:]) // period, periodic=True, error=0.0)
    later = intervals[len(intervals) // 4 :]
    mean = bounded_mean(later, enough=ENOUGH, error=ERROR)
    return None if mean is None else Pace(mean, periodic=False, error=mean_error(later))


class WindowPlan:
    """The lengths of the windows that all processes of a run agree on.

    A window of many packets is cut short: in the middle of it one message is like the other,
    so its full duration is that of the short one and the pace for each message left out. The
    first window only warms the caches and is shorter still.

    Args:
        full: messages of a whole window.
        packets: packets of a message.
        abreast: messages that travel at the same time, one on each queue pair.
        exact: whether every window has to be run in full.

    Attributes:
        shortened: whether windows are cut short.
    """

    def __init__(self, full: int, packets: int, abreast: int, exact: bool) -> None:
        self.full = full
        self._packets = packets
        self._abreast = abreast
        self._next = (
            full if exact else self._as_the_whole(max(SHORTEST * abreast, PACKETS // packets))
        )
        self.shortened = self._next < full
        self._lengths: list[int] = [COLD * abreast] if self.shortened else []

    def length(self, index: int) -> int:
        """Messages of the window ``index``, the same for everybody who asks."""
        while len(self._lengths) <= index:
            self._lengths.append(self._next)
        return self._lengths[index]

    def repeats(self, length: int) -> int:
        """How many windows to average if their messages are not periodic."""
        return max(FEWEST, min(MOST, IRREGULAR_PACKETS // (length * self._packets)))

    def lengthen(self, tried: int) -> None:
        """Make the windows that nobody has begun twice as long as ``tried``."""
        self._next = max(self._next, self._as_the_whole(2 * tried))

    def _as_the_whole(self, length: int) -> int:
        """So many messages, or a few more: the last round leaves out what that of a whole does."""
        return min(self.full, length + (self.full - length) % self._abreast)
