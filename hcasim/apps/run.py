"""One run of a program: its processes, and what each has done with its time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hcasim.apps.comm import Account, ProgramComm
from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Event, Simulator, seldom_collected
from hcasim.ground.errors import refuse
from hcasim.mpi import Comm, Job
from hcasim.mpi.path import Path

Main = Callable[[Any], Generator[Event, Any, Any]]
"""What each process runs: a generator function of its communicator."""
Show = Callable[[int, int], None]
"""Is told what of how much is done."""
Listen = Callable[[Simulator], None]
PROGRAM: Final = "program"
"""What a critical path passes through before the first call."""


@dataclass(frozen=True)
class CallUse:
    """A call: how often all processes together have made it, their seconds, and those of the
    process that spends most on it.
    """

    calls: int
    seconds: float
    most_seconds: float


@dataclass(frozen=True)
class RankUse:
    """What a process has done with its time.

    Attributes:
        seconds: until it has ended.
        compute_seconds: outside of calls.
        wait_seconds: asleep in calls, until something came in.
        messages, sent_bytes: sent, those of collectives included.
        returned: what the program has returned.
    """

    rank: int
    node: int
    seconds: float
    compute_seconds: float
    wait_seconds: float
    messages: int
    sent_bytes: int
    returned: Any = None

    @property
    def mpi_seconds(self) -> float:
        """In calls."""
        return self.seconds - self.compute_seconds

    def row(self) -> dict[str, int | float]:
        """Return it by column; the last word of a name is its unit."""
        times = {"run_s": self.seconds, "compute_s": self.compute_seconds}
        times |= {"mpi_s": self.mpi_seconds, "wait_s": self.wait_seconds}
        sent = {"messages": self.messages, "sent_bytes": self.sent_bytes}
        return {"rank": self.rank, "node": self.node, **times, **sent}


@dataclass(frozen=True)
class Outcome:
    """What a program has done.

    Attributes:
        seconds: until its last process has ended.
        traffic: messages and bytes, by ranks of sender and receiver.
        counters: what the adapters and buses counted, by name.
        critical: seconds of the critical path of the process that ended last, by what they were
            spent on.
        critical_messages: messages on that path.
    """

    seconds: float
    ranks: tuple[RankUse, ...]
    calls: Mapping[str, CallUse]
    traffic: Mapping[tuple[int, int], tuple[int, int]]
    counters: Mapping[str, int]
    critical: Mapping[str, float]
    critical_messages: int


def placement_faults(machine: Machine, ranks: int, ppn: int) -> list[str]:
    """Say what is wrong with so many processes on a machine."""
    cpus = min(group.host.cpus for group in machine.groups)
    if not 1 <= ppn <= cpus:
        return [f"ppn: found {ppn}; allowed: 1 to {cpus}, the processors of a node"]
    most = machine.nodes * ppn
    if not 1 <= ranks <= most:
        each = f"{machine.nodes} nodes with {ppn} on each"
        return [f"ranks: found {ranks}; allowed: 1 to {most}, as {machine.id} has {each}"]
    return []


def run(
    machine: Machine,
    main: Main,
    ranks: int,
    ppn: int = 1,
    *,
    map_by: str = "block",
    algorithms: Mapping[str, str] | None = None,
    exact: bool = False,
    show: Show | None = None,
    listen: Listen | None = None,
) -> Outcome:
    """Run a program on the first nodes of a machine.

    Parameters:
        machine: with an MPI library; what follows is as of `hcasim.app`.
        show: is told what of how much is done, if the program says so.

    Raises:
        CatalogError: there is no place for so many processes.
        MPIError: a call of the program cannot be done, or no process can go on.
    """
    refuse(*placement_faults(machine, ranks, ppn))
    sim = Simulator()
    # What is lost does not repeat itself.
    sim.exact = exact or machine.never_repeats
    if listen is not None:
        listen(sim)
    with seldom_collected():
        nodes = -(-ranks // ppn)
        alone = nodes == 1 and machine.switch is None
        cluster = Cluster(sim, machine, 2 if alone else nodes)
        job = Job(sim, cluster, ppn, map_by, algorithms, ranks)
        accounts = [Account(process) for process in job.processes]
        paths = [Path(sim.now, PROGRAM) for _ in job.processes]
        ends = [0] * ranks
        for process, path in zip(job.processes, paths, strict=True):
            process.path = path

        def started(comm: Comm) -> Generator[Event, Any, Any]:
            show_one = None if comm.rank else show
            program: Any = main(ProgramComm(comm, accounts[comm.rank], show_one))
            # Of anything else the job says what is wrong with it.
            return running(comm.rank, program) if isinstance(program, Generator) else program

        def running(rank: int, program: Generator[Event, Any, Any]) -> Generator[Event, Any, Any]:
            returned = yield from program
            accounts[rank].check()
            ends[rank] = sim.now
            paths[rank].at(sim.now)
            return returned

        returned = job.run(started)
    last = max(range(ranks), key=ends.__getitem__)
    found: list[RankUse] = []
    traffic: dict[tuple[int, int], tuple[int, int]] = {}
    for process, end, value in zip(job.processes, ends, returned, strict=True):
        itself = process.itself
        sent = {rank: (one.messages, one.sent_bytes) for rank, one in process.connections.items()}
        sent[process.rank] = itself.messages, itself.sent_bytes
        traffic |= {(process.rank, rank): sent[rank] for rank in sorted(sent) if sent[rank][0]}
        found.append(
            RankUse(
                rank=process.rank,
                node=process.node.index,
                seconds=end / 1e12,
                compute_seconds=process.computed_ps / 1e12,
                wait_seconds=process.waited_ps / 1e12,
                messages=sum(messages for messages, _ in sent.values()),
                sent_bytes=sum(size for _, size in sent.values()),
                returned=value,
            )
        )
    return Outcome(
        seconds=ends[last] / 1e12,
        ranks=tuple(found),
        calls=_calls(accounts),
        traffic=traffic,
        counters=cluster.counters(),
        critical={what: spent / 1e12 for what, spent in paths[last].spent.items()},
        critical_messages=paths[last].hops,
    )


def _calls(accounts: list[Account]) -> dict[str, CallUse]:
    """The uses of all processes by call, the one with most time first; computing is none."""
    found = {}
    for name in set().union(*(account.calls for account in accounts)) - {"compute"}:
        calls = sum(account.calls[name] for account in accounts)
        times = [account.spent_ps[name] for account in accounts]
        found[name] = CallUse(calls, sum(times) / 1e12, max(times) / 1e12)
    return dict(sorted(found.items(), key=lambda item: (-item[1].seconds, item[0])))
