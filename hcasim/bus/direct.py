"""A way to memory that takes no time, for what a network alone does."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from hcasim.bus.base import Bus
from hcasim.engine import Action, Args, Simulator
from hcasim.engine.changes import Changes


class DirectBus(Bus):
    """Does what it is asked for as soon as what is due at the same time before it has been done.

    It asks no memory: what that and caches would take is not there.
    """

    changes: ClassVar[Changes] = Changes(times="_held_until")

    def __init__(self, sim: Simulator, name: str) -> None:
        super().__init__()
        self.sim = sim
        self.name = name
        self._held_until = 0

    def _at(self) -> int:
        now: int = self.sim.now
        return self._held_until if self._held_until > now else now

    def start_read(
        self, address: int, size: int, here: Action, issued: Action | None = None
    ) -> None:
        self.reads += 1
        self.read_bytes += size
        at = self._at()
        if issued is not None:
            self.sim.schedule(at, issued)
        self.sim.schedule(at, here)

    def start_write(
        self, address: int, size: int, sent: Action | None, visible: Action | None
    ) -> None:
        self.writes += 1
        self.write_bytes += size
        at = self._at()
        if visible is not None:
            self.sim.schedule(at, visible)
        if sent is not None and at > self.sim.now:
            self.sim.schedule(at, sent)
        elif sent is not None:
            sent.act()

    def hold(self, duration_ps: int) -> int:
        self._held_until = self._at() + duration_ps
        return self._held_until

    def mmio_write(self, size: int, on_arrival: Callable[[*Args], None], *args: *Args) -> None:
        self.mmio_writes += 1
        self.sim.call_after(0, on_arrival, *args)
