"""LU: five equations are solved by sweeps through the planes of a grid, down and up again.

The sweeps are pipelines: a process goes on with a plane when its neighbours on two sides have done
theirs, and tells those on the other sides by two short messages.

Source: NPB 3.3.1, LU/ssor.f, blts.f, buts.f, exchange_1.f, exchange_3.f and rhs.f.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hcasim.apps.nas import classes
from hcasim.apps.nas.classes import LuSize
from hcasim.apps.nas.kernel import Kernel, Run, at_most
from hcasim.apps.nas.timing import Stopwatch
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


def grid(n: int) -> tuple[int, int]:
    """Processes from north to south and from west to east, for a power of two."""
    log2 = n.bit_length() - 1
    return 1 << (log2 + 1) // 2, 1 << log2 // 2


def _faults(size: LuSize, n: int) -> list[str]:
    most = 1
    while size.edge // grid(2 * most)[0] >= 3:
        most *= 2
    return at_most(n, most, "for three points on each side")


def _operations(size: LuSize) -> float:
    n = size.edge
    return size.iterations * (1984.77 * n**3 - 10923.3 * n**2 + 27770.9 * n - 144010)


@dataclass(frozen=True, slots=True)
class Part:
    """The part of the grid that a process has.

    Attributes:
        nx: points from north to south.
        ny: points from west to east.
        north: the neighbour on this side, or -1 at the border; like it the others.
        inner_x: points from north to south without those of the border, which are not solved for.
        inner_y: from west to east likewise.
    """

    nx: int
    ny: int
    north: int
    south: int
    west: int
    east: int

    @property
    def inner_x(self) -> int:
        return self.nx - (self.north < 0) - (self.south < 0)

    @property
    def inner_y(self) -> int:
        return self.ny - (self.west < 0) - (self.east < 0)


def part(size: LuSize, rank: int, n: int) -> Part:
    """What a process has."""
    rows, columns = grid(n)
    row, column = rank % rows, rank // rows
    return Part(
        nx=size.edge // rows + (row < size.edge % rows),
        ny=size.edge // columns + (column < size.edge % columns),
        north=rank - 1 if row > 0 else -1,
        south=rank + 1 if row < rows - 1 else -1,
        west=rank - rows if column > 0 else -1,
        east=rank + rows if column < columns - 1 else -1,
    )


class _Solver:
    """The grid of a process, and the steps on it.

    Parameters:
        seconds: of computing in the timed part.
    """

    def __init__(self, comm: Comm, size: LuSize, seconds: float) -> None:
        self._comm = comm
        self._part = own = part(size, comm.rank, comm.size)
        self._planes = size.edge - 2
        self._step = seconds / size.iterations / _STEP
        rows, columns = grid(comm.size)
        most_x, most_y = -(-size.edge // rows), -(-size.edge // columns)
        heap = comm.process.heap
        # Sweeps and exchanges of whole sides have a buffer each to send from and to receive into.
        line = POINT_BYTES * (most_x + most_y)
        sending, receiving = heap.allocate(line), heap.allocate(line)
        begin_y, begin_x = (POINT_BYTES * (side < 0) for side in (own.west, own.north))
        size_y, size_x = POINT_BYTES * own.inner_y, POINT_BYTES * own.inner_x
        self._send_y, self._send_x = sending.part(begin_y, size_y), sending.part(begin_x, size_x)
        self._recv_y = receiving.part(begin_y, size_y)
        self._recv_x = receiving.part(begin_x, size_x)
        room = 2 * POINT_BYTES * size.edge * max(most_x, most_y)
        self._sending, self._receiving = heap.allocate(room), heap.allocate(room)
        self._side_y = 2 * POINT_BYTES * own.ny * size.edge
        self._side_x = 2 * POINT_BYTES * own.nx * size.edge

    def step(self) -> Steps:
        """One time step, but for the residuals behind it."""
        comm, own = self._comm, self._part
        yield from comm.compute(_SCALE * self._step)
        yield from self._sweep(own.north, _NORTH, own.west, _WEST, own.south, own.east)
        yield from self._sweep(own.south, _SOUTH, own.east, _EAST, own.north, own.west)
        yield from comm.compute(_UPDATE * self._step)

    def _sweep(
        self, from_x: int, tag_x: int, from_y: int, tag_y: int, to_x: int, to_y: int
    ) -> Steps:
        """Plane after plane, from two neighbours to the others, with the tags of the former."""
        comm = self._comm
        compute, recv, send = comm.compute, comm.recv, comm.send
        recv_x, recv_y, send_x, send_y = self._recv_x, self._recv_y, self._send_x, self._send_y
        jacobian = _JACOBIAN * self._step / self._planes
        solve = _SOLVE * self._step / self._planes
        for _ in range(self._planes):
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

    def residuals(self) -> Steps:
        """The right-hand side of the equations (rhs)."""
        yield from self.exchange_x()
        yield from self._comm.compute(_FLUX_X * self._step)
        yield from self.exchange_y()
        yield from self._comm.compute(_FLUX_YZ * self._step)

    def exchange_x(self) -> Steps:
        """Two layers of points from and to north and south."""
        own = self._part
        yield from self._shift(own.north, own.south, _NORTH, self._side_y)
        yield from self._shift(own.south, own.north, _SOUTH, self._side_y)

    def exchange_y(self) -> Steps:
        """Two layers of points from and to west and east."""
        own = self._part
        yield from self._shift(own.west, own.east, _WEST, self._side_x)
        yield from self._shift(own.east, own.west, _EAST, self._side_x)

    def _shift(self, source: int, dest: int, tag: int, size: int) -> Steps:
        comm = self._comm
        if source >= 0:
            request = yield from comm.irecv(self._receiving.part(0, size), source, tag)
        if dest >= 0:
            yield from comm.send(self._sending.part(0, size), dest, tag)
        if source >= 0:
            yield from comm.wait(request)

    def norm(self) -> Steps:
        """The norms of five residuals."""
        yield from self._comm.allreduce(POINT_BYTES, POINT_BYTES)


def run(comm: Comm, size: LuSize, seconds: float, watch: Stopwatch) -> Run:
    """What a process does; see `Kernel.run`."""
    from numpy import maximum

    solver = _Solver(comm, size, seconds)
    for length in (4, 4, 4, 8, 8, 40, 4, 4, 4, 4):
        yield from comm.bcast(length)
    # The forcing term.
    yield from solver.exchange_x()
    yield from solver.exchange_y()
    # One step, to touch all memory.
    yield from solver.residuals()
    yield from solver.norm()
    yield from comm.barrier()
    yield from solver.step()
    yield from solver.residuals()
    yield from comm.allreduce(REAL_BYTES, REAL_BYTES, maximum)
    yield from solver.residuals()
    yield from solver.norm()
    yield from comm.barrier()
    watch.start()
    for step in watch.iterations():
        yield from solver.step()
        if watch.is_last(step):
            yield from solver.norm()
        yield from solver.residuals()
        if watch.is_last(step):
            yield from solver.norm()
    watch.stop()
    yield from comm.allreduce(REAL_BYTES, REAL_BYTES, maximum)
    return watch.result()


KERNEL: Final = Kernel(
    name="lu",
    title="lower-upper symmetric Gauss-Seidel",
    sizes=classes.LU,
    faults=_faults,
    total=_operations,
    run=run,
)
