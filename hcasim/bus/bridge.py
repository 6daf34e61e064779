"""A bridge: it passes on what comes from the bus before it, later and in pieces."""

from __future__ import annotations

from collections.abc import Callable

from hcasim.bus.base import Bus, split
from hcasim.catalog.buses import Bridge as Description
from hcasim.engine import Action, Args, Call, CreditPool, Simulator
from hcasim.host.upstream import Transfer, Upstream


class _Crossing(Transfer):
    """A read whose parts come back through a bridge."""

    __slots__ = ("_latency", "_sim", "_transfer")

    def __init__(self, sim: Simulator, latency_ps: int, transfer: Transfer) -> None:
        self._sim = sim
        self._latency = latency_ps
        self._transfer = transfer

    def fetched(self, last_at: int, address: int, size: int) -> None:
        latency = self._latency
        self._sim.call_after(latency, self._transfer.fetched, last_at + latency, address, size)


class _Kept(Transfer):
    """A write that a bridge keeps until what is behind it has taken it."""

    __slots__ = ("_buffer", "_room")

    def __init__(self, buffer: CreditPool, room: int) -> None:
        self._buffer = buffer
        self._room = room

    def taken(self, at_ps: int) -> None:
        self._buffer.release_at(at_ps, self._room)


class Bridge(Upstream):
    """Joins a bus to what is nearer to memory.

    It stores and forwards: a write goes on when the whole of it is here, and room for it is kept
    until it has been taken. Reads go on at once and come back in the parts in which the other side
    answers; none passes a write that waits for room (PCI Local Bus Specification 3.0, appendix E).
    """

    def __init__(
        self, sim: Simulator, name: str, description: Description, behind: Upstream
    ) -> None:
        self.sim = sim
        self.name = name
        self.behind = behind
        self._latency = description.latency
        self._buffer = CreditPool(sim, f"{name}.buffer", description.buffer)
        sim.resources.keeps_waiting(self._buffer.name, self._buffer)

    def read(self, at_ps: int, address: int, size: int, transfer: Transfer) -> None:
        self._buffer.acquire(0, self._fetch, at_ps, address, size, transfer)

    def _fetch(self, at_ps: int, address: int, size: int, transfer: Transfer) -> None:
        at_ps = max(at_ps, self.sim.now) + self._latency
        self.behind.read(at_ps, address, size, _Crossing(self.sim, self._latency, transfer))

    def write(
        self, at_ps: int, address: int, size: int, visible: Action | None, transfer: Transfer
    ) -> None:
        room = min(size, self._buffer.capacity)
        self._buffer.acquire(room, self._take, at_ps, address, size, room, visible, transfer)

    def _take(
        self,
        at_ps: int,
        address: int,
        size: int,
        room: int,
        visible: Action | None,
        transfer: Transfer,
    ) -> None:
        at_ps = max(at_ps, self.sim.now)
        transfer.taken(at_ps)
        kept = _Kept(self._buffer, room)
        self.behind.write(at_ps + self._latency, address, size, visible, kept)

    def mmio(self, size: int, then: Callable[[*Args], None], *args: *Args) -> None:
        self.behind.mmio(size, self._through, then, args)

    def _through(self, then: Callable[[*Args], None], args: tuple[*Args]) -> None:
        self.sim.call_after(self._latency, then, *args)

    def counters(self) -> dict[str, int]:
        return self.behind.counters()


class BusBehind(Upstream):
    """Another bus as a bridge sees it that is the device on it, and reads it piece by piece."""

    def __init__(self, sim: Simulator, bus: Bus, piece: int, reads: int) -> None:
        self.sim = sim
        self.bus = bus
        self._piece = piece
        self._reads = CreditPool(sim, f"{bus.name}.bridge_reads", reads)
        sim.resources.keeps_waiting(self._reads.name, self._reads)

    def read(self, at_ps: int, address: int, size: int, transfer: Transfer) -> None:
        self.sim.call_at(at_ps, self._read, address, size, transfer)

    def _read(self, address: int, size: int, transfer: Transfer) -> None:
        for start, piece in split(address, size, self._piece):
            self._reads.acquire(1, self._request, start, piece, transfer)

    def _request(self, address: int, size: int, transfer: Transfer) -> None:
        self.bus.read(address, size, self._arrived, address, size, transfer)

    def _arrived(self, address: int, size: int, transfer: Transfer) -> None:
        self._reads.release(1)
        transfer.fetched(self.sim.now, address, size)

    def write(
        self, at_ps: int, address: int, size: int, visible: Action | None, transfer: Transfer
    ) -> None:
        self.sim.call_at(at_ps, self._write, address, size, visible, transfer)

    def _write(self, address: int, size: int, visible: Action | None, transfer: Transfer) -> None:
        self.bus.start_write(address, size, Call(self._sent, (transfer,)), visible)

    def _sent(self, transfer: Transfer) -> None:
        transfer.taken(self.sim.now)

    def mmio(self, size: int, then: Callable[[*Args], None], *args: *Args) -> None:
        self.bus.mmio_write(size, then, *args)

    def counters(self) -> dict[str, int]:
        return {f"bridged_{name}": count for name, count in self.bus.counters().items()}
