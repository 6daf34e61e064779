"""CG exchanges the vectors of its grid of processes, and finds products of its matrix."""

import numpy as np
import pytest

from hcasim.apps.nas import KERNELS
from hcasim.apps.nas.cg import partition
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


@pytest.mark.parametrize("row", TABLE)
def test_vectors_are_exchanged(row: tuple[str, int, int, int, int, float, float]) -> None:
    class_, n, messages, sent_bytes, vector, whole, to_others = row
    outer = KERNEL.iterations(class_)
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
    assert [[partner for partner, _ in one.exchanges] for one in four] == [[1], [0], [3], [2]]
    eight = [partition(14000, rank, 8) for rank in range(8)]
    assert [one.transposed for one in eight] == [0, 1, 4, 5, 2, 3, 6, 7]
    assert [[partner for partner, _ in one.exchanges] for one in eight[:2]] == [[2, 1], [3, 0]]


@pytest.mark.parametrize("n", [1, 2, 4, 8, 16, 32, 64])
@pytest.mark.parametrize("order", [70, 96])
def test_exchanges_make_the_product_of_the_whole_matrix(order: int, n: int) -> None:
    """Each process multiplies its part, and has the product where its vector was."""
    matrix = np.arange(order * order).reshape(order, order) % 89
    vector = np.arange(order) % 7
    parts = [partition(order, rank, n) for rank in range(n)]
    assert sum(one.rows[1] * one.columns[1] for one in parts) == order * order
    rows, columns, own = (
        [slice(first, first + number) for first, number in pieces]
        for pieces in zip(*((one.rows, one.columns, one.own) for one in parts), strict=True)
    )
    sums = [matrix[row, column] @ vector[column] for row, column in zip(rows, columns, strict=True)]
    for number in reversed(range(len(parts[0].exchanges))):
        before = [one.copy() for one in sums]
        for rank, part in enumerate(parts):
            partner, _ = part.exchanges[number]
            back, (first, length) = parts[partner].exchanges[number]
            assert back == rank
            sums[rank][own[rank]] += before[partner][first : first + length]
    for part, column in zip(parts, columns, strict=True):
        found = sums[part.transposed][own[part.transposed]]
        assert (found == (matrix @ vector)[column]).all()
