"""OTF2 archives: what is read, what is refused, and how it runs."""

import contextlib
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hcasim.apps.replay import Trace, read_schedule, text
from hcasim.ground.errors import CatalogError
from tests.mpi_jobs import job
from tests.otf2_archives import Program, Recorder, write_archive
from tests.unit.apps.replay.conftest import Read, fault


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read(*programs: Program, **more: Any) -> Trace:
        return read_schedule(write_archive(tmp_path / "a", *programs, **more))

    return read


def nothing(one: Recorder) -> None:
    pass


def test_messages_and_computing_are_replayed(read: Read) -> None:
    def sender(one: Recorder) -> None:
        one.compute(2000)
        one.send(1, 100, tag=7)
        one.compute(500)
        one.recv(1, 50_000)

    def receiver(one: Recorder) -> None:
        one.recv(0, 100, tag=7)
        one.compute(3000)
        one.send(0, 50_000)

    trace = read(sender, receiver)
    assert (trace.ranks, trace.form) == (2, "otf2")
    one = job()
    one.run(trace.program())
    assert [process.computed_ps for process in one.processes] == [2_500_000, 3_000_000]
    assert sum(c.messages for p in one.processes for c in p.connections.values()) >= 2


def test_messages_of_one_call_are_under_way_together(read: Read) -> None:
    def exchange(one: Recorder, other: int) -> None:
        comm = one.comms[0]
        one.call(("mpi_send", other, comm, 0, 400_000), ("mpi_recv", other, comm, 0, 400_000))

    trace = read(lambda one: exchange(one, 1), lambda one: exchange(one, 0))
    job().run(trace.program())


def test_requests_are_begun_and_waited_for(read: Read) -> None:
    def main(one: Recorder, other: int) -> None:
        comm = one.comms[0]
        one.call(("mpi_irecv_request", 4))
        one.call(("mpi_irecv_request", 6))
        one.call(("mpi_isend", other, comm, 2, 90_000, 5))
        one.compute(10_000)
        one.call(
            ("mpi_irecv", other, comm, 2, 90_000, 4),
            ("mpi_isend_complete", 5),
            ("mpi_request_cancelled", 6),
        )

    trace = read(lambda one: main(one, 1), lambda one: main(one, 0))
    one = job()
    one.run(trace.program())
    assert 10_000_000 < one.sim.now < 1_000_000_000


@pytest.mark.parametrize(
    ("name", "sent", "received"),
    [
        ("BARRIER", (0,) * 4, (0,) * 4),
        ("BCAST", (4000, 0, 0, 0), (1000,) * 4),
        ("GATHER", (1000,) * 4, (4000, 0, 0, 0)),
        ("GATHERV", (1000, 0, 5, 3000), (4005, 0, 0, 0)),
        ("SCATTER", (4000, 0, 0, 0), (1000,) * 4),
        ("SCATTERV", (4005, 0, 0, 0), (1000, 0, 5, 3000)),
        ("ALLGATHER", (4000,) * 4, (4000,) * 4),
        ("ALLGATHERV", (4000, 0, 20, 12_000), (4005,) * 4),
        ("ALLTOALL", (4000,) * 4, (4000,) * 4),
        ("ALLTOALLV", (4000, 0, 5, 9), (4, 10, 3000, 1000)),
        ("ALLREDUCE", (32,) * 4, (32,) * 4),
        ("REDUCE", (0, 8, 8, 8), (24, 0, 0, 0)),
        ("REDUCE_SCATTER", (4000,) * 4, (4000,) * 4),
        ("REDUCE_SCATTER_BLOCK", (4000,) * 4, (4000,) * 4),
        ("CREATE_HANDLE", (0,) * 4, (0,) * 4),
    ],
)
def test_collectives_are_those_of_the_simulator(
    read: Read, name: str, sent: tuple[int, ...], received: tuple[int, ...]
) -> None:
    def main(rank: int) -> Program:
        return lambda one: one.collective(name, sent[rank], received[rank])

    one = job(nodes=4)
    one.run(read(*map(main, range(4))).program())
    wanted = name.lower().removesuffix("_block").replace("create_handle", "barrier")
    assert {process.collective for process in one.processes} == {wanted}


