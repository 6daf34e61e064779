"""FT: a differential equation is solved by three-dimensional Fourier transforms.

The grid is cut into slabs, the layout "1D" of the source, which others than a single process take
as long as there are planes enough.

Source: NPB 3.3.1, FT/ft.f.
"""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class _Times:
    """Seconds of computing of a process.

    Attributes:
        planes: of the part of a forward transform that comes before the transpose.
        lines: of that behind it.
        back_lines: and of a transform back before it.
        back_planes: and behind it.
    """

    begin: float
    planes: float
    lines: float
    evolve: float
    back_lines: float
    back_planes: float


def _times(size: FtSize, seconds: float) -> _Times:
    points = _points(size)
    each = seconds * points / _operations(size)
    # A transform along an axis costs in proportion to the logarithm of its length.
    lines = log(size.nz) / log(points)
    forward, back = (each * factor * log(points) for factor in (_FORWARD, _BACK))
    return _Times(
        begin=each * _BEGIN,
        planes=forward * (1 - lines),
        lines=forward * lines,
        evolve=each * _EVOLVE,
        back_lines=back * lines,
        back_planes=back * (1 - lines),
    )


class _Grid:
    """The arrays of a process, and their transforms."""

    def __init__(self, comm: Comm, size: FtSize, times: _Times) -> None:
        self._world = comm
        self._slabs = comm
        self._times = times
        own = COMPLEX_BYTES * _points(size) // comm.size
        self._u0, self._u1, self._u2 = (comm.process.heap.allocate(own) for _ in range(3))

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
        """Compute the initial conditions, and transform them."""
        yield from self._world.compute(self._times.begin)
        yield from self._world.compute(self._times.planes)
        yield from self._transpose(self._u0, self._u1)
        yield from self._world.compute(self._times.lines)

    def advance(self) -> Steps:
        """Evolve, transform back, and add up some points."""
        comm, times = self._world, self._times
        yield from comm.compute(times.evolve)
        yield from comm.compute(times.back_lines)
        yield from self._transpose(self._u2, self._u1)
        yield from comm.compute(times.back_planes)
        yield from comm.reduce(COMPLEX_BYTES, COMPLEX_BYTES)

    def _transpose(self, outgoing: Buffer, incoming: Buffer) -> Steps:
        if self._world.size > 1:
            yield from self._slabs.alltoall(outgoing, incoming)


def run(comm: Comm, size: FtSize, seconds: float, watch: Stopwatch) -> Run:
    """What a process does; see `Kernel.run`. Each has its own time: it is not reduced."""
    grid = _Grid(comm, size, _times(size, seconds))
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
