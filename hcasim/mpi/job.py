"""A program: its processes on the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, Final

from hcasim.catalog.algorithms import algorithm_faults
from hcasim.cluster import Cluster
from hcasim.engine import Event, Simulator
from hcasim.ground.errors import nearest, one_of
from hcasim.mpi.comm import Comm, Program
from hcasim.mpi.connection import Connection
from hcasim.mpi.message import MPIError
from hcasim.mpi.process import Process
from hcasim.mpi.settling import Holding, entries, settle

PLACEMENTS: Final = ("block", "cyclic")
Main = Callable[[Comm], Generator[Event, object, Any]]


class DeadlockError(Exception):
    """No process can go on: what each that waits waits for, by rank, and which have ended."""

    def __init__(self, waiting: dict[int, str], ended: list[int]) -> None:
        super().__init__(waiting, ended)
        self.waiting = waiting
        self.ended = ended

    def __str__(self) -> str:
        each = [f"rank {rank} waits for {what}" for rank, what in self.waiting.items()]
        each += [f"rank {rank} has ended" for rank in self.ended]
        return f"no process can go on: {'; '.join(each) or 'none of them waits for MPI'}"


class Job:
    """Processes that run the same program.

    Connections are made when they are first used, in no time.

    Parameters:
        per_node: processes on each node, each on a core of its own.
        placement: "block" fills a node before the next, "cyclic" deals processes out in turn.
        algorithms: of collectives, by name, in place of what the stack's rules choose.
        count: processes in all; as many as there are places without it.

    Attributes:
        worlds: the communicator of all processes, as each of them has it.

    Raises:
        MPIError: the nodes have no MPI library, not the same one, or fewer processors; or a
            placement, collective or algorithm is unknown.
    """

    def __init__(
        self,
        sim: Simulator,
        cluster: Cluster,
        per_node: int = 1,
        placement: str = "block",
        algorithms: Mapping[str, str] | None = None,
        count: int | None = None,
    ) -> None:
        if cluster.sim is not sim:
            raise MPIError("MPI_ERR_ARG", "the cluster belongs to another simulator")
        self.sim = sim
        self.cluster = cluster
        libraries = {node.group.stack.id: node.group.stack.mpi for node in cluster.nodes}
        if None in libraries.values() or len(libraries) > 1:
            found = ", ".join(libraries)
            raise MPIError(
                "MPI_ERR_OTHER", f"found {found}; allowed: one stack with an MPI library"
            )
        fewest = min(len(node.cores) for node in cluster.nodes)
        faults = algorithm_faults(algorithms or {})
        if not 1 <= per_node <= fewest:
            faults.append(f"{per_node} processes on a node of {fewest} processors")
        if placement not in PLACEMENTS:
            hint = nearest(placement, PLACEMENTS)
            faults.append(f"placement: found {placement!r}; allowed: {one_of(PLACEMENTS)}{hint}")
        most = per_node * len(cluster.nodes)
        if count is not None and not 1 <= count <= most:
            faults.append(f"{count} processes; allowed: 1 to {most}, as there are places")
        if faults:
            raise MPIError("MPI_ERR_ARG", "\n".join(faults))
        places = [(node, core) for node in cluster.nodes for core in range(per_node)]
        if placement == "cyclic":
            places = [(node, core) for core in range(per_node) for node in cluster.nodes]
        self.processes = [
            Process(sim, node, rank, core, self.connect)
            for rank, (node, core) in enumerate(places[:count])
        ]
        everyone = tuple(range(len(self.processes)))
        program = Program(algorithms or {})
        self.worlds = [Comm(process, everyone, 0, program) for process in self.processes]

    def connect(self, process: Process, rank: int) -> Connection:
        other = self.processes[rank]
        near = process.node is other.node and process.library.shared is not None
        mine = Connection(process, process.delivery, process.library, process.cq, near)
        theirs = Connection(other, other.delivery, other.library, other.cq, near)
        process.join(rank, mine)
        other.join(process.rank, theirs)
        mine.connect(theirs)
        theirs.connect(mine)
        return mine

    def settle(self) -> None:
        """Have the caches as after many more messages like those so far."""
        found: dict[int, list[Process]] = {}
        for process in self.processes:
            found.setdefault(process.node.index, []).append(process)
        for here in found.values():
            node = here[0].node
            turns = [entries(process.context.adapter, process.cq.used) for process in here]
            for process in here:
                for connection in process.connections.values():
                    turns.extend(connection.turns())
            caches: list[Holding] = [
                node.adapter.tables.mtt,
                node.host,
                *(process.context.core for process in here),
            ]
            settle(turns, caches)

    def renews(self, times: float) -> bool:
        """Whether slots are used for the first time before messages are so many times as many."""
        return any(
            one.used < one.places <= one.used * times
            for process in self.processes
            for connection in process.connections.values()
            for channel in connection.channels
            for one in channel.turns()
        )

    def run(self, main: Main) -> list[Any]:
        """Run a program, a generator, in all processes to its end; return what each returns, or
        raise a DeadlockError if none can go on.
        """
        programs = [main(comm) for comm in self.worlds]
        for one in programs:
            if not isinstance(one, Generator):
                needed = "needed: a generator, with `yield from` before each call"
                raise MPIError("MPI_ERR_ARG", f"the program has returned {one!r}; {needed}")
        running = [self.sim.process(one) for one in programs]
        if not self.sim.reach(self.sim.all_of(running)):
            raise DeadlockError(
                {
                    process.rank: str(process.waiting)
                    for process in self.processes
                    if process.waiting is not None
                },
                [rank for rank, one in enumerate(running) if one.triggered],
            )
        return [one.value for one in running]
