"""Algorithms of reduce, allreduce and reduce_scatter.

Operations are taken to be commutative. Sources: MPICH 1.2.6, src/coll/intra_fns_new.c;
Rabenseifner, Optimization of Collective Reduction Operations (2004).
"""

from __future__ import annotations

from collections.abc import Iterable

from hcasim.mpi.collectives.group import Group, Reduction, masks
from hcasim.mpi.collectives.rooted import Binomial, bcast_binomial
from hcasim.mpi.memory import Buffer
from hcasim.mpi.message import Steps


def reduce_binomial(group: Group, result: Buffer, operation: Reduction | None, root: int) -> Steps:
    """Up a binomial tree; ``result`` holds each one's operand and at the root the result."""
    tree, other = Binomial(group, root), group.temporary(result.size, result)
    for child, _, _ in tree.children:
        yield from group.recv(other, child)
        yield from group.combine(result, other, operation)
    if tree.parent >= 0:
        yield from group.send(result, tree.parent)


class _Powers:
    """The largest power of two of the ranks, which go on; the others hand over their operand.

    Of two neighbours the odd one stays (1) or the even one (0). `position` is that of this process
    among those that go on, or -1.
    """

    def __init__(self, group: Group, stays: int) -> None:
        self._group = group
        self._stays = stays
        self.power = 1 << (group.size.bit_length() - 1)
        self._rest = group.size - self.power
        self._paired = group.rank < 2 * self._rest
        self.position = self.position_of(group.rank)

    def position_of(self, rank: int) -> int:
        if rank < 2 * self._rest:
            return rank // 2 if rank % 2 == self._stays else -1
        return rank - self._rest

    def rank(self, position: int) -> int:
        return 2 * position + self._stays if position < self._rest else position + self._rest

    def fold(self, result: Buffer, operation: Reduction | None) -> Steps:
        group = self._group
        if self._paired and self.position < 0:
            yield from group.send(result, group.rank ^ 1)
        elif self._paired:
            other = group.temporary(result.size, result)
            yield from group.recv(other, group.rank ^ 1)
            yield from group.combine(result, other, operation)

    def unfold(self, result: Buffer) -> Steps:
        if self._paired:
            move = self._group.recv if self.position < 0 else self._group.send
            yield from move(result, self._group.rank ^ 1)

    def halves(self, result: Buffer, position: int) -> list[_Half]:
        """What one that goes on does with ever smaller parts of a message; nearest peer first."""
        each = self._group.share(result.size, self.power)
        return _halves(result, each, self.power, position, masks(self.power))

    def reduce(self, result: Buffer, operation: Reduction | None) -> Steps:
        steps = [
            (self.rank(peer), kept, given)
            for peer, kept, given in self.halves(result, self.position)
        ]
        other = self._group.temporary(result.size, result)
        yield from _reduce_halves(self._group, result, other, steps, operation)


_Half = tuple[int, Buffer, Buffer]
"""Of a step the peer, the own part and the peer's."""


def _halves(
    whole: Buffer, each: int, count: int, position: int, order: Iterable[int]
) -> list[_Half]:
    """Halve a message of blocks until one block is left."""
    steps: list[_Half] = []
    low, high = 0, count
    for mask in order:
        middle = (low + high) // 2
        kept = lower = whole.block(each, low, middle - low)
        given = upper = whole.block(each, middle, high - middle)
        if position & mask:
            kept, given, low = upper, lower, middle
        else:
            high = middle
        steps.append((position ^ mask, kept, given))
    return steps


def _reduce_halves(
    group: Group, whole: Buffer, other: Buffer, steps: list[_Half], operation: Reduction | None
) -> Steps:
    """Give the peer its part and combine one's own, step by step."""
    for peer, kept, given in steps:
        into = other.part(kept.address - whole.address, kept.size)
        yield from group.exchange(given, peer, into, peer)
        yield from group.combine(kept, into, operation)


