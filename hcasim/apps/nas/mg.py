"""MG: Poisson's equation is solved by a multigrid method.

Source: NPB 3.3.1, MG/mg.f.
"""

from __future__ import annotations

from typing import Final

from hcasim.apps.nas import classes
from hcasim.apps.nas.classes import MgSize
from hcasim.apps.nas.kernel import Kernel, Run, at_most
from hcasim.apps.nas.mg_grid import Level, levels, processes_by_axis
from hcasim.apps.nas.timing import Stopwatch
from hcasim.mpi import Buffer, Comm
from hcasim.mpi.message import Steps

REAL_BYTES: Final = 8

# Operations per point that the source states for its steps; those between two levels are counted
# per point of the coarser one.
_RESIDUAL: Final = 15
_SMOOTH: Final = 16
_RESTRICT: Final = 24
_INTERPOLATE: Final = 20
_NORM: Final = 2


def _faults(size: MgSize, n: int) -> list[str]:
    return at_most(n, 1 << 3 * size.levels, "one for each point")


def _operations(size: MgSize) -> float:
    return 58.0 * size.iterations * (1 << 3 * size.levels)


class _Side:
    """One axis of one level: whom a process tells of its points there, and how much.

    Attributes:
        tags: of messages to the neighbour before, and to that behind.
        faces: what is sent to them.
    """

    __slots__ = ("before", "behind", "faces", "tags")

    def __init__(self, level: Level, axis: int, faces: tuple[Buffer, Buffer]) -> None:
        self.before, self.behind = level.neighbours[axis]
        self.tags = 1000 * (axis + 1) + 100, 1000 * (axis + 1) + 300
        self.faces = faces


