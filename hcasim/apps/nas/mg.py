"""MG: Poisson's equation is solved by a multigrid method.

Source: NPB 3.3.1, MG/mg.f; of the grids, setup.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from hcasim.apps.nas import classes
from hcasim.apps.nas.classes import MgSize
from hcasim.apps.nas.kernel import Kernel, Run, at_most
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


@dataclass(frozen=True, slots=True)
class Level:
    """What a process has of the grid of one level.

    Attributes:
        shape: points along each axis, with the ghosts on both sides.
        idle: whether it has no points of its own.
        neighbours: by axis, the process before it and the one behind it.
        takes: by axis, whether it has points again that it does not have on the next coarser
            level, and is given their surroundings.
        gives: by axis, whether it gives them to others.
    """

    shape: tuple[int, int, int]
    idle: bool
    neighbours: tuple[tuple[int, int], ...]
    takes: tuple[bool, ...]
    gives: tuple[bool, ...]

    @property
    def points(self) -> int:
        """Of the process itself."""
        n1, n2, n3 = self.shape
        return (n1 - 2) * (n2 - 2) * (n3 - 2)

    def face(self, axis: int) -> int:
        """Points of a side that are sent, the ghosts of axes before with them."""
        n1, n2, n3 = self.shape
        return ((n2 - 2) * (n3 - 2), n1 * (n3 - 2), n1 * n2)[axis]

    def whole_face(self, axis: int) -> int:
        """Points of a side, with all ghosts."""
        n1, n2, n3 = self.shape
        return (n2 * n3, n1 * n3, n1 * n2)[axis]


def processes_by_axis(n: int) -> tuple[int, int, int]:
    """Processes along each axis, for a power of two."""
    log2 = n.bit_length() - 1
    first = log2 // 3
    second = (log2 - first) // 2
    return 1 << first, 1 << second, 1 << (log2 - first - second)


def levels(size: MgSize, rank: int, n: int) -> dict[int, Level]:
    """The levels of a process, from the finest to level 1."""
    grid = processes_by_axis(n)
    strides = (1, grid[0], grid[0] * grid[1])
    place = tuple(rank // stride % along for stride, along in zip(strides, grid, strict=True))
    step = [1, 1, 1]
    shapes: dict[int, tuple[int, int, int]] = {}
    gives: dict[int, list[bool]] = {size.levels: [False] * 3}
    takes: dict[int, list[bool]] = {size.levels: [False] * 3}
    steps: dict[int, tuple[int, ...]] = {}
    for level in range(size.levels, 0, -1):
        takes[level - 1], gives[level - 1] = [False] * 3, [False] * 3
        own = [0, 0, 0]
        for axis in range(3):
            own[axis] = _share(level, place[axis], grid[axis])
            other = _share(level, place[axis] + step[axis], grid[axis])
            if 0 in (own[axis], other):
                step[axis] *= 2
            if level < size.levels:
                gives[level + 1][axis] = (own[axis], other) == (1, 0)
                takes[level + 1][axis] = (own[axis], other) == (0, 1)
        shapes[level] = (own[0] + 2, own[1] + 2, own[2] + 2)
        steps[level] = tuple(step)
    found = {}
    for level, shape in shapes.items():
        neighbours = []
        for axis in range(3):
            stride, along = strides[axis], grid[axis]
            rest = rank - place[axis] * stride
            before, behind = (
                rest + (place[axis] + way * steps[level][axis]) % along * stride for way in (-1, 1)
            )
            neighbours.append((before, behind))
        found[level] = Level(
            shape, 2 in shape, tuple(neighbours), tuple(takes[level]), tuple(gives[level])
        )
    return found


def _share(level: int, place: int, along: int) -> int:
    """Points of one of the processes along an axis."""
    return ((place + 1) << level) // along - (place << level) // along


class _Side(NamedTuple):
    """One axis of one level: whom a process tells of its points there, and how much.

    Attributes:
        before: the neighbour, the tag of messages to it, and what is sent.
        behind: likewise.
    """

    before: tuple[int, int, Buffer]
    behind: tuple[int, int, Buffer]


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

        def sides(level: Level, whole: bool) -> list[_Side]:
            found = []
            for axis, (before, behind) in enumerate(level.neighbours):
                size = REAL_BYTES * (level.whole_face if whole else level.face)(axis)
                outgoing = to_before.part(0, size), to_behind.part(0, (1 + whole) * size)
                tag = 1000 * (axis + 1)
                found.append(
                    _Side((before, tag + 100, outgoing[0]), (behind, tag + 300, outgoing[1]))
                )
            return found

        self._sides = {number: sides(level, False) for number, level in self._levels.items()}
        self._gifts = {number: sides(level, True) for number, level in self._levels.items()}
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

    def _compute(self, operations: int, level: int) -> Steps:
        yield from self._comm.compute(operations * self._points[level] * self._each)

    def residual(self, level: int) -> Steps:
        """r = v - A u"""
        yield from self._compute(_RESIDUAL, level)
        yield from self.exchange(level)

    def _smooth(self, level: int) -> Steps:
        """u = u + C r"""
        yield from self._compute(_SMOOTH, level)
        yield from self.exchange(level)

    def cycle(self) -> Steps:
        """Down to the coarsest grid, and up again."""
        for level in range(self._top, 1, -1):
            yield from self._compute(_RESTRICT, level - 1)
            yield from self.exchange(level - 1)
        yield from self._smooth(1)
        for level in range(2, self._top + 1):
            yield from self._compute(_INTERPOLATE, level - 1)
            yield from self._extend(level)
            yield from self.residual(level)
            yield from self._smooth(level)

    def norm(self) -> Steps:
        """The greatest value, and the sum of squares."""
        yield from self._compute(_NORM, self._top)
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
        if not self._levels[level].idle and self._comm.size > 1:
            for side in self._sides[level]:
                yield from self._tell(side, True, True)

    def _extend(self, level: int) -> Steps:
        """Tell those of the points around them that have had none before (comm3_ex)."""
        own = self._levels[level]
        if self._comm.size > 1:
            for side, gives, takes in zip(self._gifts[level], own.gives, own.takes, strict=True):
                yield from self._tell(side, gives, takes)

    def _tell(self, side: _Side, gives: bool, takes: bool) -> Steps:
        comm, (before, to_before, first), (behind, to_behind, last) = self._comm, *side
        if takes:
            one = yield from comm.irecv(self._from_behind, behind, to_before)
            two = yield from comm.irecv(self._from_before, before, to_behind)
        if gives:
            yield from comm.send(last, behind, to_behind)
            yield from comm.send(first, before, to_before)
        if takes:
            yield from comm.wait(one)
            yield from comm.wait(two)


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
