"""Algorithms of gather and scatter, and of the barrier.

Source: MPICH2 1.0.3, src/mpi/coll.
"""

from __future__ import annotations

from typing import Final

from hcasim.mpi.buffer import Buffer
from hcasim.mpi.collectives.group import Group, Steps
from hcasim.mpi.message import Request


def _leaf(relative: int, count: int) -> bool:
    """Whether nobody is below it in a binomial tree."""
    return relative % 2 == 1 or relative + 1 == count


def gather_binomial(group: Group, own: Buffer, gathered: Buffer | None, root: int) -> Steps:
    """Up a binomial tree, each with what it collected; who collects nothing sends its own."""
    size, count = own.size, group.size
    relative = (group.rank - root) % count
    in_place = gathered is not None and not root
    work = own
    if gathered is not None and in_place:
        work = gathered
    elif not _leaf(relative, count):
        work = group.temporary(size * count, own)
    if work is not own:
        yield from group.copy(own, work.part(0, size))
    mask = 1
    while mask < count:
        if relative & mask:
            mine = min(mask, count - relative) * size
            yield from group.send(work.part(0, mine), (group.rank - mask) % count)
            break
        if relative + mask < count:
            more = min(mask, count - relative - mask) * size
            yield from group.recv(work.part(mask * size, more), (group.rank + mask) % count)
        mask <<= 1
    if gathered is not None and not in_place:
        behind = (count - root) * size
        yield from group.copy(work.part(0, behind), gathered.part(root * size, behind))
        yield from group.copy(work.part(behind, root * size), gathered.part(0, root * size))


def gather_linear(group: Group, own: Buffer, gathered: Buffer | None, root: int) -> Steps:
    """Each sends to the root."""
    if gathered is None:
        yield from group.send(own, root)
        return
    size = own.size
    requests: list[Request] = []
    for source in range(group.size):
        if source != root:
            requests.append((yield from group.irecv(gathered.part(source * size, size), source)))
    yield from group.copy(own, gathered.part(root * size, size))
    yield from group.waitall(requests)


def scatter_binomial(group: Group, parts: Buffer | None, own: Buffer, root: int) -> Steps:
    """Down a binomial tree, to each what it and those below it keep."""
    size, count = own.size, group.size
    relative = (group.rank - root) % count
    work = own
    if parts is not None and not root:
        work = parts
    elif parts is not None or not _leaf(relative, count):
        work = group.temporary(size * count, own)
    if parts is not None and root:
        behind = (count - root) * size
        yield from group.copy(parts.part(root * size, behind), work.part(0, behind))
        yield from group.copy(parts.part(0, root * size), work.part(behind, root * size))
    mask = 1
    while mask < count:
        if relative & mask:
            mine = min(mask, count - relative) * size
            yield from group.recv(work.part(0, mine), (group.rank - mask) % count)
            break
        mask <<= 1
    mask >>= 1
    while mask:
        if relative + mask < count:
            more = min(mask, count - relative - mask) * size
            yield from group.send(work.part(mask * size, more), (group.rank + mask) % count)
        mask >>= 1
    if work is not own:
        yield from group.copy(work.part(0, size), own)


def scatter_linear(group: Group, parts: Buffer | None, own: Buffer, root: int) -> Steps:
    """The root sends to each."""
    if parts is None:
        yield from group.recv(own, root)
        return
    size = own.size
    requests: list[Request] = []
    for dest in range(group.size):
        if dest != root:
            requests.append((yield from group.isend(parts.part(dest * size, size), dest)))
    yield from group.copy(parts.part(root * size, size), own)
    yield from group.waitall(requests)


def barrier_dissemination(group: Group) -> Steps:
    """Tell ever farther ranks, and hear from them."""
    nothing = Buffer(0, 0)
    distance = 1
    while distance < group.size:
        dest, source = (group.rank + distance) % group.size, (group.rank - distance) % group.size
        yield from group.exchange(nothing, dest, nothing, source)
        distance <<= 1


def barrier_tree(group: Group) -> Steps:
    """To rank 0 up a tree, and down again."""
    nothing = Buffer(0, 0)
    mask = 1
    while mask < group.size:
        if group.rank & mask:
            yield from group.send(nothing, group.rank - mask)
            yield from group.recv(nothing, group.rank - mask)
            break
        if group.rank + mask < group.size:
            yield from group.recv(nothing, group.rank + mask)
        mask <<= 1
    mask >>= 1
    while mask:
        if group.rank + mask < group.size:
            yield from group.send(nothing, group.rank + mask)
        mask >>= 1


GATHER: Final = {"binomial": gather_binomial, "linear": gather_linear}
SCATTER: Final = {"binomial": scatter_binomial, "linear": scatter_linear}
BARRIER: Final = {"dissemination": barrier_dissemination, "tree": barrier_tree}
