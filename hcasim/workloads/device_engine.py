"""A DMA engine on a bus: bulk operations in its turns, and commands past it."""

from __future__ import annotations

from collections.abc import Callable

from hcasim.bus.base import Bus, Gather, split
from hcasim.catalog.adapter import DmaEngine as Description
from hcasim.engine import Call, Rate, SerialServer, Simulator

Done = Callable[[], None]


class DeviceEngine:
    """Reads and writes for the software of a device; each calls `done` when that has seen the end.

    Reads and writes have a queue each and begin in its order, a request of each at a time, which
    may read so many bytes. Half of the device's latency lies before the bus and half behind it.
    """

    def __init__(self, sim: Simulator, description: Description, bus: Bus, request: int) -> None:
        self.sim, self.bus, self._request = sim, bus, request
        self._before = description.latency // 2
        self._after = description.latency - self._before
        self._command_before = description.command_latency // 2
        self._command_after = description.command_latency - self._command_before
        self._read_interval = description.read_interval
        self._write_interval = description.write_interval
        self._read_rate = Rate.from_bandwidth(description.read_bandwidth)
        self._store_rate = Rate.from_bandwidth(description.store_bandwidth)
        self.reads = SerialServer(sim, "dma.reads")
        self.writes = SerialServer(sim, "dma.writes")

    def read(self, address: int, size: int, done: Done) -> None:
        """Read by the engine."""
        self.sim.call_after(self._before, self._begin_read, address, size, done)

    def _begin_read(self, address: int, size: int, done: Done) -> None:
        turn = self._read_interval + self._read_rate.time(size)
        self.sim.call_at(self.reads.reserve(turn) - turn, self._read, address, size, done)

    def _read(self, address: int, size: int, done: Done) -> None:
        store = SerialServer(self.sim, "dma.store")
        parts = list(split(address, size, self._request))
        stored = Gather(len(parts), Call(self._later, (self._after, done)))
        for start, length in parts:
            self.bus.read(start, length, self._arrived, store, length, stored)

    def _arrived(self, store: SerialServer, size: int, stored: Gather) -> None:
        self.sim.schedule(store.reserve(self._store_rate.time(size)), stored)

    def _later(self, delay_ps: int, done: Done) -> None:
        self.sim.call_after(delay_ps, done)

    def write(self, address: int, size: int, done: Done) -> None:
        """Write by the engine, which ends when the data have left."""
        self.sim.call_after(self._before, self._begin_write, address, size, done)

    def _begin_write(self, address: int, size: int, done: Done) -> None:
        turn = self._write_interval
        self.sim.call_at(self.writes.reserve(turn) - turn, self._write, address, size, done)

    def _write(self, address: int, size: int, done: Done) -> None:
        self.bus.write(address, size, lambda: self._later(self._after, done))

    def command_read(self, address: int, size: int, done: Done) -> None:
        """Read by a command."""
        after = self._command_after
        self.sim.call_after(
            self._command_before, self.bus.read, address, size, self._later, after, done
        )

    def command_write(self, address: int, size: int) -> None:
        """Write by a command, for which nobody waits."""
        self.sim.call_after(self._command_before, self.bus.write, address, size)
