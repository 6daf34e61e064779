"""Whether a machine repeats itself, proven by its state."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from hcasim.engine.clock import Onlooker, Simulator
from hcasim.engine.state import Aside, State

_LONGEST: Final = 16
"""Laps that a period may look like."""
_TRIES: Final = 8
"""Looks before it is begun anew that equal none before them."""
_MOST: Final = 24
"""Looks before it is begun anew."""
_PATIENCE: Final = 2
"""Calls for each number looked at in vain, before the next period is looked for."""


class Repetition(Aside):
    """Proves that what a machine does from lap to lap is a period.

    Laps that take equally long, with as much to come at equal times after them, are a reason to
    look, and prove nothing: a queue may be filling up behind them. Three equal states as far apart
    do, if every count has gone on by as much from the first to the second as from the second to the
    third.

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
        self._looks: list[_Look] = []
        self._first: State | None = None
        self._due = 0
        self._equal = False
        self._spent = 0
        self._rests_until = 0

    def lap(self) -> int:
        """Note the end of a lap; return the laps of the period that is proven, or 0."""
        sim = self._sim
        self._ends_ps.append(sim.now)
        to_come = [entry[0] - sim.now for entry in sim.queue if not isinstance(entry[2], Onlooker)]
        self._dues.append(sorted(to_come) + (self._first.round() if self._first else []))
        laps = len(self._ends_ps)
        if (self._looks and laps < self._due) or sim.calls < self._rests_until:
            return 0
        candidate = self._candidate()
        if not candidate:
            self._begin_again()
            return 0
        self._due = laps + candidate
        look = _Look(laps, State(sim, roots=self._roots()))
        if self._first is None:
            self._first = look.state
        self._spent += look.state.size
        for before in reversed(self._looks):
            steps = look.state.steps_from(before.state)
            if steps is not None:
                look.period, look.steps = laps - before.lap, steps
                if look.period == before.period and steps == before.steps:
                    self.period_ps = sim.now - self._ends_ps[before.lap - 1]
                    return look.period
                self._equal = True
                break
        self._looks.append(look)
        if len(self._looks) >= (_MOST if self._equal else _TRIES):
            self._begin_again()
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
        self._equal = False


class _Look:
    """A look at the state after so many laps.

    Attributes:
        period: laps since the last look at an equal state, if there was one.
        steps: by how much each number has gone on since then.
    """

    def __init__(self, lap: int, state: State) -> None:
        self.lap = lap
        self.state = state
        self.period = 0
        self.steps: list[int] = []
