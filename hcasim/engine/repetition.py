"""Whether a machine repeats itself, proven by its state."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from hcasim.engine.clock import Onlooker, Simulator
from hcasim.engine.state import State

_LONGEST: Final = 16
"""Laps in the longest period that is looked for."""
_LONGEST_CYCLE: Final = 32
"""Laps after which no more is expected that ends like the last that was read."""
_MOST: Final = 9
"""After so many readings counters may slip. Without a period twice as many follow, of like laps."""
_SLIP_PS: Final = 10_000
"""What a counter that slips may add to a period: a flow control packet, or a DLLP."""
_PATIENCE: Final = 2
"""Events between two searches, for each number that the first read in vain."""

_Look = list[object]
"""At the end of a lap: times until the events to come, and cyclic counters."""


class Repetition:
    """Proves that the laps of a stream repeat themselves.

    Laps of equal duration, with equal times until the events to come, prove nothing: a queue may be
    filling up. They are a reason to read the state. Three equal states at equal distances prove a
    period, if every count grows by the same from the first to the second and to the third. Where
    that was in vain, cyclic counters may take more laps to be the same again: what is read next are
    laps that end with the counters of the last one. Counters up to the next flow control packet
    may take too many. The period is then known up to the time of that packet, and `error` says so.

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
        # By laps before them.
        self._readings: dict[int, State] = {}
        # The holders of cyclic counters, and how the lap ended that was read last. While `_cycles`,
        # only laps are read that end like this one.
        self._cyclic: list[tuple[object, str]] = []
        self._like: _Look = []
        self._cycles = False
        self._due = self._spent = self._rests_until = 0

    def lap(self) -> int:
        """Note the end of a lap; return the laps of the period that is proven, or 0."""
        sim = self._sim
        self._ends_ps.append(sim.now)
        entries = sim.to_come()
        self._dues.append([at - sim.now for at, _, one in entries if not isinstance(one, Onlooker)])
        laps = len(self._ends_ps)
        readings = self._readings
        if self._cycles and self._look() != self._like:
            rested = len(readings) == 1 and sim.calls >= self._rests_until
            if laps - max(readings) >= (_LONGEST if rested else _LONGEST_CYCLE):
                self._begin_again()
            return 0
        if not self._cycles:
            if (readings and laps < self._due) or sim.calls < self._rests_until:
                return 0
            candidate = self._candidate()
            if not candidate:
                self._begin_again()
                return 0
            self._due = laps + candidate
        here = State(sim, roots=self._roots())
        self._spent += here.size
        readings[laps] = here
        if period := self._period(laps, slips=False):
            return period
        last = len(readings) == (2 * _MOST if self._cycles else _MOST)
        for lap in reversed(readings) if last else ():
            if period := self._period(lap, slips=True):
                return period
        if not self._cycles:
            self._cyclic = here.cyclic
            self._like = self._look()
        if last:
            self._begin_again()
        return 0

    def _period(self, last: int, slips: bool) -> int:
        """Laps before the last of three readings in which the machine did what it did before."""
        readings = self._readings
        third = readings[last]
        for lap in reversed(readings):
            first, second = readings.get(2 * lap - last), readings[lap]
            if lap >= last or first is None:
                continue
            steps = third.steps_from(second)
            if steps is None or steps != second.steps_from(first):
                continue
            slipped = max(third.slips_from(second), second.slips_from(first))
            if not slipped or slips:
                self.period_ps = third.now - second.now
                self.error = slipped * _SLIP_PS / self.period_ps
                return last - lap
        return 0

    def _look(self) -> _Look:
        look: _Look = [self._dues[-1]]
        for holder, name in self._cyclic:
            value = getattr(holder, name)
            look.append(tuple(value) if isinstance(value, list) else value)
        return look

    def _candidate(self) -> int:
        ends, dues = self._ends_ps, self._dues
        now, last = ends[-1], dues[-1]
        for period in range(1, min(_LONGEST, (len(ends) - 1 - self._cold) // 2) + 1):
            step = now - ends[-1 - period]
            if step == ends[-1 - period] - ends[-1 - 2 * period] and dues[-1 - period] == last:
                return period
        return 0

    def _begin_again(self) -> None:
        """Wait for laps like the last that was read in vain; after these, for equal durations."""
        readings = self._readings
        self._cycles = bool(readings) and not self._cycles
        if len(readings) > 1 or self._cycles:
            # The more often in vain, the more seldom.
            self._rests_until = self._sim.calls + _PATIENCE * self._spent
        self._readings = {last: readings[last] for last in list(readings)[-1:] if self._cycles}
