"""An integer-picosecond clock on SimPy, with plain callbacks for hardware."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from simpy.core import Environment
from simpy.events import NORMAL


class Call:
    """One call of a function at one time: the unit of work of a hardware block.

    It stands in SimPy's queue beside SimPy's own events, but nothing can wait for it or cancel
    it, which makes it several times cheaper.
    """

    __slots__ = ("action", "args")

    def __init__(self, action: Callable[..., None], args: tuple[Any, ...]) -> None:
        self.action = action
        self.args = args


class Simulator(Environment):
    """Simulated time in integer picoseconds: processes for software, callbacks for hardware.

    Events at the same time run in the order in which they were scheduled, so a run is
    reproducible to the picosecond.

    Attributes:
        log: called as ``log(time_ps, block, event, details)`` for each logged event, or None.
    """

    def __init__(self) -> None:
        super().__init__(initial_time=0)
        # SimPy's own queue, under a type that admits calls beside events.
        self._calls: list[Any] = self._queue
        self.log: Callable[[int, str, str, str], None] | None = None

    def call_after(self, delay_ps: int, action: Callable[..., None], *args: Any) -> None:
        """Call ``action(*args)`` after ``delay_ps`` picoseconds.

        Raises:
            ValueError: if the delay is negative, because time never runs backwards.
        """
        if delay_ps < 0:
            raise ValueError(f"a delay cannot be negative: {delay_ps} ps")
        time_ps = self._now + delay_ps
        heappush(self._calls, (time_ps, NORMAL, next(self._eid), Call(action, args)))

    def call_at(self, time_ps: int, action: Callable[..., None], *args: Any) -> None:
        """Call ``action(*args)`` at the absolute time ``time_ps``.

        Raises:
            ValueError: if that time has passed.
        """
        if time_ps < self._now:
            raise ValueError(f"{time_ps} ps has passed: it is {self._now} ps")
        heappush(self._calls, (time_ps, NORMAL, next(self._eid), Call(action, args)))

    def step(self) -> None:
        """Make all calls that come before the next SimPy event, then process that event.

        Raises:
            EmptySchedule: if there is nothing left to do.
        """
        queue = self._calls
        while queue:
            entry = queue[0]
            event = entry[3]
            if type(event) is not Call:
                break
            heappop(queue)
            self._now = entry[0]
            event.action(*event.args)
        super().step()
