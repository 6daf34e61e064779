"""Computing takes the processor, and what comes in meanwhile waits."""

from collections.abc import Generator
from typing import Any

import pytest

from hcasim.mpi import Comm, MPIError
from tests.mpi_jobs import job


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


@pytest.mark.parametrize("beside", [True, False])
def test_messages_go_on_where_an_accelerator_computes(beside: bool) -> None:
    """The receiver of a long message has to answer, and the sender to write it."""
    one = job()

    def main(comm: Comm) -> Generator[Any, Any, int]:
        if comm.rank:
            request = yield from comm.isend(2**20, 0)
        else:
            request = yield from comm.irecv(2**20, 1)
        yield from comm.compute(1e-2, beside)
        computed = comm.process.sim.now
        yield from request.wait()
        return comm.process.sim.now - computed

    left = one.run(main)
    assert [process.computed_ps for process in one.processes] == [10**10] * 2
    assert (max(left) < 10**6) is beside
    assert all(process.waited_ps < 10**6 for process in one.processes) is beside


def test_computing_beside_messages_ends_when_it_should() -> None:
    one = job()

    def main(comm: Comm) -> Generator[Any, Any, int]:
        for _ in range(100):
            if comm.rank:
                yield from comm.send(8, 0)
        yield from comm.compute(1e-3, beside=True)
        return comm.process.sim.now

    quiet, busy = one.run(main)
    assert 10**9 <= quiet < 10**9 + 10**7
    assert busy >= 10**9
