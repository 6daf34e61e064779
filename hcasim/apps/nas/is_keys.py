"""Keys of IS: how many go where, and with contents the keys themselves.

Source: NPB 3.3.1, IS/is.c, create_seq and rank.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from hcasim.apps.nas.classes import IsSize
from hcasim.apps.nas.sequence import BITS, blocks
from hcasim.mpi import Comm
from hcasim.mpi.messages import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

KEY_BYTES: Final = 4
_BLOCK: Final = 2**18


def _keys(size: IsSize) -> Iterator[NDArray[np.int64]]:
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


def _split(buckets: NDArray[np.int64], behind: list[int]) -> NDArray[np.int64]:
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
    for keys in _keys(size):
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
        result.append(_split(found, ends(found.sum(0), processes)))
    return tuple(concatenate([one[None] for one in result]))


def altered(size: IsSize, iteration: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Places and new values of two keys of rank 0 that an iteration begins with."""
    other = (1 << size.max_key_log2) - iteration
    return (iteration, iteration), (iteration + size.iterations, other)


class Sizes:
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
        room = self._room(self.each, comm.size)
        self.outgoing: Memory = comm.process.heap.allocate(KEY_BYTES * room)
        self.incoming: Memory = comm.process.heap.allocate(KEY_BYTES * room)

    @staticmethod
    def _room(each: int, processes: int) -> int:
        """Keys that an array has place for."""
        for limit, halves in ((256, 3), (512, 5), (1024, 8)):
            if processes < limit:
                return halves * each // 2
        return 13 * each // 2

    def sort(self, iteration: int) -> None:
        """Sort own keys by bucket and count them."""

    def leaving(self, iteration: int) -> list[int]:
        """Bytes for each process, after the totals are known."""
        counted = counts(self.size, self.processes)[iteration - 1][self.rank]
        return [KEY_BYTES * int(one) for one in counted]

    def coming(self, iteration: int) -> list[int]:
        """Bytes from each process, after they have told."""
        counted = counts(self.size, self.processes)[iteration - 1][:, self.rank]
        return [KEY_BYTES * int(one) for one in counted]

    def check(self, iteration: int) -> None:
        """Rank the keys that have come in."""

    def greatest(self) -> Memory:
        """The greatest own key after all."""
        return KEY_BYTES

    def least(self) -> Memory:
        """Where the greatest key of the process before goes."""
        return KEY_BYTES

    def passed(self, neighbour: Memory) -> Memory:
        """Checks that were passed, in the end also that of the whole order."""
        return KEY_BYTES

    def verdict(self, passed: Memory) -> bool | None:
        """Whether all is right, by the checks that all processes have passed."""
        return None


class Contents(Sizes):
    """The arrays of a process, with keys."""

    def __init__(self, comm: Comm, size: IsSize) -> None:
        from numpy import array, concatenate, zeros

        super().__init__(comm, size)
        begin = comm.rank * self.each
        self._keys = concatenate(list(_keys(size)))[begin : begin + self.each].astype("int32")
        room = self._room(self.each, comm.size)
        self.outgoing, self.incoming = zeros(room, dtype="int32"), zeros(room, dtype="int32")
        self._shift = size.max_key_log2 - size.buckets_log2
        self._behind: list[int] = []
        self._got = self.incoming[:0]
        self._passed = array([0], dtype="int32")
        self._failed = False

    def sort(self, iteration: int) -> None:
        from numpy import argsort, bincount

        keys, buckets = self._keys, 1 << self.size.buckets_log2
        if self.rank == 0:
            for place, key in altered(self.size, iteration):
                keys[place] = key
        self.own[:] = 0
        for number, place in enumerate(self.size.test_keys):
            if place // self.each == self.rank:
                self.own[buckets + number] = keys[place % self.each]
        self.own[:buckets] = bincount(keys >> self._shift, minlength=buckets)
        order = argsort(keys >> self._shift, kind="stable")
        self.outgoing[: self.each] = keys[order]

    def leaving(self, iteration: int) -> list[int]:
        buckets = 1 << self.size.buckets_log2
        self._behind = ends(self.totals[:buckets].astype("int64"), self.processes)
        self.sending[:] = _split(self.own[:buckets].astype("int64"), self._behind)
        return [KEY_BYTES * one for one in self.sending.tolist()]

    def coming(self, iteration: int) -> list[int]:
        return [KEY_BYTES * one for one in self.receiving.tolist()]

    def check(self, iteration: int) -> None:
        if iteration == 1:
            # The untimed iteration, which is the first as well, does not count.
            self._passed[0] = 0
        buckets = 1 << self.size.buckets_log2
        self._got = self.incoming[: int(self.receiving.sum())]
        begin = self._behind[self.rank - 1] if self.rank else 0
        end = self._behind[self.rank]
        lesser = int(self.totals[:begin].sum())
        for number, (rank, move) in enumerate(
            zip(self.size.test_ranks, self.size.test_moves, strict=True)
        ):
            key = int(self.totals[buckets + number])
            if begin <= key >> self._shift < end:
                found = lesser + int((self._got < key).sum())
                right = found == rank + move[0] * iteration + move[1]
                self._passed[0] += right
                self._failed |= not right

    def greatest(self) -> Memory:
        from numpy import zeros

        self._got.sort()
        return self._got[-1:] if len(self._got) else zeros(1, dtype="int32")

    def least(self) -> Memory:
        from numpy import zeros

        return zeros(1, dtype="int32")

    def passed(self, neighbour: Memory) -> Memory:
        got = self._got
        right = self.rank == 0 or not len(got) or bool(neighbour[0] <= got[0])
        right = right and bool((got[:-1] <= got[1:]).all())
        self._passed[0] += right
        self._failed |= not right
        return self._passed

    def verdict(self, passed: Memory) -> bool | None:
        if self.rank:
            return not self._failed
        return int(passed[0]) == 5 * self.size.iterations + self.processes
