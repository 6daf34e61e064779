"""CG exchanges the vectors of its grid of processes, and finds the eigenvalue."""

import pytest

from hcasim.apps.nas import KERNELS, cg
from hcasim.apps.nas.cg import partition
from hcasim.apps.nas.classes import CG
from tests.mpi_jobs import job
from tests.unit.apps.nas.contents import Vectors, matrix
from tests.unit.apps.nas.stand_in import count_all

KERNEL = KERNELS["cg"]

# By class and processes: messages and bytes of a process in an outer iteration, those to itself
# included; bytes of a vector; and megabytes of the run with them and without.
TABLE = [
    ("A", 4, 105, 2_912_432, 56_000, 174.7, 131.1),
    ("A", 8, 184, 2_184_864, 28_000, 262.2, 218.5),
    ("B", 4, 105, 15_600_432, 300_000, 4680.1, 3510.1),
    ("B", 8, 184, 11_700_864, 150_000, 7020.5, 5850.5),
]


@pytest.mark.parametrize(
    ("class_", "n", "messages", "sent_bytes", "vector", "whole", "to_others"), TABLE
)
def test_vectors_are_exchanged(
    class_: str,
    n: int,
    messages: int,
    sent_bytes: int,
    vector: int,
    whole: float,
    to_others: float,
) -> None:
    outer = CG[class_].iterations
    ran = count_all(KERNEL.program(class_, 1e9), n)
    for comm, timed in ran:
        assert timed.messages + timed.self_messages == outer * messages
        assert timed.sent_bytes + timed.self_bytes == outer * sent_bytes
        assert timed.self_messages in (0, outer * 26)
        assert {size for _, size in comm.sizes} == {8, 16, vector}
        # One untimed iteration.
        assert comm.sizes.total() == (outer + 1) * messages
    sent = sum(timed.sent_bytes for _, timed in ran)
    itself = sum(timed.self_bytes for _, timed in ran)
    assert (sent + itself) / 1e6 == pytest.approx(whole, abs=0.05)
    assert sent / 1e6 == pytest.approx(to_others, abs=0.05)


def test_partners_are_those_of_the_grid() -> None:
    four = [partition(14000, rank, 4) for rank in range(4)]
    assert [one.transposed for one in four] == [0, 2, 1, 3]
    assert [[step.partner for step in one.exchanges] for one in four] == [[1], [0], [3], [2]]
    eight = [partition(14000, rank, 8) for rank in range(8)]
    assert [one.transposed for one in eight] == [0, 1, 4, 5, 2, 3, 6, 7]
    assert [[step.partner for step in one.exchanges] for one in eight[:2]] == [[2, 1], [3, 0]]


def test_the_matrix_is_divided_without_gaps() -> None:
    for rows in [1400, 7000]:
        for n in [1, 2, 4, 8, 16, 32, 64, 128]:
            parts = [partition(rows, rank, n) for rank in range(n)]
            assert sum(one.rows * one.columns for one in parts) == rows * rows
            corners = {(one.first_row, one.first_column) for one in parts}
            assert len(corners) == n
            for one in parts:
                assert parts[one.transposed].columns == one.send_length
                assert one.first_row + one.send_start == parts[one.transposed].first_column


def test_the_matrix_is_symmetric() -> None:
    found = matrix(CG["S"])
    assert abs(found - found.T).max() < 1e-15
    assert found.nnz == 78148


@pytest.mark.pure
@pytest.mark.parametrize(
    ("class_", "nodes", "per_node"),
    [
        ("S", 1, 1),
        *(pytest.param(*one, marks=pytest.mark.check) for one in (("S", 4, 2), ("W", 2, 1))),
    ],
)
def test_the_eigenvalue_is_that_of_npb(
    class_: str, nodes: int, per_node: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = KERNEL.program(class_, 1e8)
    alike = count_all(main, nodes * per_node)
    monkeypatch.setattr(cg, "Vectors", Vectors)
    monkeypatch.setattr(Vectors, "made", [])
    found = job(nodes, per_node).run(main)
    assert [one.verified() for one in Vectors.made] == [True] * nodes * per_node
    assert [one.messages for one in found] == [one.messages for _, one in alike]
    assert [one.sent_bytes for one in found] == [one.sent_bytes for _, one in alike]
    assert [one.self_bytes for one in found] == [one.self_bytes for _, one in alike]
