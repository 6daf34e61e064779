"""Algorithms of the allgather and of the all-to-all exchange.

Sources: MPICH 1.2.6, src/coll/intra_fns_new.c; 1.2.5 for recursive doubling of the all-to-all;
MPICH2 1.0.3, src/mpi/coll, for the allgather of parts that differ.
"""

from __future__ import annotations

from collections.abc import Iterable

from hcasim.mpi.collectives.group import Group, masks
from hcasim.mpi.memory import Buffer
from hcasim.mpi.message import Request, Steps


def allgatherv_ring(group: Group, own: Buffer, gathered: list[Buffer]) -> Steps:
    """Each passes on to its right what it got from its left."""
    yield from group.copy(own, gathered[group.rank])
    yield from group.around(gathered, group.rank)


def allgather_ring(group: Group, own: Buffer, gathered: Buffer) -> Steps:
    """As with parts that differ in size."""
    yield from allgatherv_ring(group, own, gathered.blocks(own.size, group.size))


def allgather_recursive_doubling(group: Group, own: Buffer, gathered: Buffer) -> Steps:
    """Exchange all that is known with ever farther ranks; for powers of two."""
    yield from group.copy(own, gathered.block(own.size, group.rank))
    yield from group.doubling(gathered, own.size)


def allgather_bruck(group: Group, own: Buffer, gathered: Buffer) -> Steps:
    """Collect from ever farther ranks behind one's own, then turn into place (Bruck 1997)."""
    size, count, rank = own.size, group.size, group.rank
    work = group.temporary(size * count, gathered)
    yield from group.copy(own, work.block(size, 0))
    for known in masks(count):
        more = min(known, count - known)
        yield from group.exchange(
            work.block(size, 0, more),
            (rank - known) % count,
            work.block(size, known, more),
            (rank + known) % count,
        )
    yield from group.turn_right(work, gathered, rank * size)


def all_at_once(group: Group, outgoing: list[Buffer], incoming: list[Buffer]) -> Steps:
    """All receives, all sends, then wait for all; parts may differ in size."""
    requests: list[Request] = []
    for step in range(group.size):
        source = (group.rank + step) % group.size
        requests.append((yield from group.irecv(incoming[source], source)))
    for step in range(group.size):
        dest = (group.rank + step) % group.size
        requests.append((yield from group.isend(outgoing[dest], dest)))
    yield from group.waitall(requests)


def alltoall_linear(group: Group, outgoing: Buffer, incoming: Buffer) -> Steps:
    """One part with each, all at once."""
    count, size = group.size, outgoing.size // group.size
    yield from all_at_once(group, outgoing.blocks(size, count), incoming.blocks(size, count))


def _pairwise(
    group: Group, outgoing: Buffer, incoming: Buffer, peers: Iterable[tuple[int, int]]
) -> Steps:
    size = outgoing.size // group.size
    yield from group.copy(outgoing.block(size, group.rank), incoming.block(size, group.rank))
    for dest, source in peers:
        yield from group.exchange(
            outgoing.block(size, dest), dest, incoming.block(size, source), source
        )


def pairwise_xor(group: Group, outgoing: Buffer, incoming: Buffer) -> Steps:
    """In step k with the rank that differs in the bits of k; for powers of two."""
    peers = [group.rank ^ step for step in range(1, group.size)]
    yield from _pairwise(group, outgoing, incoming, [(peer, peer) for peer in peers])


def pairwise_shift(group: Group, outgoing: Buffer, incoming: Buffer) -> Steps:
    """In step k to the k-th rank on the right and from the k-th on the left."""
    yield from _pairwise(group, outgoing, incoming, group.shifts())


def alltoall_bruck(group: Group, outgoing: Buffer, incoming: Buffer) -> Steps:
    """Turn, pass on blocks by the bits of how far they go, turn back (Bruck 1997)."""
    ranks, rank = group.size, group.rank
    size = outgoing.size // ranks
    work = group.temporary(outgoing.size, outgoing)
    yield from group.turn_left(outgoing, work, rank * size)
    most = [group.temporary(ranks // 2 * size, outgoing) for _ in range(2)]
    blocks = work.blocks(size, ranks)
    for mask in masks(ranks):
        moved = [blocks[number] for number in range(ranks) if number & mask]
        packed, arrived = (one.block(size, 0, len(moved)) for one in most)
        yield from group.copies(zip(moved, packed.blocks(size, len(moved)), strict=True))
        yield from group.exchange(packed, (rank + mask) % ranks, arrived, (rank - mask) % ranks)
        yield from group.copies(zip(arrived.blocks(size, len(moved)), moved, strict=True))
    places = [incoming.block(size, (rank - number) % ranks) for number in range(ranks)]
    yield from group.copies(zip(blocks, places, strict=True))


def alltoall_recursive_doubling(group: Group, outgoing: Buffer, incoming: Buffer) -> Steps:
    """Exchange with ever farther ranks all that is known of what anyone sends to anyone.

    Where the farther half of the ranks is not complete, those who have a partner there hand on
    what they get to those who have none.
    """
    ranks, rank, length = group.size, group.rank, outgoing.size
    known = group.temporary(ranks * length, outgoing)
    yield from group.copy(outgoing, known.block(length, rank))
    for mask in masks(ranks):
        peer = rank ^ mask
        mine, theirs = rank & -mask, peer & -mask
        got = known.block(length, theirs, mask)
        if peer < ranks:
            yield from group.exchange(known.block(length, mine, mask), peer, got, peer)
        if mine < theirs < ranks < theirs + mask:
            yield from _hand_on(group, got, ranks - theirs, mask)
    size = length // ranks
    columns = [row.block(size, rank) for row in known.blocks(length, ranks)]
    yield from group.copies(zip(columns, incoming.blocks(size, ranks), strict=True))


def _hand_on(group: Group, got: Buffer, partners: int, mask: int) -> Steps:
    """Down a tree, from the first ranks of a half, which have it, to the others."""
    rank, tree = group.rank, mask
    for half in reversed(masks(mask)):
        end, peer = (rank & -tree) + partners, rank ^ half
        if rank < end <= peer:
            yield from group.send(got, peer)
        elif peer < end <= rank:
            yield from group.recv(got, peer)
        tree = half
