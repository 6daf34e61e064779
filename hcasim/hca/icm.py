"""InfiniHost context memory (ICM): the tables behind the on-chip caches, and the path to them.

Each table lives in the adapter's own memory or, in MemFree mode, in host memory, where it is
reached over the same bus as descriptors and data (sur2005 section 2.3).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from hcasim.bus import Storage
from hcasim.catalog import Adapter, Cache
from hcasim.engine import CreditPool, Simulator
from hcasim.hca.local_memory import LocalMemory


class Icm:
    """Fetches table entries for all caches, a limited number at a time, and writes them back.

    A changed line that leaves its cache is written back when no fetch waits, or when its place is
    needed. A fetch over PCI Express stays behind a write before it; the adapter's own memory
    serves the fetch first.

    Args:
        adapter: where each table is, and how many fetches may be in flight.
        host: host memory, over the bus.
        local: the adapter's own memory.
    """

    def __init__(
        self, sim: Simulator, name: str, adapter: Adapter, host: Storage, local: LocalMemory
    ) -> None:
        self.sim = sim
        self.name = f"{name}.icm"
        self.slots = CreditPool(sim, self.name, adapter.icm.outstanding)
        self._in_flight = 0
        self._full_ps = 0
        self._full_since = 0
        self.latency = adapter.icm.latency
        self._room = adapter.icm.victims
        self._adapter = adapter
        self._victims: deque[tuple[Storage, int, int]] = deque()
        self._host = host
        self._local = local

    @property
    def busy_ps(self) -> int:
        """Time in ps during which no further fetch could have been started, up to now."""
        if self._in_flight < self.slots.capacity:
            return self._full_ps
        return self._full_ps + self.sim.now - self._full_since

    def table(self, description: Cache) -> Table:
        """The table behind a cache, in the memory that it is described to be in."""
        if self._adapter.in_host(description):
            return Table(self, self._host)
        return LocalTable(self, self._local)

    def leave(self, storage: Storage, address: int, size: int) -> None:
        """Take a changed line that has left its cache, to write it back."""
        self._victims.append((storage, address, size))
        if len(self._victims) > self._room:
            self._write_back()

    def begin(self) -> None:
        """Start a fetch: write back what would not fit beside its victim."""
        self._in_flight += 1
        if self._in_flight == self.slots.capacity:
            self._full_since = self.sim.now
        while len(self._victims) >= self._room:
            self._write_back()

    def arrived(self, then: Callable[..., None], args: tuple[object, ...]) -> None:
        """What was fetched is here; the caches have it after the latency."""
        self.sim.call_after(self.latency, self.fetched, then, args)

    def fetched(self, then: Callable[..., None], args: tuple[object, ...]) -> None:
        """What was fetched is in the caches."""
        if self._in_flight == self.slots.capacity:
            self._full_ps += self.sim.now - self._full_since
        self._in_flight -= 1
        then(*args)
        self.slots.release(1)
        if self.slots.available == self.slots.capacity:
            while self._victims:
                self._write_back()

    def _write_back(self) -> None:
        storage, address, size = self._victims.popleft()
        storage.write(address, size)


class Table:
    """One table of the ICM, in the memory that holds it.

    Attributes:
        read_ps: time that the memory took for all fetches so far, in ps.
    """

    def __init__(self, icm: Icm, storage: Storage) -> None:
        self._icm = icm
        self._storage = storage
        self.read_ps = 0

    def fetch(self, address: int, size: int, then: Callable[..., None], *args: object) -> None:
        """Read ``size`` bytes of the table, then call ``then(*args)``."""
        self._icm.slots.acquire(1, self._read, address, size, then, args)

    def _read(
        self, address: int, size: int, then: Callable[..., None], args: tuple[object, ...]
    ) -> None:
        self._icm.begin()
        self._storage.read(address, size, self._arrived, self._icm.sim.now, then, args)

    def _arrived(self, began: int, then: Callable[..., None], args: tuple[object, ...]) -> None:
        self.read_ps += self._icm.sim.now - began
        self._icm.arrived(then, args)

    def write_back(self, address: int, size: int) -> None:
        """Write ``size`` bytes of the table when no fetch is waiting; nobody waits for it."""
        self._icm.leave(self._storage, address, size)


class LocalTable(Table):
    """A table in the adapter's own memory, which says at once when a fetch will be here."""

    def __init__(self, icm: Icm, memory: LocalMemory) -> None:
        super().__init__(icm, memory)
        self._memory = memory

    def _read(
        self, address: int, size: int, then: Callable[..., None], args: tuple[object, ...]
    ) -> None:
        icm = self._icm
        icm.begin()
        here = self._memory.begin_read(size)
        self.read_ps += here - icm.sim.now
        icm.sim.call_at(here + icm.latency, icm.fetched, then, args)
