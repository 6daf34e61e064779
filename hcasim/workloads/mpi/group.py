"""Processes that exchange messages again and again, one of which takes the time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, TypeVar

from hcasim.cluster import Cluster
from hcasim.engine import Event
from hcasim.mpi import Comm, Job
from hcasim.workloads.end import Steps
from hcasim.workloads.explain import Utilisation, explained
from hcasim.workloads.laps import Laps
from hcasim.workloads.mpi.path import CriticalPath
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run

TOGETHER = 2
"""Processes of a pair."""
COLD = 2
"""Iterations before the first that is like those that follow."""
TURN = 64
"""Iterations after which each page of a queue has had its turn: as many entries lie on one."""
SLACK = 1e-4
SLIP = 5e-3
"""Relative error of what seems to repeat itself while more than two processes slip against each
other."""
ERROR = 5e-3
TYPICAL = 1e-2
"""Relative difference from the mean up to which a message is like the others."""


class Group(ABC):
    """A process that takes the time, and its peers, each with the communicator of all.

    It tells when the first iteration is over, when durations say enough, and some when a peer had
    its last message.
    """

    def __init__(self, job: Job, options: Options, one: Comm, peers: Sequence[Comm]) -> None:
        self.job, self.sim, self.options = job, job.sim, options
        self.one, self.peers = one, peers
        self.begun, self.known = job.sim.event(), job.sim.event()
        self.received_ps = 0
        self._again: Event | None = None
        self.laps = self.timing()

    def timing(self) -> Laps:
        drift = SLIP if len(self.peers) >= TOGETHER else 0.0
        return Laps.of(
            self.options, cold=COLD, together=TURN, slack=SLACK, drift=drift, error=ERROR
        )

    def lap(self, duration_ps: int) -> None:
        if not self.laps.done:
            self.laps.lap(duration_ps)
            self.tell()
        elif self._again is not None:
            again, self._again = self._again, None
            again.succeed()

    def tell(self) -> None:
        """Say if enough is known."""
        if self.laps.done and not self.known.triggered:
            self.known.succeed()

    def iterate(self) -> None:
        self._again = self.sim.event()
        self.sim.run(until=self._again)

    def first(self) -> Steps:
        """The process that takes the time, for ever."""
        for index in count():
            begin = self.sim.now
            yield from self.turn(index)
            self.ended(index, self.sim.now - begin)
            if index == 0:
                self.begun.succeed()

    def ended(self, index: int, duration_ps: int) -> None:
        """Note the duration of an iteration."""
        self.lap(duration_ps)

    @abstractmethod
    def turn(self, index: int) -> Steps:
        """An iteration of the process that takes the time."""

    @abstractmethod
    def second(self, comm: Comm) -> Steps:
        """One of the others, for ever."""


OneOf = TypeVar("OneOf", bound=Group)
Kind = Callable[[Job, Options, Comm, Sequence[Comm]], OneOf]


def one_pair(kind: Kind[OneOf], run: Run) -> OneOf:
    """Two processes, each on a node or both on one."""
    options = run.options
    nodes = run.choose(run.machine, options)[: TOGETHER // options.processes]
    job = Job(run.sim, Cluster(run.sim, run.machine, nodes), options.processes)
    return kind(job, options, job.worlds[0], job.worlds[1:])


def several_pairs(kind: Kind[OneOf], run: Run) -> list[OneOf]:
    """Pairs of processes: the first half of all, each with that of its number in the second."""
    job = Job(run.sim, run.cluster, run.options.processes)
    half = len(job.worlds) // 2
    pairs = zip(job.worlds[:half], job.worlds[half:], strict=True)
    return [kind(job, run.options, one, (other,)) for one, other in pairs]


def measure(groups: Sequence[Group]) -> None:
    """Run groups of one program until the times of all are known."""
    one = groups[0]
    for group in groups:
        for comm in group.peers:
            one.sim.process(group.second(comm))
        one.sim.process(group.first())
    one.sim.run(until=one.sim.all_of([group.begun for group in groups]))
    one.job.settle()
    one.sim.run(until=one.sim.all_of([group.known for group in groups]))


def found(
    groups: Sequence[Group],
    row: dict[str, float],
    explain: Callable[[], dict[str, Any]],
    error_percent: float = 0.0,
) -> Result:
    """What groups have measured, with the error of the one that is known worst, or a larger one."""
    options, errors = groups[0].options, [group.laps.error_percent for group in groups]
    whole = {"size": options.size, **row, "error_percent": max(error_percent, *errors)}
    counters = groups[0].job.cluster.counters()
    return Result(whole, counters, explained(groups[0].sim, options, explain))


def explain_message(group: Group) -> dict[str, Any]:
    """Where the time goes of a message to the peer."""
    to = group.peers[0].rank
    return _explain(group, lambda: (to, group.received_ps), group.laps.mean_ps() / 2)


def explain_iteration(group: Group) -> dict[str, Any]:
    """Where the time goes of an iteration of who takes the time."""
    return _explain(group, lambda: (group.one.rank, group.sim.now), group.laps.mean_ps())


def _explain(group: Group, end: Callable[[], tuple[int, int]], mean_ps: float) -> dict[str, Any]:
    """Follow what begins with an iteration and ends in the rank and at the time of `end`."""
    path = CriticalPath(group.sim, group.job.processes)
    # What was under way before this one is not known.
    group.iterate()
    begin, use = group.sim.now, Utilisation(group.sim)
    group.iterate()
    rank, end_ps = end()
    steps = path.back(rank, end_ps, begin)
    took_ps = end_ps - begin
    return use.report() | {
        "steps": [step.to_dict() for step in steps],
        "total_us": took_ps / 1e6,
        "typical": abs(took_ps - mean_ps) <= TYPICAL * took_ps,
    }


def explain_resources(group: Group) -> dict[str, Any]:
    """What binds while all go on for as long as an iteration takes."""
    use = Utilisation(group.sim)
    group.sim.run(until=group.sim.now + round(group.laps.mean_ps()))
    return use.report()
