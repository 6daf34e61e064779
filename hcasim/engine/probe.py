"""Probes: what happens in the blocks of the hardware, told to whoever listens."""

from __future__ import annotations

from collections.abc import Callable

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
    """Listens to all events and writes them down in order of time.

    Attributes:
        events: (time in ps, block, event, operation, details), as they were told.
    """

    def __init__(self) -> None:
        self.events: list[tuple[int, str, str, int, str]] = []

    def __call__(self, time_ps: int, block: str, event: str, operation: int, details: str) -> None:
        """Note an event."""
        self.events.append((time_ps, block, event, operation, details))

    def lines(self) -> list[str]:
        """A line for each event, its columns separated by tabs; operation 0 is left out."""
        return [
            f"{time_ps}\t{block}\t{event}\t{operation or ''}\t{details}\n"
            for time_ps, block, event, operation, details in sorted(
                self.events, key=lambda event: event[0]
            )
        ]
