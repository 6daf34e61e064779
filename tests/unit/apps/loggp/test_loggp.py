"""The LogGP machine: its calls, its parameters, and times that LogGOPSim gives for schedules."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from hcasim.apps.loggp import LogGP, LogGPComm, LogGPJob
from hcasim.apps.replay import read_schedule
from hcasim.ground.errors import CatalogError
from hcasim.mpi import ANY_SOURCE, ANY_TAG, DeadlockError, MPIError, Status

Steps = Generator[Any, Any, Any]


def run(main: Any, ranks: int = 2, params: LogGP | None = None) -> tuple[list[Any], list[int]]:
    """What each process returns, and when it ends in ns."""
    job = LogGPJob(ranks, params or LogGP())
    returned = job.run(main)
    assert job.sim.now == max(job.finished_ps)
    return returned, [one // 1000 for one in job.finished_ps]


def scheduled(folder: Path, *ranks: str, params: LogGP | None = None) -> list[int]:
    blocks = [f"rank {rank} {{\n{body}\n}}" for rank, body in enumerate(ranks)]
    file = folder / "a.goal"
    file.write_text(f"num_ranks {len(ranks)}\n" + "\n".join(blocks) + "\n")
    trace = read_schedule(file)
    return run(trace.program(), trace.ranks, params)[1]


def test_a_message_takes_overheads_latency_and_its_bytes() -> None:
    def main(comm: LogGPComm) -> Steps:
        if comm.rank == 0:
            yield from comm.send(101, 1, 5)
            return None
        return (yield from comm.recv(200))

    returned, finished = run(main)
    assert returned == [None, Status(0, 5, 101)]
    assert finished == [1500, 1500 + 2500 + 1500 + 100 * 6]


def test_a_long_message_waits_for_its_receiver() -> None:
    def main(comm: LogGPComm) -> Steps:
        if comm.rank == 0:
            yield from comm.send(11, 1)
            yield from comm.compute(1e-6)
        else:
            yield from comm.compute(1e-3)
            yield from comm.recv(11, 0)

    eager, waiting = (run(main, params=LogGP(S=size))[1] for size in (11, 10))
    assert eager[0] == 2500
    assert waiting[0] > 1_000_000


def test_requests_are_waited_for_in_any_order() -> None:
    def main(comm: LogGPComm) -> Steps:
        if comm.rank == 0:
            requests = []
            for tag in range(3):
                requests.append((yield from comm.isend(8, 1, tag)))
            yield from comm.waitall(requests)
            return None
        requests = []
        for tag in (2, 1, 0):
            requests.append((yield from comm.irecv(8, ANY_SOURCE, tag)))
        places = []
        while (place := (yield from comm.waitany(requests))) is not None:
            places.append(place)
        done = yield from requests[0].test()
        return places, done

    assert run(main)[0][1] == ([2, 1, 0], True)


def test_both_ways_go_at_once() -> None:
    def main(comm: LogGPComm) -> Steps:
        return (yield from comm.sendrecv(8, 1 - comm.rank, 8, recvtag=ANY_TAG))

    assert run(main)[0] == [Status(1, 0, 8), Status(0, 0, 8)]


def test_who_waits_for_nothing_is_told() -> None:
    def main(comm: LogGPComm) -> Steps:
        if comm.rank:
            yield from comm.recv(8, 0, 3)

    with pytest.raises(DeadlockError, match=r"rank 1 waits for a message from rank 0 \(tag 3"):
        run(main)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda comm: comm.isend(8, 2), "dest is 2; allowed: 0 to 1"),
        (lambda comm: comm.irecv(8, 2), "source is 2"),
        (lambda comm: comm.isend(8, 1, -1), "tag is -1"),
        (lambda comm: comm.irecv(8, 1, -5), "tag is -5"),
        (lambda comm: comm.isend(-8, 1), "-8 bytes"),
        (lambda comm: comm.isend("x", 1), "'x' bytes"),
        (lambda comm: comm.compute(float("nan")), "nan seconds"),
    ],
)
def test_calls_that_cannot_be_done_are_refused(call: Any, said: str) -> None:
    def main(comm: LogGPComm) -> Steps:
        yield from call(comm)

    with pytest.raises(MPIError, match=said):
        run(main)


def test_a_message_that_is_too_long_is_refused() -> None:
    def main(comm: LogGPComm) -> Steps:
        yield from comm.sendrecv(9, 1 - comm.rank, 8)

    with pytest.raises(MPIError, match=r"a message of 9 bytes; the receive has 8"):
        run(main)


def test_all_parameters_that_are_wrong_are_said() -> None:
    with pytest.raises(CatalogError) as error:
        LogGP(L=-1, G=float("nan"), S=1.5, O=True)  # type: ignore[arg-type]
    assert [fault[0] for fault in error.value.faults] == ["L", "G", "O", "S"]


def test_what_is_no_program_is_refused() -> None:
    with pytest.raises(MPIError, match="yield from"):
        LogGPJob(1, LogGP()).run(lambda comm: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(MPIError, match="ranks"):
        LogGPJob(0, LogGP())


def test_threads_compute_at_the_same_time(tmp_path: Path) -> None:
    body = "a: calc 3000 cpu 0\nb: calc 2000 cpu 1\nc: calc 2000 cpu 0\nc requires b"
    assert scheduled(tmp_path, body) == [5000]


def test_sends_are_a_gap_apart_while_the_processor_is_free(tmp_path: Path) -> None:
    finished = scheduled(
        tmp_path,
        "send 1b to 1\nsend 1b to 1\ncalc 100",
        "recv 1b from 0\nrecv 1b from 0",
        params=LogGP(L=0, o=10, g=500, G=0),
    )
    assert finished == [510, 520]


REDUCTION = (
    "a: recv 1024b from 1\nb: recv 1024b from 2\nc: recv 1024b from 4",
    "s: send 1024b to 0",
    "a: recv 1024b from 3\ns: send 1024b to 0\ns requires a",
    "s: send 1024b to 2",
    "a: recv 1024b from 5\nb: recv 1024b from 6\ns: send 1024b to 0\ns requires a\ns requires b",
    "s: send 1024b to 4",
    "a: recv 1024b from 7\ns: send 1024b to 4\ns requires a",
    "s: send 1024b to 6",
)


@pytest.mark.parametrize(
    ("eager", "finished"),
    [
        (65535, [34914, 1500, 13138, 1500, 24776, 1500, 13138, 1500]),
        (100, [34914, 4000, 15638, 4000, 27276, 4000, 15638, 4000]),
    ],
)
def test_times_are_those_that_loggopsim_prints(
    tmp_path: Path, eager: int, finished: list[int]
) -> None:
    """LogGOPSim, commit 76451de, with its own values of the other parameters."""
    assert scheduled(tmp_path, *REDUCTION, params=LogGP(S=eager)) == finished
