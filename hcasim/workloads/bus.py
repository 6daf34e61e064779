"""The bus alone, as pcie-bench measures it: DMA reads and writes without a network."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Literal

from hcasim.bus import connect
from hcasim.bus.base import Gather, split
from hcasim.catalog import DmaDevice, Machine
from hcasim.engine import Call, Simulator
from hcasim.host import Host
from hcasim.workloads.device_engine import DeviceEngine
from hcasim.workloads.end import rate_columns
from hcasim.workloads.explain import Utilisation
from hcasim.workloads.laps import Laps
from hcasim.workloads.limits import IN_FLIGHT
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result

Done = Callable[[], None]
Start = Callable[[Done], None]
Kind = Literal["r", "w", "rw"]

LINE = 64
"""Places in a window begin at multiples of it."""
PAGE = 4096
"""Bytes after which a read and a write of the same operation take turns: the longest request."""
RANDOM_ERROR = 5e-3
"""Relative error to which a mean over places at random is known."""


class _Rig:
    """A device on the bus of a host, and the memory that it uses."""

    def __init__(self, sim: Simulator, machine: Machine, options: Options) -> None:
        description = machine.host
        if options.iommu != "host" and description.iommu is not None:
            unit = description.iommu.model_copy(update={"enabled": options.iommu == "on"})
            description = description.model_copy(update={"iommu": unit})
        device = machine.adapter
        host = Host(sim, description, "host")
        self.sim = sim
        self.bus = connect(host, device.bus, "bus")
        self.size = options.size
        self.engine: DeviceEngine | None = None
        self.in_flight = options.window
        if isinstance(device, DmaDevice):
            self.engine = DeviceEngine(sim, device.dma, self.bus, device.bus.longest_read)
            self.in_flight = device.dma.operations
            for queue in (self.engine.reads, self.engine.writes):
                sim.resources.serves(queue.name, queue)
        self._place = -(-options.size // LINE) * LINE
        self._places = max(1, options.window_bytes // self._place)
        self._random = random.Random(0)
        self._waiting: deque[tuple[int, int, Gather]] = deque()
        self._pages = 0
        self._warm(host, options.cache, self._places * self._place)

    @property
    def scattered(self) -> bool:
        """Whether operations are at places at random."""
        return self._places > 1

    def address(self) -> int:
        """Where the next operation is."""
        return self._place * self._random.randrange(self._places) if self.scattered else 0

    def _warm(self, host: Host, cache: str, size: int) -> None:
        """Let the processors or the device have written the window, from its begin to its end."""
        near, description = host.memory.caches[0], host.description.cache
        if cache == "host-warm":
            tail = min(size, description.size)
            near.access(size - tail, tail)
        elif cache == "device-warm" and near.ddio:
            tail = min(size, description.ddio)
            near.place(size - tail, tail)

    def starts(self, kind: Kind) -> tuple[Start, ...]:
        """What begins one operation, each kind in its turn."""
        if kind == "rw" and self.engine is None:
            return (self._both,)
        return {"r": (self._read,), "w": (self._write,), "rw": (self._read, self._write)}[kind]

    def _read(self, done: Done) -> None:
        (self.engine or self.bus).read(self.address(), self.size, done)

    def _write(self, done: Done) -> None:
        (self.engine or self.bus).write(self.address(), self.size, done)

    def _both(self, done: Done) -> None:
        """A read and a write behind it, page by page, done when all are."""
        parts = list(split(self.address(), self.size, PAGE))
        whole = Gather(len(parts), Call(done, ()))
        self._waiting.extend((start, length, whole) for start, length in parts)
        self._next_pages()

    def _next_pages(self) -> None:
        # No more are handed to the bus: behind all of a long write a read would starve.
        while self._waiting and self._pages < self.in_flight:
            start, length, whole = self._waiting.popleft()
            self._pages += 1
            both = Gather(2, Call(self._page_done, (whole,)))
            self.bus.start_read(start, length, both)
            self.bus.start_write(start, length, both, None)

    def _page_done(self, whole: Gather) -> None:
        self._pages -= 1
        whole.act()
        self._next_pages()


class _Stream:
    """Keeps a number of operations in flight and times windows of them."""

    def __init__(self, rig: _Rig, starts: tuple[Start, ...], options: Options) -> None:
        self.sim = rig.sim
        # Queues of an engine take long to fill, and places at random never repeat.
        drawn = rig.scattered or rig.engine is not None
        self.laps = Laps.of(
            options,
            error=RANDOM_ERROR if drawn else 1e-3,
            samples=32 if drawn else 0,
        )
        self.settled = rig.sim.event()
        self.usage = Utilisation(rig.sim)
        self._starts = starts
        self._window = rig.in_flight
        self._next = self._finished = self._since = 0

    def begin(self) -> None:
        """Fill the window."""
        for _ in range(self._window):
            self._start()

    def _start(self) -> None:
        start = self._starts[self._next]
        self._next = (self._next + 1) % len(self._starts)
        start(self._done)

    def _done(self) -> None:
        self._finished += 1
        if self._finished == self._window:
            now = self.sim.now
            self.laps.lap(now - self._since)
            self._finished, self._since = 0, now
            if self.laps.done and not self.settled.triggered:
                self.settled.succeed()
            elif len(self.laps.durations_ps) == 1:
                self.usage.mark()
        self._start()


def _bandwidth(sim: Simulator, machine: Machine, options: Options, kind: Kind) -> Result:
    rig = _Rig(sim, machine, options)
    starts = rig.starts(kind)
    stream = _Stream(rig, starts, options)
    stream.begin()
    sim.run(until=stream.settled)
    # An operation of a device is a read or a write; without one it is all of its kind.
    moves = 1 if rig.engine is not None else len(kind)
    per_second = moves * rig.in_flight / (stream.laps.mean_ps() / 1e12)
    columns = rate_columns(per_second, options.size)
    row = {"size": options.size, "qps": options.qps, **columns}
    if kind == "rw":
        row["each_way_MBps"] = columns["bandwidth_MBps"] / 2
    row["error_percent"] = stream.laps.error_percent
    # As many operations as may be are always under way.
    full = {IN_FLIGHT: stream.usage.elapsed_ps}
    return Result(row, rig.bus.counters(), stream.usage.report(full) if options.explain else {})


def bw_rd(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Bandwidth of DMA reads."""
    return _bandwidth(sim, machine, options, "r")