def recursive_doubling(group: Group, result: Buffer, operation: Reduction | None) -> Steps:
    """Exchange and combine everything with ever farther ranks."""
    powers = _Powers(group, 1)
    yield from powers.fold(result, operation)
    if powers.position >= 0:
        other = group.temporary(result.size, result)
        for mask in masks(powers.power):
            peer = powers.rank(powers.position ^ mask)
            yield from group.exchange(result, peer, other, peer)
            yield from group.combine(result, other, operation)
    yield from powers.unfold(result)


def rabenseifner(group: Group, result: Buffer, operation: Reduction | None) -> Steps:
    """Reduce to parts by halving, then gather the parts by doubling."""
    powers = _Powers(group, 1)
    yield from powers.fold(result, operation)
    if powers.position >= 0:
        yield from powers.reduce(result, operation)
        for partner, kept, given in reversed(powers.halves(result, powers.position)):
            peer = powers.rank(partner)
            yield from group.exchange(kept, peer, given, peer)
    yield from powers.unfold(result)


def reduce_to_parts(group: Group, result: Buffer, operation: Reduction | None, root: int) -> Steps:
    """Reduce to parts by halving, then gather the parts up a binomial tree (Rabenseifner).

    A root that does not go on takes the place of rank 0 for the second half.
    """
    powers = _Powers(group, 0)
    yield from powers.fold(result, operation)
    position, top = powers.position, powers.position_of(root)
    if position >= 0:
        yield from powers.reduce(result, operation)
    if top < 0:
        top = 0
        own = powers.halves(result, 0)[-1][1]
        if group.rank == 0:
            yield from group.send(own, root)
            return
        if group.rank == root:
            yield from group.recv(own, 0)
            position = 0
    if position < 0:
        return
    mask = powers.power // 2
    for partner, kept, given in reversed(powers.halves(result, position)):
        peer = root if partner == top else powers.rank(partner)
        if partner & -mask == top & -mask:
            yield from group.send(kept, peer)
            return
        yield from group.recv(given, peer)
        mask //= 2


def allreduce_ring(group: Group, result: Buffer, operation: Reduction | None) -> Steps:
    """Reduce parts around a ring, then pass the results around."""
    count, rank = group.size, group.rank
    each = group.share(result.size, count)
    blocks = result.blocks(each, count)
    other = group.temporary(each, result)
    for step in range(count - 1):
        outgoing, incoming = blocks[(rank - step) % count], blocks[(rank - step - 1) % count]
        arrived = other.part(0, incoming.size)
        yield from group.exchange(outgoing, (rank + 1) % count, arrived, (rank - 1) % count)
        yield from group.combine(incoming, arrived, operation)
    yield from group.around(blocks, rank + 1)


def reduce_broadcast(group: Group, result: Buffer, operation: Reduction | None) -> Steps:
    """To rank 0 up a tree, and down again."""
    yield from reduce_binomial(group, result, operation, 0)
    yield from bcast_binomial(group, result, 0)


def pairwise(group: Group, operands: Buffer, own: Buffer, operation: Reduction | None) -> Steps:
    """Each sends each its block and combines what it gets (reduce_scatter)."""
    size = own.size
    yield from group.copy(operands.block(size, group.rank), own)
    other = group.temporary(size, own)
    for dest, source in group.shifts():
        yield from group.exchange(operands.block(size, dest), dest, other, source)
        yield from group.combine(own, other, operation)


def halving(group: Group, operands: Buffer, own: Buffer, operation: Reduction | None) -> Steps:
    """Halve what is still to be reduced in each step (reduce_scatter); for powers of two."""
    size, rank, count = own.size, group.rank, group.size
    work = group.temporary(operands.size, operands)
    other = group.temporary(operands.size, operands)
    yield from group.copy(operands, work)
    steps = _halves(work, size, count, rank, reversed(masks(count)))
    yield from _reduce_halves(group, work, other, steps, operation)
    yield from group.copy(work.block(size, rank), own)
