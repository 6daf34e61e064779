"""An integer-picosecond clock on SimPy, with plain callbacks for hardware."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

from simpy.core import EmptySchedule, Environment
from simpy.events import NORMAL, Event

# SimPy queues tuples of time, priority, serial number and event. A call has its function and
# arguments in place of the event: nothing can wait for it or cancel it, so it needs no object.
_CALL_FIELDS = 5


class Simulator(Environment):
    """Simulated time in integer picoseconds: processes for software, callbacks for hardware.

    Events at the same time run in the order in which they were scheduled, so a run is
    reproducible to the picosecond.

    Attributes:
        now: the time in ps.
        listeners: told what the probes of the blocks see; none, unless somebody listens.
        operations: numbers for work requests, from 1.
    """

    # Plain where SimPy has a property, because every block reads it all the time.
    now: int = 0

    def __init__(self) -> None:
        super().__init__(initial_time=0)
        # SimPy's own queue, under a type that admits calls beside events.
        self._calls: list[Any] = self._queue
        self.listeners: list[Callable[[int, str, str, int, str], None]] = []
        self.operations = count(1)

    def call_after(self, delay_ps: int, action: Callable[..., None], *args: Any) -> None:
        """Call ``action(*args)`` after ``delay_ps`` picoseconds.

        Raises:
            ValueError: if the delay is negative, because time never runs backwards.
        """
        if delay_ps < 0:
            raise ValueError(f"a delay cannot be negative: {delay_ps} ps")
        time_ps = self.now + delay_ps
        heappush(self._calls, (time_ps, NORMAL, next(self._eid), action, args))

    def call_at(self, time_ps: int, action: Callable[..., None], *args: Any) -> None:
        """Call ``action(*args)`` at the absolute time ``time_ps``.

        Raises:
            ValueError: if that time has passed.
        """
        if time_ps < self.now:
            raise ValueError(f"{time_ps} ps has passed: it is {self.now} ps")
        heappush(self._calls, (time_ps, NORMAL, next(self._eid), action, args))

    def step(self) -> None:
        """Make all calls that come before the next SimPy event, then process that event.

        Raises:
            EmptySchedule: if there is nothing left to do.
        """
        queue = self._calls
        while queue:
            entry = queue[0]
            if len(entry) != _CALL_FIELDS:
                break
            heappop(queue)
            self._now = self.now = entry[0]
            entry[3](*entry[4])
        if queue:
            self.now = queue[0][0]
        super().step()

    def reach(self, event: Event) -> bool:
        """Run until an event has happened; return False if it never will."""
        try:
            while not event.processed:
                self.step()
        except EmptySchedule:
            return False
        return True