class _Solver:
    """The grids of a process, and the steps on them.

    Parameters:
        seconds: of computing in the timed part.
    """

    def __init__(self, comm: Comm, size: MgSize, seconds: float) -> None:
        self._comm = comm
        self._top = size.levels
        self._levels = levels(size, comm.rank, comm.size)
        edge = 2 + max(2**size.levels // along for along in processes_by_axis(comm.size))
        column = REAL_BYTES * 2 * edge**2
        room = comm.process.heap.allocate(4 * column)
        # In the order of the source: to before, from behind, to behind, from before.
        to_before, self._from_behind, to_behind, self._from_before = (
            room.part(number * column, column) for number in range(4)
        )
        self._sides: dict[int, list[_Side]] = {}
        self._gifts: dict[int, list[_Side]] = {}
        for number, level in self._levels.items():
            self._sides[number] = [
                _Side(
                    level,
                    axis,
                    (
                        to_before.part(0, REAL_BYTES * level.face(axis)),
                        to_behind.part(0, REAL_BYTES * level.face(axis)),
                    ),
                )
                for axis in range(3)
            ]
            self._gifts[number] = [
                _Side(
                    level,
                    axis,
                    (
                        to_before.part(0, REAL_BYTES * level.whole_face(axis)),
                        to_behind.part(0, 2 * REAL_BYTES * level.whole_face(axis)),
                    ),
                )
                for axis in range(3)
            ]
        self._points = {number: level.points for number, level in self._levels.items()}
        self._each = seconds / self._weight(size.iterations)

    def _weight(self, iterations: int) -> int:
        """Operations of the process in the timed part."""
        points, top = self._points, self._top
        fine = sum(points[level] for level in range(2, top + 1))
        coarse = sum(points[level] for level in range(1, top))
        cycle = _RESIDUAL * fine + _SMOOTH * (fine + points[1])
        cycle += (_RESTRICT + _INTERPOLATE) * coarse
        return (
            iterations * (cycle + _RESIDUAL * points[top]) + (_RESIDUAL + 2 * _NORM) * points[top]
        )

    def residual(self, level: int) -> Steps:
        """r = v - A u"""
        yield from self._comm.compute(_RESIDUAL * self._points[level] * self._each)
        yield from self.exchange(level)

    def _smooth(self, level: int) -> Steps:
        """u = u + C r"""
        yield from self._comm.compute(_SMOOTH * self._points[level] * self._each)
        yield from self.exchange(level)

    def _restrict(self, level: int) -> Steps:
        """The residual of a level to the coarser one."""
        yield from self._comm.compute(_RESTRICT * self._points[level - 1] * self._each)
        yield from self.exchange(level - 1)

    def _interpolate(self, level: int) -> Steps:
        """The correction to a level from the coarser one."""
        yield from self._comm.compute(_INTERPOLATE * self._points[level - 1] * self._each)
        yield from self._extend(level)

    def cycle(self) -> Steps:
        """Down to the coarsest grid, and up again."""
        for level in range(self._top, 1, -1):
            yield from self._restrict(level)
        yield from self._smooth(1)
        for level in range(2, self._top + 1):
            yield from self._interpolate(level)
            yield from self.residual(level)
            yield from self._smooth(level)

    def norm(self) -> Steps:
        """The greatest value, and the sum of squares."""
        yield from self._comm.compute(_NORM * self._points[self._top] * self._each)
        yield from self._comm.allreduce(REAL_BYTES, REAL_BYTES)
        yield from self._comm.allreduce(REAL_BYTES, REAL_BYTES)

    def charges(self) -> Steps:
        """Find the ten greatest and the ten smallest of random points."""
        comm = self._comm
        yield from comm.barrier()
        for _ in range(20):
            yield from comm.allreduce(REAL_BYTES, REAL_BYTES)
            yield from comm.allreduce(16, 16)
        yield from comm.barrier()
        yield from self.exchange(self._top)

    def exchange(self, level: int) -> Steps:
        """Tell the neighbours of the outer points (comm3); alone on an axis, also itself."""
        comm = self._comm
        if self._levels[level].idle or comm.size == 1:
            return
        for side in self._sides[level]:
            before, behind = side.tags
            one = yield from comm.irecv(self._from_behind, side.behind, before)
            two = yield from comm.irecv(self._from_before, side.before, behind)
            yield from comm.send(side.faces[1], side.behind, behind)
            yield from comm.send(side.faces[0], side.before, before)
            yield from comm.wait(one)
            yield from comm.wait(two)

    def _extend(self, level: int) -> Steps:
        """Tell those of the points around them that have had none before (comm3_ex)."""
        comm = self._comm
        if comm.size == 1:
            return
        for axis, side in enumerate(self._gifts[level]):
            before, behind = side.tags
            if self._levels[level].takes[axis]:
                one = yield from comm.irecv(self._from_behind, side.behind, before)
                two = yield from comm.irecv(self._from_before, side.before, behind)
                yield from comm.wait(one)
                yield from comm.wait(two)
            if self._levels[level].gives[axis]:
                yield from comm.send(side.faces[1], side.behind, behind)
                yield from comm.send(side.faces[0], side.before, before)


def run(comm: Comm, size: MgSize, seconds: float, watch: Stopwatch) -> Run:
    """What a process does; see `Kernel.run`."""
    from numpy import maximum

    solver, top = _Solver(comm, size, seconds), size.levels
    yield from comm.barrier()
    for length in (4, 4, 4, 4, 4, 32, 4):
        yield from comm.bcast(length)
    yield from solver.charges()
    yield from solver.norm()
    yield from solver.residual(top)
    yield from solver.norm()
    yield from solver.cycle()
    yield from solver.residual(top)
    yield from solver.charges()
    yield from comm.barrier()
    watch.start()
    yield from solver.residual(top)
    yield from solver.norm()
    for _ in watch.iterations():
        yield from solver.cycle()
        yield from solver.residual(top)
    yield from solver.norm()
    watch.stop()
    yield from comm.reduce(REAL_BYTES, REAL_BYTES, maximum)
    return watch.result()


KERNEL: Final = Kernel(
    name="mg",
    title="multigrid",
    sizes=classes.MG,
    faults=_faults,
    total=_operations,
    run=run,
)
