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
from typing import ClassVar, Final

from hcasim.bus.base import Bus, Gather, pieces, split
from hcasim.catalog import PcixDevice
from hcasim.catalog.buses import OtherDevice
from hcasim.engine import Action, Arbiter, Args, Call, CreditPool, Rate, Simulator
from hcasim.engine.changes import Changes
from hcasim.host.upstream import Transfer, Upstream

ADDRESS_CLOCKS: Final = 1
ATTRIBUTE_CLOCKS: Final = 1
RESPONSE_CLOCKS: Final = 2
SPLIT_RESPONSE_CLOCKS: Final = 1
TURNAROUND_CLOCKS: Final = 2

DEVICE_READ, DEVICE_WRITE, BRIDGE, OTHER = range(4)
AGENTS: Final = (2, 1, 1)
TURNS: Final = ("read request", "write", "bridge", "other device")
"""What the agents use the bus for; the bridge drives completions and register accesses."""


class _Read(Transfer):
    """A split transaction, and the read that it belongs to."""

    __slots__ = ("_bus", "_issued", "missing", "requested", "whole")

    block: ClassVar[str] = "PcixBus"

    def __init__(
        self, bus: PcixBus, address: int, size: int, whole: Gather, issued: Action | None
    ) -> None:
        self._bus = bus
        self.address = address
        self.size = size
        self._issued = issued
        self.missing = size
        self.whole = whole
        self.requested = False

    def act(self) -> None:
        if not self.requested:
            self.requested = True
            self._bus.request(self)
            return
        if self._issued is not None:
            self._issued.act()
        self._bus.behind.read(self._bus.sim.now, self.address, self.size, self)

    def fetched(self, last_at: int, address: int, size: int) -> None:
        self.missing -= size
        self._bus.complete(self, last_at, address, size)


class _Completion(Action):
    """The last part of a split transaction."""

    changes: ClassVar[Changes] = Changes(times="_here_at")

    __slots__ = ("_bus", "_here_at", "_whole")

    block: ClassVar[str] = "PcixBus"

    def __init__(self, bus: PcixBus, here_at: int, whole: Gather) -> None:
        self._bus = bus
        self._here_at = here_at
        self._whole = whole

    def act(self) -> None:
        """It has been driven, but the bridge cannot drive the last byte before it has it."""
        sim = self._bus.sim
        if self._here_at > sim.now:
            sim.schedule(self._here_at, self)
            return
        self._bus.splits.release(1)
        self._whole.act()


class _Nothing(Action):
    """What follows on all other parts."""

    def act(self) -> None:
        pass


_NOTHING: Final = _Nothing()


class _Write(Transfer):
    """A burst; only the last of a write has anything to do then."""

    __slots__ = ("_bus", "_sent", "_visible")

    block: ClassVar[str] = "PcixBus"

    def __init__(
        self, bus: PcixBus, address: int, size: int, sent: Action | None, visible: Action | None
    ) -> None:
        self._bus = bus
        self.address = address
        self.size = size
        self._sent = sent
        self._visible = visible

    def act(self) -> None:
        bus = self._bus
        bus.behind.write(bus.sim.now, self.address, self.size, self._visible, self)

    def taken(self, at_ps: int) -> None:
        if self._sent is None:
            return
        if at_ps > self._bus.sim.now:
            self._bus.sim.schedule(at_ps, self._sent)
        else:
            self._sent.act()


class _Other(Action):
    """Bursts of another device, one in each interval; it rests while nobody else uses the bus.

    One burst waits at a time, behind one on the bus: what has no room there is not made up for.
    """

    changes: ClassVar[Changes] = Changes(times="_last")

    __slots__ = ("_arbiter", "_asleep", "_burst", "_interval", "_last", "_over", "_sim", "_used")

    block: ClassVar[str] = "PcixBus"

    def __init__(self, sim: Simulator, arbiter: Arbiter, burst_ps: int, interval_ps: int) -> None:
        self._sim, self._arbiter = sim, arbiter
        self._burst, self._interval = burst_ps, interval_ps
        self._last = 0
        self._over = _Over()
        self._asleep, self._used = True, False

    def wake(self) -> None:
        """Somebody uses the bus, on which a burst may be going on."""
        self._used = True
        if self._asleep:
            self._asleep = False
            now = self._sim.now
            self._last += (now - self._last) // self._interval * self._interval
            if (rest := self._last + self._burst - now) > 0:
                self._drive(rest)
            self._sim.schedule(self._last + self._interval, self)

    def _drive(self, duration_ps: int) -> None:
        if self._over.missing < 2:
            self._over.missing += 1
            self._arbiter.request(OTHER, duration_ps, self._over)

    def act(self) -> None:
        self._last = self._sim.now
        self._asleep = not self._used and not self._arbiter.waits(OTHER)
        self._used = False
        if not self._asleep:
            self._drive(self._burst)
            self._sim.schedule(self._last + self._interval, self)


