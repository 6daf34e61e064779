"""Computing takes the processor, and what comes in meanwhile waits."""

from collections.abc import Generator
from typing import Any

import pytest

from hcasim.catalog import resolve
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.mpi import Comm, Job, MPIError


def job() -> Job:
    sim = Simulator()
    return Job(sim, Cluster(sim, resolve("liu2004", mpi=True), 2))


def test_computing_takes_as_long_as_it_is_said_to() -> None:
    one = job()

    def main(comm: Comm) -> Generator[Any, Any, None]:
        yield from comm.compute(1e-6 * comm.rank)
        yield from comm.compute(1e-12)

    one.run(main)
    assert [process.computed_ps for process in one.processes] == [1, 1_000_001]
    assert one.sim.now == 1_000_001


def test_who_waits_for_one_that_computes_has_waited() -> None:
    one = job()

    def main(comm: Comm) -> Generator[Any, Any, None]:
        if comm.rank:
            yield from comm.compute(1e-3)
            yield from comm.send(8, 0)
        else:
            yield from comm.recv(8, 1)

    one.run(main)
    waiting, computing = one.processes
    assert 0.99e9 < waiting.waited_ps < one.sim.now
    assert computing.waited_ps == 0
    assert (waiting.computed_ps, computing.computed_ps) == (0, 10**9)
    assert computing.connections[0].messages == 1
    assert computing.connections[0].sent_bytes == 8


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 1e7])
def test_what_is_no_time_is_refused(seconds: float) -> None:
    def main(comm: Comm) -> Generator[Any, Any, None]:
        yield from comm.compute(seconds)

    with pytest.raises(MPIError, match=r"compute: .*allowed: 0 to"):
        job().run(main)
