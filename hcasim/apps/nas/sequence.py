"""The pseudorandom numbers of all kernels: x' = 5^13 x (mod 2^46), from 314159265 on.

Source: NPB 3.3.1, common/randdp.f and IS/is.c.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SEED: Final = 314159265
FACTOR: Final = 5**13
BITS: Final = 46
MASK: Final = 2**BITS - 1


def numbers() -> Iterator[int]:
    """The numbers behind the seed, one after the other."""
    number = SEED
    while True:
        number = number * FACTOR & MASK
        yield number


def blocks(count: int, length: int) -> Iterator[NDArray[np.uint64]]:
    """The first ``count`` numbers behind the seed, in arrays of ``length``, a power of two."""
    from numpy import array, concatenate, uint64

    mask = uint64(MASK)
    powers = array([FACTOR], dtype=uint64)
    while len(powers) < length:
        # What is lost of 64 bits lies above the 46 that count.
        powers = concatenate((powers, powers * powers[-1] & mask))
    seed = uint64(SEED)
    for begin in range(0, count, length):
        block = powers[: count - begin] * seed & mask
        seed = block[-1]
        yield block
