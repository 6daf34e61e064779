"""Keys of IS: how many go where.

Source: NPB 3.3.1, IS/is.c, create_seq and rank, and common/randdp.f.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from hcasim.apps.nas.classes import IsSize
from hcasim.mpi import Comm
from hcasim.mpi.messages import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

KEY_BYTES: Final = 4
SEED: Final = 314159265
FACTOR: Final = 5**13
BITS: Final = 46
MASK: Final = 2**BITS - 1
"""Of the pseudorandom numbers of all kernels: x' = FACTOR x (mod 2^46), from SEED on."""
_BLOCK: Final = 2**18


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


def all_keys(size: IsSize) -> Iterator[NDArray[np.int64]]:
    """All keys, in the order of processes: each the scaled sum of four numbers."""
    for block in blocks(4 << size.keys_log2, _BLOCK):
        yield (block.reshape(-1, 4).sum(1) >> (BITS + 2 - size.max_key_log2)).astype("int64")


def ends(totals: NDArray[np.int64], processes: int) -> list[int]:
    """For each process, the bucket behind its last one.

    Parameters:
        totals: keys in each bucket, of all processes.
    """
    found: list[int] = []
    each, so_far = int(totals.sum()) // processes, 0
    for bucket, number in enumerate(totals.tolist()):
        so_far += number
        if so_far >= (len(found) + 1) * each:
            found.append(bucket + 1)
    return found + [len(totals)] * (processes - len(found))


def split(buckets: NDArray[np.int64], behind: list[int]) -> NDArray[np.int64]:
    """Keys that go to each process, of those in buckets."""
    from numpy import concatenate, diff

    before = concatenate((buckets[..., :1] * 0, buckets.cumsum(-1)), -1)
    return diff(before[..., [0, *behind]], axis=-1)


@lru_cache(maxsize=4)
def counts(size: IsSize, processes: int) -> tuple[NDArray[np.int64], ...]:
    """Keys that each process sends to each, by iteration from the first on.

    The keys are generated for that, which takes seconds for class B and larger ones.
    """
    from numpy import bincount, concatenate, zeros

    number, shift = 1 << size.buckets_log2, size.max_key_log2 - size.buckets_log2
    each = (1 << size.keys_log2) // processes
    found = zeros((processes, number), dtype="int64")
    first, begin = None, 0
    for keys in all_keys(size):
        first = keys[: 2 * size.iterations + 1] if first is None else first
        ranks = range(begin // each, (begin + len(keys) - 1) // each + 1)
        for rank in ranks:
            own = keys[max(rank * each - begin, 0) : (rank + 1) * each - begin]
            found[rank] += bincount(own >> shift, minlength=number)
        begin += len(keys)
    assert first is not None
    result = []
    for iteration in range(1, size.iterations + 1):
        for place, key in altered(size, iteration):
            found[0, first[place] >> shift] -= 1
            found[0, key >> shift] += 1
        result.append(split(found, ends(found.sum(0), processes)))
    return tuple(concatenate([one[None] for one in result]))


def altered(size: IsSize, iteration: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Places and new values of two keys of rank 0 that an iteration begins with."""
    other = (1 << size.max_key_log2) - iteration
    return (iteration, iteration), (iteration + size.iterations, other)


def room_of(each: int, processes: int) -> int:
    """Keys that an array has place for, of a process that begins with so many."""
    for limit, halves in ((256, 3), (512, 5), (1024, 8)):
        if processes < limit:
            return halves * each // 2
    return 13 * each // 2


class Keys:
    """The arrays of a process, without contents.

    Attributes:
        own: keys in each bucket, and the values of those whose ranks are checked.
        totals: the same of all processes.
        sending: keys for each process, in the memory that tells them.
        receiving: keys from each process, likewise.
        outgoing: keys in the order of buckets.
        incoming: keys of the buckets of the process.
    """

    def __init__(self, comm: Comm, size: IsSize) -> None:
        from numpy import zeros

        self.rank, self.processes, self.size = comm.rank, comm.size, size
        self.each = (1 << size.keys_log2) // comm.size
        number = (1 << size.buckets_log2) + 5
        self.own = zeros(number, dtype="int32")
        self.totals = zeros(number, dtype="int32")
        self.sending = zeros(comm.size, dtype="int32")
        self.receiving = zeros(comm.size, dtype="int32")
        room = room_of(self.each, comm.size)
        # The greatest key of the process before, the own one, and checks that were passed.
        self.least: Memory = KEY_BYTES
        self.greatest: Memory = KEY_BYTES
        self.passed: Memory = KEY_BYTES
        self.all_passed: Memory = KEY_BYTES
        self.outgoing: Memory = comm.process.heap.allocate(KEY_BYTES * room)
        self.incoming: Memory = comm.process.heap.allocate(KEY_BYTES * room)

    def compute(self, step: str, *given: Any) -> None:
        """Compute contents in a step of the source, where there are any."""

    def leaving(self, iteration: int) -> list[int]:
        """Bytes for each process, after the totals are known."""
        counted = counts(self.size, self.processes)[iteration - 1][self.rank]
        return [KEY_BYTES * int(one) for one in counted]

    def coming(self, iteration: int) -> list[int]:
        """Bytes from each process, after they have told."""
        counted = counts(self.size, self.processes)[iteration - 1][:, self.rank]
        return [KEY_BYTES * int(one) for one in counted]
