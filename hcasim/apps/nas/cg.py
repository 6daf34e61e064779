"""CG: the smallest eigenvalue of a sparse matrix is estimated, by conjugate gradients.

Source: NPB 3.3.1, CG/cg.f.
"""

from __future__ import annotations

from typing import Final

from hcasim.apps.nas import classes
from hcasim.apps.nas.cg_partition import Exchange, grid, partition
from hcasim.apps.nas.cg_vectors import REAL_BYTES, Contents, Sizes
from hcasim.apps.nas.classes import CgSize
from hcasim.apps.nas.kernel import Kernel, Run, at_most
from hcasim.apps.nas.timing import Stopwatch
from hcasim.mpi import Comm
from hcasim.mpi.message import Steps
from hcasim.mpi.messages import Memory

INNER: Final = 25
"""Iterations of the conjugate gradients, in each outer one."""

_TRANSPOSE: Final = 1


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

    def __init__(self, comm: Comm, size: CgSize, seconds: float, data: bool) -> None:
        self._comm = comm
        self._part = part = partition(size.rows, comm.rank, comm.size)
        self.vectors = vectors = (Contents if data else Sizes)(comm, size, part)
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
            self.vectors.combine(number)

    def _multiply(self, into: Memory, incoming: Memory, pieces: list[_Piece]) -> Steps:
        """Multiply by the matrix, and have the product where the vector was."""
        yield from self._comm.compute(self._product)
        for step, tag, place, piece in pieces:
            yield from self._exchange(place, piece, step.partner, tag)
            self.vectors.add(step, into)
        if pieces:
            transposed = self._part.transposed
            yield from self._exchange(incoming, self._outgoing, transposed, _TRANSPOSE)
        else:
            self.vectors.keep(into)

    def iterate(self) -> Steps:
        """One outer iteration."""
        vectors, compute, each = self.vectors, self._comm.compute, self._each
        vectors.begin()
        yield from self._sum(1)
        vectors.take_rho()
        for _ in range(INNER):
            vectors.multiply(solution=False)
            yield from self._multiply(vectors.q, self._q, self._to_q)
            vectors.curvature()
            yield from self._sum(1)
            vectors.advance()
            yield from self._sum(3)
            vectors.turn()
            yield from compute(each)
        vectors.multiply(solution=True)
        yield from self._multiply(vectors.r, self._r, self._to_r)
        vectors.distance()
        yield from self._sum(2)
        vectors.products()
        yield from self._sum(2, number=2)
        vectors.normalise()
        yield from compute(each)


def run(comm: Comm, size: CgSize, seconds: float, watch: Stopwatch, data: bool) -> Run:
    """What a process does; see `Kernel.run`."""
    from numpy import maximum

    solver = _Solver(comm, size, seconds, data)
    yield from comm.bcast(4)
    solver.vectors.restart()
    yield from solver.iterate()
    solver.vectors.restart()
    yield from comm.barrier()
    watch.start()
    for _ in watch.iterations():
        yield from solver.iterate()
    watch.stop()
    yield from comm.reduce(REAL_BYTES, REAL_BYTES, maximum)
    return watch.result(solver.vectors.verdict())


KERNEL: Final = Kernel(
    name="cg",
    title="conjugate gradient",
    sizes=classes.CG,
    verifiable=("S", "W"),
    faults=_faults,
    total=_operations,
    run=run,
)
