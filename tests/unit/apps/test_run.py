"""What is told of a run of a program adds up."""

from collections.abc import Generator
from typing import Any

import pytest

from hcasim.apps.run import Outcome, run
from hcasim.catalog import CatalogError, resolve
from hcasim.mpi import MPIError

Steps = Generator[Any, Any, Any]
STEPS = 5
COMPUTING = 2e-5


def simulate(main: Any, processes: int, per_node: int = 1, **more: Any) -> Outcome:
    return run(resolve("liu2004", mpi=True), main, processes, per_node, **more)


def ring(size: int) -> Any:
    """Processes that compute, meet, and send to the right."""

    def main(comm: Any) -> Steps:
        for step in range(STEPS):
            yield from comm.compute(COMPUTING / 2 * (1 + comm.rank % 2))
            yield from comm.barrier()
            coming = yield from comm.irecv(size, (comm.rank - 1) % comm.size)
            yield from comm.send(size, (comm.rank + 1) % comm.size)
            yield from coming.wait()
            comm.progress(step + 1, STEPS)
        return comm.Wtime()

    return main


@pytest.mark.parametrize("size", [8, 100_000])
@pytest.mark.parametrize(("processes", "per_node"), [(2, 1), (4, 2), (7, 2)])
def test_the_critical_path_is_as_long_as_the_run(processes: int, per_node: int, size: int) -> None:
    found = simulate(ring(size), processes, per_node)
    assert sum(found.critical.values()) == pytest.approx(found.seconds, rel=1e-12)
    # Each step waits for the process that computes longest.
    assert found.critical["computing"] == pytest.approx(STEPS * COMPUTING, rel=1e-12)
    assert found.critical_messages >= STEPS - 1


def test_each_process_computes_or_is_in_a_call() -> None:
    found = simulate(ring(8), 4, 2)
    in_calls = sum(use.seconds for use in found.calls.values())
    assert in_calls == pytest.approx(sum(one.mpi_seconds for one in found.ranks), rel=1e-12)
    assert {name: use.calls for name, use in found.calls.items()} == dict.fromkeys(
        ["barrier", "irecv", "send", "wait"], 4 * STEPS
    )
    for one in found.ranks:
        assert one.compute_seconds == pytest.approx(STEPS * COMPUTING / 2 * (1 + one.rank % 2))
        assert 0 < one.wait_seconds < one.mpi_seconds
        assert one.returned == one.seconds


def test_traffic_is_what_was_sent_by_the_program_and_by_collectives() -> None:
    found = simulate(ring(100), 3)
    for rank in range(3):
        messages, size = found.traffic[rank, (rank + 1) % 3]
        assert size == STEPS * 100
        assert messages >= STEPS
    assert sum(m for m, _ in found.traffic.values()) == sum(o.messages for o in found.ranks)


def test_nodes_are_filled_or_dealt_out() -> None:
    block = simulate(ring(8), 5, 2)
    cyclic = simulate(ring(8), 5, 2, map_by="cyclic")
    assert [one.node for one in block.ranks] == [0, 0, 1, 1, 2]
    assert [one.node for one in cyclic.ranks] == [0, 1, 2, 0, 1]


def test_one_process_tells_how_far_the_program_is() -> None:
    told: list[tuple[int, int]] = []
    simulate(ring(8), 3, show=lambda *at: told.append(at))
    assert told == [(step + 1, STEPS) for step in range(STEPS)]


def test_calls_of_a_part_of_the_processes_are_counted() -> None:
    def main(comm: Any) -> Steps:
        half = yield from comm.Split(comm.rank % 2)
        yield from half.barrier()

    found = simulate(main, 4)
    assert (found.calls["Split"].calls, found.calls["barrier"].calls) == (4, 4)


@pytest.mark.parametrize("last", [True, False])
def test_a_call_without_yield_from_is_told(last: bool) -> None:
    def main(comm: Any) -> Steps:
        yield from comm.barrier()
        comm.send(8, 0)
        if not last:
            yield from comm.barrier()

    with pytest.raises(MPIError, match=r"rank 0: send: .*`yield from` before comm\.send"):
        simulate(main, 2)


@pytest.mark.parametrize(
    ("processes", "per_node", "said"),
    [
        (5, 1, "allowed: 1 to 4, as liu2004 has 4 nodes with 1 on each"),
        (0, 1, "ranks: found 0"),
        (4, 3, "ppn: found 3; allowed: 1 to 2"),
        (4, 0, "ppn: found 0"),
    ],
)
def test_too_many_processes_are_refused(processes: int, per_node: int, said: str) -> None:
    with pytest.raises(CatalogError, match=said):
        simulate(ring(8), processes, per_node)
