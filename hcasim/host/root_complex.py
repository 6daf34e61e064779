"""A root complex as a device sees it: what it keeps in order, caches and translates."""

from __future__ import annotations

from collections import OrderedDict
from typing import ClassVar, Final

from hcasim.catalog import Host as Description
from hcasim.catalog.host import Iommu as IommuDescription
from hcasim.catalog.host import Memory as MemoryDescription
from hcasim.catalog.host import RootPort
from hcasim.engine import Action, CreditPool, Simulator, servers
from hcasim.engine.changes import Changes
from hcasim.host.chipset import Chipset
from hcasim.host.memory import SOCKET_BITS, WRITTEN, Memory
from hcasim.host.upstream import Transfer

LINE: Final = 64
"""Bytes of a cache line."""
ENTRIES: Final = 8
"""Pages of which a line of page tables tells the places (Intel VT-d: entries of 8 B)."""
PACKET: Final = 4
"""Lines of a packet of 256 B, the payload of most hosts."""
_MEMORY: Final = 0
_NEAR: Final = 1
_HOME: Final = 2


def says_more(description: Description, port: RootPort) -> bool:
    """Whether a host says of its root complex what only :class:`RootComplex` does."""
    memory = description.memory
    bounds = port.outstanding_lines, port.outstanding_reads, port.ordered_writes
    more = port.reads_wait, memory.dram_latency, memory.partial_write
    return any((*bounds, *more))


def _lines(address: int, size: int) -> int:
    return (address + size - 1) // LINE - address // LINE + 1


class _Part(Transfer):
    """A part of a write, the rest of which goes on to hold the room of all of it."""

    __slots__ = ()

    def taken(self, at_ps: int) -> None:
        """Nothing becomes free."""


_PART: Final = _Part()


