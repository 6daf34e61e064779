"""Interconnect context memory (ICM): the tables behind the on-chip caches, and the path to them.

Each table lives in the adapter's own memory or, in MemFree mode, in host memory, where it is
reached over the same bus as descriptors and data (sur2005 section 2.3). A cache of lines of all
tables may be in between.
"""

from __future__ import annotations

from collections import deque
from typing import ClassVar, Protocol

from hcasim.bus import Storage
from hcasim.catalog import Adapter, Cache
from hcasim.engine import Action, Simulator, Waits
from hcasim.engine.changes import Changes
from hcasim.hca.line_cache import LineCache
from hcasim.hca.local_memory import LocalMemory
from hcasim.hca.pipeline import Fetch


class Waiting(Protocol):
    """A cache that has asked for a line of its table."""

    def arrived(self, line: int) -> None: ...


class _Held(Action):
    """A line that the shared cache holds, on its way to another."""

    changes: ClassVar[Changes] = Changes(counts="line")

    __slots__ = ("cache", "line")

    block: ClassVar[str] = "Icm"

    def __init__(self, line: int, cache: Waiting) -> None:
        self.line = line
        self.cache = cache

    def act(self) -> None:
        self.cache.arrived(self.line)


class _Fetch(_Held):
    """A line on its way to a cache, through the path if it has not come out of memory."""

    changes: ClassVar[Changes] = Changes(since="_began")

    __slots__ = ("_began", "_in_memory", "table")

    def __init__(self, table: Table, line: int, cache: Waiting, in_memory: bool) -> None:
        super().__init__(line, cache)
        self.table = table
        self._began = table.icm.sim.now
        self._in_memory = in_memory

    def act(self) -> None:
        if self._in_memory:
            self._in_memory = False
            table = self.table
            icm = table.icm
            table.read_ps += icm.sim.now - self._began
            icm.sim.schedule(icm.sim.now + icm.latency, self)
        else:
            self.table.icm.fetched(self)


class Icm:
    """Fetches table entries for all caches, a limited number at a time, and writes them back.

    A changed line that leaves its cache is written back when no fetch waits, or when its place is
    needed. A fetch over PCI Express stays behind a write before it; the adapter's own memory
    serves the fetch first. ``cache`` has lines of all tables on the chip, if there is such a cache.
    """

    changes: ClassVar[Changes] = Changes(counts="_queued", mixed="_victims")

    def __init__(
        self,
        sim: Simulator,
        name: str,
        adapter: Adapter,
        host: Storage,
        local: LocalMemory,
        fetch: Fetch,
    ) -> None:
        self.sim = sim
        self.owner = name
        self.name = f"{name}.icm"
        self.latency = adapter.icm.latency
        self._outstanding = self._free = adapter.icm.outstanding
        self._queued: deque[tuple[Table, int, Waiting]] = deque()
        self._in_flight = 0
        self._full = Waits(sim, self.name)
        self._room = adapter.icm.victims
        self.cache = LineCache(shared) if (shared := adapter.icm.cache) else None
        self._tables: list[Table] = []
        self._adapter = adapter
        self.host_fetch = fetch
        self._victims: deque[tuple[Storage, int, int]] = deque()
        self._host = host
        self._local = local

    @property
    def busy_ps(self) -> int:
        """Time in ps during which no further fetch could have been started, up to now."""
        return self._full.wait_ps

    def table(self, description: Cache) -> Table:
        number = len(self._tables)
        if self._adapter.in_host(description):
            table = Table(self, number, self._host, description.line)
        else:
            table = LocalTable(self, number, self._local, description.line)
        self._tables.append(table)
        return table

    def leave(self, storage: Storage, address: int, size: int) -> None:
        self._victims.append((storage, address, size))
        if len(self._victims) > self._room:
            self._write_back()

    def fetch(self, table: Table, line: int, cache: Waiting) -> None:
        if self.cache is not None and self.cache.touch(table.number, line):
            self.sim.schedule(self.sim.now + self.cache.latency, _Held(line, cache))
        elif self._free:
            self._free -= 1
            self._begin(table, line, cache)
        else:
            self._queued.append((table, line, cache))

    def _begin(self, table: Table, line: int, cache: Waiting) -> None:
        self._in_flight += 1
        if self._in_flight == self._outstanding:
            self._full.begin()
        # What would not fit beside the victim of this fetch goes first.
        while len(self._victims) >= self._room:
            self._write_back()
        table.read(line, cache)

    def fetched(self, fetch: _Fetch) -> None:
        table, line = fetch.table, fetch.line
        if self.cache is not None:
            for number, gone in self.cache.fill(table.number, line, table.line):
                self._tables[number].store(gone)
        if self._in_flight == self._outstanding:
            self._full.end()
        self._in_flight -= 1
        fetch.cache.arrived(line)
        if self._queued:
            self._begin(*self._queued.popleft())
            return
        self._free += 1
        if self._free == self._outstanding:
            while self._victims:
                self._write_back()

    def _write_back(self) -> None:
        storage, address, size = self._victims.popleft()
        storage.write(address, size)


class Table:
    """One table of the ICM, in the memory that holds it.

    Attributes:
        line: bytes of one fetch.
        read_ps: time that the memory took for all fetches so far, in ps.
    """

    changes: ClassVar[Changes] = Changes(counts="read_ps")

    def __init__(self, icm: Icm, number: int, storage: Storage, line: int) -> None:
        self.icm = icm
        self.number = number
        self._storage = storage
        self.line = line
        self.read_ps = 0

    def hold(self, line: int) -> None:
        if (shared := self.icm.cache) is not None:
            shared.precede(self.number, line, self.line)

    def read(self, line: int, cache: Waiting) -> None:
        size = self.line
        self.icm.host_fetch(line * size, size, _Fetch(self, line, cache, in_memory=True))

    def write_back(self, line: int) -> None:
        shared = self.icm.cache
        if shared is not None and shared.holds(self.number, line):
            shared.mark(self.number, line)
        else:
            self.store(line)

    def store(self, line: int) -> None:
        self.icm.leave(self._storage, line * self.line, self.line)


class LocalTable(Table):
    """A table in the adapter's own memory, which says at once when a line will be here."""

    def __init__(self, icm: Icm, number: int, memory: LocalMemory, line: int) -> None:
        super().__init__(icm, number, memory, line)
        self._memory = memory

    def read(self, line: int, cache: Waiting) -> None:
        icm = self.icm
        here = self._memory.begin_read(self.line)
        self.read_ps += here - icm.sim.now
        icm.sim.schedule(here + icm.latency, _Fetch(self, line, cache, in_memory=False))
