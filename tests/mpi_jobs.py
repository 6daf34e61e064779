"""MPI programs on small machines, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from hcasim.catalog import Machine, resolve
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.mpi import Comm, Job

STACK = "mvapich-0.9.5"


@cache
def machine(stack: str = STACK, **overrides: str) -> Machine:
    """Four nodes of two processors with an MPI library."""
    paths = {f"stack.mpi.{name.replace('__', '.')}": value for name, value in overrides.items()}
    return resolve("liu2004", stack=stack, overrides=paths)


def job(
    nodes: int = 2,
    per_node: int = 1,
    on: Machine | None = None,
    algorithms: Mapping[str, str] | None = None,
    **overrides: str,
) -> Job:
    """Processes on the first nodes."""
    sim = Simulator()
    cluster = Cluster(sim, on or machine(**overrides), nodes)
    return Job(sim, cluster, per_node, algorithms=algorithms)


def run(main: Any, *args: Any, **kwargs: Any) -> list[Any]:
    """Run a program to its end; return what each process returns."""
    return job(*args, **kwargs).run(main)


def one_way(size: int, count: int = 100) -> Any:
    """A program in which rank 0 sends messages to rank 1, one after the other."""

    def main(comm: Comm) -> Any:
        for _ in range(count):
            if comm.rank == 0:
                yield from comm.send(size, 1)
            else:
                yield from comm.recv(size, 0)

    return main
