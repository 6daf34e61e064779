"""Whether a machine repeats itself, proven by its state."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import ClassVar, Final, NamedTuple

from hcasim.engine.clock import Onlooker, Simulator
from hcasim.engine.state import State

_LONGEST: Final = 16
"""Laps that a period may look like."""
_PATIENT: Final = 9
"""After so many looks counters may slip. If there is still no period, the search begins again."""
_SLIP_PS: Final = 10_000
"""What a counter that slips may add to a period: a flow control packet, or a DLLP."""
_PATIENCE: Final = 2
"""Calls for each number looked at in vain, before the next period is looked for."""


class Repetition:
    """Proves that what a machine does from lap to lap is a period.

    Laps that take equally long, with as much to come at equal times after them, are a reason to
    look, and prove nothing: a queue may be filling up behind them. Three equal states as far apart
    do, if every count has gone on by as much from the first to the second as from the second to the
    third. A counter up to the next flow control packet may take too many laps to be the same again;
    then the period may be wrong by that packet, which `error` says.

    What caches hold is not a part of it: the same addresses have to be used in each lap, and
    before the first that counts, each has to have been used once.

    Args:
        sim: the clock.
        roots: gives what belongs to the state beside the actions to come and all they lead to.
        cold: laps at the start that are no part of a period.

    Attributes:
        period_ps: the time that a period takes, once one is proven.
        error: by which part of it that may be off.
    """

    looks_on: ClassVar[bool] = True

    def __init__(
        self, sim: Simulator, roots: Callable[[], Sequence[object]], cold: int = 0
    ) -> None:
        self.period_ps = 0
        self.error = 0.0
        self._sim = sim
        self._roots = roots
        self._cold = cold
        self._ends_ps: list[int] = []
        self._dues: deque[list[int]] = deque(maxlen=_LONGEST + 1)
        self._looks: list[_Look] = []
        self._due = 0
        self._spent = 0
        self._rests_until = 0

    def lap(self) -> int:
        """Note the end of a lap; return the laps of the period that is proven, or 0."""
        sim = self._sim
        self._ends_ps.append(sim.now)
        to_come = [entry[0] - sim.now for entry in sim.queue if not isinstance(entry[2], Onlooker)]
        self._dues.append(sorted(to_come))
        laps = len(self._ends_ps)
        if (self._looks and laps < self._due) or sim.calls < self._rests_until:
            return 0
        candidate = self._candidate()
        if not candidate:
            self._begin_again()
            return 0
        self._due = laps + candidate
        look = _Look(laps, State(sim, roots=self._roots()))
        self._spent += look.state.size
        looks = self._looks
        looks.append(look)
        slips = len(looks) >= _PATIENT
        for apart in range(1, (len(looks) + 1) // 2):
            period = self._proven(looks[-1 - 2 * apart], looks[-1 - apart], look, slips)
            if period:
                return period
        if len(looks) == _PATIENT:
            self._begin_again()
        return 0

    def _proven(self, first: _Look, second: _Look, third: _Look, slips: bool) -> int:
        """The laps of a period, if that is what lies between three looks; else 0."""
        period = third.lap - second.lap
        if second.lap - first.lap != period:
            return 0
        steps = third.state.steps_from(second.state)
        if steps is None or steps != second.state.steps_from(first.state):
            return 0
        slipped = third.state.slips_from(second.state)
        slipped = max(slipped, second.state.slips_from(first.state))
        if slipped and not slips:
            return 0
        self.period_ps = third.state.now - second.state.now
        self.error = slipped * _SLIP_PS / self.period_ps
        return period

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


class _Look(NamedTuple):
    """A look at the state after so many laps."""

    lap: int
    state: State
