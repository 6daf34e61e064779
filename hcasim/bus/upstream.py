"""What a bus leads to: the memory controller, or a bridge and what is behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from hcasim.catalog import Host
from hcasim.engine import Simulator
from hcasim.host import HostMemory

Part = Callable[..., None]
"""Called with (time in ps of the last byte, address, bytes, further arguments)."""


class Upstream(Protocol):
    """The side of a bus that is nearer to memory and to the processor."""

    def read(self, at_ps: int, address: int, size: int, then: Part, *args: Any) -> None:
        """Fetch ``size`` bytes for a request that arrives at ``at_ps``.

        ``then(last_at, address, size, *args)`` is called for each part, in the order of addresses,
        when it can begin to be passed on; its last byte is there at ``last_at``.
        """

    def write(
        self,
        at_ps: int,
        address: int,
        size: int,
        on_visible: Callable[[], None] | None,
        taken: Callable[..., None],
        *args: Any,
    ) -> None:
        """Write ``size`` bytes that arrive at ``at_ps``.

        ``taken(time, *args)`` is called with the time in ps at which their room is free again,
        ``on_visible`` when a polling processor can see them.
        """

    def mmio(self, size: int, then: Callable[..., None], *args: Any) -> None:
        """Bring an access by the processor here, then call ``then(*args)``."""

    def answer(self, size: int, then: Callable[..., None], *args: Any) -> None:
        """Bring what the processor has read back to it, then call ``then(*args)``."""

    def busy_ps(self) -> dict[str, int]:
        """Time in ps that each serial resource was in use so far, by name."""

    def waiting_ps(self) -> dict[str, int]:
        """Time in ps that requests waited for each pool of credits or tags so far, by name."""

    def counters(self) -> dict[str, int]:
        """Transactions and bytes so far, by name."""


class MemoryController:
    """The end of the way: memory and the processor behind the chipset.

    Args:
        host: latencies in ps, bandwidth in B/s.
    """

    def __init__(self, sim: Simulator, host: Host, name: str) -> None:
        self.sim = sim
        self.memory = HostMemory(sim, host, name)
        self._read_latency = host.memory.read_latency
        self._write_latency = host.memory.write_latency
        self._mmio_latency = host.chipset.mmio_latency

    def read(self, at_ps: int, address: int, size: int, then: Part, *args: Any) -> None:
        """Fetch from memory: it answers as a whole."""
        self.sim.call_at(at_ps + self._read_latency, self._fetched, address, size, then, args)

    def _fetched(self, address: int, size: int, then: Part, args: tuple[Any, ...]) -> None:
        then(self.memory.transfer(size), address, size, *args)

    def write(
        self,
        at_ps: int,
        address: int,
        size: int,
        on_visible: Callable[[], None] | None,
        taken: Callable[..., None],
        *args: Any,
    ) -> None:
        """Store in memory."""
        if at_ps > self.sim.now:
            self.sim.call_at(at_ps, self._store, size, on_visible, taken, args)
        else:
            self._store(size, on_visible, taken, args)

    def _store(
        self,
        size: int,
        on_visible: Callable[[], None] | None,
        taken: Callable[..., None],
        args: tuple[Any, ...],
    ) -> None:
        stored = self.memory.transfer(size)
        taken(stored, *args)
        if on_visible is not None:
            self.sim.call_at(max(stored, self.sim.now + self._write_latency), on_visible)

    def mmio(self, size: int, then: Callable[..., None], *args: Any) -> None:
        """The processor's store leaves the chipset."""
        self.sim.call_after(self._mmio_latency, then, *args)

    def answer(self, size: int, then: Callable[..., None], *args: Any) -> None:
        """The processor has what it read."""
        self.sim.call_after(self._mmio_latency, then, *args)

    def busy_ps(self) -> dict[str, int]:
        """Time in ps that memory was in use so far, by name."""
        return {self.memory.controller.name: self.memory.controller.busy_ps}

    def waiting_ps(self) -> dict[str, int]:
        """Nothing waits in pools here."""
        return {}

    def counters(self) -> dict[str, int]:
        """Nothing is counted here."""
        return {}
