"""An integer-picosecond clock on SimPy, with plain callbacks for hardware."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simpy.core import Environment
from simpy.events import NORMAL, Event


def _invoke(event: Any) -> None:
    event.action(*event.args)


_CALLBACKS = (_invoke,)


class Call(Event):
    """An event that calls one function once: the unit of work of a hardware block.

    It is created triggered and scheduled, so nothing can wait for it or cancel it.
    """

    def __init__(self, sim: Simulator, action: Callable[..., None], args: tuple[Any, ...]) -> None:
        self.env = sim
        self.callbacks = _CALLBACKS  # type: ignore[assignment]  # read once by SimPy, never changed
        self._value = None
        self._ok = True
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
        self.log: Callable[[int, str, str, str], None] | None = None

    def call_after(self, delay_ps: int, action: Callable[..., None], *args: Any) -> None:
        """Call ``action(*args)`` after ``delay_ps`` picoseconds.

        Raises:
            ValueError: if the delay is negative, because time never runs backwards.
        """
        if delay_ps < 0:
            raise ValueError(f"a delay cannot be negative: {delay_ps} ps")
        self.schedule(Call(self, action, args), NORMAL, delay_ps)

    def call_at(self, time_ps: int, action: Callable[..., None], *args: Any) -> None:
        """Call ``action(*args)`` at the absolute time ``time_ps``.

        Raises:
            ValueError: if that time has passed.
        """
        delay_ps = time_ps - self._now
        if delay_ps < 0:
            raise ValueError(f"{time_ps} ps has passed: it is {self._now} ps")
        self.schedule(Call(self, action, args), NORMAL, delay_ps)
