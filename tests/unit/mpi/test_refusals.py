"""What the standard forbids is refused by the name of its error."""

from typing import Any

import numpy as np
import pytest

from hcasim.engine import Simulator
from hcasim.mpi import Comm, Job, MPIError
from tests.mpi_jobs import job, run

EAGER, RENDEZVOUS = 1000, 100_000


@pytest.mark.parametrize("size", [EAGER, RENDEZVOUS])
def test_a_message_that_is_too_long_is_refused(size: int) -> None:
    def main(comm: Comm) -> Any:
        if comm.rank == 0:
            yield from comm.send(size, 1)
        else:
            yield from comm.recv(size - 1, 0)

    with pytest.raises(MPIError, match="MPI_ERR_TRUNCATE"):
        run(main)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda comm: comm.send(8, 2), "MPI_ERR_RANK"),
        (lambda comm: comm.send(8, -1), "MPI_ERR_RANK"),
        (lambda comm: comm.recv(8, 9), "MPI_ERR_RANK"),
        (lambda comm: comm.send(8, 1, -5), "MPI_ERR_TAG"),
        (lambda comm: comm.recv(8, 1, -5), "MPI_ERR_TAG"),
        (lambda comm: comm.iprobe(77), "MPI_ERR_RANK"),
        (lambda comm: comm.send(-8, 1), "MPI_ERR_COUNT"),
        (lambda comm: comm.send(10**30, 1), "MPI_ERR_COUNT"),
        (lambda comm: comm.send("text", 1), "MPI_ERR_BUFFER"),
        (lambda comm: comm.send(True, 1), "MPI_ERR_BUFFER"),
        (lambda comm: comm.bcast(8, 2), "MPI_ERR_ROOT"),
        (lambda comm: comm.bcast(8, algorithm="magic"), "MPI_ERR_ARG"),
        (lambda comm: comm.allgather(8, 8), "MPI_ERR_COUNT"),
        (lambda comm: comm.send(np.int64(-8), 1), "MPI_ERR_COUNT"),
        (lambda comm: comm.alltoallv(np.zeros(8), [64, 1], 64, [32, 32]), "MPI_ERR_COUNT"),
        (lambda comm: comm.alltoallv(8, [4, 4], 8, [9, -1]), "MPI_ERR_COUNT"),
        (lambda comm: comm.allgatherv(8, 8, [8]), "MPI_ERR_COUNT"),
        (lambda comm: comm.allgatherv(8, 8, [9, -1]), "MPI_ERR_COUNT"),
        (lambda comm: comm.allgatherv(8, 8, [4, 4]), "MPI_ERR_COUNT"),
        (lambda comm: comm.gatherv(8, 8, [8, 8], comm.rank), "MPI_ERR_COUNT"),
        (lambda comm: comm.scatterv(8, [8, 8], 8, comm.rank), "MPI_ERR_COUNT"),
        (lambda comm: comm.scatterv(8, [4, 4], 4, 2), "MPI_ERR_ROOT"),
    ],
)
def test_a_wrong_call_is_refused_by_the_name_of_its_error(call: Any, name: str) -> None:
    def main(comm: Comm) -> Any:
        yield from call(comm)

    with pytest.raises(MPIError) as caught:
        run(main)
    assert caught.value.name == name


@pytest.mark.parametrize("array", [np.zeros((4, 4))[:, :2], np.zeros((4, 4), order="F")[:2]])
def test_an_array_in_several_pieces_is_refused(array: Any) -> None:
    def main(comm: Comm) -> Any:
        yield from comm.recv(array, 1 - comm.rank)

    with pytest.raises(MPIError, match="not in one piece"):
        run(main)


def refused(call: Any, name: str) -> str:
    """What is said of a call of the first process, before which nothing has been sent."""
    program = job()

    def main(comm: Comm) -> Any:
        if comm.rank == 0:
            yield from call(comm)

    with pytest.raises(MPIError) as caught:
        program.run(main)
    assert caught.value.name == name
    assert not any(program.cluster.counters().values())
    return caught.value.args[1]


