"""Probes: what happens in the blocks of the hardware, told to whoever listens."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

from hcasim.engine.clock import Simulator, Watcher

Listener = Callable[[int, str, str, int, str], None]
"""Called with time in ps, block, event, operation and details.

An event is the end of a piece of work, named after it. The operation is the number of the work
request whose duration depends on it, or 0.
"""


class Probe:
    """The one place where a block tells what happens in it.

    A block asks ``if probe.listeners:`` first, so that nothing is spent when nobody listens.
    """

    __slots__ = ("_sim", "_watchers", "block", "listeners")

    def __init__(self, sim: Simulator, block: str) -> None:
        self._sim = sim
        self.block = block
        self.listeners: list[Listener] = sim.listeners
        self._watchers: list[Watcher] = sim.watchers

    def event(
        self,
        event: str,
        operation: int,
        details: object = "",
        at_ps: int | None = None,
        since_ps: int | None = None,
    ) -> None:
        """Tell that a piece of work for ``operation``, which may be 0, has ended or will at
        ``at_ps``.

        Those who watch are told ``since_ps``, when it began, if that is known here.
        """
        time_ps = self._sim.now if at_ps is None else at_ps
        for watcher in self._watchers:
            watcher.event(time_ps, self.block, event, operation, details, since_ps)
        if len(self.listeners) > len(self._watchers):
            text = str(details)
            for listener in self.listeners:
                listener(time_ps, self.block, event, operation, text)

    def work(self, what: str, since_ps: int, details: object = "") -> None:
        """Tell those who watch of work that has ended now, on which no operation depends alone."""
        for watcher in self._watchers:
            watcher.work(self.block, what, since_ps, self._sim.now, details)

    def over(self, operation: int, details: object) -> None:
        for watcher in self._watchers:
            watcher.over(self.block, operation, details)

    def level(self, what: str, value: int) -> None:
        """Tell how much of something the block holds from now on."""
        for watcher in self._watchers:
            watcher.level(f"{self.block} {what}", self._sim.now, value)


class EventLog:
    """Listens to all events: (time in ps, block, event, operation, details)."""

    def __init__(self) -> None:
        self.events: list[tuple[int, str, str, int, str]] = []

    def __call__(self, time_ps: int, block: str, event: str, operation: int, details: str) -> None:
        self.events.append((time_ps, block, event, operation, details))


class EventStream:
    """Writes events down in order of time, each as soon as no earlier one can follow.

    Parameters:
        write: takes one line after another: time in ps, block, event, operation (nothing instead
            of 0) and details, separated by tabs.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self.written = 0
        self._write = write
        self._sim: Simulator
        self._coming: list[tuple[int, int, str]] = []
        self._told = count()

    def follow(self, sim: Simulator) -> None:
        self._sim = sim
        sim.listeners.append(self)

    def __call__(self, time_ps: int, block: str, event: str, operation: int, details: str) -> None:
        line = f"{time_ps}\t{block}\t{event}\t{operation or ''}\t{details}\n"
        now, coming = self._sim.now, self._coming
        while coming and coming[0][0] <= now:
            self._write_first()
        if time_ps <= now:
            self._write(line)
            self.written += 1
        else:
            heappush(coming, (time_ps, next(self._told), line))

    def finish(self) -> None:
        while self._coming:
            self._write_first()

    def _write_first(self) -> None:
        self._write(heappop(self._coming)[2])
        self.written += 1
