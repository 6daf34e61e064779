"""Algorithms of the broadcast.

Source: MPICH 1.2.6, src/coll/intra_fns_new.c.
"""

from __future__ import annotations

import itertools
from typing import Final

from hcasim.mpi.buffer import Buffer
from hcasim.mpi.collectives.group import Group, Steps


def binomial(group: Group, buffer: Buffer, root: int) -> Steps:
    """Down a binomial tree: who has the message sends it to half of the others that it covers."""
    relative = (group.rank - root) % group.size
    mask = 1
    while mask < group.size:
        if relative & mask:
            yield from group.recv(buffer, (group.rank - mask) % group.size)
            break
        mask <<= 1
    mask >>= 1
    while mask:
        if relative + mask < group.size:
            yield from group.send(buffer, (group.rank + mask) % group.size)
        mask >>= 1


def _blocks(buffer: Buffer, count: int) -> list[Buffer]:
    """Equal parts of a message; the last ones may be shorter or empty."""
    each = -(-buffer.size // count)
    starts = [min(buffer.size, n * each) for n in range(count + 1)]
    return [buffer.part(a, b - a) for a, b in itertools.pairwise(starts)]


def _span(buffer: Buffer, count: int, first: int, end: int) -> Buffer:
    each = -(-buffer.size // count)
    start, stop = min(buffer.size, first * each), min(buffer.size, end * each)
    return buffer.part(start, stop - start)


def _scatter(group: Group, buffer: Buffer, root: int) -> Steps:
    """Down the tree as well, but to each only what it and those below it keep."""
    size = group.size
    relative = (group.rank - root) % size
    mask = 1
    while mask < size:
        if relative & mask:
            end = min(size, relative + mask)
            part = _span(buffer, size, relative, end)
            if part.size:
                yield from group.recv(part, (group.rank - mask) % size)
            break
        mask <<= 1
    mask >>= 1
    while mask:
        if relative + mask < size:
            end = min(size, relative + 2 * mask)
            part = _span(buffer, size, relative + mask, end)
            if part.size:
                yield from group.send(part, (group.rank + mask) % size)
        mask >>= 1


def scatter_ring_allgather(group: Group, buffer: Buffer, root: int) -> Steps:
    """Scatter, then pass the parts around a ring (van de Geijn)."""
    yield from _scatter(group, buffer, root)
    blocks = _blocks(buffer, group.size)
    right, left = (group.rank + 1) % group.size, (group.rank - 1) % group.size
    relative = (group.rank - root) % group.size
    for step in range(group.size - 1):
        outgoing = blocks[(relative - step) % group.size]
        incoming = blocks[(relative - step - 1) % group.size]
        yield from group.exchange(outgoing, right, incoming, left)


def scatter_recursive_doubling_allgather(group: Group, buffer: Buffer, root: int) -> Steps:
    """Scatter, then exchange ever larger parts with ever farther ranks.

    For powers of two; other numbers of processes take the ring.
    """
    if group.size & (group.size - 1):
        yield from scatter_ring_allgather(group, buffer, root)
        return
    yield from _scatter(group, buffer, root)
    relative = (group.rank - root) % group.size
    mask = 1
    while mask < group.size:
        partner = relative ^ mask
        mine, theirs = relative & -mask, partner & -mask
        yield from group.exchange(
            _span(buffer, group.size, mine, mine + mask),
            (partner + root) % group.size,
            _span(buffer, group.size, theirs, theirs + mask),
            (partner + root) % group.size,
        )
        mask <<= 1


ALGORITHMS: Final = {
    "binomial": binomial,
    "scatter_ring_allgather": scatter_ring_allgather,
    "scatter_recursive_doubling_allgather": scatter_recursive_doubling_allgather,
}
