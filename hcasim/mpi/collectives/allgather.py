"""Algorithms of the allgather.

Source: MPICH 1.2.6, src/coll/intra_fns_new.c.
"""

from __future__ import annotations

from typing import Final

from hcasim.mpi.buffer import Buffer
from hcasim.mpi.collectives.group import Group, Steps


def ring(group: Group, own: Buffer, gathered: Buffer) -> Steps:
    """Each passes on to its right what it got from its left."""
    size = own.size
    yield from group.copy(own, gathered.part(group.rank * size, size))
    right, left = (group.rank + 1) % group.size, (group.rank - 1) % group.size
    for step in range(group.size - 1):
        outgoing, incoming = (group.rank - step) % group.size, (group.rank - step - 1) % group.size
        yield from group.exchange(
            gathered.part(outgoing * size, size), right, gathered.part(incoming * size, size), left
        )


def recursive_doubling(group: Group, own: Buffer, gathered: Buffer) -> Steps:
    """Exchange all that is known with ever farther ranks; other than powers of two take Bruck's."""
    if group.size & (group.size - 1):
        group.instead("bruck")
        yield from bruck(group, own, gathered)
        return
    size = own.size
    yield from group.copy(own, gathered.part(group.rank * size, size))
    mask = 1
    while mask < group.size:
        partner = group.rank ^ mask
        mine, theirs = group.rank & -mask, partner & -mask
        yield from group.exchange(
            gathered.part(mine * size, mask * size),
            partner,
            gathered.part(theirs * size, mask * size),
            partner,
        )
        mask <<= 1


def bruck(group: Group, own: Buffer, gathered: Buffer) -> Steps:
    """Collect from ever farther ranks behind one's own, then turn into place (Bruck 1997)."""
    size, count = own.size, group.size
    work = group.temporary(size * count, gathered)
    yield from group.copy(own, work.part(0, size))
    known = 1
    while known < count:
        more = min(known, count - known)
        yield from group.exchange(
            work.part(0, more * size),
            (group.rank - known) % count,
            work.part(known * size, more * size),
            (group.rank + known) % count,
        )
        known += more
    behind = count - group.rank
    yield from group.copy(
        work.part(0, behind * size), gathered.part(group.rank * size, behind * size)
    )
    if group.rank:
        ahead = group.rank * size
        yield from group.copy(work.part(behind * size, ahead), gathered.part(0, ahead))


ALGORITHMS: Final = {"ring": ring, "recursive_doubling": recursive_doubling, "bruck": bruck}
