"""The adapter's own memory."""

from __future__ import annotations

from collections.abc import Callable

from hcasim.bus import Storage
from hcasim.catalog.adapter import LocalMemory as Description
from hcasim.engine import Arbiter, Rate, Simulator

READ, WRITE = range(2)


class LocalMemory(Storage):
    """A DIMM behind a controller that moves one burst at a time and lets reads go first.

    Args:
        description: latency in ps, bandwidth in B/s.
        size: bytes that buffers may take.
    """

    def __init__(self, sim: Simulator, name: str, description: Description, size: int) -> None:
        self.sim = sim
        self.controller = Arbiter(sim, name, [2])
        self.reads = self.read_bytes = self.writes = self.write_bytes = 0
        self._latency = description.latency
        self._size = size
        self._used = 0
        self._rate = Rate.from_bandwidth(description.bandwidth)

    def read(
        self,
        address: int,
        size: int,
        on_data: Callable[..., None],
        *args: object,
        on_issued: Callable[[], None] | None = None,
    ) -> None:
        """Read ``size`` bytes; call ``on_data(*args)`` when the last one is here."""
        self.reads += 1
        self.read_bytes += size
        self.controller.request(
            READ, self._rate.time(size), self.sim.call_after, self._latency, on_data, *args
        )
        if on_issued is not None:
            on_issued()

    def write(
        self,
        address: int,
        size: int,
        on_sent: Callable[[], None] | None = None,
        on_visible: Callable[[], None] | None = None,
    ) -> None:
        """Write ``size`` bytes; the calls are those of :class:`Storage`.

        What the controller has taken can be read, although it is stored later.
        """
        self.writes += 1
        self.write_bytes += size
        # Stored from a buffer, so that a read asked for at the same time goes first.
        self.sim.call_after(0, self._store, size, on_sent)
        if on_visible is not None:
            self.sim.call_after(0, on_visible)

    def _store(self, size: int, on_sent: Callable[[], None] | None) -> None:
        self.controller.request(WRITE, self._rate.time(size), on_sent or _nobody)

    def allocate(self, length: int, page_size: int) -> int:
        """Address of ``length`` fresh bytes, aligned to a page of ``page_size`` bytes.

        Raises:
            MemoryError: if they do not fit.
        """
        address = -(-self._used // page_size) * page_size
        if address + length > self._size:
            raise MemoryError(
                f"{length} bytes of the adapter's memory; {max(0, self._size - address)} are free"
            )
        self._used = address + length
        return address

    def counters(self) -> dict[str, int]:
        """Accesses and bytes so far, by name."""
        return {
            "local_memory_reads": self.reads,
            "local_memory_read_bytes": self.read_bytes,
            "local_memory_writes": self.writes,
            "local_memory_write_bytes": self.write_bytes,
        }


def _nobody() -> None:
    """Nobody keeps the data of this write."""
