"""The adapter's own memory: a DIMM, or memory on the chip."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from hcasim.bus import Storage
from hcasim.catalog.adapter import LocalMemory as Description
from hcasim.engine import Action, Rate, Simulator
from hcasim.engine.changes import Changes


class LocalMemory(Storage):
    """Memory behind a controller that moves one burst at a time and lets reads go first.

    When a read is done is known as soon as it is asked for, because nothing goes before it. Writes
    take the gaps, and cost no event unless somebody waits for their end.
    """

    changes: ClassVar[Changes] = Changes(
        times="_free_at", counts="_busy_ps reads read_bytes writes write_bytes"
    )

    def __init__(self, sim: Simulator, name: str, description: Description, size: int) -> None:
        self.sim = sim
        self.name = name
        self.reads = self.read_bytes = self.writes = self.write_bytes = 0
        self._latency = description.latency
        self._size = size
        self._taken: dict[int, int] = {}
        self._rate = Rate.from_bandwidth(description.bandwidth)
        self._free_at = self._busy_ps = 0
        self._buffered: deque[tuple[int, int, Action | None]] = deque()
        self._armed = False

    @property
    def busy_ps(self) -> int:
        """Time in ps of all bursts that have begun so far."""
        self._store(self.sim.now)
        return self._busy_ps

    def begin_read(self, size: int) -> int:
        self.reads += 1
        self.read_bytes += size
        now = self.sim.now
        if self._buffered:
            self._store(now)
        duration = self._rate.time(size)
        self._busy_ps += duration
        self._free_at = end = (self._free_at if self._free_at > now else now) + duration
        return end + self._latency

    def start_read(
        self, address: int, size: int, here: Action, issued: Action | None = None
    ) -> None:
        self.sim.schedule(self.begin_read(size), here)
        if issued is not None:
            issued.act()

    def start_write(
        self, address: int, size: int, sent: Action | None, visible: Action | None
    ) -> None:
        """What the controller has taken can be read, although it is stored later."""
        self.writes += 1
        self.write_bytes += size
        self._buffered.append((self.sim.now, self._rate.time(size), sent))
        if sent is not None and not self._armed:
            self._arm()
        if visible is not None:
            self.sim.schedule(self.sim.now, visible)

    def _store(self, before: int) -> None:
        buffered = self._buffered
        while buffered:
            asked, duration, sent = buffered[0]
            start = self._free_at if self._free_at > asked else asked
            if start >= before:
                return
            buffered.popleft()
            self._busy_ps += duration
            self._free_at = end = start + duration
            if sent is not None:
                self.sim.schedule(end, sent)

    def _arm(self) -> None:
        self._armed = True
        now = self.sim.now
        self.sim.call_at(self._free_at if self._free_at > now else now, self._gap)

    def _gap(self) -> None:
        self._armed = False
        self._store(self.sim.now + 1)
        if any(sent is not None for _, _, sent in self._buffered):
            self._arm()

    def allocate(self, length: int, page_size: int) -> int:
        """Address of free bytes from a page on; a MemoryError if they do not fit."""
        address = longest = 0
        for first, end in (*sorted(self._taken.items()), (self._size, self._size)):
            if address + length <= first:
                self._taken[address] = address + length
                return address
            longest = max(longest, first - address)
            address = -(-end // page_size) * page_size
        raise MemoryError(f"{length} bytes in a row of the adapter's memory; {longest} are free")

    def release(self, address: int) -> None:
        """Let go of what has been allocated from an address on."""
        del self._taken[address]

    def counters(self) -> dict[str, int]:
        return {
            "local_memory_reads": self.reads,
            "local_memory_read_bytes": self.read_bytes,
            "local_memory_writes": self.writes,
            "local_memory_write_bytes": self.write_bytes,
        }
