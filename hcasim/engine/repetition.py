"""Whether a machine repeats itself, proven by its state."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from hcasim.engine.clock import Onlooker, Simulator
from hcasim.engine.state import State

_LONGEST: Final = 16
"""Laps in the longest period that is looked for."""
_MOST: Final = 9
"""After so many readings counters may slip; without a period the search then begins again."""
_SLIP_PS: Final = 10_000
"""What a counter that slips may add to a period: a flow control packet, or a DLLP."""
_PATIENCE: Final = 2
"""Events between two searches, for each number that the first read in vain."""

_Reading = tuple[int, State]
"""After so many laps."""


class Repetition:
    """Proves that the laps of a stream repeat themselves.

    Laps of equal duration, with equal times until the events to come, prove nothing: a queue may be
    filling up. They are a reason to read the state. Three equal states at equal distances prove a
    period, if every count grows by the same from the first to the second and to the third. A
    counter up to the next flow control packet may take too many laps to be the same again. The
    period is then known up to the time of that packet, and `error` says so.

    The contents of caches are no part of the state. Each lap has to use the same addresses, all of
    which have been used in the ``cold`` laps at the start.

    Args:
        roots: returns what belongs to the state beside the actions to come.

    Attributes:
        period_ps: duration of the period in ps, once it is proven.
        error: relative error of that duration.
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
        self._readings: list[_Reading] = []
        self._due = self._spent = self._rests_until = 0

    def lap(self) -> int:
        """Note the end of a lap; return the laps of the period that is proven, or 0."""
        sim = self._sim
        self._ends_ps.append(sim.now)
        to_come = [entry[0] - sim.now for entry in sim.queue if not isinstance(entry[2], Onlooker)]
        self._dues.append(sorted(to_come))
        laps = len(self._ends_ps)
        if (self._readings and laps < self._due) or sim.calls < self._rests_until:
            return 0
        candidate = self._candidate()
        if not candidate:
            self._begin_again()
            return 0
        self._due = laps + candidate
        here = laps, State(sim, roots=self._roots())
        self._spent += here[1].size
        readings = self._readings
        readings.append(here)
        last = len(readings) == _MOST
        for slips in (False, True) if last else (False,):
            for apart in range(1, (len(readings) + 1) // 2):
                period = self._proven(readings[-1 - 2 * apart], readings[-1 - apart], here, slips)
                if period:
                    return period
        if last:
            self._begin_again()
        return 0

    def _proven(self, first: _Reading, second: _Reading, third: _Reading, slips: bool) -> int:
        (lap, state), (next_lap, next_state), (last_lap, last_state) = first, second, third
        period = last_lap - next_lap
        if next_lap - lap != period:
            return 0
        steps = last_state.steps_from(next_state)
        if steps is None or steps != next_state.steps_from(state):
            return 0
        slipped = max(last_state.slips_from(next_state), next_state.slips_from(state))
        if slipped and not slips:
            return 0
        self.period_ps = last_state.now - next_state.now
        self.error = slipped * _SLIP_PS / self.period_ps
        return period

    def _candidate(self) -> int:
        ends, dues = self._ends_ps, self._dues
        now, last = ends[-1], dues[-1]
        for period in range(1, min(_LONGEST, (len(ends) - 1 - self._cold) // 2) + 1):
            step = now - ends[-1 - period]
            if step == ends[-1 - period] - ends[-1 - 2 * period] and dues[-1 - period] == last:
                return period
        return 0

    def _begin_again(self) -> None:
        if self._readings:
            # The more often in vain, the more seldom.
            self._rests_until = self._sim.calls + _PATIENCE * self._spent
        self._readings = []
