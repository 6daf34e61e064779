"""For how long something has been waited for."""

from __future__ import annotations

from typing import ClassVar

from hcasim.engine.changes import Changes
from hcasim.engine.clock import Simulator


class Waits:
    """The time during which at least one waits for the same thing."""

    changes: ClassVar[Changes] = Changes(counts="_sum", since="_since")

    __slots__ = ("_since", "_sum", "name", "sim", "waiting")

    def __init__(self, sim: Simulator, name: str) -> None:
        self.sim = sim
        self.name = name
        self.waiting = 0
        self._since = 0
        self._sum = 0

    def begin(self) -> None:
        """One more waits."""
        if not self.waiting:
            self._since = self.sim.now
        self.waiting += 1

    def end(self) -> None:
        """One of them has what it has waited for."""
        self.waiting -= 1
        if not self.waiting:
            self._sum += self.sim.now - self._since

    @property
    def wait_ps(self) -> int:
        """That time so far, in ps."""
        return self._sum + (self.sim.now - self._since if self.waiting else 0)
