"""Algorithms of the all-to-all exchange.

Sources: MPICH 1.2.6, src/coll/intra_fns_new.c; 1.2.5 for recursive doubling.
"""

from __future__ import annotations

from typing import Final

from hcasim.mpi.buffer import Buffer
from hcasim.mpi.collectives.group import Group, Steps
from hcasim.mpi.message import Request


def linear(group: Group, outgoing: Buffer, incoming: Buffer) -> Steps:
    """All receives, all sends, then wait for all."""
    size = outgoing.size // group.size
    starts = [rank * size for rank in range(group.size)]
    yield from all_at_once(
        group,
        [outgoing.part(start, size) for start in starts],
        [incoming.part(start, size) for start in starts],
    )


def all_at_once(group: Group, outgoing: list[Buffer], incoming: list[Buffer]) -> Steps:
    """Exchange one part with each, whatever their sizes."""
    requests: list[Request] = []
    for step in range(group.size):
        source = (group.rank + step) % group.size
        requests.append((yield from group.irecv(incoming[source], source)))
    for step in range(group.size):
        dest = (group.rank + step) % group.size
        requests.append((yield from group.isend(outgoing[dest], dest)))
    yield from group.waitall(requests)


def _own(group: Group, outgoing: Buffer, incoming: Buffer, size: int) -> Steps:
    at = group.rank * size
    yield from group.copy(outgoing.part(at, size), incoming.part(at, size))


def _pieces(buffer: Buffer, size: int, count: int) -> list[Buffer]:
    """Pieces of equal size, one behind the other."""
    return [buffer.part(number * size, size) for number in range(count)]


def pairwise_xor(group: Group, outgoing: Buffer, incoming: Buffer) -> Steps:
    """In step k with the rank that differs in the bits of k; others than powers of two shift."""
    if group.size & (group.size - 1):
        group.instead("pairwise_shift")
        yield from pairwise_shift(group, outgoing, incoming)
        return
    size = outgoing.size // group.size
    yield from _own(group, outgoing, incoming, size)
    for step in range(1, group.size):
        peer = group.rank ^ step
        yield from group.exchange(
            outgoing.part(peer * size, size), peer, incoming.part(peer * size, size), peer
        )


def pairwise_shift(group: Group, outgoing: Buffer, incoming: Buffer) -> Steps:
    """In step k to the k-th rank on the right and from the k-th on the left."""
    size = outgoing.size // group.size
    yield from _own(group, outgoing, incoming, size)
    for step in range(1, group.size):
        dest, source = (group.rank + step) % group.size, (group.rank - step) % group.size
        yield from group.exchange(
            outgoing.part(dest * size, size), dest, incoming.part(source * size, size), source
        )


def bruck(group: Group, outgoing: Buffer, incoming: Buffer) -> Steps:
    """Turn, pass on blocks by the bits of how far they go, turn back (Bruck 1997)."""
    ranks, rank = group.size, group.rank
    size = outgoing.size // ranks
    work = group.temporary(outgoing.size, outgoing)
    yield from group.copy(outgoing.part(rank * size, (ranks - rank) * size), work)
    if rank:
        yield from group.copy(
            outgoing.part(0, rank * size), work.part((ranks - rank) * size, rank * size)
        )
    most = [group.temporary(ranks // 2 * size, outgoing) for _ in range(2)]
    mask = 1
    while mask < ranks:
        moved = [block for block in range(ranks) if block & mask]
        packed, arrived = (one.part(0, len(moved) * size) for one in most)
        blocks = [work.part(block * size, size) for block in moved]
        yield from group.copies(zip(blocks, _pieces(packed, size, len(moved)), strict=True))
        yield from group.exchange(packed, (rank + mask) % ranks, arrived, (rank - mask) % ranks)
        yield from group.copies(zip(_pieces(arrived, size, len(moved)), blocks, strict=True))
        mask <<= 1
    places = [incoming.part((rank - block) % ranks * size, size) for block in range(ranks)]
    yield from group.copies(zip(_pieces(work, size, ranks), places, strict=True))


def recursive_doubling(group: Group, outgoing: Buffer, incoming: Buffer) -> Steps:
    """Exchange with ever farther ranks all that is known of what anyone sends to anyone.

    Where the farther half of the ranks is not complete, those who have a partner there hand on
    what they get to those who have none.
    """
    ranks, rank, length = group.size, group.rank, outgoing.size
    known = group.temporary(ranks * length, outgoing)

    def rows(first: int, number: int) -> Buffer:
        last = min(first + number, ranks)
        return known.part(first * length, (last - first) * length)

    yield from group.copy(outgoing, rows(rank, 1))
    mask = 1
    while mask < ranks:
        peer = rank ^ mask
        mine, theirs = rank & -mask, peer & -mask
        if peer < ranks:
            yield from group.exchange(rows(mine, mask), peer, rows(theirs, mask), peer)
        if mine < theirs < ranks < theirs + mask:
            yield from _hand_on(group, rows(theirs, mask), ranks - theirs, mask)
        mask <<= 1
    size = length // ranks
    columns = [rows(source, 1).part(rank * size, size) for source in range(ranks)]
    yield from group.copies(zip(columns, _pieces(incoming, size, ranks), strict=True))


def _hand_on(group: Group, got: Buffer, partners: int, mask: int) -> Steps:
    """Down a tree, from the first ranks of a half, which have it, to the others."""
    rank = group.rank
    half, tree = mask >> 1, mask
    while half:
        end = (rank & -tree) + partners
        peer = rank ^ half
        if rank < end <= peer:
            yield from group.send(got, peer)
        elif peer < end <= rank:
            yield from group.recv(got, peer)
        half, tree = half >> 1, tree >> 1


ALGORITHMS: Final = {
    "recursive_doubling": recursive_doubling,
    "linear": linear,
    "pairwise_xor": pairwise_xor,
    "pairwise_shift": pairwise_shift,
    "bruck": bruck,
}
