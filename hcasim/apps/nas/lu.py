"""LU: five equations are solved by sweeps through the planes of a grid, down and up again.

The sweeps are pipelines: a process goes on with a plane when its neighbours on two sides have done
theirs, and tells those on the other sides by two short messages.

Source: NPB 3.3.1, LU/ssor.f, blts.f, buts.f, exchange_1.f, exchange_3.f and rhs.f, and
sys/setparams.c.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hcasim.apps.nas.kernel import Kernel, Stopwatch, grid, most_along, share, shift
from hcasim.mpi import Comm
from hcasim.mpi.message import Steps

REAL_BYTES: Final = 8
POINT_BYTES: Final = 5 * REAL_BYTES

# Operators per point in the loops of the source: jacld.f or jacu.f, blts.f or buts.f, ssor.f
# before and after the sweeps, and rhs.f before and after the second exchange.
_JACOBIAN: Final = 787
_SOLVE: Final = 279
_SCALE: Final = 5
_UPDATE: Final = 10
_FLUX_X: Final = 319
_FLUX_YZ: Final = 638
_STEP: Final = 2 * (_JACOBIAN + _SOLVE) + _SCALE + _UPDATE + _FLUX_X + _FLUX_YZ

# Tags, by the side that a message comes from.
_SOUTH, _NORTH, _EAST, _WEST = 1, 2, 3, 4


class Size(NamedTuple):
    """A cubic grid, whose edge has ``edge`` points; the iterations are time steps."""

    edge: int
    iterations: int


def _operations(size: Size) -> float:
    n = size.edge
    return size.iterations * (1984.77 * n**3 - 10923.3 * n**2 + 27770.9 * n - 144010)


class Part(NamedTuple):
    """The part of the grid that a process has: points from north to south and from west to east,
    and the neighbour on each side, or -1 at the border.
    """

    nx: int
    ny: int
    north: int
    south: int
    west: int
    east: int

    @property
    def inner_x(self) -> int:
        """Points from north to south without those of the border, which are not solved for."""
        return self.nx - (self.north < 0) - (self.south < 0)

    @property
    def inner_y(self) -> int:
        """From west to east likewise."""
        return self.ny - (self.west < 0) - (self.east < 0)


def part(size: Size, rank: int, n: int) -> Part:
    """What a process has."""
    columns, rows = grid(n)
    column, row = divmod(rank, rows)
    return Part(
        nx=share(size.edge, rows, row)[1],
        ny=share(size.edge, columns, column)[1],
        north=rank - 1 if row > 0 else -1,
        south=rank + 1 if row < rows - 1 else -1,
        west=rank - rows if column > 0 else -1,
        east=rank + rows if column < columns - 1 else -1,
    )


def run(comm: Comm, size: Size, seconds: float, watch: Stopwatch) -> Steps:
    """What a process does; see `Kernel.run`."""
    own, heap, planes = part(size, comm.rank, comm.size), comm.process.heap, size.edge - 2
    compute, recv, send = comm.compute, comm.recv, comm.send
    each = seconds / size.iterations / _STEP
    columns, rows = grid(comm.size)
    most_x, most_y = -(-size.edge // rows), -(-size.edge // columns)
    # Sweeps and exchanges of whole sides have a buffer each to send from and to receive into.
    line = POINT_BYTES * (most_x + most_y)
    sending, receiving = heap.allocate(line), heap.allocate(line)
    y = POINT_BYTES * (own.west < 0), POINT_BYTES * own.inner_y
    x = POINT_BYTES * (own.north < 0), POINT_BYTES * own.inner_x
    send_y, send_x = sending.part(*y), sending.part(*x)
    recv_y, recv_x = receiving.part(*y), receiving.part(*x)
    room = 2 * POINT_BYTES * size.edge * max(most_x, most_y)
    outgoing, incoming = heap.allocate(room), heap.allocate(room)

    def sweep(from_x: int, tag_x: int, from_y: int, tag_y: int, to_x: int, to_y: int) -> Steps:
        """Plane after plane, from two neighbours to the others, with the tags of the former."""
        jacobian, solve = _JACOBIAN * each / planes, _SOLVE * each / planes
        for _ in range(planes):
            yield from compute(jacobian)
            if from_x >= 0:
                yield from recv(recv_y, from_x, tag_x)
            if from_y >= 0:
                yield from recv(recv_x, from_y, tag_y)
            yield from compute(solve)
            if to_x >= 0:
                yield from send(send_y, to_x, tag_x)
            if to_y >= 0:
                yield from send(send_x, to_y, tag_y)

    def step() -> Steps:
        """One time step, but for the residuals behind it."""
        yield from compute(_SCALE * each)
        yield from sweep(own.north, _NORTH, own.west, _WEST, own.south, own.east)
        yield from sweep(own.south, _SOUTH, own.east, _EAST, own.north, own.west)
        yield from compute(_UPDATE * each)

    def exchange(one: int, tag: int, other: int, other_tag: int, points: int) -> Steps:
        """Two layers of points from and to the neighbours on two sides."""
        side = 2 * POINT_BYTES * size.edge * points
        into, out = incoming.part(0, side), outgoing.part(0, side)
        yield from shift(comm, into, one, out, other, tag)
        yield from shift(comm, into, other, out, one, other_tag)

    x_sides = own.north, _NORTH, own.south, _SOUTH, own.ny
    y_sides = own.west, _WEST, own.east, _EAST, own.nx

    def residuals() -> Steps:
        """The right-hand side of the equations (rhs)."""
        yield from exchange(*x_sides)
        yield from compute(_FLUX_X * each)
        yield from exchange(*y_sides)
        yield from compute(_FLUX_YZ * each)

    def norm() -> Steps:
        yield from comm.allreduce(POINT_BYTES, POINT_BYTES)

    for length in (4, 4, 4, 8, 8, 40, 4, 4, 4, 4):
        yield from comm.bcast(length)
    # The forcing term.
    yield from exchange(*x_sides)
    yield from exchange(*y_sides)
    # One step, to touch all memory.
    yield from residuals()
    yield from norm()
    yield from comm.barrier()
    yield from step()
    yield from residuals()
    yield from comm.allreduce(REAL_BYTES, REAL_BYTES)
    yield from residuals()
    yield from norm()
    yield from comm.barrier()
    watch.start()
    for number in watch.iterations():
        yield from step()
        if watch.is_last(number):
            yield from norm()
        yield from residuals()
        if watch.is_last(number):
            yield from norm()
    watch.stop()
    yield from comm.allreduce(REAL_BYTES, REAL_BYTES)


KERNEL: Final = Kernel(
    name="lu",
    sizes={
        "S": Size(12, 50),
        "W": Size(33, 300),
        "A": Size(64, 250),
        "B": Size(102, 250),
        "C": Size(162, 250),
    },
    most=lambda size: (most_along(size.edge // 3), "for three points on each side"),
    total=_operations,
    run=run,
)
