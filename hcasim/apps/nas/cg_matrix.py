"""The matrix of CG: a sum of outer products of random sparse vectors.

Source: NPB 3.3.1, CG/cg.f, makea, sprnvc and vecset.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from hcasim.apps.nas.cg_partition import Partition
from hcasim.apps.nas.classes import CgSize
from hcasim.apps.nas.sequence import BITS, numbers

CONDITION: Final = 0.1
"""Its reciprocal is about the condition number, without the shift."""


def _vectors(size: CgSize) -> list[dict[int, float]]:
    """Elements by place; the vector of a row has 0.5 there."""
    random = numbers()
    next(random)
    bits = (size.rows - 1).bit_length()
    found = []
    for row in range(size.rows):
        vector: dict[int, float] = {}
        while len(vector) < size.nonzeros:
            value, place = next(random) / 2**BITS, next(random) >> (BITS - bits)
            if place < size.rows and place not in vector:
                vector[place] = value
        vector[row] = 0.5
        found.append(vector)
    return found


@lru_cache(maxsize=2)
def matrix(size: CgSize) -> Any:
    """The whole matrix, as a sparse one of SciPy, compressed by rows."""
    from numpy import array, concatenate, repeat, tile
    from scipy.sparse import csr_matrix, identity

    rows, columns, values = [], [], []
    weight, ratio = 1.0, CONDITION ** (1 / size.rows)
    for vector in _vectors(size):
        places, elements = array(list(vector)), array(list(vector.values()))
        rows.append(tile(places, len(places)))
        columns.append(repeat(places, len(places)))
        values.append((weight * elements[:, None] * elements).reshape(-1))
        weight *= ratio
    triples = concatenate(values), (concatenate(rows), concatenate(columns))
    shape = size.rows, size.rows
    diagonal = identity(size.rows, format="csr") * (CONDITION - size.shift)
    return csr_matrix(triples, shape=shape) + diagonal


def submatrix(size: CgSize, part: Partition) -> Any:
    """The rows and columns of a process."""
    rows = slice(part.first_row, part.first_row + part.rows)
    return matrix(size)[rows, part.first_column : part.first_column + part.columns]
