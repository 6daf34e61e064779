"""A timer of a process, in simulated time."""

from __future__ import annotations

from collections.abc import Callable

from hcasim.engine import Simulator


class Timer:
    """A timer that sends a signal.

    Args:
        sends: gives the process a signal, by its number.

    Attributes:
        due_ps: when it sends its signal; 0 if it is stopped.
        every_ps: what lies between it and the next; 0 if there is none.
    """

    def __init__(self, sim: Simulator, sends: Callable[[int], None]) -> None:
        self.due_ps = self.every_ps = 0
        self._sim = sim
        self._sends = sends
        self._signal = self._setting = 0

    def set(self, due_ps: int, every_ps: int, signal: int) -> None:
        """Send a signal, 0 for none, at a time and then again and again; what was set is over."""
        self.due_ps, self.every_ps, self._signal = due_ps, every_ps, signal
        self._setting += 1
        if due_ps:
            self._sim.call_at(max(due_ps, self._sim.now), self._come, self._setting)

    def _come(self, setting: int) -> None:
        if setting != self._setting:
            return
        if self._signal:
            self._sends(self._signal)
        self.set(self.due_ps + self.every_ps if self.every_ps else 0, self.every_ps, self._signal)
