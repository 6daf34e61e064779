"""Problem sizes of the NAS Parallel Benchmarks, classes S, W, A, B and C.

Source: NPB 3.3.1, sys/setparams.c and IS/is.c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

CLASSES: Final = ("S", "W", "A", "B", "C")


@dataclass(frozen=True, slots=True)
class IsSize:
    """Keys to rank.

    Attributes:
        keys_log2: binary logarithm of the number of keys.
        max_key_log2: of the bound that all keys are below.
        buckets_log2: of the number of buckets.
        iterations: timed ones.
    """

    keys_log2: int
    max_key_log2: int
    buckets_log2: int
    iterations: int = 10


@dataclass(frozen=True, slots=True)
class FtSize:
    """A grid of complex numbers, and how often it is transformed back."""

    nx: int
    ny: int
    nz: int
    iterations: int


@dataclass(frozen=True, slots=True)
class MgSize:
    """A cubic grid, whose edge has two to the power of ``levels`` points."""

    levels: int
    iterations: int


@dataclass(frozen=True, slots=True)
class LuSize:
    """A cubic grid, whose edge has ``edge`` points; the iterations are time steps."""

    edge: int
    iterations: int


@dataclass(frozen=True, slots=True)
class CgSize:
    """A sparse symmetric matrix.

    Attributes:
        rows: of the matrix.
        nonzeros: of each of the vectors that it is made of.
        iterations: outer ones.
    """

    rows: int
    nonzeros: int
    iterations: int


IS: Final = {
    "S": IsSize(16, 11, 9),
    "W": IsSize(20, 16, 10),
    "A": IsSize(23, 19, 10),
    "B": IsSize(25, 21, 10),
    "C": IsSize(27, 23, 10),
}
FT: Final = {
    "S": FtSize(64, 64, 64, 6),
    "W": FtSize(128, 128, 32, 6),
    "A": FtSize(256, 256, 128, 6),
    "B": FtSize(512, 256, 256, 20),
    "C": FtSize(512, 512, 512, 20),
}
MG: Final = {
    "S": MgSize(5, 4),
    "W": MgSize(7, 4),
    "A": MgSize(8, 4),
    "B": MgSize(8, 20),
    "C": MgSize(9, 20),
}
LU: Final = {
    "S": LuSize(12, 50),
    "W": LuSize(33, 300),
    "A": LuSize(64, 250),
    "B": LuSize(102, 250),
    "C": LuSize(162, 250),
}
CG: Final = {
    "S": CgSize(1400, 7, 15),
    "W": CgSize(7000, 8, 15),
    "A": CgSize(14000, 11, 15),
    "B": CgSize(75000, 13, 75),
    "C": CgSize(150000, 15, 75),
}
