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
from hcasim.engine import Action, Simulator
from hcasim.engine.changes import Changes
from hcasim.hca.line_cache import LineCache
from hcasim.hca.local_memory import LocalMemory
from hcasim.hca.pipeline import Fetch


class Waiting(Protocol):
    """A cache that has asked for a line of its table."""

    def arrived(self, line: int) -> None:
        """The line is here."""


class _Fetch(Action):
    """A line of a table on its way to a cache.

    Args:
        in_memory: whether it has to come through the path from there.
    """

    changes: ClassVar[Changes] = Changes(counts="line", since="_began")

    __slots__ = ("_began", "_in_memory", "cache", "line", "table")

    block: ClassVar[str] = "Icm"

    def __init__(self, table: Table, line: int, cache: Waiting, in_memory: bool) -> None:
        self.table = table
        self.line = line
        self.cache = cache
        self._began = table.icm.sim.now
        self._in_memory = in_memory

    def act(self) -> None:
        """It has come out of memory, or here."""
        if self._in_memory:
            self._in_memory = False
            table = self.table
            icm = table.icm
            table.read_ps += icm.sim.now - self._began
            icm.sim.schedule(icm.sim.now + icm.latency, self)
        else:
            self.table.icm.fetched(self)


class _Held(Action):
    """A line that the shared cache holds, on its way to another."""

    changes: ClassVar[Changes] = Changes(counts="_line")

    __slots__ = ("_cache", "_line")

    block: ClassVar[str] = "Icm"

    def __init__(self, line: int, cache: Waiting) -> None:
        self._cache = cache
        self._line = line

    def act(self) -> None:
        """It is here."""
        self._cache.arrived(self._line)


class Icm:
    """Fetches table entries for all caches, a limited number at a time, and writes them back.

    A changed line that leaves its cache is written back when no fetch waits, or when its place is
    needed. A fetch over PCI Express stays behind a write before it; the adapter's own memory
    serves the fetch first.

    Args:
        adapter: where each table is, and how many fetches may be in flight.
        host: host memory, over the bus.
        local: the adapter's own memory.

    Attributes:
        owner: name of the adapter.
        latency: of the path, in ps.
        host_fetch: reads a line from host memory.
        cache: lines of all tables on the chip, if there is such a cache.
    """

    changes: ClassVar[Changes] = Changes(
        counts="_full_ps _queued",
        since="_full_since",
        mixed="_victims",
    )

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
        self._full_ps = 0
        self._full_since = 0
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
        if self._in_flight < self._outstanding:
            return self._full_ps
        return self._full_ps + self.sim.now - self._full_since

    def table(self, description: Cache) -> Table:
        """The table behind a cache, in the memory that it is described to be in."""
        number = len(self._tables)
        if self._adapter.in_host(description):
            table = Table(self, number, self._host, description.line)
        else:
            table = LocalTable(self, number, self._local, description.line)
        self._tables.append(table)
        return table

    def leave(self, storage: Storage, address: int, size: int) -> None:
        """Take a changed line that has left its cache, to write it back."""
        self._victims.append((storage, address, size))
        if len(self._victims) > self._room:
            self._write_back()

    def fetch(self, table: Table, line: int, cache: Waiting) -> None:
        """Fetch a line for a cache as soon as a fetch can be started."""
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
            self._full_since = self.sim.now
        # What would not fit beside the victim of this fetch goes first.
        while len(self._victims) >= self._room:
            self._write_back()
        table.read(line, cache)

    def fetched(self, fetch: _Fetch) -> None:
        """What was fetched has come through the path."""
        table, line = fetch.table, fetch.line
        if self.cache is not None:
            for number, gone in self.cache.fill(table.number, line, table.line):
                self._tables[number].store(gone)
        if self._in_flight == self._outstanding:
            self._full_ps += self.sim.now - self._full_since
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

    Args:
        number: among the tables of the adapter.
        line: bytes of one fetch.

    Attributes:
        icm: the one that it is a part of.
        read_ps: time that the memory took for all fetches so far, in ps.
    """

    changes: ClassVar[Changes] = Changes(counts="read_ps")

    def __init__(self, icm: Icm, number: int, storage: Storage, line: int) -> None:
        self.icm = icm
        self.number = number
        self._storage = storage
        self.line = line
        self.read_ps = 0

    @property
    def owner(self) -> str:
        """Name of the adapter."""
        return self.icm.owner

    def fetch(self, line: int, cache: Waiting) -> None:
        """Fetch a line for a cache."""
        self.icm.fetch(self, line, cache)

    def hold(self, line: int) -> None:
        """Have a line in the shared cache, if there is room, as if used before all others."""
        if (shared := self.icm.cache) is not None:
            shared.precede(self.number, line, self.line)

    def read(self, line: int, cache: Waiting) -> None:
        """Read a line now."""
        size = self.line
        self.icm.host_fetch(line * size, size, _Fetch(self, line, cache, in_memory=True))

    def write_back(self, line: int) -> None:
        """Take back a changed line: into the shared cache if it is there, else into memory."""
        shared = self.icm.cache
        if shared is not None and shared.holds(self.number, line):
            shared.mark(self.number, line)
        else:
            self.store(line)

    def store(self, line: int) -> None:
        """Write a line to memory when no fetch is waiting; nobody waits for it."""
        self.icm.leave(self._storage, line * self.line, self.line)


class LocalTable(Table):
    """A table in the adapter's own memory, which says at once when a line will be here."""

    def __init__(self, icm: Icm, number: int, memory: LocalMemory, line: int) -> None:
        super().__init__(icm, number, memory, line)
        self._memory = memory

    def read(self, line: int, cache: Waiting) -> None:
        """Read a line now."""
        icm = self.icm
        here = self._memory.begin_read(self.line)
        self.read_ps += here - icm.sim.now
        icm.sim.schedule(here + icm.latency, _Fetch(self, line, cache, in_memory=False))
