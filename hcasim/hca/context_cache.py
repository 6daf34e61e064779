"""The on-chip caches of contexts that live in the adapter's tables."""

from __future__ import annotations

from collections.abc import Callable

from hcasim.catalog import Cache
from hcasim.engine import SetAssociativeCache, Simulator


class ContextCache:
    """Caches one table (QP contexts, CQ contexts, MPT or MTT) and fetches what is missing.

    Args:
        description: capacity, entry size in bytes, associativity, policy and fetch latency in ps.

    Attributes:
        accesses: look-ups so far.
        misses: look-ups that had to wait for a fetch of their entry.
        wait_ps: time that work waited for those fetches, in ps.
    """

    def __init__(self, sim: Simulator, name: str, description: Cache) -> None:
        self.sim = sim
        self.name = name
        self.accesses = 0
        self.misses = 0
        self.wait_ps = 0
        self._latency = description.miss_latency
        self._cache = SetAssociativeCache(description.entries, description.ways, description.policy)
        self._fetching: dict[int, list[tuple[Callable[..., None], tuple[object, ...]]]] = {}

    def held(self, key: int) -> bool:
        """Look ``key`` up if that needs no fetch; return whether it did not."""
        if self._cache.touch(key):
            self.accesses += 1
            return True
        return False

    def access(self, key: int, action: Callable[..., None], *args: object) -> None:
        """Call ``action(*args)`` once the entry ``key`` is on chip, at once if it is."""
        self.accesses += 1
        if self._cache.touch(key):
            action(*args)
            return
        self.misses += 1
        waiting = self._fetching.get(key)
        if waiting is None:
            self._fetching[key] = [(action, args)]
            self.sim.call_after(self._latency, self._fetched, key, int(self.sim.now))
        else:
            waiting.append((action, args))

    def _fetched(self, key: int, since: int) -> None:
        self._cache.fill(key)
        waiting = self._fetching.pop(key)
        self.wait_ps += len(waiting) * (int(self.sim.now) - since)
        for action, args in waiting:
            action(*args)

    def counters(self) -> dict[str, int]:
        """Look-ups, misses and waiting time in ps, under the names of the silicon's counters."""
        return {
            f"{self.name}_access_cnt": self.accesses,
            f"{self.name}_miss_cnt": self.misses,
            f"{self.name}_wait_ps": self.wait_ps,
        }
