"""Contents of the messages of IS and CG, which show that they are those of the sources.

Source: NPB 3.3.1, IS/is.c and CG/cg.f.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix, identity

from hcasim.apps.nas import cg, is_keys
from hcasim.apps.nas.classes import CG, CgSize, IsSize
from hcasim.apps.nas.is_keys import BITS, FACTOR, MASK, SEED
from hcasim.mpi import Comm

CONDITION = 0.1
"""Its reciprocal is about the condition number of the matrix, without the shift."""
RESULTS = {CG["S"]: (10.0, 8.5971775078648), CG["W"]: (12.0, 10.362595087124)}
"""Shifts of the main diagonal, and values of zeta to be found."""
UP_DOWN = ((1, 0), (1, 0), (1, 0), (-1, 0), (-1, 0))
RANKS = {
    16: ((48427, 17148, 23627, 62548, 4431), (0, 18, 346, 64917, 65463), UP_DOWN),
    20: (
        (357773, 934767, 875723, 898999, 404505),
        (1249, 11698, 1039987, 1043896, 1048018),
        ((1, -2), (1, -2), (-1, 0), (-1, 0), (-1, 0)),
    ),
}
"""By the logarithm of the number of keys: places of keys whose ranks are checked, their ranks, and
the factor of the iteration and the constant that are added."""


@lru_cache(maxsize=2)
def matrix(size: CgSize) -> Any:
    """The matrix of CG: a sum of outer products of random sparse vectors, with 0.5 at their row."""
    number = SEED * FACTOR & MASK
    bits = (size.rows - 1).bit_length()
    rows, columns, values = [], [], []
    weight, ratio = 1.0, CONDITION ** (1 / size.rows)
    for row in range(size.rows):
        vector: dict[int, float] = {}
        while len(vector) < size.nonzeros:
            value = number = number * FACTOR & MASK
            number = number * FACTOR & MASK
            place = number >> (BITS - bits)
            if place < size.rows and place not in vector:
                vector[place] = value / 2**BITS
        vector[row] = 0.5
        places, elements = np.array(list(vector)), np.array(list(vector.values()))
        rows.append(np.tile(places, len(places)))
        columns.append(np.repeat(places, len(places)))
        values.append((weight * elements[:, None] * elements).reshape(-1))
        weight *= ratio
    triples = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    diagonal = identity(size.rows, format="csr") * (CONDITION - RESULTS[size][0])
    return csr_matrix(triples, shape=(size.rows, size.rows)) + diagonal


class Contents:
    """Computes what its own methods say.

    Attributes:
        made: those of all processes, in the order of ranks.
    """

    made: ClassVar[list[Any]] = []

    def compute(self, step: str, *given: Any) -> None:
        getattr(self, step)(*given)


class Vectors(Contents, cg.Vectors):
    """The vectors of CG."""

    def __init__(self, comm: Comm, size: CgSize, part: cg.Partition) -> None:
        length = max(part.rows, part.columns) + 2
        self.q, self.r, self.w, self._p, self._x, self._z = (np.zeros(length) for _ in range(6))
        self.sums, self.others = np.zeros(2), np.zeros(2)
        self._part, (self._shift, self._wanted) = part, RESULTS[size]
        rows = slice(part.first_row, part.first_row + part.rows)
        self._matrix = matrix(size)[rows, part.first_column : part.first_column + part.columns]
        self._rho = self._zeta = 0.0
        self.made.append(self)

    def piece(self, memory: Any, start: int, length: int) -> Any:
        return memory[start : start + length]

    def _own(self, vector: Any) -> Any:
        """The elements of the columns of the process."""
        return vector[: self._part.columns]

    def _dot(self, one: Any, other: Any) -> float:
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
        self.w[: self._part.rows] = self._matrix @ self._own(vector)

    def add(self, step: cg.Exchange, into: Any) -> None:
        piece = slice(step.recv_start, step.recv_start + step.recv_length)
        self.w[piece] += into[piece]

    def keep(self, into: Any) -> None:
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
        self._zeta = self._shift + 1 / float(self.sums[0])
        self._own(self._x)[:] = self._own(self._z) / float(self.sums[1]) ** 0.5

    def verified(self) -> bool:
        return abs(self._zeta - self._wanted) <= 1e-10 * self._wanted


class Keys(Contents, is_keys.Keys):
    """The keys of IS."""

    def __init__(self, comm: Comm, size: IsSize) -> None:
        super().__init__(comm, size)
        begin = comm.rank * self.each
        whole = np.concatenate(list(is_keys.all_keys(size)))
        self._keys = whole[begin : begin + self.each].astype("int32")
        room = is_keys.room_of(self.each, comm.size)
        self.outgoing, self.incoming = np.zeros(room, dtype="int32"), np.zeros(room, dtype="int32")
        self._shift = size.max_key_log2 - size.buckets_log2
        self._buckets = 1 << size.buckets_log2
        self._behind: list[int] = []
        self._got = self.incoming[:0]
        self._tested, self._ranks, self._moves = RANKS[size.keys_log2]
        self.least, self.greatest, self.passed, self.all_passed = np.zeros((4, 1), dtype="int32")
        self._failed = False
        self.made.append(self)

    def sort(self, iteration: int) -> None:
        keys = self._keys
        if self.rank == 0:
            for place, key in is_keys.altered(self.size, iteration):
                keys[place] = key
        self.own[:] = 0
        for number, place in enumerate(self._tested):
            if place // self.each == self.rank:
                self.own[self._buckets + number] = keys[place % self.each]
        self.own[: self._buckets] = np.bincount(keys >> self._shift, minlength=self._buckets)
        self.outgoing[: self.each] = keys[np.argsort(keys >> self._shift, kind="stable")]

    def leaving(self, iteration: int) -> list[int]:
        totals, own = (one[: self._buckets].astype("int64") for one in (self.totals, self.own))
        self._behind = is_keys.ends(totals, self.processes)
        self.sending[:] = is_keys.split(own, self._behind)
        return [is_keys.KEY_BYTES * one for one in self.sending.tolist()]

    def coming(self, iteration: int) -> list[int]:
        return [is_keys.KEY_BYTES * one for one in self.receiving.tolist()]

    def check(self, iteration: int) -> None:
        if iteration == 1:
            # The untimed iteration, which is the first as well, does not count.
            self.passed[0] = 0
        self._got = self.incoming[: int(self.receiving.sum())]
        begin = self._behind[self.rank - 1] if self.rank else 0
        lesser = int(self.totals[:begin].sum())
        for number, (rank, move) in enumerate(zip(self._ranks, self._moves, strict=True)):
            key = int(self.totals[self._buckets + number])
            if begin <= key >> self._shift < self._behind[self.rank]:
                found = lesser + int((self._got < key).sum())
                self._passes(found == rank + move[0] * iteration + move[1])

    def _passes(self, right: bool) -> None:
        self.passed[0] += right
        self._failed |= not right

    def order(self) -> None:
        self._got.sort()
        self.greatest = self._got[-1:] if len(self._got) else self.greatest

    def verify(self) -> None:
        got = self._got
        follows = self.rank == 0 or not len(got) or bool(self.least[0] <= got[0])
        self._passes(follows and bool((got[:-1] <= got[1:]).all()))

    def verified(self) -> bool:
        if self.rank:
            return not self._failed
        return int(self.all_passed[0]) == 5 * self.size.iterations + self.processes
