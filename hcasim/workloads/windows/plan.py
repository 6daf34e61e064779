"""How many messages of a window have to be run before the rest of it is known, and their time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import gcd
from statistics import fmean
from typing import NamedTuple

from hcasim.engine import find_period, settled
from hcasim.workloads.laps import Laps
from hcasim.workloads.options import Options

ALL = 100
"""Percentage of reuse at which all messages use the same buffer."""
COLD = 1
SHORTEST = 5
PACKETS = 1024
PERIOD_SLACK = 1e-4
PACE_ERROR = 8e-3
IRREGULAR_PACKETS = 6144
FEWEST, MOST = 2, 8
SLACK = 2e-4
ERROR = 2e-3
CUT_ERROR = 5e-3
"""Relative error of the pace of a cut window, whose streams are less in step than in a whole."""
DISAGREE = 4e-3
"""Relative difference of what cut windows say, from which on longer ones are tried."""
COLD_PACKETS = 8192
"""Packets beside which translating a page of each queue for the first time does not count."""


class Pace(NamedTuple):
    """Time between messages in ps, whether they follow periodically, and its relative error."""

    step_ps: int
    periodic: bool
    error: float


def find_pace(finished_ps: Sequence[int]) -> Pace | None:
    """The pace of messages, or of groups abreast, in the middle of a window, by their completion.

    If they are not periodic, which happens when several streams compete out of step, it is their
    mean, provided that it is known within 0.8 percent; else there is none.
    """
    intervals = [b - a for a, b in pairwise(finished_ps)][1:-1]
    period = find_period(intervals, longest=4, repeats=2, slack=PERIOD_SLACK)
    if period is not None:
        return Pace(sum(intervals[-period:]) // period, periodic=True, error=0.0)
    count, error = settled(intervals)
    if error > PACE_ERROR:
        return None
    return Pace(round(fmean(intervals[-count:])), periodic=False, error=error)


class WindowPlan:
    """The lengths of the windows that all processes of a run agree on.

    A window of many packets is cut short: in the middle of it one message is like the other,
    so its full duration is that of the short one and the pace for each message left out. The
    first window only warms the caches and is shorter still. Messages travel abreast, one on each
    queue pair.
    """

    def __init__(self, full: int, packets: int, abreast: int, exact: bool) -> None:
        self.full, self._packets, self._abreast = full, packets, abreast
        shortest = max(SHORTEST * abreast, PACKETS // packets)
        self._next = full if exact else self._as_the_whole(shortest)
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


def _laps(options: Options, depth: int, packets: int, rotation: int) -> Laps:
    """How windows are timed, whose send queues have so many entries.

    The rotation is that of buffers: windows after which all have been used. It is part of the
    transient, and once more of the pattern.
    """
    cycle = options.qps // gcd(options.qps, options.window)
    # Windows after which the queues have been used up, and begin at the same entry again.
    most = COLD_PACKETS // packets
    entries = depth * options.qps
    ring = min(entries // gcd(entries, options.window), -(-most // options.window))
    cold, together, drift = max(cycle, ring), ring, 0.0
    if options.qps > 1 or options.mode == "binding":
        # Queue pairs drift against each other.
        cold, drift = max(cold, options.warmup), ERROR
    return Laps.of(
        options,
        cycle=cycle,
        cold=cold + rotation,
        together=max(together, rotation),
        slack=SLACK,
        drift=drift,
        error=ERROR,
    )


class Timing:
    """The time of the windows of a process that sends, as laps."""

    def __init__(self, options: Options, depth: int, packets: int, rotation: int) -> None:
        self.laps = _laps(options, depth, packets, rotation)
        self._abreast = options.qps
        self._took: list[int] = []
        self._too_short = 0
        self._disagreement = 1.0
        self._shorter: tuple[int, float, float] | None = None

    def note(
        self, index: int, length: int, duration: int, completions: list[int], plan: WindowPlan
    ) -> None:
        """Note the duration of a window, and when its messages were complete, in ps."""
        if not plan.shortened:
            self.laps.lap(duration)
        elif index > 0 and length > self._too_short:
            self._took.append(duration)
            if length < plan.full:
                self._note_cut(length, completions, plan)
            elif len(self._took) >= plan.repeats(length):
                self._settle(fmean(self._took), 0.0)

    def _settle(self, whole: float, error: float) -> None:
        apart = (max(self._took) - min(self._took)) / whole
        self.laps.settle(round(whole), max(error, apart))

    def _note_cut(self, length: int, completions: list[int], plan: WindowPlan) -> None:
        """Work out what a whole window would have taken, from windows of two lengths at least.

        Each message more takes the time between the completions of two. The windows' durations
        have to say the same: what piles up behind the completions, and what streams do at the end,
        is seen in them alone.
        """
        abreast = self._abreast
        parts = abreast * len(completions) // length
        pace = find_pace(sorted(completions)[parts - 1 :: parts])
        if pace is not None:
            if not pace.periodic and len(self._took) < plan.repeats(length):
                return
            whole = self._whole(length, plan.full, pace.step_ps / abreast)
            if self._disagreement <= DISAGREE:
                error = max(CUT_ERROR, pace.error) * (1 - fmean(self._took) / whole)
                self._settle(whole, max(error, self._disagreement))
                return
        plan.lengthen(length)
        self._took.clear()
        self._too_short = length

    def _whole(self, length: int, full: int, step_ps: float) -> float:
        """What a whole window takes, by the time from completion to completion or by two windows.

        The relative difference of what agrees best is the disagreement.
        """
        took, rest = fmean(self._took), full - length
        by_pace = took + rest * step_ps
        self._disagreement = 1.0
        if not self._shorter:
            self._shorter = (length, took, 0.0)
            return by_pace
        shorter, before, foretold = self._shorter
        by_windows = took + rest * (took - before) / (length - shorter)
        self._shorter = (length, took, by_windows)
        found = by_pace
        for one, other in ((by_pace, by_windows), (by_windows, foretold)):
            if abs(one - other) / one < self._disagreement:
                self._disagreement = abs(one - other) / one
                found = one
        return found
