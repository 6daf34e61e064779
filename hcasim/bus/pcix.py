"""PCI-X: one parallel half-duplex bus for reads, writes and register accesses.

Phases follow the PCI-X Addendum to the PCI Local Bus Specification: one address phase (memory lies
below 4 GiB), one attribute phase, the target's response, data phases without wait states, and a
turn-around before the bus is idle. A memory read that crosses a bridge is a
split transaction: a request that ends with a Split Response, and one or more Split Completions
that the bridge drives later and may cut at allowable disconnect boundaries (128 bytes).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from hcasim.bus.base import Bus, Gather, pieces, split
from hcasim.catalog import Host, PcixDevice
from hcasim.engine import Arbiter, CreditPool, Rate, Simulator
from hcasim.host import HostMemory

ADDRESS_CLOCKS = 1
ATTRIBUTE_CLOCKS = 1
RESPONSE_CLOCKS = 2
SPLIT_RESPONSE_CLOCKS = 1
TURNAROUND_CLOCKS = 2

DEVICE_READ, DEVICE_WRITE, BRIDGE = range(3)
AGENTS = (2, 1)


class PcixBus(Bus):
    """An adapter on a PCI-X bus behind a bridge to the memory controller.

    The adapter and the bridge take turns; within the adapter the short read requests go first.

    Args:
        device: the adapter's side of the bus.
        host: chipset, bridge and memory.
    """

    def __init__(self, sim: Simulator, device: PcixDevice, host: Host, name: str) -> None:
        super().__init__()
        self.sim = sim
        self.name = name
        self.device = device
        self.memory = HostMemory(sim, host, name)
        self.arbiter = Arbiter(sim, f"{name}.bus", AGENTS)
        self.splits = CreditPool(sim, f"{name}.outstanding_splits", device.outstanding_splits)
        self._bridge_latency = host.pcix_bridge.latency
        self._mmio_latency = host.chipset.mmio_latency + host.pcix_bridge.latency
        self._completion_burst = host.pcix_bridge.completion_burst
        self._width = device.width_bits // 8
        self._clock = Rate(Fraction(10**12, device.clock))
        self._request_time = self._clock.time(
            ADDRESS_CLOCKS
            + ATTRIBUTE_CLOCKS
            + RESPONSE_CLOCKS
            + SPLIT_RESPONSE_CLOCKS
            + TURNAROUND_CLOCKS
        )

    def burst_time(self, address: int, size: int) -> int:
        """Time in ps that a burst of ``size`` bytes holds the bus."""
        overhead = ADDRESS_CLOCKS + ATTRIBUTE_CLOCKS + RESPONSE_CLOCKS + TURNAROUND_CLOCKS
        return self._clock.time(overhead + pieces(address, size, self._width))

    # DMA reads: split requests by the adapter, split completions by the bridge.

    def read(
        self,
        address: int,
        size: int,
        on_data: Callable[..., None],
        *args: object,
        on_issued: Callable[[], None] | None = None,
    ) -> None:
        limit = self.device.mmrbc
        whole = Gather(pieces(address, size, limit), on_data, args)
        last = address + size
        for start, piece in split(address, size, limit):
            self.reads += 1
            self.read_bytes += piece
            issued = on_issued if start + piece == last else None
            self.splits.acquire(1, self._request, start, piece, whole, issued)

    def _request(
        self, address: int, size: int, whole: Gather, on_issued: Callable[[], None] | None
    ) -> None:
        self.arbiter.request(
            DEVICE_READ, self._request_time, self._requested, address, size, whole, on_issued
        )

    def _requested(
        self, address: int, size: int, whole: Gather, on_issued: Callable[[], None] | None
    ) -> None:
        if on_issued is not None:
            on_issued()
        self.sim.call_after(
            2 * self._bridge_latency + self.memory.read_latency_ps,
            self._fetched,
            address,
            size,
            whole,
        )

    def _fetched(self, address: int, size: int, whole: Gather) -> None:
        fetched = self.memory.transfer(size)
        last = address + size
        for start, piece in split(address, size, self._completion_burst):
            done = self._driven if start + piece == last else _nothing
            self.arbiter.request(BRIDGE, self.burst_time(start, piece), done, fetched, whole)

    def _driven(self, fetched: int, whole: Gather) -> None:
        # The bridge cannot drive the last byte before memory has given it.
        if fetched > self.sim.now:
            self.sim.call_at(fetched, self._completed, whole)
        else:
            self._completed(whole)

    def _completed(self, whole: Gather) -> None:
        self.splits.release(1)
        whole.arrived()

    # DMA writes: posted into the bridge.

    def write(
        self,
        address: int,
        size: int,
        on_sent: Callable[[], None] | None = None,
        on_visible: Callable[[], None] | None = None,
    ) -> None:
        self.writes += 1
        self.write_bytes += size
        last = address + size
        for start, piece in split(address, size, self.device.write_burst):
            final = start + piece == last
            self.arbiter.request(
                DEVICE_WRITE,
                self.burst_time(start, piece),
                self._written,
                piece,
                on_sent if final else None,
                on_visible if final else None,
            )

    def _written(
        self,
        size: int,
        on_sent: Callable[[], None] | None,
        on_visible: Callable[[], None] | None,
    ) -> None:
        stored = self.memory.transfer(size)
        if on_visible is not None:
            at_memory = self.sim.now + self._bridge_latency + self.memory.write_latency_ps
            self.sim.call_at(max(stored, at_memory), on_visible)
        if on_sent is not None:
            # The bridge holds what is on its way; it stops the adapter when memory falls behind.
            taken = stored - self._bridge_latency
            if taken > self.sim.now:
                self.sim.call_at(taken, on_sent)
            else:
                on_sent()

    # The processor's accesses, driven by the bridge.

    def mmio_write(self, size: int, on_arrival: Callable[..., None], *args: object) -> None:
        self.mmio_writes += 1
        self.sim.call_after(self._mmio_latency, self._mmio_drive, size, on_arrival, args)

    def _mmio_drive(
        self, size: int, on_arrival: Callable[..., None], args: tuple[object, ...]
    ) -> None:
        self.arbiter.request(BRIDGE, self.burst_time(0, size), on_arrival, *args)

    def mmio_read(self, size: int, on_data: Callable[..., None], *args: object) -> None:
        self.sim.call_after(
            self._mmio_latency, self._mmio_drive, size, self._mmio_answer, (on_data, args)
        )

    def _mmio_answer(self, on_data: Callable[..., None], args: tuple[object, ...]) -> None:
        self.sim.call_after(self._mmio_latency, on_data, *args)

    # What was used.

    def busy_ps(self) -> dict[str, int]:
        return {
            self.arbiter.name: self.arbiter.busy_ps,
            self.memory.controller.name: self.memory.controller.busy_ps,
        }

    def waiting_ps(self) -> dict[str, int]:
        return {self.splits.name: self.splits.wait_ps}

    def counters(self) -> dict[str, int]:
        return super().counters() | {
            "pcix_read_grants": self.arbiter.grants[DEVICE_READ],
            "pcix_write_grants": self.arbiter.grants[DEVICE_WRITE],
            "pcix_bridge_grants": self.arbiter.grants[BRIDGE],
        }


def _nothing(*_args: object) -> None:
    """A part of a completion that is not the last."""