class Iommu:
    """Translates addresses of devices; what was used longest ago leaves its IO-TLB.

    What it does not hold it walks for, so many at a time. It keeps the upper levels of the tables,
    so that a walk is one read of memory, of a line that tells of several pages: who has read it
    knows these until it walks again. A page that is being looked up is not looked up again.
    """

    def __init__(
        self, sim: Simulator, description: IommuDescription, memory: MemoryDescription, name: str
    ) -> None:
        self.sim = sim
        self.walks = servers(sim, name, description.walks)
        self.hits = self.misses = 0
        self._entries = description.entries
        self._page = description.page
        self._latency = memory.read_latency
        self._ready: OrderedDict[int, int] = OrderedDict()
        self._read: OrderedDict[int, int] = OrderedDict()
        self._walks = description.walks

    def translate(self, address: int, size: int) -> int:
        known = int(self.sim.now)
        ready = self._ready
        for page in range(address // self._page, (address + size - 1) // self._page + 1):
            at = ready.get(page)
            if at is not None:
                self.hits += 1
                ready.move_to_end(page)
            else:
                self.misses += 1
                ready[page] = at = self._look_up(page // ENTRIES, known)
                if len(ready) > self._entries:
                    ready.popitem(last=False)
            if at > known:
                known = at
        return known

    def _look_up(self, line: int, now: int) -> int:
        read = self._read
        at = read.get(line)
        if at is None or at > now:
            read.pop(line, None)
            read[line] = at = self.walks.reserve(self._latency)
            if len(read) > self._walks:
                read.popitem(last=False)
        return at


class RootComplex(Chipset):
    """A chipset that says more of itself than latencies.

    Reads are translated, and answered by the last-level cache of the socket, or of that whose
    memory it is, if that takes what devices write and holds what is read. Writes are translated and
    stored in order, and leave the buffer of the root port when they are visible. PCI Express lets
    no read pass a posted write (Base Specification, 2.4.1); where `reads_wait` says so, a read
    therefore begins when the writes before it are visible. Each line holds a place in the root port
    until it is here or visible; reads and writes take turns at them.

    Args:
        lanes: of the link, among which the root complex shares out its places.
        relaxed: whether the device's writes may become visible in any order, so that any number of
            them can be on their way.
    """

    changes: ClassVar[Changes] = Changes(times="_stored_from")

    def __init__(
        self,
        sim: Simulator,
        description: Description,
        socket: int,
        memory: Memory,
        port: RootPort,
        iommu: Iommu | None,
        lanes: int,
        relaxed: bool,
        name: str,
    ) -> None:
        super().__init__(sim, description, socket, memory)
        self._until_visible = True
        read_latency, dram = description.memory.read_latency, description.memory.dram_latency
        self._cached_latency = max(0, read_latency - dram)
        self._partial = description.memory.partial_write
        self._iommu = iommu
        self._reads_wait = port.reads_wait
        slots = None if relaxed else port.ordered_writes
        self._slots = None if slots is None else CreditPool(sim, f"{name}.ordered_writes", slots)
        few = port.outstanding_reads
        self._reads = None if few is None else CreditPool(sim, f"{name}.reads", few)
        self._lines: CreditPool | None = None
        if port.outstanding_lines is not None:
            places = port.outstanding_lines * max(4, lanes) // 4
            self._lines = CreditPool(sim, f"{name}.lines", places)
        self._stored_from = 0
        resources = sim.resources
        if iommu is not None:
            resources.serves(iommu.walks.name, iommu.walks)
        for pool in (self._slots, self._reads, self._lines):
            if pool is not None:
                resources.keeps_waiting(pool.name, pool)

    def read(self, at_ps: int, address: int, size: int, transfer: Transfer) -> None:
        self.sim.call_at(at_ps, self._look_up, address, size, transfer)

    def _look_up(self, address: int, size: int, transfer: Transfer) -> None:
        if self._iommu is not None:
            begin = self._iommu.translate(address, size)
            if begin > self.sim.now:
                self.sim.call_at(begin, self._behind_writes, address, size, transfer)
                return
        self._behind_writes(address, size, transfer)

    def _behind_writes(self, address: int, size: int, transfer: Transfer) -> None:
        if self._reads_wait and self._slots is not None and self._slots.waiting:
            self._slots.acquire(0, self._behind_stores, address, size, transfer)
        else:
            self._behind_stores(address, size, transfer)

    def _behind_stores(self, address: int, size: int, transfer: Transfer) -> None:
        if self._reads_wait and self._stored_from > self.sim.now:
            self.sim.call_at(self._stored_from, self._ask, address, size, transfer)
        else:
            self._ask(address, size, transfer)

    def _held(self, address: int, size: int) -> int:
        """Which last-level cache answers a read, if any: that of the socket, in which devices
        write, or that of the socket whose memory it is."""
        near = self._ddio
        if near is None or address >= self._uncached:
            return _MEMORY
        home = self._memory.caches[address >> SOCKET_BITS]
        if address & WRITTEN:
            return _NEAR if home is near else _HOME
        if near.holds(address, size):
            return _NEAR
        return _HOME if home is not near and home.holds(address, size) else _MEMORY

    def _ask(self, address: int, size: int, transfer: Transfer) -> None:
        held = self._held(address, size)
        if self._lines is None:
            self._take(address, size, held, transfer)
            return
        end, whole = address + size, PACKET * LINE
        while address < end:
            piece = min(end, address - address % whole + whole) - address
            most = min(_lines(address, piece), self._lines.capacity)
            self._lines.acquire(most, self._take, address, piece, held, transfer)
            address += piece

    def _take(self, address: int, size: int, held: int, transfer: Transfer) -> None:
        if self._reads is None:
            self._fetch(address, size, held, transfer)
        else:
            self._reads.acquire(1, self._fetch, address, size, held, transfer)

    def _fetch(self, address: int, size: int, held: int, transfer: Transfer) -> None:
        at_ps = self.sim.now
        if self._reads_wait and self._visible_at > at_ps:
            at_ps = self._visible_at
        if held == _NEAR:
            there = at_ps + self._cached_latency
            self.sim.call_at(there, transfer.fetched, there, address, size)
        else:
            # Memory of another socket is read while the cache there is asked.
            sooner = self._read_latency - self._cached_latency if held == _HOME else 0
            there = self.fetch(at_ps - sooner, address, size, transfer)
        if self._reads is not None:
            self._reads.release_at(there, 1)
        if self._lines is not None:
            self._lines.release_at(there, min(_lines(address, size), self._lines.capacity))

    def write(
        self, at_ps: int, address: int, size: int, visible: Action | None, transfer: Transfer
    ) -> None:
        slots = self._slots
        if slots is None and self._lines is None:
            self._translate(at_ps, address, size, visible, transfer)
            return
        # What the bus hands over as one are several packets, each of which has its turn.
        most = PACKET if slots is None else min(slots.capacity, PACKET)
        while (first := (address // LINE + most) * LINE - address) < size:
            self._in_order(at_ps, address, first, None, _PART)
            address, size = address + first, size - first
        self._in_order(at_ps, address, size, visible, transfer)

    def _in_order(
        self, at_ps: int, address: int, size: int, visible: Action | None, transfer: Transfer
    ) -> None:
        if self._slots is None:
            self._translate(at_ps, address, size, visible, transfer)
        else:
            lines = _lines(address, size)
            self._slots.acquire(lines, self._translate, at_ps, address, size, visible, transfer)

    def _translate(
        self, at_ps: int, address: int, size: int, visible: Action | None, transfer: Transfer
    ) -> None:
        begin = max(at_ps, self._stored_from)
        if self._iommu is not None:
            begin = max(begin, self._iommu.translate(address, size))
        if begin > self.sim.now:
            self._stored_from = begin
            self.sim.call_at(begin, self._own, address, size, visible, transfer)
        else:
            self._own(address, size, visible, transfer)

    def _own(self, address: int, size: int, visible: Action | None, transfer: Transfer) -> None:
        if self._lines is None:
            self._keep(address, size, visible, transfer)
        else:
            lines = _lines(address, size)
            self._lines.acquire(lines, self._keep, address, size, visible, transfer)

    def _keep(self, address: int, size: int, visible: Action | None, transfer: Transfer) -> None:
        part = bool(address % LINE or (address + size) % LINE)
        later = 0
        # The rest of a line comes from memory, unless the cache that takes the write has it.
        if part and (self._ddio is None or not self._ddio.holds(address, size)):
            later = self._partial
        self._store(address, size, visible, transfer, later)
        if self._slots is not None:
            self._slots.release_at(self._placed_at, _lines(address, size))
        if self._lines is not None:
            self._lines.release_at(self._placed_at, _lines(address, size))

    def counters(self) -> dict[str, int]:
        unit = self._iommu
        return {} if unit is None else {"iommu_hits": unit.hits, "iommu_misses": unit.misses}
