"""The part of each grid of MG that a process has, and its neighbours.

Source: NPB 3.3.1, MG/mg.f, setup.
"""

from __future__ import annotations

from dataclasses import dataclass

from hcasim.apps.nas.classes import MgSize


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
