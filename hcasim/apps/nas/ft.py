"""FT: a differential equation is solved by three-dimensional Fourier transforms.

The grid is cut into slabs, the layout "1D" of the source, which others than a single process take
as long as there are planes enough.

Source: NPB 3.3.1, FT/ft.f.
"""

from __future__ import annotations

from math import log
from typing import Final

from hcasim.apps.nas import classes
from hcasim.apps.nas.classes import FtSize
from hcasim.apps.nas.kernel import Kernel, Run, at_most
from hcasim.apps.nas.timing import Stopwatch
from hcasim.mpi import Buffer, Comm
from hcasim.mpi.message import Steps

COMPLEX_BYTES: Final = 16

# Operations per point, and those of a transform also per natural logarithm of the points.
_BEGIN: Final = 14.8157
_FORWARD: Final = 7.19641
_EVOLVE: Final = 5.23518
_BACK: Final = 7.21113


def _faults(size: FtSize, n: int) -> list[str]:
    return at_most(n, min(size.ny, size.nz), "planes of the grid")


def _points(size: FtSize) -> int:
    return size.nx * size.ny * size.nz


def _operations(size: FtSize) -> float:
    points = _points(size)
    each = _EVOLVE + _BACK * log(points)
    return points * (_BEGIN + _FORWARD * log(points) + each * size.iterations)


class _Grid:
    """The arrays of a process, and their transforms.

    Parameters:
        seconds: of computing in the timed part.
    """

    def __init__(self, comm: Comm, size: FtSize, seconds: float) -> None:
        self._world = comm
        self._slabs = comm
        points = _points(size)
        own = COMPLEX_BYTES * points // comm.size
        self._u0, self._u1, self._u2 = (comm.process.heap.allocate(own) for _ in range(3))
        each = seconds * points / _operations(size)
        # A transform along an axis costs in proportion to the logarithm of its length.
        self._lines = log(size.nz) / log(points)
        self._forward, self._back = (each * factor * log(points) for factor in (_FORWARD, _BACK))
        self._begin, self._evolve = each * _BEGIN, each * _EVOLVE

    def set_up(self) -> Steps:
        """Tell all the layout, and make the communicators of rows and columns."""
        comm = self._world
        for _ in range(5):
            yield from comm.bcast(4)
        slabs = yield from comm.Split(0, comm.rank)
        yield from comm.Split(comm.rank, 0)
        assert slabs is not None
        self._slabs = slabs

    def begin(self) -> Steps:
        """Compute the initial conditions, and transform them: planes, then lines across them."""
        compute = self._world.compute
        yield from compute(self._begin)
        yield from compute(self._forward * (1 - self._lines))
        yield from self._transpose(self._u0, self._u1)
        yield from compute(self._forward * self._lines)

    def advance(self) -> Steps:
        """Evolve, transform back, and add up some points."""
        compute = self._world.compute
        yield from compute(self._evolve)
        yield from compute(self._back * self._lines)
        yield from self._transpose(self._u2, self._u1)
        yield from compute(self._back * (1 - self._lines))
        yield from self._world.reduce(COMPLEX_BYTES, COMPLEX_BYTES)

    def _transpose(self, outgoing: Buffer, incoming: Buffer) -> Steps:
        if self._world.size > 1:
            yield from self._slabs.alltoall(outgoing, incoming)


def run(comm: Comm, size: FtSize, seconds: float, watch: Stopwatch) -> Run:
    """What a process does; see `Kernel.run`. Each has its own time: it is not reduced."""
    grid = _Grid(comm, size, seconds)
    yield from grid.set_up()
    yield from grid.begin()
    yield from comm.barrier()
    watch.start()
    yield from grid.begin()
    for _ in watch.iterations():
        yield from grid.advance()
    watch.stop()
    return watch.result()


KERNEL: Final = Kernel(
    name="ft",
    title="three-dimensional Fourier transform",
    sizes=classes.FT,
    faults=_faults,
    total=_operations,
    run=run,
)
