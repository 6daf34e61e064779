"""IS: integers are ranked by a bucket sort.

Source: NPB 3.3.1, IS/is.c, of the keys create_seq and rank, and common/randdp.f.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from hcasim.apps.nas.kernel import Kernel, Stopwatch, shift
from hcasim.mpi import Comm
from hcasim.mpi.message import Steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

KEY_BYTES: Final = 4
BEFORE: Final = 2 / 3
"""Part of the computing before the keys are exchanged: two of three passes over them."""
_SEED: Final = 314159265
_FACTOR: Final = 5**13
_BITS: Final = 46
_MASK: Final = 2**_BITS - 1
"""Of the pseudorandom numbers: x' = _FACTOR x (mod 2^46), from _SEED on."""
_BLOCK: Final = 2**18
_TAG: Final = 1000


class Size(NamedTuple):
    """Keys to rank: binary logarithms of their number, of the bound that they are below, and of the
    number of buckets, and how many iterations are timed.
    """

    keys_log2: int
    max_key_log2: int
    buckets_log2: int
    iterations: int = 10


def all_keys(size: Size) -> Iterator[NDArray[np.int64]]:
    """All keys, in the order of processes: each the scaled sum of four pseudorandom numbers."""
    from numpy import array, concatenate, uint64

    mask = uint64(_MASK)
    powers = array([_FACTOR], dtype=uint64)
    while len(powers) < _BLOCK:
        # What is lost of 64 bits lies above the 46 that count.
        powers = concatenate((powers, powers * powers[-1] & mask))
    seed = uint64(_SEED)
    for _ in range(0, 4 << size.keys_log2, _BLOCK):
        block = powers * seed & mask
        seed = block[-1]
        yield (block.reshape(-1, 4).sum(1) >> (_BITS + 2 - size.max_key_log2)).astype("int64")


def _split(buckets: NDArray[np.int64], processes: int) -> NDArray[np.int64]:
    """Keys that each process sends to each, from its keys in each bucket: buckets go to the first
    that has too few keys.
    """
    from numpy import arange, diff, maximum, minimum, searchsorted, zeros

    so_far, place = buckets.sum(0).cumsum(), arange(processes)
    behind = searchsorted(so_far, so_far[-1] // processes * (place + 1)) + 1
    # No bucket is the last one of two processes.
    behind = minimum(maximum.accumulate(behind - place) + place, len(so_far))
    before = zeros((processes, 1 + len(so_far)), dtype="int64")
    before[:, 1:] = buckets.cumsum(1)
    return diff(before[:, [0, *behind]], axis=1)


@lru_cache(maxsize=4)
def counts(size: Size, processes: int) -> tuple[NDArray[np.int64], ...]:
    """Keys that each process sends to each, by iteration from the first on.

    The keys are generated for that, which takes seconds for class B and larger ones.
    """
    from numpy import bincount, zeros

    number, shift_by = 1 << size.buckets_log2, size.max_key_log2 - size.buckets_log2
    each = (1 << size.keys_log2) // processes
    found = zeros((processes, number), dtype="int64")
    first, begin = zeros(0, dtype="int64"), 0
    for keys in all_keys(size):
        first = first if begin else keys[: 2 * size.iterations + 1]
        for own in keys.reshape(-1, min(each, len(keys))):
            found[begin // each] += bincount(own >> shift_by, minlength=number)
            begin += len(own)
    result = []
    for iteration in range(1, size.iterations + 1):
        # An iteration begins with new values of two keys of rank 0.
        least, greatest = iteration, (1 << size.max_key_log2) - iteration
        for place, key in ((iteration, least), (iteration + size.iterations, greatest)):
            found[0, first[place] >> shift_by] -= 1
            found[0, key >> shift_by] += 1
        result.append(_split(found, processes))
    return tuple(result)


def _room(each: int, processes: int) -> int:
    """Keys that an array has place for, of a process that begins with so many."""
    for limit, halves in ((256, 3), (512, 5), (1024, 8)):
        if processes < limit:
            return halves * each // 2
    return 13 * each // 2


def run(comm: Comm, size: Size, seconds: float, watch: Stopwatch) -> Steps:
    """What a process does; see `Kernel.run`."""
    from numpy import zeros

    each = seconds / size.iterations
    # Keys in each bucket, with the values of five whose ranks are checked, and of all processes.
    number = (1 << size.buckets_log2) + 5
    own, totals = zeros(number, dtype="int32"), zeros(number, dtype="int32")
    sending, receiving = zeros(comm.size, dtype="int32"), zeros(comm.size, dtype="int32")
    room = KEY_BYTES * _room((1 << size.keys_log2) // comm.size, comm.size)
    outgoing, incoming = comm.process.heap.allocate(room), comm.process.heap.allocate(room)

    def rank(iteration: int) -> Steps:
        yield from comm.compute(BEFORE * each)
        yield from comm.allreduce(own, totals)
        yield from comm.alltoall(sending, receiving)
        keys = counts(size, comm.size)[iteration - 1]
        leaving, coming = (
            (KEY_BYTES * one).tolist() for one in (keys[comm.rank], keys.T[comm.rank])
        )
        yield from comm.alltoallv(outgoing, leaving, incoming, coming)
        yield from comm.compute((1 - BEFORE) * each)

    yield from comm.bcast(4)
    yield from rank(1)
    watch.start()
    for iteration in watch.iterations():
        yield from rank(iteration)
    watch.stop()
    yield from comm.reduce(8, 8)
    # Each tells the next one its greatest key.
    dest = comm.rank + 1 if comm.rank < comm.size - 1 else -1
    yield from shift(comm, KEY_BYTES, comm.rank - 1, KEY_BYTES, dest, _TAG)
    yield from comm.reduce(KEY_BYTES, KEY_BYTES)


KERNEL: Final = Kernel(
    name="is",
    sizes={
        "S": Size(16, 11, 9),
        "W": Size(20, 16, 10),
        "A": Size(23, 19, 10),
        "B": Size(25, 21, 10),
        "C": Size(27, 23, 10),
    },
    most=lambda size: (128 if size.keys_log2 == 16 else 1024, "as there are counters for"),
    # One per key and iteration.
    total=lambda size: float(size.iterations << size.keys_log2),
    run=run,
)
