"""The I/O memory management unit: pages of which it knows the place, and walks for the others."""

from __future__ import annotations

from collections import OrderedDict

from hcasim.catalog.host import Iommu as Description
from hcasim.engine import SerialServer, Simulator


class Iommu:
    """Translates addresses of devices; what was used longest ago leaves its IO-TLB.

    Walks overlap: one begins an interval after the one before. A page that is being looked up is
    not looked up again.

    Args:
        description: entries, page in bytes, times in ps.

    Attributes:
        walks: begins one after the other.
        hits, misses: look-ups so far.
    """

    def __init__(self, sim: Simulator, description: Description, name: str) -> None:
        self.sim = sim
        self.walks = SerialServer(sim, name)
        self.hits = self.misses = 0
        self._entries = description.entries
        self._page = description.page
        self._latency = description.walk_latency
        self._interval = description.walk_interval
        self._ready: OrderedDict[int, int] = OrderedDict()

    def translate(self, address: int, size: int) -> int:
        """Look the pages of an access up; return the time in ps at which all are known."""
        known = int(self.sim.now)
        ready = self._ready
        for page in range(address // self._page, (address + size - 1) // self._page + 1):
            at = ready.get(page)
            if at is not None:
                self.hits += 1
                ready.move_to_end(page)
            else:
                self.misses += 1
                begins = self.walks.reserve(self._interval) - self._interval
                ready[page] = at = begins + self._latency
                if len(ready) > self._entries:
                    ready.popitem(last=False)
            if at > known:
                known = at
        return known
