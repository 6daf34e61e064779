"""CG: the smallest eigenvalue of a sparse matrix is estimated, by conjugate gradients.

Source: NPB 3.3.1, CG/cg.f, with setup_submatrix_info, and sys/setparams.c.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from hcasim.apps.nas.kernel import Kernel, Stopwatch, grid, most_along, share, shift
from hcasim.mpi import Comm
from hcasim.mpi.memory import Buffer
from hcasim.mpi.message import Steps

INNER: Final = 25
"""Iterations of the conjugate gradients, in each outer one."""
REAL_BYTES: Final = 8


class Size(NamedTuple):
    """A sparse symmetric matrix: its rows, nonzeros of each of the vectors that it is made of, and
    outer iterations.
    """

    rows: int
    nonzeros: int
    iterations: int

    @property
    def product(self) -> int:
        """Multiplications of a product with the matrix, per row."""
        return self.nonzeros * (self.nonzeros + 1)

    @property
    def outer(self) -> int:
        """Multiplications of an outer iteration, per row."""
        return 3 + self.product + INNER * (5 + self.product) + 3


Piece = tuple[int, int]
"""First element and number of elements."""


class Partition(NamedTuple):
    """What a process has, counted from 0.

    Attributes:
        rows: of the matrix.
        columns: of the matrix.
        own: piece of the sum over its rows that is the process's own in the end.
        transposed: process that needs this piece as elements of its columns.
        exchanges: steps of a sum over the processes of a row: the partner, and the piece of the
            own part sums that is sent to it for that which is its own; in the order of a sum of
            scalars. A sum of vectors has them the other way around.
    """

    rows: Piece
    columns: Piece
    own: Piece
    transposed: int
    exchanges: tuple[tuple[int, Piece], ...]


def _halves(piece: Piece, second: int) -> Piece:
    first, number = piece
    half = (number + 1) // 2
    return (first + half, number - half) if second else (first, half)


def partition(order: int, rank: int, n: int) -> Partition:
    """What a process has of a matrix of so many rows."""
    grid_rows, grid_columns = grid(n)
    row, column = divmod(rank, grid_columns)
    square = grid_rows == grid_columns
    rows = share(order, grid_rows, row)
    if square or order % grid_columns == 0:
        columns = share(order, grid_columns, column)
    else:
        # Two processes side by side share the columns that are the rows of one.
        columns = _halves(share(order, grid_rows, column // 2), column % 2)
    whole = 0, rows[1]
    if square:
        own, transposed = whole, rank % grid_rows * grid_rows + rank // grid_rows
    else:
        own, pair = _halves(whole, column % 2), rank // 2
        transposed = 2 * (pair % grid_rows * grid_rows + pair // grid_rows) + rank % 2
    exchanges = []
    distance = grid_columns // 2
    while distance:
        # The halves are parted in the step between the two that have one each.
        parted = distance == 1 and not square
        sent = _halves(whole, 1 - column % 2) if parted else own
        exchanges.append((row * grid_columns + (column ^ distance), sent))
        distance //= 2
    return Partition(rows, columns, own, transposed, tuple(exchanges))


def _elements(vector: Buffer, piece: Piece) -> Buffer:
    first, number = piece
    return vector.part(REAL_BYTES * first, REAL_BYTES * number)


_Exchanges = Sequence[tuple[int, int, Buffer, Buffer]]
"""Partners, each with a tag, what it sends and what it gets."""


def run(comm: Comm, size: Size, seconds: float, watch: Stopwatch) -> Steps:
    """What a process does; see `Kernel.run`."""
    part, heap = partition(size.rows, comm.rank, comm.size), comm.process.heap
    room = REAL_BYTES * (max(part.rows[1], part.columns[1]) + 2)
    # Products with the search direction and with the solution come in where q and r are.
    q, r, w = (heap.allocate(room) for _ in range(3))
    sums, others = (heap.allocate(2 * REAL_BYTES) for _ in range(2))
    # Of one multiplication per row, with its addition.
    each = seconds / size.iterations / size.outer

    def product(into: Buffer) -> _Exchanges:
        found = [
            (partner, tag, _elements(into, part.own), _elements(w, sent))
            for tag, (partner, sent) in enumerate(part.exchanges, 1)
        ]
        columns = _elements(into, (0, part.columns[1]))
        transposed = part.transposed, 1, columns, _elements(w, part.own)
        return [*reversed(found), transposed] if found else []

    def scalars(number: int) -> _Exchanges:
        incoming, outgoing = (_elements(one, (0, number)) for one in (others, sums))
        partners = enumerate(part.exchanges, 1)
        return [(partner, tag, incoming, outgoing) for tag, (partner, _) in partners]

    one, two, to_q, to_r = scalars(1), scalars(2), product(q), product(r)

    def step(multiplications: int, exchanges: _Exchanges) -> Steps:
        """Compute, and add up over the processes of a row."""
        yield from comm.compute(multiplications * each)
        for partner, tag, incoming, outgoing in exchanges:
            yield from shift(comm, incoming, partner, outgoing, partner, tag)

    def iterate() -> Steps:
        yield from step(1, one)
        for _ in range(INNER):
            yield from step(size.product, to_q)
            yield from step(1, one)
            yield from step(3, one)
            yield from step(1, ())
        yield from step(size.product, to_r)
        yield from step(2, one)
        yield from step(2, two)
        yield from step(1, ())

    yield from comm.bcast(4)
    yield from iterate()
    yield from comm.barrier()
    watch.start()
    for _ in watch.iterations():
        yield from iterate()
    watch.stop()
    yield from comm.reduce(REAL_BYTES, REAL_BYTES)


KERNEL: Final = Kernel(
    name="cg",
    sizes={
        "S": Size(1400, 7, 15),
        "W": Size(7000, 8, 15),
        "A": Size(14000, 11, 15),
        "B": Size(75000, 13, 75),
        "C": Size(150000, 15, 75),
    },
    most=lambda size: (most_along(size.rows), "columns of the matrix"),
    total=lambda size: 2.0 * size.iterations * size.rows * size.outer,
    run=run,
)
