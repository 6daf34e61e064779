"""Algorithms of reduce, allreduce and reduce_scatter.

Operations are taken to be commutative. Sources: MPICH 1.2.6, src/coll/intra_fns_new.c;
Rabenseifner, Optimization of Collective Reduction Operations (2004).
"""

from __future__ import annotations

import itertools
from typing import Final

from hcasim.mpi.buffer import Buffer
from hcasim.mpi.collectives.group import Algorithms, Group, Reduction, Steps
from hcasim.mpi.collectives.tree import tree


def binomial(group: Group, result: Buffer, operation: Reduction | None, root: int) -> Steps:
    """Up a binomial tree; ``result`` holds each one's operand and at the root the result."""
    relative = (group.rank - root) % group.size
    other = group.temporary(result.size, result)
    mask = 1
    while mask < group.size:
        if relative & mask:
            yield from group.send(result, (group.rank - mask) % group.size)
            return
        if relative + mask < group.size:
            yield from group.recv(other, (group.rank + mask) % group.size)
            yield from group.combine(result, other, operation)
        mask <<= 1


def _power(group: Group) -> int:
    """Ranks that go on: the largest power of two."""
    return 1 << (group.size.bit_length() - 1)


def _fold(group: Group, result: Buffer, operation: Reduction | None, stays: int) -> Steps:
    """Let the ranks beyond a power of two hand their operand to a neighbour.

    Parameters:
        stays: whether of two neighbours the odd one goes on (1) or the even one (0).
    """
    if group.rank < 2 * (group.size - _power(group)):
        if group.rank % 2 != stays:
            yield from group.send(result, group.rank ^ 1)
        else:
            other = group.temporary(result.size, result)
            yield from group.recv(other, group.rank ^ 1)
            yield from group.combine(result, other, operation)


def _position(group: Group, rank: int, stays: int) -> int:
    """Number among the power of two that go on, or -1."""
    rest = group.size - _power(group)
    if rank < 2 * rest:
        return rank // 2 if rank % 2 == stays else -1
    return rank - rest


def _rank(group: Group, position: int, stays: int) -> int:
    rest = group.size - _power(group)
    return 2 * position + stays if position < rest else position + rest


def _unfold(group: Group, result: Buffer) -> Steps:
    if group.rank < 2 * (group.size - _power(group)):
        if group.rank % 2:
            yield from group.send(result, group.rank - 1)
        else:
            yield from group.recv(result, group.rank + 1)


def recursive_doubling(group: Group, result: Buffer, operation: Reduction | None) -> Steps:
    """Exchange and combine everything with ever farther ranks."""
    yield from _fold(group, result, operation, 1)
    position = _position(group, group.rank, 1)
    if position >= 0:
        other = group.temporary(result.size, result)
        mask, power = 1, _power(group)
        while mask < power:
            peer = _rank(group, position ^ mask, 1)
            yield from group.exchange(result, peer, other, peer)
            yield from group.combine(result, other, operation)
            mask <<= 1
    yield from _unfold(group, result)


