"""Kernels of the NAS benchmarks: how long they take, and how much of that is communication.

Iterations repeat each other, so that after some of them the others are known. The operations of a
kernel over the rate of the host's processors are its computing; what remains is communication.
"""

from __future__ import annotations

from typing import Any

from hcasim.apps.nas import KERNELS
from hcasim.engine import Simulator
from hcasim.mpi import Job
from hcasim.workloads.laps import Laps
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run

_SLACK = 5e-4
_ERROR = 5e-3
_REPEATS = 4


class LapPace:
    """Lets iterations be run until they repeat; then one more, the last, where all stop."""

    def __init__(self, sim: Simulator, iterations: int, exact: bool) -> None:
        self.last = self._iterations = iterations
        self._sim = sim
        how: dict[str, Any] = {"repeats": _REPEATS, "cold": 1}
        self._laps = Laps(0, iterations, exact, slack=_SLACK, error=_ERROR, **how)
        self._since = self._begun = 0

    def start(self, rank: int) -> None:
        """The timed part of a process begins."""
        if rank == 0:
            self._since = self._sim.now

    def begins(self, iteration: int) -> None:
        """A process begins an iteration, which others may have done already."""
        self._begun = max(self._begun, iteration)

    def ends(self, rank: int) -> None:
        """A process has ended an iteration; the first one's are timed."""
        if rank or self._laps.done:
            return
        begin, self._since = self._since, self._sim.now
        self._laps.lap(self._sim.now - begin)
        if self._laps.done:
            self.last = min(self._iterations, self._begun + 1)

    def left_out_ps(self) -> float:
        """Time of the iterations that were not run."""
        if self.last == self._iterations:
            return 0.0
        pattern = self._laps.durations_ps[-(self._laps.period or 0) :]
        return (self._iterations - self.last) * sum(pattern) / len(pattern)

    def error_ps(self) -> float:
        return self.left_out_ps() * self._laps.pattern_error


def nas(run: Run) -> Result:
    """Run a kernel."""
    options, class_ = run.options, run.options.nas_class
    kernel = KERNELS[run.name.removeprefix("nas_")]
    rate: int = getattr(run.machine.place(0)[0].host.computing, run.name)
    job = Job(run.sim, run.cluster, options.processes)
    iterations = kernel.iterations(class_)
    pace = LapPace(run.sim, iterations, options.exact)
    timed = job.run(kernel.program(class_, rate, pace=pace))
    run_s = max(one.timed_s for one in timed)
    computing_s = kernel.operations(class_) / rate / len(timed)
    left_out = 0 if pace.last == iterations else pace.error_ps() / 1e12
    row = {
        "run_s": run_s,
        "communication_s": run_s - computing_s,
        "error_percent": 100 * left_out / run_s,
    }
    return run.result(row, dict, sized=("nas_class", "nodes", "processes"))
