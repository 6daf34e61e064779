"""The vectors of a process of CG, and what it computes with them.

Source: NPB 3.3.1, CG/cg.f.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hcasim.apps.nas.cg_matrix import submatrix
from hcasim.apps.nas.cg_partition import Exchange, Partition
from hcasim.apps.nas.classes import CgSize
from hcasim.mpi import Comm
from hcasim.mpi.messages import Memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REAL_BYTES: Final = 8


class Sizes:
    """Vectors without contents.

    Attributes:
        q: product with the search direction, and where its part sums come in.
        r: residual, and where those of the last product come in.
        w: own part sums.
        sums: one or two own scalars.
        others: those of a partner.
    """

    q: Memory
    r: Memory
    w: Memory
    sums: Memory
    others: Memory

    def __init__(self, comm: Comm, size: CgSize, part: Partition) -> None:
        self.part = part
        self._allocate(comm, max(part.rows, part.columns) + 2)

    def _allocate(self, comm: Comm, length: int) -> None:
        heap, room = comm.process.heap, REAL_BYTES * length
        self.q, self.r, self.w = heap.allocate(room), heap.allocate(room), heap.allocate(room)
        self.sums, self.others = heap.allocate(2 * REAL_BYTES), heap.allocate(2 * REAL_BYTES)

    def piece(self, memory: Memory, start: int, length: int) -> Memory:
        """Elements of a vector."""
        return memory.part(REAL_BYTES * start, REAL_BYTES * length)

    def restart(self) -> None:
        """Begin with a vector of ones."""

    def begin(self) -> None:
        """Begin to solve A z = x, with r.r as the own sum."""

    def take_rho(self) -> None:
        """The sum is r.r."""

    def multiply(self, solution: bool) -> None:
        """The part sums of the product with the solution, or with the search direction."""

    def add(self, step: Exchange, into: Memory) -> None:
        """Add the part sums that have come in."""

    def keep(self, into: Memory) -> None:
        """The part sums are the product: there are no others."""

    def curvature(self) -> None:
        """p.q as the own sum."""

    def advance(self) -> None:
        """Go on to the next solution and residual, with r.r as the own sum."""

    def turn(self) -> None:
        """The next search direction."""

    def distance(self) -> None:
        """The square of x - A z as the own sum."""

    def products(self) -> None:
        """x.z and z.z as the own sums."""

    def combine(self, number: int) -> None:
        """Add the scalars of a partner."""

    def normalise(self) -> None:
        """The next x, and the estimate of the eigenvalue."""

    def verdict(self) -> bool | None:
        """Whether the estimate is right."""
        return None


class Contents(Sizes):
    """Vectors with contents."""

    def __init__(self, comm: Comm, size: CgSize, part: Partition) -> None:
        super().__init__(comm, size, part)
        self._size = size
        self._matrix = submatrix(size, part)
        self._rho = self._zeta = 0.0

    def _allocate(self, comm: Comm, length: int) -> None:
        from numpy import zeros

        self.q, self.r, self.w, self._p, self._x, self._z = (zeros(length) for _ in range(6))
        self.sums, self.others = zeros(2), zeros(2)

    def piece(self, memory: Memory, start: int, length: int) -> Memory:
        return memory[start : start + length]

    def _own(self, vector: Memory) -> NDArray[np.float64]:
        """The elements of the columns of the process."""
        own: NDArray[np.float64] = vector[: self.part.columns]
        return own

    def _dot(self, one: Memory, other: Memory) -> float:
        return float(self._own(one) @ self._own(other))

    def restart(self) -> None:
        self._x[:] = 1.0

    def begin(self) -> None:
        for vector in (self.q, self._z, self.w):
            vector[:] = 0.0
        self.r[:] = self._x
        self._p[:] = self._x
        self.sums[0] = self._dot(self.r, self.r)

    def take_rho(self) -> None:
        self._rho = float(self.sums[0])

    def multiply(self, solution: bool) -> None:
        vector = self._z if solution else self._p
        self.w[: self.part.rows] = self._matrix @ self._own(vector)

    def add(self, step: Exchange, into: Memory) -> None:
        piece = slice(step.recv_start, step.recv_start + step.recv_length)
        self.w[piece] += into[piece]

    def keep(self, into: Memory) -> None:
        self._own(into)[:] = self._own(self.w)

    def curvature(self) -> None:
        self.w[:] = 0.0
        self.sums[0] = self._dot(self._p, self.q)

    def advance(self) -> None:
        alpha = self._rho / self.sums[0]
        self._own(self._z)[:] += alpha * self._own(self._p)
        self._own(self.r)[:] -= alpha * self._own(self.q)
        self.sums[0] = self._dot(self.r, self.r)

    def turn(self) -> None:
        before, self._rho = self._rho, float(self.sums[0])
        own = self._own(self._p)
        own[:] = self._own(self.r) + self._rho / before * own

    def distance(self) -> None:
        difference = self._own(self._x) - self._own(self.r)
        self.sums[0] = float(difference @ difference)

    def products(self) -> None:
        self.sums[:] = self._dot(self._x, self._z), self._dot(self._z, self._z)

    def combine(self, number: int) -> None:
        self.sums[:number] += self.others[:number]

    def normalise(self) -> None:
        self._zeta = self._size.shift + 1 / float(self.sums[0])
        self._own(self._x)[:] = self._own(self._z) / float(self.sums[1]) ** 0.5

    def verdict(self) -> bool | None:
        return abs(self._zeta - self._size.zeta) <= 1e-10 * self._size.zeta
