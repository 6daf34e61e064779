"""MG: Poisson's equation is solved by a multigrid method.

Source: NPB 3.3.1, MG/mg.f, of the grids setup, and sys/setparams.c.
"""

from __future__ import annotations

from math import prod
from typing import Final, NamedTuple

from hcasim.apps.nas.kernel import Kernel, Stopwatch
from hcasim.mpi import Comm
from hcasim.mpi.message import Steps

REAL_BYTES: Final = 8

# Operations per point that the source states for its steps; those between two levels are counted
# per point of the coarser one.
_RESIDUAL: Final = 15
_SMOOTH: Final = 16
_RESTRICT: Final = 24
_INTERPOLATE: Final = 20
_NORM: Final = 2


class Size(NamedTuple):
    """A cubic grid, whose edge has two to the power of ``levels`` points."""

    levels: int
    iterations: int


class Axis(NamedTuple):
    """What a process has of the grid of one level, along one axis.

    Attributes:
        points: of its own.
        before: the process before it.
        behind: and the one behind it.
        takes: whether it has points again that it does not have on the next coarser level, and is
            given their surroundings.
        gives: whether it gives them to others.
    """

    points: int
    before: int
    behind: int
    takes: bool
    gives: bool


class Level(tuple[Axis, ...]):
    """What a process has of the grid of one level, by axis."""

    __slots__ = ()

    @property
    def points(self) -> int:
        """Of the process itself; none if it is idle."""
        return prod(axis.points for axis in self)

    def face(self, number: int, whole: bool = False) -> int:
        """Points of a side that are sent, with the ghosts of axes before, or as a whole with all
        ghosts.
        """
        sides = enumerate(self)
        return prod(
            axis.points + 2 * (whole or place < number) for place, axis in sides if place != number
        )


def processes_by_axis(n: int) -> tuple[int, int, int]:
    """Processes along each axis, for a power of two."""
    log2 = n.bit_length() - 1
    first = log2 // 3
    second = (log2 - first) // 2
    return 1 << first, 1 << second, 1 << (log2 - first - second)


def _axis(top: int, rank: int, stride: int, along: int) -> dict[int, Axis]:
    """One axis of all levels, along which there are so many processes, and a stride between the
    ranks of two neighbours.
    """

    def share(level: int, place: int) -> int:
        return ((place + 1) << level) // along - (place << level) // along

    place, step = rank // stride % along, 1
    first = rank - place * stride
    found: dict[int, Axis] = {}
    for level in range(top, 0, -1):
        pair = share(level, place), share(level, place + step)
        step *= 1 + (0 in pair)
        before, behind = (first + (place + way * step) % along * stride for way in (-1, 1))
        found[level] = Axis(pair[0], before, behind, False, False)
        if level < top:
            finer = found[level + 1]
            found[level + 1] = finer._replace(takes=pair == (0, 1), gives=pair == (1, 0))
    return found


def levels(size: Size, rank: int, n: int) -> dict[int, Level]:
    """The levels of a process, from the finest to level 1."""
    grid = processes_by_axis(n)
    strides = 1, grid[0], grid[0] * grid[1]
    axes = [_axis(size.levels, rank, *one) for one in zip(strides, grid, strict=True)]
    return {level: Level(axis[level] for axis in axes) for level in range(size.levels, 0, -1)}


