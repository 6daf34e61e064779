"""What the standard forbids is refused by the name of its error."""

from typing import Any

import numpy as np
import pytest

from hcasim.mpi import Comm, MPIError
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
        (lambda comm: comm.send("text", 1), "MPI_ERR_BUFFER"),
        (lambda comm: comm.bcast(8, 2), "MPI_ERR_ROOT"),
        (lambda comm: comm.bcast(8, algorithm="magic"), "MPI_ERR_ARG"),
        (lambda comm: comm.allgather(8, 8), "MPI_ERR_COUNT"),
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


def test_more_processes_than_processors_are_refused() -> None:
    with pytest.raises(MPIError, match="3 processes on a node of 2 processors"):
        job(2, 3)