FIXED = np.zeros(4)
FIXED.flags.writeable = False


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("recv", lambda comm: comm.recv(FIXED, 1 - comm.rank)),
        ("recv", lambda comm: comm.irecv(FIXED, 1 - comm.rank)),
        ("recv", lambda comm: comm.sendrecv(np.ones(4), 1 - comm.rank, FIXED)),
        ("bcast", lambda comm: comm.bcast(FIXED, 1 - comm.rank)),
        ("allgather", lambda comm: comm.allgather(np.ones(2), FIXED)),
        ("alltoall", lambda comm: comm.alltoall(np.ones(4), FIXED)),
        ("alltoallv", lambda comm: comm.alltoallv(np.ones(4), [16] * 2, FIXED, [16] * 2)),
        ("reduce", lambda comm: comm.reduce(np.ones(4), FIXED, root=comm.rank)),
        ("allreduce", lambda comm: comm.allreduce(np.ones(4), FIXED)),
        ("reduce_scatter", lambda comm: comm.reduce_scatter(np.ones(8), FIXED)),
        ("gather", lambda comm: comm.gather(np.ones(2), FIXED, comm.rank)),
        ("scatter", lambda comm: comm.scatter(np.ones(8), FIXED, comm.rank)),
        ("gatherv", lambda comm: comm.gatherv(np.ones(2), FIXED, [16, 16], comm.rank)),
        ("scatterv", lambda comm: comm.scatterv(np.ones(8), [32, 32], FIXED, comm.rank)),
        ("allgatherv", lambda comm: comm.allgatherv(np.ones(2), FIXED, [16, 16])),
    ],
)
def test_nothing_is_received_into_an_array_that_is_read_only(name: str, call: Any) -> None:
    said = refused(call, "MPI_ERR_BUFFER")
    assert said == f"rank 0: {name}: found a read-only array; needed: one that can be written"


def test_an_array_that_is_read_only_may_be_sent() -> None:
    def main(comm: Comm) -> Any:
        result = np.ones(4)
        yield from comm.bcast(FIXED if comm.rank == 0 else result)
        yield from comm.allreduce(FIXED, result)
        return result.sum()

    assert run(main) == [0, 0]


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("reduce", lambda comm, own, result: comm.reduce(own, result, root=comm.rank)),
        ("allreduce", lambda comm, own, result: comm.allreduce(own, result)),
    ],
)
@pytest.mark.parametrize(
    ("result", "error", "said"),
    [
        (np.zeros(1), "MPI_ERR_COUNT", "a result of 8 B; needed: 16 B, as the operand has"),
        (np.zeros(3), "MPI_ERR_COUNT", "a result of 24 B; needed: 16 B, as the operand has"),
        (None, "MPI_ERR_COUNT", "a result of 0 B; needed: 16 B, as the operand has"),
        (np.zeros(4, "f4"), "MPI_ERR_TYPE", "a result of float32; needed: float64, as the operand"),
    ],
)
def test_a_reduction_needs_a_result_like_its_operand(
    name: str, call: Any, result: Any, error: str, said: str
) -> None:
    found = refused(lambda comm: call(comm, np.ones(2), result), error)
    assert found.startswith(f"rank 0: {name}: found {said}")


def test_parts_of_a_reduction_need_a_result_of_their_type() -> None:
    call = "rank 0: reduce_scatter: "
    said = refused(lambda comm: comm.reduce_scatter(np.ones(4), np.ones(4, "f4")), "MPI_ERR_TYPE")
    assert said == f"{call}found a result of float32; needed: float64, as the operand is"
    said = refused(lambda comm: comm.reduce_scatter(np.ones(4), np.ones(4)), "MPI_ERR_COUNT")
    assert said == f"{call}32 bytes for 2 processes of 32 bytes each"


def test_objects_of_python_are_no_memory() -> None:
    said = refused(lambda comm: comm.bcast(np.array([[]], dtype=object)), "MPI_ERR_TYPE")
    assert said == "an array of Python objects, which cannot be sent"


def test_more_processes_than_processors_are_refused() -> None:
    with pytest.raises(MPIError, match="3 processes on a node of 2 processors"):
        job(2, 3)


def test_all_misspelt_names_of_a_job_are_said_at_once() -> None:
    made = job()
    names = {"alreduce": "ring", "bcast": "binominal", "allgather": "ring"}
    with pytest.raises(MPIError) as caught:
        Job(made.sim, made.cluster, placement="cylic", algorithms=names)
    first, second, third = caught.value.args[1].splitlines()
    assert first.startswith("algorithms: found 'alreduce'; allowed: bcast, ")
    assert first.endswith("did you mean 'allreduce'?")
    assert second.startswith("algorithms['bcast']: found 'binominal'; allowed: binomial, ")
    assert second.endswith("did you mean 'binomial'?")
    allowed = "allowed: block or cyclic; did you mean 'cyclic'?"
    assert third == f"placement: found 'cylic'; {allowed}"


def test_a_cluster_of_another_simulator_is_refused() -> None:
    with pytest.raises(MPIError, match="another simulator"):
        Job(Simulator(), job().cluster)


def test_a_program_without_calls_is_refused() -> None:
    with pytest.raises(MPIError, match="has returned 0; needed: a generator, with `yield from`"):
        job().run(lambda comm: comm.rank)
