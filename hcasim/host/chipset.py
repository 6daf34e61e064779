"""Where a bus is attached to a socket: memory and processors behind the chipset."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from hcasim.catalog import Host as Description
from hcasim.engine import Action, Args, Simulator
from hcasim.engine.changes import Changes
from hcasim.host.copying import Copies
from hcasim.host.memory import SOCKET_BITS, Memory, Path
from hcasim.host.upstream import Transfer, Upstream


class _Fetch(Transfer):
    """A read that has come to memory, and will be answered when its latency is over."""

    __slots__ = ("_copies", "_path", "_transfer")

    block: ClassVar[str] = "Chipset"

    def __init__(
        self, copies: Copies, path: Path, address: int, size: int, transfer: Transfer
    ) -> None:
        self._copies = copies
        self._path = path
        self.address = address
        self.size = size
        self._transfer = transfer

    def act(self) -> None:
        if self._copies.running:
            self._copies.advance()
        size = self.size
        self._transfer.fetched(self._path.transfer(size), self.address, size)


class Chipset(Upstream):
    """The end of the way from a device, as its bus, attached to a socket, sees it."""

    changes: ClassVar[Changes] = Changes(times="_placed_at _visible_at")

    def __init__(
        self, sim: Simulator, description: Description, socket: int, memory: Memory
    ) -> None:
        self.sim = sim
        self._memory = memory
        self._to = memory.paths(socket, away=True)
        self._from = memory.paths(socket, away=False)
        near = memory.caches[socket]
        self._ddio = near if near.ddio else None
        self._uncached = len(memory.caches) << SOCKET_BITS
        self._stale = [cache for cache in memory.caches if cache is not self._ddio]
        self._copies = memory.copies
        self._read_latency = description.memory.read_latency
        self._write_latency = description.memory.write_latency
        self._dram_latency = description.memory.dram_latency
        self._mmio_latency = description.chipset.mmio_latency
        self._placed_at = self._visible_at = 0
        self._until_visible = False

    def read(self, at_ps: int, address: int, size: int, transfer: Transfer) -> None:
        self.fetch(at_ps, address, size, transfer)

    def fetch(self, at_ps: int, address: int, size: int, transfer: Transfer) -> int:
        """Read from memory; return when that answers, in ps."""
        path = self._from[address >> SOCKET_BITS]
        there: int = at_ps + self._read_latency + 2 * path.latency
        self.sim.schedule(there, _Fetch(self._copies, path, address, size, transfer))
        return there

    def write(
        self, at_ps: int, address: int, size: int, visible: Action | None, transfer: Transfer
    ) -> None:
        if at_ps > self.sim.now:
            self.sim.call_at(at_ps, self._store, address, size, visible, transfer)
        else:
            self._store(address, size, visible, transfer)

    def _store(
        self, address: int, size: int, visible: Action | None, transfer: Transfer, later_ps: int = 0
    ) -> None:
        if self._copies.begun or self._ddio is not None:
            if self._copies.running:
                self._copies.advance()
            for cache in self._stale:
                cache.invalidate(address, size)
        path = self._to[address >> SOCKET_BITS]
        now = stored = self.sim.now
        through, room = size, 0
        if self._ddio is not None and address < self._uncached:
            through = self._ddio.place(address, size)
            if through:
                # What a device wrote before goes to memory first, to make room.
                room = self._dram_latency
        if through:
            stored = path.transfer(through) + path.latency
        # Later writes are never seen first, wherever they go.
        placed_at = now + self._write_latency + path.latency + later_ps
        if stored > placed_at:
            placed_at = stored
        if self._placed_at > placed_at:
            placed_at = self._placed_at
        self._placed_at = placed_at
        visible_at = placed_at + room
        if self._visible_at > visible_at:
            visible_at = self._visible_at
        self._visible_at = visible_at
        transfer.taken(visible_at if self._until_visible else stored)
        if visible is not None:
            self.sim.schedule(visible_at, visible)

    def mmio(self, size: int, then: Callable[[*Args], None], *args: *Args) -> None:
        self.sim.call_after(self._mmio_latency, then, *args)
