"""Collectives of all processes, as the OSU and the Intel (Pallas) benchmarks measure them.

OSU times each call by itself and lets a barrier follow. Pallas and Intel time all calls together;
the root is each process in turn, so that calls overlap. Both report the mean over calls and
processes. Sources: OSU benchmarks 3 to 7, osu_bcast.c and the like; IMB 2.3, IMB_bcast.c and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from hcasim.mpi import Comm, Job
from hcasim.workloads.end import Steps
from hcasim.workloads.explain import Utilisation
from hcasim.workloads.laps import Laps
from hcasim.workloads.mpi.group import COLD, SLIP, TURN
from hcasim.workloads.mpi.path import CriticalPath
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run

SLACK = 1e-3
ERROR = 5e-3
REPEATS = 3
"""Equal calls in a row after which the others are taken to be equal."""
SHARED_REPEATS = 8
"""The same if processes share an adapter: its caches are as they were only now and then."""
WHOLE = 4096
"""Messages of the longest run that is run whole of processes that slip: without barriers, or beside
others on a node, they may fall into another step at any time, as no state proves."""
SLIPPING = 1e-2
"""Relative error of longer ones."""
TOLD = 64
"""Processes up to which one more call is followed only to say what binds."""
Call = Callable[[Comm, int, int], Steps]
"""What a process calls, with the bytes of one part and the root."""


def _sendrecv(comm: Comm, size: int, root: int) -> Steps:
    """To the right and from the left, at once (IMB_sendrecv.c)."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    yield from comm.sendrecv(size, right, size, left)


def _exchange(comm: Comm, size: int, root: int) -> Steps:
    """With both neighbours, both ways (IMB_exchange.c)."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    first = yield from comm.isend(size, right)
    second = yield from comm.isend(size, left)
    yield from comm.recv(size, left)
    yield from comm.recv(size, right)
    yield from comm.waitall((first, second))


def _pingping(comm: Comm, size: int, root: int) -> Steps:
    """Each to its partner at the same time (IMB_pingping.c)."""
    partner = comm.rank ^ 1
    request = yield from comm.isend(size, partner)
    yield from comm.recv(size, partner)
    yield from request.wait()


CALLS: dict[str, Call] = {
    "bcast": lambda comm, size, root: comm.bcast(size, root),
    "allgather": lambda comm, size, root: comm.allgather(size, size * comm.size),
    "alltoall": lambda comm, size, root: comm.alltoall(size * comm.size, size * comm.size),
    "allreduce": lambda comm, size, root: comm.allreduce(size, size),
    "reduce": lambda comm, size, root: comm.reduce(size, size, root=root),
    "gather": lambda comm, size, root: comm.gather(size, size * comm.size, root),
    "scatter": lambda comm, size, root: comm.scatter(size * comm.size, size, root),
    "reduce_scatter": lambda comm, size, root: comm.reduce_scatter(
        -(-size // comm.size) * comm.size, -(-size // comm.size)
    ),
    "barrier": lambda comm, size, root: comm.barrier(),
    "pingping": _pingping,
    "sendrecv": _sendrecv,
    "exchange": _exchange,
}
"""What each process calls, by the name of the benchmark; sizes are those of one part."""
MESSAGES = {"pingping": 1, "sendrecv": 2, "exchange": 4}
"""Those of which IMB's tests of neighbours report the bandwidth."""
ROOTED = {"bcast", "reduce", "gather", "scatter"}
"""The collectives with a root, by name."""