class _Halves:
    """What those that go on do with ever smaller parts of a message, and back.

    Attributes:
        steps: position of the peer, own part and the peer's in each step, nearest peer first.
    """

    def __init__(self, group: Group, result: Buffer, position: int) -> None:
        power = _power(group)
        each = -(-result.size // power // group.unit) * group.unit if result.size else 0
        ends = [min(result.size, n * each) for n in range(power + 1)]
        self.steps: list[tuple[int, Buffer, Buffer]] = []
        low, high, mask = 0, power, 1
        while mask < power:
            middle = (low + high) // 2
            lower = result.part(ends[low], ends[middle] - ends[low])
            upper = result.part(ends[middle], ends[high] - ends[middle])
            if position & mask:
                self.steps.append((position ^ mask, upper, lower))
                low = middle
            else:
                self.steps.append((position ^ mask, lower, upper))
                high = middle
            mask <<= 1

    def reduce(
        self, group: Group, result: Buffer, operation: Reduction | None, stays: int
    ) -> Steps:
        """Give the peer its part and combine one's own, step by step."""
        other = group.temporary(result.size, result)
        for position, kept, given in self.steps:
            into = other.part(kept.address - result.address, kept.size)
            peer = _rank(group, position, stays)
            yield from group.exchange(given, peer, into, peer)
            yield from group.combine(kept, into, operation)


def rabenseifner(group: Group, result: Buffer, operation: Reduction | None) -> Steps:
    """Reduce to parts by halving, then gather the parts by doubling."""
    yield from _fold(group, result, operation, 1)
    position = _position(group, group.rank, 1)
    if position >= 0:
        halves = _Halves(group, result, position)
        yield from halves.reduce(group, result, operation, 1)
        for partner, kept, given in reversed(halves.steps):
            peer = _rank(group, partner, 1)
            yield from group.exchange(kept, peer, given, peer)
    yield from _unfold(group, result)


def reduce_to_parts(group: Group, result: Buffer, operation: Reduction | None, root: int) -> Steps:
    """Reduce to parts by halving, then gather the parts up a binomial tree (Rabenseifner).

    A root that does not go on takes the place of rank 0 for the second half.
    """
    yield from _fold(group, result, operation, 0)
    position, top = _position(group, group.rank, 0), _position(group, root, 0)
    if position >= 0:
        yield from _Halves(group, result, position).reduce(group, result, operation, 0)
    if top < 0:
        top = 0
        own = _Halves(group, result, 0).steps[-1][1]
        if group.rank == 0:
            yield from group.send(own, root)
            return
        if group.rank == root:
            yield from group.recv(own, 0)
            position = 0
    if position < 0:
        return
    mask = _power(group) // 2
    for partner, kept, given in reversed(_Halves(group, result, position).steps):
        peer = root if partner == top else _rank(group, partner, 0)
        if partner & -mask == top & -mask:
            yield from group.send(kept, peer)
            return
        yield from group.recv(given, peer)
        mask //= 2


def ring(group: Group, result: Buffer, operation: Reduction | None) -> Steps:
    """Reduce parts around a ring, then pass the results around."""
    count, rank = group.size, group.rank
    each = -(-result.size // count // group.unit) * group.unit if result.size else 0
    ends = [min(result.size, n * each) for n in range(count + 1)]
    blocks = [result.part(a, b - a) for a, b in itertools.pairwise(ends)]
    other = group.temporary(each, result)
    right, left = (rank + 1) % count, (rank - 1) % count
    for step in range(count - 1):
        outgoing, incoming = blocks[(rank - step) % count], blocks[(rank - step - 1) % count]
        arrived = other.part(0, incoming.size)
        yield from group.exchange(outgoing, right, arrived, left)
        yield from group.combine(incoming, arrived, operation)
    for step in range(count - 1):
        outgoing, incoming = blocks[(rank + 1 - step) % count], blocks[(rank - step) % count]
        yield from group.exchange(outgoing, right, incoming, left)


def reduce_then_broadcast(group: Group, result: Buffer, operation: Reduction | None) -> Steps:
    """To rank 0 up a tree, and down again."""
    from hcasim.mpi.collectives import broadcast

    yield from binomial(group, result, operation, 0)
    yield from broadcast.binomial(group, result, 0)


def pairwise(group: Group, operands: Buffer, own: Buffer, operation: Reduction | None) -> Steps:
    """Each sends each its block and combines what it gets (reduce_scatter)."""
    size = own.size
    yield from group.copy(operands.part(group.rank * size, size), own)
    other = group.temporary(size, own)
    for step in range(1, group.size):
        dest, source = (group.rank + step) % group.size, (group.rank - step) % group.size
        yield from group.exchange(operands.part(dest * size, size), dest, other, source)
        yield from group.combine(own, other, operation)


def halving(group: Group, operands: Buffer, own: Buffer, operation: Reduction | None) -> Steps:
    """Halve what is still to be reduced in each step; others than powers of two go pairwise."""
    if group.size & (group.size - 1):
        group.instead("pairwise")
        yield from pairwise(group, operands, own, operation)
        return
    size = own.size
    work = group.temporary(operands.size, operands)
    other = group.temporary(operands.size, operands)
    yield from group.copy(operands, work)
    low, high, mask = 0, group.size, group.size // 2
    while mask:
        middle, peer = (low + high) // 2, group.rank ^ mask
        keep, give = ((low, middle), (middle, high))
        if group.rank & mask:
            keep, give = give, keep
        length = (keep[1] - keep[0]) * size
        into = other.part(keep[0] * size, length)
        yield from group.exchange(work.part(give[0] * size, length), peer, into, peer)
        yield from group.combine(work.part(keep[0] * size, length), into, operation)
        low, high = keep
        mask //= 2
    yield from group.copy(work.part(group.rank * size, size), own)


REDUCE: Final[Algorithms] = {"binomial": binomial, "rabenseifner": reduce_to_parts}
ALLREDUCE: Final[Algorithms] = {
    "recursive_doubling": recursive_doubling,
    "rabenseifner": rabenseifner,
    "ring": ring,
    "reduce_broadcast": reduce_then_broadcast,
    "tree": tree,
}
REDUCE_SCATTER: Final[Algorithms] = {"pairwise": pairwise, "recursive_halving": halving}
