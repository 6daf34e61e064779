"""The bus alone, as pcie-bench measures it: DMA reads and writes without a network."""

from __future__ import annotations

from collections.abc import Callable

from hcasim.bus import Bus, connect
from hcasim.bus.base import Gather
from hcasim.catalog import Machine
from hcasim.engine import Simulator
from hcasim.host import Host
from hcasim.workloads.laps import Laps
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result


class _Stream:
    """Keeps a number of DMA operations of one kind in flight and times windows of them."""

    def __init__(
        self, sim: Simulator, start: Callable[[Callable[[], None]], None], options: Options
    ):
        self.sim = sim
        self.laps = Laps(options.warmup, options.iters, options.exact, repeats=3, error=1e-3)
        self.settled = sim.event()
        self._start = start
        self._window = options.window
        self._finished = 0
        self._since = 0

    def begin(self) -> None:
        """Fill the window."""
        for _ in range(self._window):
            self._start(self._done)

    def _done(self) -> None:
        self._finished += 1
        if self._finished == self._window:
            now = self.sim.now
            self.laps.lap(now - self._since)
            self._finished, self._since = 0, now
            if self.laps.done and not self.settled.triggered:
                self.settled.succeed()
        self._start(self._done)


def _bandwidth(sim: Simulator, machine: Machine, options: Options, kind: str) -> Result:
    bus = connect(Host(sim, machine.host, "host"), machine.adapter.bus, "bus")
    starts = {
        "r": lambda done: bus.read(0, options.size, done),
        "w": lambda done: bus.write(0, options.size, done),
        "rw": lambda done: _both(bus, options.size, done),
    }
    stream = _Stream(sim, starts[kind], options)
    stream.begin()
    sim.run(until=stream.settled)
    size, window = options.size, options.window
    per_second = len(kind) * window / (stream.laps.mean_ps() / 1e12)
    row = {
        "size": size,
        "qps": options.qps,
        "bandwidth_MBps": per_second * size / 1e6,
        "rate_Mps": per_second / 1e6,
    }
    return Result(row, bus.counters())


def _both(bus: Bus, size: int, done: Callable[[], None]) -> None:
    """A read and a write behind it, done when both are."""
    both = Gather(2, done, ())
    bus.read(0, size, both.arrived)
    bus.write(0, size, both.arrived)


def bw_rd(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Bandwidth of DMA reads."""
    return _bandwidth(sim, machine, options, "r")


def bw_wr(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Bandwidth of DMA writes."""
    return _bandwidth(sim, machine, options, "w")


def bw_rdwr(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Bandwidth of DMA reads and writes in turn, added up."""
    return _bandwidth(sim, machine, options, "rw")


def _latency(
    machine: Machine,
    sim: Simulator,
    options: Options,
    operation: Callable[[Bus, Callable[[], None]], None],
) -> Result:
    bus = connect(Host(sim, machine.host, "host"), machine.adapter.bus, "bus")
    laps = Laps(options.warmup, options.iters, options.exact)
    while not laps.done:
        begin = sim.now
        finished: list[int] = []
        operation(bus, lambda ended=finished: ended.append(sim.now))  # type: ignore[misc]
        sim.run()
        laps.lap(finished[0] - begin)
    row = {"size": options.size, "qps": options.qps, "latency_us": laps.mean_ps() / 1e6}
    return Result(row, bus.counters())


def lat_rd(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of one DMA read."""
    return _latency(machine, sim, options, lambda bus, done: bus.read(0, options.size, done))


def lat_wrrd(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of a DMA read behind a DMA write to the same place."""

    def operation(bus: Bus, done: Callable[[], None]) -> None:
        bus.write(0, options.size)
        bus.read(0, options.size, done)

    return _latency(machine, sim, options, operation)