def run(comm: Comm, size: Size, seconds: float, watch: Stopwatch) -> Steps:
    """What a process does; see `Kernel.run`."""
    own, top, allreduce = levels(size, comm.rank, comm.size), size.levels, comm.allreduce
    edge = 2 + max(2**top // along for along in processes_by_axis(comm.size))
    column = REAL_BYTES * 2 * edge**2
    room = comm.process.heap.allocate(4 * column)
    # In the order of the source.
    to_before, from_behind, to_behind, from_before = (
        room.part(number * column, column) for number in range(4)
    )
    points = {number: level.points for number, level in own.items()}
    # Operations of the process in the timed part.
    fine = sum(points[level] for level in range(2, top + 1))
    coarse = sum(points[level] for level in range(1, top))
    cycles = _RESIDUAL * fine + _SMOOTH * (fine + points[1]) + (_RESTRICT + _INTERPOLATE) * coarse
    weight = size.iterations * (cycles + _RESIDUAL * points[top])
    each = seconds / (weight + (_RESIDUAL + 2 * _NORM) * points[top])

    def compute(operations: int, level: int) -> Steps:
        yield from comm.compute(operations * points[level] * each)

    def tell(level: int, number: int, whole: bool, gives: bool, takes: bool) -> Steps:
        """Tell the neighbours on an axis of the outer points, and be told of theirs."""
        axis, tag = own[level][number], 1000 * (number + 1)
        size = REAL_BYTES * own[level].face(number, whole)
        if takes:
            one = yield from comm.irecv(from_behind, axis.behind, tag + 100)
            two = yield from comm.irecv(from_before, axis.before, tag + 300)
        if gives:
            yield from comm.send(to_behind.part(0, (1 + whole) * size), axis.behind, tag + 300)
            yield from comm.send(to_before.part(0, size), axis.before, tag + 100)
        if takes:
            yield from one.wait()
            yield from two.wait()

    def exchange(level: int) -> Steps:
        """Tell all neighbours (comm3); alone on an axis, also itself."""
        for number in range(3) if points[level] and comm.size > 1 else ():
            yield from tell(level, number, False, True, True)

    def extend(level: int) -> Steps:
        """Tell those of the points around them that have had none before (comm3_ex)."""
        for number, axis in enumerate(own[level] if comm.size > 1 else ()):
            yield from tell(level, number, True, axis.gives, axis.takes)

    def update(operations: int, level: int) -> Steps:
        yield from compute(operations, level)
        yield from exchange(level)

    def cycle() -> Steps:
        """Down to the coarsest grid, and up again."""
        for level in range(top, 1, -1):
            yield from update(_RESTRICT, level - 1)
        yield from update(_SMOOTH, 1)
        for level in range(2, top + 1):
            yield from compute(_INTERPOLATE, level - 1)
            yield from extend(level)
            yield from update(_RESIDUAL, level)
            yield from update(_SMOOTH, level)

    def norm() -> Steps:
        """The greatest value, and the sum of squares."""
        yield from compute(_NORM, top)
        yield from allreduce(REAL_BYTES, REAL_BYTES)
        yield from allreduce(REAL_BYTES, REAL_BYTES)

    def charges() -> Steps:
        """Find the ten greatest and the ten smallest of random points."""
        yield from comm.barrier()
        for _ in range(20):
            yield from allreduce(REAL_BYTES, REAL_BYTES)
            yield from allreduce(16, 16)
        yield from comm.barrier()
        yield from exchange(top)

    yield from comm.barrier()
    for length in (4, 4, 4, 4, 4, 32, 4):
        yield from comm.bcast(length)
    yield from charges()
    yield from norm()
    yield from update(_RESIDUAL, top)
    yield from norm()
    yield from cycle()
    yield from update(_RESIDUAL, top)
    yield from charges()
    yield from comm.barrier()
    watch.start()
    yield from update(_RESIDUAL, top)
    yield from norm()
    for _ in watch.iterations():
        yield from cycle()
        yield from update(_RESIDUAL, top)
    yield from norm()
    watch.stop()
    yield from comm.reduce(REAL_BYTES, REAL_BYTES)


KERNEL: Final = Kernel(
    name="mg",
    sizes={"S": Size(5, 4), "W": Size(7, 4), "A": Size(8, 4), "B": Size(8, 20), "C": Size(9, 20)},
    most=lambda size: (1 << 3 * size.levels, "one for each point"),
    total=lambda size: 58.0 * size.iterations * (1 << 3 * size.levels),
    run=run,
)
