"""CG: the smallest eigenvalue of a sparse matrix is estimated, by conjugate gradients.

Source: NPB 3.3.1, CG/cg.f, with setup_submatrix_info, and sys/setparams.c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from hcasim.apps.nas import classes
from hcasim.apps.nas.classes import CgSize
from hcasim.apps.nas.kernel import Kernel, Run, at_most
from hcasim.apps.nas.timing import Stopwatch
from hcasim.mpi import Comm
from hcasim.mpi.message import Steps
from hcasim.mpi.messages import Memory

INNER: Final = 25
"""Iterations of the conjugate gradients, in each outer one."""

REAL_BYTES: Final = 8
_TRANSPOSE: Final = 1


@dataclass(frozen=True, slots=True)
class Exchange:
    """One step of a sum over the processes of a row.

    Attributes:
        partner: who gets a piece of the own part sums, and gives one of its own.
        send_start: of the piece that is sent.
        send_length: elements of it.
        recv_start: where the other goes.
        recv_length: elements of that.
    """

    partner: int
    send_start: int
    send_length: int
    recv_start: int
    recv_length: int


@dataclass(frozen=True, slots=True)
class Partition:
    """Rows and columns of a process, counted from 0.

    Attributes:
        first_row: of the matrix.
        rows: number of them.
        first_column: of the matrix.
        columns: number of them.
        send_start: of the piece of the sum that is the process's own in the end.
        send_length: elements of it.
        transposed: process that needs this piece as elements of its columns.
        exchanges: of a sum of scalars, in order; a sum of vectors has them the other way around.
    """

    first_row: int
    rows: int
    first_column: int
    columns: int
    send_start: int
    send_length: int
    transposed: int
    exchanges: tuple[Exchange, ...]


def grid(n: int) -> tuple[int, int]:
    """Rows and columns of processes, for a power of two."""
    log2 = n.bit_length() - 1
    return 1 << log2 // 2, 1 << (log2 + 1) // 2


def _share(order: int, parts: int, number: int) -> tuple[int, int]:
    """First element and number of elements, of which the first parts may have one more."""
    each, more = divmod(order, parts)
    return number * each + min(number, more), each + (number < more)


def partition(order: int, rank: int, n: int) -> Partition:
    """What a process has of a matrix of so many rows."""
    grid_rows, grid_columns = grid(n)
    row, column = divmod(rank, grid_columns)
    square = grid_rows == grid_columns
    first_row, rows = _share(order, grid_rows, row)
    if square or order % grid_columns == 0:
        first_column, columns = _share(order, grid_columns, column)
    else:
        # Two processes side by side share the columns that are the rows of one.
        first_column, columns = _share(order, grid_rows, column // 2)
        half = (columns + 1) // 2
        first_column, columns = (
            (first_column + half, columns - half) if column % 2 else (first_column, half)
        )
    half = (rows + 1) // 2
    if square:
        send_start, send_length = 0, rows
        transposed = rank % grid_rows * grid_rows + rank // grid_rows
    else:
        send_start, send_length = (half, rows - half) if column % 2 else (0, half)
        pair = rank // 2
        transposed = 2 * (pair % grid_rows * grid_rows + pair // grid_rows) + rank % 2
    exchanges = []
    distance = grid_columns // 2
    while distance:
        partner = row * grid_columns + (column ^ distance)
        start, length = send_start, send_length
        if distance == 1 and not square:
            # The halves are parted in the step between the two that have one each.
            start = 0 if column % 2 else send_length
            length = rows - send_length
        exchanges.append(Exchange(partner, start, length, send_start, send_length))
        distance //= 2
    return Partition(
        first_row,
        rows,
        first_column,
        columns,
        send_start,
        send_length,
        transposed,
        tuple(exchanges),
    )


class Vectors:
    """The vectors of a process, without contents.

    Attributes:
        q: product with the search direction, and where its part sums come in.
        r: residual, and where those of the last product come in.
        w: own part sums.
        sums: one or two own scalars.
        others: those of a partner.
    """

    q: Memory
    r: Memory
    w: Memory
    sums: Memory
    others: Memory

    def __init__(self, comm: Comm, size: CgSize, part: Partition) -> None:
        heap, room = comm.process.heap, REAL_BYTES * (max(part.rows, part.columns) + 2)
        self.q, self.r, self.w = heap.allocate(room), heap.allocate(room), heap.allocate(room)
        self.sums, self.others = heap.allocate(2 * REAL_BYTES), heap.allocate(2 * REAL_BYTES)

    def piece(self, memory: Memory, start: int, length: int) -> Memory:
        """Elements of a vector."""
        return memory.part(REAL_BYTES * start, REAL_BYTES * length)

    def compute(self, step: str, *given: Any) -> None:
        """Compute contents in a step of the source, where there are any."""


def _faults(size: CgSize, n: int) -> list[str]:
    most = 1
    while grid(2 * most)[1] <= size.rows:
        most *= 2
    return at_most(n, most, "columns of the matrix")


def _product(size: CgSize) -> int:
    """Multiplications of a product with the matrix, per row."""
    return size.nonzeros * (size.nonzeros + 1)


def _outer(size: CgSize) -> int:
    """Multiplications of an outer iteration, per row."""
    product = _product(size)
    return 3 + product + INNER * (5 + product) + 3


def _operations(size: CgSize) -> float:
    return 2.0 * size.iterations * size.rows * _outer(size)


_Piece = tuple[Exchange, int, Memory, Memory]
"""A step of a sum, its tag, where it is received and from where it is sent."""


class _Solver:
    """The part of a process, and the steps of the computation.

    Parameters:
        seconds: of computing in the timed part.
    """

    def __init__(self, comm: Comm, size: CgSize, seconds: float) -> None:
        self._comm = comm
        self._part = part = partition(size.rows, comm.rank, comm.size)
        self._vectors = vectors = Vectors(comm, size, part)
        # Of one multiplication per row, with its addition.
        self._each = seconds / size.iterations / _outer(size)
        self._product = _product(size) * self._each
        numbered = list(enumerate(part.exchanges, 1))
        self._scalars = [(step.partner, tag) for tag, step in numbered]
        self._own = {
            number: (
                vectors.piece(vectors.others, 0, number),
                vectors.piece(vectors.sums, 0, number),
            )
            for number in (1, 2)
        }
        pieces: list[list[_Piece]] = [
            [
                (
                    step,
                    tag,
                    vectors.piece(into, step.recv_start, step.recv_length),
                    vectors.piece(vectors.w, step.send_start, step.send_length),
                )
                for tag, step in reversed(numbered)
            ]
            for into in (vectors.q, vectors.r)
        ]
        self._to_q, self._to_r = pieces
        self._outgoing = vectors.piece(vectors.w, part.send_start, part.send_length)
        self._q, self._r = (vectors.piece(into, 0, part.columns) for into in (vectors.q, vectors.r))

    def _exchange(self, incoming: Memory, outgoing: Memory, partner: int, tag: int) -> Steps:
        comm = self._comm
        request = yield from comm.irecv(incoming, partner, tag)
        yield from comm.send(outgoing, partner, tag)
        yield from comm.wait(request)

    def _sum(self, multiplications: int, number: int = 1) -> Steps:
        """Sum scalars over the processes of a row, after what they are computed by."""
        yield from self._comm.compute(multiplications * self._each)
        others, own = self._own[number]
        for partner, tag in self._scalars:
            yield from self._exchange(others, own, partner, tag)
            self._vectors.compute("combine", number)

    def _multiply(self, into: Memory, incoming: Memory, pieces: list[_Piece]) -> Steps:
        """Multiply by the matrix, and have the product where the vector was."""
        yield from self._comm.compute(self._product)
        for step, tag, place, piece in pieces:
            yield from self._exchange(place, piece, step.partner, tag)
            self._vectors.compute("add", step, into)
        if pieces:
            transposed = self._part.transposed
            yield from self._exchange(incoming, self._outgoing, transposed, _TRANSPOSE)
        else:
            self._vectors.compute("keep", into)

    def restart(self) -> None:
        """Begin with a vector of ones."""
        self._vectors.compute("restart")

    def iterate(self) -> Steps:
        """One outer iteration."""
        vectors, compute, each = self._vectors, self._vectors.compute, self._each
        compute("begin")
        yield from self._sum(1)
        compute("take_rho")
        for _ in range(INNER):
            compute("multiply", False)
            yield from self._multiply(vectors.q, self._q, self._to_q)
            compute("curvature")
            yield from self._sum(1)
            compute("advance")
            yield from self._sum(3)
            compute("turn")
            yield from self._comm.compute(each)
        compute("multiply", True)
        yield from self._multiply(vectors.r, self._r, self._to_r)
        compute("distance")
        yield from self._sum(2)
        compute("products")
        yield from self._sum(2, number=2)
        compute("normalise")
        yield from self._comm.compute(each)


def run(comm: Comm, size: CgSize, seconds: float, watch: Stopwatch) -> Run:
    """What a process does; see `Kernel.run`."""
    from numpy import maximum

    solver = _Solver(comm, size, seconds)
    yield from comm.bcast(4)
    solver.restart()
    yield from solver.iterate()
    solver.restart()
    yield from comm.barrier()
    watch.start()
    for _ in watch.iterations():
        yield from solver.iterate()
    watch.stop()
    yield from comm.reduce(REAL_BYTES, REAL_BYTES, maximum)
    return watch.result()


KERNEL: Final = Kernel(
    name="cg",
    title="conjugate gradient",
    sizes=classes.CG,
    faults=_faults,
    total=_operations,
    run=run,
)
