"""Whether a machine repeats itself, proven by its state."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from hcasim.engine.clock import Onlooker, Simulator
from hcasim.engine.snapshot import Snapshot

_LONGEST: Final = 16
"""Laps that a period may have."""
_TRIES: Final = 3
"""Looks that find something else under way, before the next period is looked for."""
_MOST: Final = 8
"""Such periods that together may be one."""
_PATIENCE: Final = 2
"""Calls for each number looked at in vain, before the next period is looked for."""


class Repetition:
    """Proves that what a machine does from lap to lap is a period.

    Laps that take equally long, with as much to come at equal times after them, are a reason to
    look, and prove nothing: a queue may be filling up behind them. The state is looked at three
    times, a period apart. The same must be under way, and each number must differ by as much from
    the first look to the second as from the second to the third: what counts goes on counting,
    times go on with the clock, all else stays.

    What caches hold is not a part of it: the same addresses have to be used in each lap, and
    before the first that counts, each has to have been used once.

    Args:
        sim: the clock.
        roots: gives what belongs to the state beside the actions to come and all they lead to.
        cold: laps at the start that are no part of a period.

    Attributes:
        period_ps: the time that a period takes, once one is proven.
    """

    def __init__(
        self, sim: Simulator, roots: Callable[[], Sequence[object]], cold: int = 0
    ) -> None:
        self.period_ps = 0
        self._sim = sim
        self._roots = roots
        self._cold = cold
        self._ends_ps: list[int] = []
        self._dues: deque[list[int]] = deque(maxlen=_LONGEST + 1)
        self._looks: list[Snapshot] = []
        self._period = 0
        self._due = 0
        self._stretch = 1
        self._tries = self._spent = 0
        self._rests_until = 0

    def lap(self) -> int:
        """Note the end of a lap; return the laps of the period that is proven, or 0."""
        sim = self._sim
        now = sim.now
        self._ends_ps.append(now)
        to_come = [entry[0] - now for entry in sim.queue if not isinstance(entry[2], Onlooker)]
        self._dues.append(sorted(to_come))
        laps = len(self._ends_ps)
        if (self._looks and laps < self._due) or sim.calls < self._rests_until:
            return 0
        period = self._candidate()
        if not period or (self._looks and period != self._period):
            self._begin_again()
            return 0
        self._period = period
        looks = self._looks
        looks.append(Snapshot(sim, roots=self._roots()))
        self._spent += len(looks[-1].numbers)
        if looks[-1].shape != looks[0].shape:
            del looks[:-1]
            self._tries += 1
        elif len(looks) == 3:
            if _steady(*looks):
                self.period_ps = now - self._ends_ps[-1 - period * self._stretch]
                return period * self._stretch
            # What counts round and round takes several of them.
            del looks[:-1]
            self._stretch *= 2
        if self._tries == _TRIES or self._stretch > _MOST:
            self._begin_again()
        self._due = laps + period * self._stretch
        return 0

    def _candidate(self) -> int:
        """The shortest period that the last laps look like, or 0."""
        ends, dues = self._ends_ps, self._dues
        now, last = ends[-1], dues[-1]
        for period in range(1, min(_LONGEST, (len(ends) - 1 - self._cold) // 2) + 1):
            step = now - ends[-1 - period]
            if step == ends[-1 - period] - ends[-1 - 2 * period] and dues[-1 - period] == last:
                return period
        return 0

    def _begin_again(self) -> None:
        if self._looks:
            # The more often in vain, the more seldom.
            self._rests_until = self._sim.calls + _PATIENCE * self._spent
        self._looks = []
        self._stretch = 1
        self._tries = 0


def _steady(first: Snapshot, second: Snapshot, third: Snapshot) -> bool:
    """Whether three states differ by steady counts and times alone."""
    return (
        third.comparable
        and first.shape == second.shape == third.shape
        and all(
            c - b == b - a
            for a, b, c in zip(first.numbers, second.numbers, third.numbers, strict=True)
        )
    )