def test_collectives_are_of_the_communicator_of_the_archive(read: Read) -> None:
    def main(comm: int, other: int) -> Program:
        def run(one: Recorder) -> None:
            one.send(other, 8, comm=comm)
            one.recv(other, 8, comm=comm)
            one.collective("ALLREDUCE", 16, 16, comm=comm)
            one.collective("BARRIER", comm=3)

        return run

    programs = [main(1, 1), main(2, 0), main(1, 0), main(2, 1)]
    trace = read(*programs, groups=[(0, 2), (3, 1)])
    one = job(nodes=4)
    one.run(trace.program())
    assert sorted(one.processes[0].connections) == [2]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda one: one.send(7, 8), "location 0, event 3: rank: found 7; allowed: 0 to 1"),
        (
            lambda one: one.call(("mpi_isend_complete", 9)),
            "event 3: found the end of request 9; no send has begun it",
        ),
        (lambda one: one.collective("SCAN"), "event 4: found a prefix sum"),
        (
            lambda one: one.call(("mpi_irecv_request", 3)),
            "found a receive that never ends: request 3",
        ),
        (
            lambda one: one.call(("mpi_request_test", 3), ("non_blocking_collective_request", 3)),
            "event 4: found NonBlockingCollectiveRequest, which cannot be replayed",
        ),
    ],
)
def test_what_cannot_be_replayed_is_told_with_its_event(
    read: Read, wrong: Program, said: str
) -> None:
    assert said in fault(read, wrong, nothing)


def test_messages_of_further_threads_are_refused(read: Read) -> None:
    found = fault(read, nothing, nothing, thread=True)
    assert "location 2, event 1: found MpiSend of another thread" in found


def test_processes_that_do_not_fit_are_refused(read: Read, tmp_path: Path) -> None:
    assert "send without a recv: 1 from rank 0" in fault(read, lambda one: one.send(1, 8), nothing)
    shutil.rmtree(tmp_path / "a")
    both = [lambda one: one.collective("BCAST"), lambda one: one.collective("BARRIER")]
    assert "rank 1 calls barrier of 'comm 0'; rank 0 calls bcast with root 0 in" in fault(
        read, *both
    )
    shutil.rmtree(tmp_path / "a")
    assert "rank 1 has 0" in fault(read, both[0], nothing)


def test_a_missing_library_is_named(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "find_spec", lambda name: None)
    assert "pip install 'hcasim[otf2]'" in fault(read, nothing)


def test_a_part_that_could_be_waited_for_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    anchor = write_archive(tmp_path, nothing)
    monkeypatch.setattr(subprocess, "Popen", None)
    for part in ("traces.def", "traces/0.evt"):
        file = tmp_path / part
        file.unlink()
        os.mkfifo(file)
        with pytest.raises(CatalogError, match=f"{part}: found a pipe; allowed: a regular file"):
            read_schedule(anchor)
        file.unlink()
        file.symlink_to(file)
        with pytest.raises(CatalogError, match=f"{part}: cannot be read: too many levels"):
            read_schedule(anchor)
        file.unlink()


def test_an_anchor_alone_is_no_archive(tmp_path: Path) -> None:
    for data in (b"\3BOTF2", b"\3BOTF2" + bytes(100), b"\3BOTF2" + b"\xff" * 1_000_000):
        file = tmp_path / "traces.otf2"
        file.write_bytes(data)
        with pytest.raises(CatalogError, match="the library of OTF2 cannot read it") as error:
            read_schedule(file)
        assert all(len(one) < 300 for one in error.value.faults)


@pytest.mark.check
@pytest.mark.parametrize("seed", range(25))
def test_damage_is_refused_in_words_or_does_no_harm(tmp_path: Path, seed: int) -> None:
    def main(one: Recorder) -> None:
        one.collective("ALLREDUCE", 16, 16)
        one.compute(500)
        one.collective("BCAST", 16, 8)

    dice, anchor = random.Random(seed), write_archive(tmp_path / "a", main, main)
    files = ["traces.otf2", "traces.def", "traces/0.def", "traces/0.evt", "traces/1.evt"]
    file = anchor.parent / dice.choice(files)
    kept = file.read_bytes()
    place, behind = sorted(dice.randrange(len(kept) + 1) for _ in range(2))
    file.write_bytes(kept[:place] + dice.randbytes(dice.randrange(4)) + kept[behind:])
    with contextlib.suppress(CatalogError):
        read_schedule(anchor)
