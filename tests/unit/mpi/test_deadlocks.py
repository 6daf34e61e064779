"""Processes that wait for ever are named, with what each waits for."""

from typing import Any

import pytest

from hcasim.mpi import Comm, DeadlockError
from tests.mpi_jobs import run

RENDEZVOUS = 100_000


def test_a_process_that_ends_without_answering_leaves_another_waiting() -> None:
    def main(comm: Comm) -> Any:
        if comm.rank == 0:
            yield from comm.send(RENDEZVOUS, 1)

    with pytest.raises(DeadlockError, match=r"its send to rank 1 .*; rank 1 has ended") as caught:
        run(main)
    assert caught.value.ended == [1]


@pytest.mark.parametrize("last", ["alltoallv", "allgather"])
def test_who_waits_in_a_collective_says_in_which(last: str) -> None:
    def main(comm: Comm) -> Any:
        yield from comm.barrier()
        if comm.rank == 0 and last == "alltoallv":
            yield from comm.alltoallv(8, [4, 4], 8, [4, 4])
        elif comm.rank == 0:
            yield from comm.allgather(4, 8)

    with pytest.raises(DeadlockError) as caught:
        run(main, 2)
    assert caught.value.waiting == {0: f"a message from rank 1 ({last}, call 2, 4 B)"}


def test_a_long_message_to_itself_that_nobody_receives_is_a_deadlock() -> None:
    def main(comm: Comm) -> Any:
        yield from comm.send(1 << 20, comm.rank)

    with pytest.raises(DeadlockError):
        run(main)


def tagged(comm: Comm) -> Any:
    yield from comm.recv(8, 1 - comm.rank, 5)


def elsewhere(comm: Comm) -> Any:
    reverse = yield from comm.Split(0, -comm.rank)
    yield from reverse.recv(8, 0 if comm.rank == 0 else 1)


def any_of_two(comm: Comm) -> Any:
    first = yield from comm.irecv(8, 1 - comm.rank, 1)
    second = yield from comm.irecv(16, 1 - comm.rank, 2)
    yield from comm.waitany((first, second))


def probing(comm: Comm) -> Any:
    yield from comm.probe(1 - comm.rank, 7)


@pytest.mark.parametrize(
    ("main", "waiting"),
    [
        (tagged, "a message from rank 1 (tag 5, 8 B)"),
        # There ranks are others.
        (elsewhere, "a message from rank 0 of communicator 1 (any tag, 8 B)"),
        (
            any_of_two,
            "any of a message from rank 1 (tag 1, 8 B), a message from rank 1 (tag 2, 16 B)",
        ),
        (probing, "a message from rank 1 (tag 7, any size)"),
    ],
)
def test_processes_that_wait_for_each_other_say_for_what(main: Any, waiting: str) -> None:
    with pytest.raises(DeadlockError) as caught:
        run(main, 2)
    assert set(caught.value.waiting) == {0, 1}
    assert caught.value.waiting[0] == waiting
    assert f"rank 0 waits for {waiting}" in str(caught.value)
