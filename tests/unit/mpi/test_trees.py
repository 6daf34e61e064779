"""The two trees of an allreduce, and the messages of allreduces by formula."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import resolve
from hcasim.mpi import Comm
from hcasim.mpi.collectives.tree import PIECE, neighbours, second
from tests.mpi_jobs import job, run

COUNTS = st.integers(2, 600)


@given(COUNTS)
def test_each_tree_joins_all_ranks_to_one_root(count: int) -> None:
    for tree in (neighbours, second):
        parents = [tree(rank, count)[0] for rank in range(count)]
        (root,) = (rank for rank in range(count) if parents[rank] < 0)
        for rank in range(count):
            assert all(parents[child] == rank for child in tree(rank, count)[1])
            way, steps = rank, 0
            while way != root:
                way, steps = parents[way], steps + 1
                assert steps <= count.bit_length()
        assert sum(len(tree(rank, count)[1]) for rank in range(count)) == count - 1


@given(COUNTS)
def test_nobody_is_inside_both_trees_but_roots_and_one_beside_them(count: int) -> None:
    inside = [
        rank for rank in range(count) if neighbours(rank, count)[1] and second(rank, count)[1]
    ]
    assert len(inside) <= 1 + count % 2
    assert all(
        len(tree(rank, count)[1]) <= 2 for rank in range(count) for tree in (neighbours, second)
    )


@pytest.mark.parametrize("count", [2, 3, 5, 8])
@pytest.mark.parametrize("size", [64, 8 * PIECE])
def test_both_trees_send_each_piece_up_and_down_once(count: int, size: int) -> None:
    one = job(count, on=resolve("fat-tree-64", mpi=True))

    def main(comm: Comm) -> Any:
        yield from comm.allreduce(size, size, algorithm="tree")

    one.run(main)
    sent = [way for process in one.processes for way in process.connections.values()]
    pieces = 2 * max(1, size // 2 // PIECE)
    assert sum(way.messages for way in sent) == 2 * (count - 1) * pieces
    assert sum(way.sent_bytes for way in sent) == 2 * (count - 1) * size


@pytest.mark.parametrize("count", [2, 3, 5, 8])
def test_a_ring_sends_twice_a_part_for_each_other_process(count: int) -> None:
    one = job(count, on=resolve("fat-tree-64", mpi=True))
    size = 1000 * 8 * count

    def main(comm: Comm) -> Any:
        yield from comm.allreduce(size, size, algorithm="ring")

    one.run(main)
    for process in one.processes:
        sent = process.connections[(process.rank + 1) % count]
        assert (sent.messages, sent.sent_bytes) == (
            2 * (count - 1),
            2 * (count - 1) * size // count,
        )
        assert sum(way.messages for way in process.connections.values()) == sent.messages


def test_an_accelerator_combines_at_its_rate() -> None:
    def spent(rate: float | None) -> int:
        def main(comm: Comm) -> Any:
            comm.process.combine_rate = rate
            yield from comm.allreduce(2**20, 2**20, algorithm="reduce_broadcast")
            return comm.process.sim.now

        return int(max(run(main, 2)))

    at_once, at_1_gb, host = spent(float("inf")), spent(1e9), spent(None)
    assert at_1_gb - at_once == pytest.approx(2**20 * 1000, rel=1e-9)
    assert host > at_once