class _Over(Action):
    """The end of a burst of the other device."""

    __slots__ = ("missing",)

    def __init__(self) -> None:
        self.missing = 0

    def act(self) -> None:
        self.missing -= 1


class PcixBus(Bus):
    """A device on a PCI-X bus behind a bridge, which drives bursts of completions.

    The device and the bridge take turns, and another device if there is one: its writes take time
    of the bus, none of the bridge and memory. Within the device the short read requests go first,
    but no more of them pass a write that waits than may be outstanding: if one always waits, a
    write still gets its turn.
    """

    def __init__(
        self,
        sim: Simulator,
        device: PcixDevice,
        burst: int,
        behind: Upstream,
        name: str,
        other: OtherDevice | None = None,
    ) -> None:
        super().__init__()
        self.sim = sim
        self.name = name
        self.device = device
        self.behind = behind
        self.arbiter = Arbiter(sim, f"{name}.bus", AGENTS, TURNS, device.outstanding_splits)
        self.splits = CreditPool(sim, f"{name}.outstanding_splits", device.outstanding_splits)
        sim.resources.serves(self.arbiter.name, self.arbiter)
        sim.resources.keeps_waiting(self.splits.name, self.splits)
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
        self._other: _Other | None = None
        if other is not None:
            interval = Rate.from_bandwidth(other.rate).time(other.burst)
            self._other = _Other(sim, self.arbiter, self.burst_time(0, other.burst), interval)

    def _drive(self, agent: int, duration_ps: int, done: Action) -> None:
        if self._other is not None:
            self._other.wake()
        self.arbiter.request(agent, duration_ps, done)

    def burst_time(self, address: int, size: int) -> int:
        overhead = ADDRESS_CLOCKS + ATTRIBUTE_CLOCKS + RESPONSE_CLOCKS + TURNAROUND_CLOCKS
        return self._clock.time(overhead + pieces(address, size, self._width))

    # DMA reads: split requests by the adapter, split completions by the bridge.

    def start_read(
        self, address: int, size: int, here: Action, issued: Action | None = None
    ) -> None:
        limit = self.device.mmrbc
        whole = Gather(pieces(address, size, limit), here)
        last = address + size
        for start, piece in split(address, size, limit):
            self.reads += 1
            self.read_bytes += piece
            read = _Read(self, start, piece, whole, issued if start + piece == last else None)
            if self.splits.take(1):
                read.act()
            else:
                self.splits.wait(1, read)

    def request(self, read: _Read) -> None:
        self._drive(DEVICE_READ, self._request_time, read)

    def complete(self, read: _Read, fetched: int, address: int, size: int) -> None:
        last = address + size
        for start, piece in split(address, size, self._completion_burst):
            final = start + piece == last and not read.missing
            done = _Completion(self, fetched, read.whole) if final else _NOTHING
            self._drive(BRIDGE, self.burst_time(start, piece), done)

    # DMA writes: posted into the bridge.

    def start_write(
        self, address: int, size: int, sent: Action | None, visible: Action | None
    ) -> None:
        self.writes += 1
        self.write_bytes += size
        last = address + size
        for start, piece in split(address, size, self.device.write_burst):
            if start + piece == last:
                write = _Write(self, start, piece, sent, visible)
            else:
                write = _Write(self, start, piece, None, None)
            self._drive(DEVICE_WRITE, self.burst_time(start, piece), write)

    def hold(self, duration_ps: int) -> int:
        """No adapter of that bus changes its tables while it moves data."""
        return self.sim.now + duration_ps

    # The processor's accesses, driven by the bridge.

    def mmio_write(self, size: int, on_arrival: Callable[[*Args], None], *args: *Args) -> None:
        self.mmio_writes += 1
        self.behind.mmio(size, self._mmio_drive, size, on_arrival, args)

    def _mmio_drive(
        self, size: int, on_arrival: Callable[[*Args], None], args: tuple[*Args]
    ) -> None:
        self._drive(BRIDGE, self.burst_time(0, size), Call(on_arrival, args))

    def counters(self) -> dict[str, int]:
        own = {
            "pcix_read_grants": self.arbiter.grants[DEVICE_READ],
            "pcix_write_grants": self.arbiter.grants[DEVICE_WRITE],
            "pcix_bridge_grants": self.arbiter.grants[BRIDGE],
        }
        if self._other is not None:
            own["pcix_other_grants"] = self.arbiter.grants[OTHER]
        return super().counters() | own | self.behind.counters()
