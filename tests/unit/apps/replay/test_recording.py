"""What a run writes down as a schedule does the same when it is replayed."""

import random
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hcasim as hc
from hcasim.apps.nas import KERNELS
from hcasim.apps.replay import read_schedule
from hcasim.apps.replay.goal import goal_lines
from hcasim.apps.replay.operations import Kind, Operations
from hcasim.apps.replay.recording import Recording
from hcasim.apps.run import run
from hcasim.mpi import ANY_SOURCE

Steps = Generator[Any, Any, Any]
CHECK = pytest.mark.check
TESTBED = "liu2004"


def recorded(main: Any, ranks: int, folder: Path) -> tuple[Any, Any, str]:
    """A run, what was written down of it run again, and that."""
    first = hc.app(main, TESTBED, ranks, record=True)
    file = folder / "a.goal"
    file.write_text(first.goal())
    return first, hc.app(file, TESTBED, ranks), first.goal()


def body(text: str, rank: int) -> list[str]:
    return text.split(f"rank {rank} {{\n")[1].split("}")[0].splitlines()


def test_an_operation_waits_for_what_its_process_has_waited_for(tmp_path: Path) -> None:
    def main(comm: Any) -> Steps:
        if comm.rank:
            coming = yield from comm.irecv(100, ANY_SOURCE)
            yield from comm.compute(1.5e-6)
            yield from coming.wait()
            yield from comm.send(8, 0, 7)
            return
        yield from comm.send(100, 1, 3)
        yield from comm.recv(1000)

    text = recorded(main, 2, tmp_path)[2]
    assert body(text, 0) == [
        "l0: send 100b to 1 tag 3",
        "l1: recv 8b from 1 tag 7",
        "l1 requires l0",
    ]
    # It has computed 1500 ns after it began to receive, and sends when both are done.
    assert body(text, 1) == [
        "l0: recv 100b from 0 tag 3",
        "l1: calc 1500",
        "l1 irequires l0",
        "l2: send 8b to 0 tag 7",
        "l2 requires l1",
        "l2 requires l0",
    ]


@pytest.mark.parametrize(
    "kernel", ["mg", *(pytest.param(one, marks=CHECK) for one in KERNELS if one != "mg")]
)
def test_kernels_run_again_as_they_ran(kernel: str, tmp_path: Path) -> None:
    machine = hc.machine(TESTBED, mpi=True)
    recording = Recording(4)
    first = run(machine, KERNELS[kernel].program("S", 5e8), 4, recording=recording)
    file = tmp_path / "a.goal"
    file.write_text("\n".join(goal_lines(recording.operations)))
    again = run(machine, read_schedule(file).program(), 4)
    between = {pair: sent for pair, sent in first.traffic.items() if pair[0] != pair[1]}
    assert again.traffic == between
    assert again.seconds == pytest.approx(first.seconds, rel=0.03)


def test_communicators_and_messages_to_oneself(tmp_path: Path) -> None:
    def main(comm: Any) -> Steps:
        half = yield from comm.Split(comm.rank % 2)
        to_itself = yield from comm.isend(500, comm.rank)
        yield from comm.recv(500, comm.rank)
        yield from to_itself.wait()
        yield from half.allreduce(8, 8)
        if half.rank == 0:
            yield from half.send(64, 1, 5)
        else:
            done = False
            request = yield from half.irecv(64)
            while not done:
                done = yield from request.test()

    first, again, text = recorded(main, 4, tmp_path)
    matrix = first.matrix("messages")
    for rank in range(4):
        matrix[rank, rank] = 0
    assert (again.matrix("messages") == matrix).all()
    assert "send 64b to 2" in "\n".join(body(text, 0))
    assert "send 64b to 3" in "\n".join(body(text, 1))


@given(seed=st.integers(0, 2**32))
@settings(max_examples=10)
def test_any_program_runs_again_with_the_same_messages(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    dice = random.Random(seed)
    ranks = dice.randint(2, 4)
    plan = [
        (dice.choice(("ring", "compute", "allreduce", "bcast", "alltoall")), dice.randint(0, 20000))
        for _ in range(dice.randint(1, 8))
    ]

    def main(comm: Any) -> Steps:
        for what, size in plan:
            if what == "ring":
                coming = yield from comm.irecv(size, (comm.rank - 1) % comm.size)
                going = yield from comm.isend(size, (comm.rank + 1) % comm.size)
                yield from comm.waitall([going, coming])
            elif what == "compute":
                yield from comm.compute(size * 1.7e-9)
            elif what == "alltoall":
                yield from comm.alltoall(size * comm.size, size * comm.size)
            else:
                yield from getattr(comm, what)(*([size] * (1 + (what == "allreduce"))))

    first, again, _ = recorded(main, ranks, tmp_path_factory.mktemp("goal"))
    for what in ("messages", "bytes"):
        before = first.matrix(what)
        for rank in range(ranks):
            before[rank, rank] = 0
        assert (again.matrix(what) == before).all()
    assert again.seconds == pytest.approx(first.seconds, rel=0.1)
    # What the library copies and combines is computed, too.
    assert again.compute_seconds > first.compute_seconds - 2e-9


def test_tags_of_collectives_are_none_of_the_program(tmp_path: Path) -> None:
    def main(comm: Any) -> Steps:
        yield from comm.bcast(8)
        yield from comm.sendrecv(8, 1 - comm.rank, 8, sendtag=2000)
        yield from comm.bcast(8)

    _, _, text = recorded(main, 2, tmp_path)
    tags = [int(line.split()[-1]) for line in body(text, 0) if " tag " in line]
    assert tags == [2001, 2000, 2000, 2002]


def test_what_is_left_of_a_nanosecond_is_not_lost() -> None:
    one = Operations()
    for _ in range(4):
        one.add(Kind.CALC, 1500)
    one.add(Kind.SEND, 1, 1, -1)
    other = Operations()
    other.add(Kind.RECV, 1, 0, 2)
    assert [*goal_lines([one, other])][3:8] == [
        "l0: calc 1",
        "l1: calc 2",
        "l2: calc 1",
        "l3: calc 2",
        "l4: send 1b to 1",
    ]


def test_nothing_is_recorded_unless_it_is_asked_for() -> None:
    def main(comm: Any) -> Steps:
        yield from comm.barrier()

    with pytest.raises(hc.CatalogError, match="nothing was recorded; needed: record=True"):
        hc.app(main, TESTBED, 2).goal()
    with pytest.raises(hc.CatalogError, match="record: found 'yes'"):
        hc.app(main, TESTBED, 2, record="yes")  # type: ignore[arg-type]
