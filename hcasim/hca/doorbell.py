"""Doorbells: the register writes by which the processor tells the adapter of new work."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from hcasim.engine import Args, Simulator
from hcasim.engine.changes import Changes

DOORBELL_SIZE: Final = 8
GRANULE: Final = 64
"""Bytes of a work request that the processor writes to BlueFlame registers at once."""


class Doorbell:
    """Decodes doorbells and tells the block concerned.

    Args:
        latency_ps: from the arrival of the register write to the start of the work.
    """

    changes: ClassVar[Changes] = Changes(counts="rung")

    def __init__(self, sim: Simulator, latency_ps: int) -> None:
        self.sim = sim
        self._latency = latency_ps
        self.rung = 0

    def ring(self, action: Callable[[*Args], None], *args: *Args) -> None:
        """Take a doorbell that has just arrived over the bus; then call ``action(*args)``."""
        self.rung += 1
        self.sim.call_after(self._latency, action, *args)
