"""Probes: what happens in the blocks of the hardware, told to whoever listens."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

from hcasim.engine.clock import Simulator

Listener = Callable[[int, str, str, int, str], None]
"""Called with time in ps, block, event, operation and details.

An event is the end of a piece of work, named after it. The operation is the number of the work
request whose duration depends on it, or 0.
"""


class Probe:
    """The one place where a block tells what happens in it.

    A block asks ``if probe.listeners:`` first, so that nothing is spent when nobody listens.

    Attributes:
        block: name of the block.
        listeners: those of the simulator.
    """

    __slots__ = ("_sim", "block", "listeners")

    def __init__(self, sim: Simulator, block: str) -> None:
        self._sim = sim
        self.block = block
        self.listeners: list[Listener] = sim.listeners

    def event(
        self, event: str, operation: int, details: object = "", at_ps: int | None = None
    ) -> None:
        """Tell an event.

        Args:
            event: the work that has ended.
            operation: number of the operation that depends on it, or 0.
            details: what it was done to.
            at_ps: when it ends, if it has been worked out before; now by default.
        """
        time_ps = self._sim.now if at_ps is None else at_ps
        for listener in self.listeners:
            listener(time_ps, self.block, event, operation, str(details))


class EventLog:
    """Listens to all events and keeps them.

    Attributes:
        events: (time in ps, block, event, operation, details), as they were told.
    """

    def __init__(self) -> None:
        self.events: list[tuple[int, str, str, int, str]] = []

    def __call__(self, time_ps: int, block: str, event: str, operation: int, details: str) -> None:
        """Note an event."""
        self.events.append((time_ps, block, event, operation, details))


class EventStream:
    """Writes events down in order of time, each as soon as no earlier one can follow.

    A block may tell of an event before its time, but never after it: only those that are to come
    are kept in memory.

    Parameters:
        write: takes one line after another: time in ps, block, event, operation (nothing instead
            of 0) and details, separated by tabs.

    Attributes:
        written: lines so far.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self.written = 0
        self._write = write
        self._sim: Simulator
        self._coming: list[tuple[int, int, str]] = []
        self._told = count()

    def follow(self, sim: Simulator) -> None:
        """Listen to a simulator from now on."""
        self._sim = sim
        sim.listeners.append(self)

    def __call__(self, time_ps: int, block: str, event: str, operation: int, details: str) -> None:
        """Note an event."""
        line = f"{time_ps}\t{block}\t{event}\t{operation or ''}\t{details}\n"
        now = self._sim.now
        heappush(self._coming, (time_ps, next(self._told), line))
        while self._coming and self._coming[0][0] <= now:
            self._write_first()

    def finish(self) -> None:
        """Write what is to come: nothing more will be told."""
        while self._coming:
            self._write_first()

    def _write_first(self) -> None:
        self._write(heappop(self._coming)[2])
        self.written += 1
