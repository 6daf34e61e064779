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
from typing import Final

from hcasim.bus.base import Bus, Gather, pieces, split
from hcasim.bus.upstream import Upstream
from hcasim.catalog import PcixDevice
from hcasim.engine import Arbiter, CreditPool, Rate, Simulator

ADDRESS_CLOCKS: Final = 1
ATTRIBUTE_CLOCKS: Final = 1
RESPONSE_CLOCKS: Final = 2
SPLIT_RESPONSE_CLOCKS: Final = 1
TURNAROUND_CLOCKS: Final = 2

DEVICE_READ, DEVICE_WRITE, BRIDGE = range(3)
AGENTS: Final = (2, 1)


class _Request:
    """A split transaction, and the read that it belongs to."""

    __slots__ = ("missing", "whole")

    def __init__(self, size: int, whole: Gather) -> None:
        self.missing = size
        self.whole = whole


class PcixBus(Bus):
    """A device on a PCI-X bus behind a bridge.

    The device and the bridge take turns; within the device the short read requests go first.

    Args:
        device: the device's side of the bus.
        burst: longest split completion of the bridge in bytes.
        behind: the bridge and what it leads to.
    """

    def __init__(
        self, sim: Simulator, device: PcixDevice, burst: int, behind: Upstream, name: str
    ) -> None:
        super().__init__()
        self.sim = sim
        self.name = name
        self.device = device
        self.behind = behind
        self.arbiter = Arbiter(sim, f"{name}.bus", AGENTS)
        self.splits = CreditPool(sim, f"{name}.outstanding_splits", device.outstanding_splits)
        self._completion_burst = burst
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
        request = _Request(size, whole)
        self.behind.read(self.sim.now, address, size, self._fetched, request)

    def _fetched(self, fetched: int, address: int, size: int, request: _Request) -> None:
        """Drive part of what was asked for, whose last byte is here at ``fetched``."""
        request.missing -= size
        last = address + size
        for start, piece in split(address, size, self._completion_burst):
            final = start + piece == last and not request.missing
            done = self._driven if final else _nothing
            whole = request.whole
            self.arbiter.request(BRIDGE, self.burst_time(start, piece), done, fetched, whole)

    def _driven(self, fetched: int, whole: Gather) -> None:
        # The bridge cannot drive the last byte before it has it.
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
                start,
                piece,
                on_sent if final else None,
                on_visible if final else None,
            )

    def _written(
        self,
        address: int,
        size: int,
        on_sent: Callable[[], None] | None,
        on_visible: Callable[[], None] | None,
    ) -> None:
        self.behind.write(self.sim.now, address, size, on_visible, self._taken, on_sent)

    def _taken(self, at_ps: int, on_sent: Callable[[], None] | None) -> None:
        # The bridge stops the device when what is behind it falls behind.
        if on_sent is None:
            return
        if at_ps > self.sim.now:
            self.sim.call_at(at_ps, on_sent)
        else:
            on_sent()

    # The processor's accesses, driven by the bridge.

    def mmio_write(self, size: int, on_arrival: Callable[..., None], *args: object) -> None:
        self.mmio_writes += 1
        self.behind.mmio(size, self._mmio_drive, size, on_arrival, args)

    def _mmio_drive(
        self, size: int, on_arrival: Callable[..., None], args: tuple[object, ...]
    ) -> None:
        self.arbiter.request(BRIDGE, self.burst_time(0, size), on_arrival, *args)

    def mmio_read(self, size: int, on_data: Callable[..., None], *args: object) -> None:
        self.behind.mmio(size, self._mmio_drive, size, self.mmio_answer, (size, on_data, *args))

    def mmio_answer(self, size: int, on_data: Callable[..., None], *args: object) -> None:
        # The device has held the bus until its answer was on it.
        self.behind.answer(size, on_data, *args)

    # What was used.

    def busy_ps(self) -> dict[str, int]:
        return {self.arbiter.name: self.arbiter.busy_ps} | self.behind.busy_ps()

    def waiting_ps(self) -> dict[str, int]:
        return {self.splits.name: self.splits.wait_ps} | self.behind.waiting_ps()

    def counters(self) -> dict[str, int]:
        own = {
            "pcix_read_grants": self.arbiter.grants[DEVICE_READ],
            "pcix_write_grants": self.arbiter.grants[DEVICE_WRITE],
            "pcix_bridge_grants": self.arbiter.grants[BRIDGE],
        }
        return super().counters() | own | self.behind.counters()


def _nothing(*_args: object) -> None:
    """A part of a completion that is not the last."""