class Collective:
    """All processes call the same collective again and again, by the name of the benchmark.

    In OSU's a barrier follows each call; without it the root goes around.
    """

    def __init__(self, run: Run) -> None:
        self.sim, self.options, self._run = run.sim, run.options, run
        tool, _, name = run.name.partition("_")
        self._call, self._apart = CALLS[name], tool == "osu"
        chosen = {name: run.options.algorithm} if run.options.algorithm else {}
        self.job = Job(run.sim, run.cluster, run.options.processes, algorithms=chosen)
        ranks = len(self.job.worlds)
        self._turns = turns = ranks if name in ROOTED and not self._apart else 1
        self._sums: dict[int, list[int]] = {}
        self._cold = COLD * turns
        # By rank: calls after the first ones, and how long they took in all.
        self._calls, self._took_ps = [0] * ranks, [0] * ranks
        self._done = run.sim.event()
        # Calls that have begun, and processes that have called with each root.
        self._begun = self._settled = 0
        calls = run.options.warmup + run.options.iters
        self._slips = not self._apart or run.options.processes > 1
        whole = self._slips and calls * ranks <= WHOLE
        self.laps = Laps(
            run.options.warmup,
            run.options.iters,
            run.options.exact or whole,
            cycle=turns,
            cold=self._cold,
            together=TURN,
            slack=SLACK,
            drift=SLIPPING if self._slips else SLIP,
            error=SLIPPING if self._slips else ERROR,
            repeats=REPEATS if run.options.processes == 1 else SHARED_REPEATS,
        )

    def _loop(self, comm: Comm) -> Steps:
        for index in count():
            if index == self._begun:
                if self._done.triggered:
                    return
                self._begun += 1
            if index == self._turns:
                self._settled += 1
                if self._settled == comm.size:
                    self.job.settle()
            begin = self.sim.now
            root = 0 if self._apart else index % comm.size
            yield from self._call(comm, self.options.size, root)
            self._note(index, comm.rank, self.sim.now - begin)
            if self._apart:
                yield from comm.barrier()

    def _note(self, index: int, rank: int, duration: int) -> None:
        """Take the mean over the processes once all have told."""
        if index >= self._cold:
            self._calls[rank] += 1
            self._took_ps[rank] += duration
        told = self._sums.setdefault(index, [])
        told.append(duration)
        if len(told) < len(self.job.worlds) or self._done.triggered:
            return
        self.laps.lap(round(sum(self._sums.pop(index)) / len(told)))
        calls, total = len(self.laps.durations_ps), self.laps.total
        if self.laps.done and self._slips and self.job.renews(total / calls):
            # They may fall into another step when slots come around.
            self.laps.begin_again()
        if self.laps.done:
            self._done.succeed()

    def measure(self) -> Result:
        for comm in self.job.worlds:
            self.sim.process(self._loop(comm))
        self.sim.run(until=self._done)
        row = {
            "latency_us": self.laps.mean_ps() / 1e6,
            "error_percent": self.laps.error_percent,
            **self._ends(),
        }
        sized: tuple[str, ...] = ("size", "nodes", "processes")
        if self._run.name.endswith("barrier"):
            sized = sized[1:]
        follow = self.options.explain or len(self.job.worlds) <= TOLD
        told = self._explained if follow else None
        return self._run.result(row, told, sized=sized)

    def _ends(self) -> dict[str, float]:
        """The means of the fastest and of the slowest process, in parts of the mean of all."""
        if not all(self._calls) or not all(self._took_ps):
            return {}
        each = [took / calls for took, calls in zip(self._took_ps, self._calls, strict=True)]
        scale = self.laps.mean_ps() * len(each) / sum(each) / 1e6
        ends = {"process_min_us": min(each), "process_max_us": max(each)}
        return {name: round(mean * scale, 6) for name, mean in ends.items()}

    def _explained(self) -> dict[str, Any]:
        """The critical path of one more call, which all begin at once when nothing is under way."""
        self.sim.run()
        path, use = CriticalPath(self.sim, self.job.processes), Utilisation(self.sim)
        begin = self.sim.now
        ends: dict[int, int] = {}

        def once(comm: Comm) -> Steps:
            yield from self._call(comm, self.options.size, 0)
            ends[comm.rank] = self.sim.now

        self.sim.run(until=self.sim.all_of([self.sim.process(once(c)) for c in self.job.worlds]))
        found = use.report()
        last = max(ends, key=lambda rank: ends[rank])
        steps = path.back(last, ends[last], begin)
        return found | {
            "path": [step.to_dict() for step in steps],
            "total_us": (ends[last] - begin) / 1e6,
            "algorithm": self.job.worlds[last].algorithm,
        }


def collective(run: Run) -> Result:
    """A collective of all processes; in OSU's a barrier follows each call."""
    return Collective(run).measure()


def exchange(run: Run) -> Result:
    """Messages between neighbours, all processes at once."""
    found = Collective(run).measure()
    messages = MESSAGES[run.name.removeprefix("imb_")]
    found.row["bandwidth_MBps"] = messages * run.options.size / found.row["latency_us"]
    return found
