"""Algorithms of broadcast, gather and scatter, and of the barrier.

Sources: MPICH 1.2.6, src/coll/intra_fns_new.c, for the broadcast; MPICH2 1.0.3, src/mpi/coll.
"""

from __future__ import annotations

from hcasim.mpi.collectives.group import Group, masks
from hcasim.mpi.memory import Buffer
from hcasim.mpi.message import Request, Steps

NOTHING = Buffer(0, 0)


class Binomial:
    """The place of a process in a binomial tree: its rank from the root, the ranks from it on that
    are its own and of those below it, the one above it, -1 for the root, and rank, distance and
    covered ranks of each one below it, the nearest first.
    """

    def __init__(self, group: Group, root: int = 0) -> None:
        rank, count = group.rank, group.size
        self.relative = (rank - root) % count
        lowest = self.relative & -self.relative
        self.covered = min(lowest or count, count - self.relative)
        self.parent = (rank - lowest) % count if lowest else -1
        self.children = [
            ((rank + mask) % count, mask, min(mask, count - self.relative - mask))
            for mask in masks(self.covered)
        ]


def bcast_binomial(group: Group, buffer: Buffer, root: int) -> Steps:
    """Down a binomial tree: who has the message sends it to half of the others that it covers."""
    tree = Binomial(group, root)
    if tree.parent >= 0:
        yield from group.recv(buffer, tree.parent)
    for child, _, _ in reversed(tree.children):
        yield from group.send(buffer, child)


def _scatter(group: Group, buffer: Buffer, root: int, each: int) -> Steps:
    """Down the tree as well, but to each only what it and those below it keep."""
    tree = Binomial(group, root)
    if tree.parent >= 0:
        part = buffer.block(each, tree.relative, tree.covered)
        if part.size:
            yield from group.recv(part, tree.parent)
    for child, distance, number in reversed(tree.children):
        part = buffer.block(each, tree.relative + distance, number)
        if part.size:
            yield from group.send(part, child)


def scatter_ring_allgather(group: Group, buffer: Buffer, root: int) -> Steps:
    """Scatter, then pass the parts around a ring (van de Geijn)."""
    each = -(-buffer.size // group.size)
    yield from _scatter(group, buffer, root, each)
    yield from group.around(buffer.blocks(each, group.size), group.rank - root)


def scatter_recursive_doubling_allgather(group: Group, buffer: Buffer, root: int) -> Steps:
    """Scatter, then exchange ever larger parts with ever farther ranks; else the ring."""
    if group.size & (group.size - 1):
        yield from scatter_ring_allgather(group, buffer, root)
        return
    each = -(-buffer.size // group.size)
    yield from _scatter(group, buffer, root, each)
    yield from group.doubling(buffer, each, root)


def gather_binomial(group: Group, own: Buffer, gathered: Buffer | None, root: int) -> Steps:
    """Up a binomial tree, each with what it collected; who collects nothing sends its own."""
    size, tree, work = own.size, Binomial(group, root), own
    if gathered is not None and not root:
        work = gathered
    elif tree.children:
        work = group.temporary(size * group.size, own)
    if work is not own:
        yield from group.copy(own, work.block(size, 0))
    for child, distance, number in tree.children:
        yield from group.recv(work.block(size, distance, number), child)
    if tree.parent >= 0:
        yield from group.send(work.block(size, 0, tree.covered), tree.parent)
    if gathered is not None and root:
        yield from group.turn_right(work, gathered, root * size)


def gatherv_linear(group: Group, own: Buffer, gathered: list[Buffer] | None, root: int) -> Steps:
    """Each that has something sends it to the root."""
    if gathered is None:
        if own.size:
            yield from group.send(own, root)
        return
    requests: list[Request] = []
    for source, part in enumerate(gathered):
        if source != root and part.size:
            requests.append((yield from group.irecv(part, source)))
    yield from group.copy(own, gathered[root])
    yield from group.waitall(requests)


def gather_linear(group: Group, own: Buffer, gathered: Buffer | None, root: int) -> Steps:
    """Each sends to the root."""
    parts = None if gathered is None else gathered.blocks(own.size, group.size)
    yield from gatherv_linear(group, own, parts, root)


def scatter_binomial(group: Group, parts: Buffer | None, own: Buffer, root: int) -> Steps:
    """Down a binomial tree, to each what it and those below it keep."""
    size, tree, work = own.size, Binomial(group, root), own
    if parts is not None and not root:
        work = parts
    elif tree.children:
        work = group.temporary(size * group.size, own)
    if parts is not None and root:
        yield from group.turn_left(parts, work, root * size)
    if tree.parent >= 0:
        yield from group.recv(work.block(size, 0, tree.covered), tree.parent)
    for child, distance, number in reversed(tree.children):
        yield from group.send(work.block(size, distance, number), child)
    if work is not own:
        yield from group.copy(work.block(size, 0), own)


def scatterv_linear(group: Group, parts: list[Buffer] | None, own: Buffer, root: int) -> Steps:
    """The root sends to each that gets something."""
    if parts is None:
        if own.size:
            yield from group.recv(own, root)
        return
    requests: list[Request] = []
    for dest, part in enumerate(parts):
        if dest != root and part.size:
            requests.append((yield from group.isend(part, dest)))
    yield from group.copy(parts[root], own)
    yield from group.waitall(requests)


def scatter_linear(group: Group, parts: Buffer | None, own: Buffer, root: int) -> Steps:
    """The root sends to each."""
    blocks = None if parts is None else parts.blocks(own.size, group.size)
    yield from scatterv_linear(group, blocks, own, root)


def barrier_dissemination(group: Group) -> Steps:
    """Tell ever farther ranks, and hear from them."""
    for distance in masks(group.size):
        dest, source = (group.rank + distance) % group.size, (group.rank - distance) % group.size
        yield from group.exchange(NOTHING, dest, NOTHING, source)


def barrier_tree(group: Group) -> Steps:
    """To rank 0 up a tree, and down again."""
    tree = Binomial(group)
    for child, _, _ in tree.children:
        yield from group.recv(NOTHING, child)
    if tree.parent >= 0:
        yield from group.send(NOTHING, tree.parent)
    yield from bcast_binomial(group, NOTHING, 0)
