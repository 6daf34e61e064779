"""The bus alone, as pcie-bench measures it: DMA reads and writes without a network."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Literal

from hcasim.bus import connect
from hcasim.bus.base import Gather, split
from hcasim.catalog import DmaDevice
from hcasim.engine import Call
from hcasim.host import Host
from hcasim.workloads.device_engine import DeviceEngine
from hcasim.workloads.end import rate_columns, stride
from hcasim.workloads.laps import BLOCK, Laps
from hcasim.workloads.limits import IN_FLIGHT
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run

Done = Callable[[], None]
Start = Callable[[Done], None]
Kind = Literal["r", "w", "rw"]

PAGE = 4096
"""Bytes after which a read and a write of the same operation take turns: the longest request."""
ERROR = 5e-3
"""Relative error to which the mean of what does not repeat itself is known."""
FEWEST, FEWEST_ALONE = 128, 500
"""Windows of operations, and single operations at random places, of which a mean may be known."""


class _Rig:
    def __init__(self, run: Run, *, writes: bool) -> None:
        sim, options, device = run.sim, run.options, run.machine.adapter
        host = Host(sim, run.machine.host, "host")
        self.bus = connect(host, device.bus, "bus", host.description.adapter_socket)
        self.size = options.size
        self.engine: DeviceEngine | None = None
        self.in_flight = options.window
        if isinstance(device, DmaDevice):
            self.engine = DeviceEngine(sim, device.dma, self.bus, device.bus.longest_read)
            self.in_flight = device.dma.operations
            for queue in (self.engine.reads, self.engine.writes):
                sim.resources.serves(queue.name, queue)
        self._place = stride(options.size)
        self._places = max(1, options.window_bytes // self._place)
        self._random = random.Random(0)
        self._waiting: deque[tuple[int, int, Gather]] = deque()
        self._pages = 0
        self._warm(host, options.cache, self._places * self._place, writes=writes)

    @property
    def scattered(self) -> bool:
        return self._places > 1

    def unused(self, laps: int) -> float:
        """Places that are expected not to have been used after so many windows of operations."""
        blocks = max(1, self._places * self._place // max(BLOCK, self._place))
        return blocks * (1 - 1 / blocks) ** (laps * self.in_flight)

    def address(self) -> int:
        return self._place * self._random.randrange(self._places) if self.scattered else 0

    def _warm(self, host: Host, cache: str, size: int, *, writes: bool) -> None:
        """Let the processors or the device have written the window, from its begin to its end.

        What writes has filled the device's part of the cache long before its millions are done.
        """
        near, description = host.memory.caches[0], host.description.cache
        if cache == "host-warm":
            tail = min(size, description.size)
            near.access(size - tail, tail)
        elif cache == "device-warm" and near.ddio:
            tail = min(size, description.ddio)
            near.place(size - tail, tail)
        if writes and near.ddio:
            near.place(0, min(size, description.ddio))

    def starts(self, kind: Kind) -> tuple[Start, ...]:
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

    def __init__(self, run: Run, rig: _Rig, kind: Kind) -> None:
        self.sim, self.usage = run.sim, run.usage
        # Queues of an engine take long to fill, and places at random never repeat.
        drawn = rig.scattered or rig.engine is not None
        how = {"together": FEWEST, "unused": rig.unused} if drawn else {}
        self.laps = Laps.of(run.options, error=ERROR, **how)
        self.settled = run.sim.event()
        self._starts = rig.starts(kind)
        self._window = rig.in_flight
        self._next = self._finished = self._since = 0

    def start(self) -> None:
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
        self.start()


def _bandwidth(run: Run, kind: Kind) -> Result:
    rig = _Rig(run, writes="w" in kind)
    stream = _Stream(run, rig, kind)
    for _ in range(rig.in_flight):
        stream.start()
    run.sim.run(until=stream.settled)
    # An operation of a device is a read or a write; without one it is all of its kind.
    moves = 1 if rig.engine is not None else len(kind)
    per_second = moves * rig.in_flight / (stream.laps.mean_ps() / 1e12)
    row = rate_columns(per_second, run.options.size)
    if kind == "rw":
        row["each_way_MBps"] = row["bandwidth_MBps"] / 2
    row["error_percent"] = stream.laps.error_percent
    # As many operations as may be are always under way.
    full = {IN_FLIGHT: run.usage.elapsed_ps}
    return run.result(row, lambda: run.usage.report(full), counters=rig.bus.counters())


def bw_rd(run: Run) -> Result:
    """Bandwidth of DMA reads."""
    return _bandwidth(run, "r")


def bw_wr(run: Run) -> Result:
    """Bandwidth of DMA writes."""
    return _bandwidth(run, "w")


def bw_rdwr(run: Run) -> Result:
    """Bandwidth of DMA reads and writes in turn, added up and each way."""
    return _bandwidth(run, "rw")


def _latency(
    run: Run, operation: Callable[[_Rig, int, Done], None], *, writes: bool = False
) -> Result:
    rig = _Rig(run, writes=writes)
    how = {"error": ERROR, "together": FEWEST_ALONE, "unused": rig.unused} if rig.scattered else {}
    laps = Laps.of(run.options, **how)
    ended: list[int] = []
    while not laps.done:
        begin = run.sim.now
        operation(rig, rig.address(), lambda: ended.append(run.sim.now))
        run.sim.run()
        laps.lap(ended.pop() - begin)
    row = {"latency_us": laps.mean_ps() / 1e6, "error_percent": laps.error_percent}
    return run.result(row, dict, counters=rig.bus.counters())


def lat_rd(run: Run) -> Result:
    """Latency of one DMA read."""
    by_command, size = run.options.path == "command", run.options.size

    def operation(rig: _Rig, address: int, done: Done) -> None:
        if rig.engine is not None and by_command:
            rig.engine.command_read(address, size, done)
        else:
            (rig.engine or rig.bus).read(address, size, done)

    return _latency(run, operation)


def lat_wrrd(run: Run) -> Result:
    """Latency of a DMA read behind a DMA write to the same place.

    Commands are issued back to back; of an engine's operations, the read when the write is done.
    """
    by_command, size = run.options.path == "command", run.options.size

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

    return _latency(run, operation, writes=True)