def bw_wr(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Bandwidth of DMA writes."""
    return _bandwidth(sim, machine, options, "w")


def bw_rdwr(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Bandwidth of DMA reads and writes in turn, added up and each way."""
    return _bandwidth(sim, machine, options, "rw")


def _latency(
    machine: Machine,
    sim: Simulator,
    options: Options,
    operation: Callable[[_Rig, int, Done], None],
) -> Result:
    rig = _Rig(sim, machine, options)
    laps = Laps.of(options, **({"error": RANDOM_ERROR, "samples": 500} if rig.scattered else {}))
    ended: list[int] = []

    def done() -> None:
        ended.append(sim.now)

    while not laps.done:
        begin = sim.now
        operation(rig, rig.address(), done)
        sim.run()
        laps.lap(ended.pop() - begin)
    row = {
        "size": options.size,
        "qps": options.qps,
        "latency_us": laps.mean_ps() / 1e6,
        "error_percent": laps.error_percent,
    }
    return Result(row, rig.bus.counters())


def lat_rd(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of one DMA read."""
    by_command = options.path == "command"

    def operation(rig: _Rig, address: int, done: Done) -> None:
        if rig.engine is None:
            rig.bus.read(address, options.size, done)
        elif by_command:
            rig.engine.command_read(address, options.size, done)
        else:
            rig.engine.read(address, options.size, done)

    return _latency(machine, sim, options, operation)


def lat_wrrd(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of a DMA read behind a DMA write to the same place.

    Commands are issued back to back; of an engine's operations, the read when the write is done.
    """
    by_command, size = options.path == "command", options.size

    def operation(rig: _Rig, address: int, done: Done) -> None:
        engine = rig.engine
        if engine is None:
            rig.bus.write(address, size)
            rig.bus.read(address, size, done)
        elif by_command:
            engine.command_write(address, size)
            engine.command_read(address, size, done)
        else:
            engine.write(address, size, lambda: engine.read(address, size, done))

    return _latency(machine, sim, options, operation)
