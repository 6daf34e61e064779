"""FT: a differential equation is solved by three-dimensional Fourier transforms.

The grid is cut into slabs, the layout "1D" of the source, which others than a single process take
as long as there are planes enough.

Source: NPB 3.3.1, FT/ft.f and sys/setparams.c.
"""

from __future__ import annotations

from math import log
from typing import Final, NamedTuple

from hcasim.apps.nas.kernel import Kernel, Stopwatch
from hcasim.mpi import Buffer, Comm
from hcasim.mpi.message import Steps

COMPLEX_BYTES: Final = 16

# Operations per point, and those of a transform also per natural logarithm of the points.
_BEGIN: Final = 14.8157
_FORWARD: Final = 7.19641
_EVOLVE: Final = 5.23518
_BACK: Final = 7.21113


class Size(NamedTuple):
    """A grid of complex numbers, and how often it is transformed back."""

    nx: int
    ny: int
    nz: int
    iterations: int

    @property
    def points(self) -> int:
        """Of the whole grid."""
        return self.nx * self.ny * self.nz


def _operations(size: Size) -> float:
    each = _EVOLVE + _BACK * log(size.points)
    return size.points * (_BEGIN + _FORWARD * log(size.points) + each * size.iterations)


def run(comm: Comm, size: Size, seconds: float, watch: Stopwatch) -> Steps:
    """What a process does; see `Kernel.run`. Each has its own time: it is not reduced."""
    own, compute = COMPLEX_BYTES * size.points // comm.size, comm.compute
    u0, u1, u2 = (comm.process.heap.allocate(own) for _ in range(3))
    each, logarithm = seconds * size.points / _operations(size), log(size.points)
    # A transform along an axis costs in proportion to the logarithm of its length.
    lines = log(size.nz) / logarithm
    forward, back = (each * factor * logarithm for factor in (_FORWARD, _BACK))
    for _ in range(5):
        yield from comm.bcast(4)
    slabs = yield from comm.Split(0, comm.rank)
    yield from comm.Split(comm.rank, 0)
    assert slabs is not None

    def transpose(outgoing: Buffer) -> Steps:
        if comm.size > 1:
            yield from slabs.alltoall(outgoing, u1)

    def begin() -> Steps:
        """Compute the initial conditions, and transform them: planes, then lines across them."""
        yield from compute(each * _BEGIN)
        yield from compute(forward * (1 - lines))
        yield from transpose(u0)
        yield from compute(forward * lines)

    yield from begin()
    yield from comm.barrier()
    watch.start()
    yield from begin()
    for _ in watch.iterations():
        # Evolve, transform back, and add up some points.
        yield from compute(each * _EVOLVE)
        yield from compute(back * lines)
        yield from transpose(u2)
        yield from compute(back * (1 - lines))
        yield from comm.reduce(COMPLEX_BYTES, COMPLEX_BYTES)
    watch.stop()


KERNEL: Final = Kernel(
    name="ft",
    sizes={
        "S": Size(64, 64, 64, 6),
        "W": Size(128, 128, 32, 6),
        "A": Size(256, 256, 128, 6),
        "B": Size(512, 256, 256, 20),
        "C": Size(512, 512, 512, 20),
    },
    most=lambda size: (min(size.ny, size.nz), "planes of the grid"),
    total=_operations,
    run=run,
)
