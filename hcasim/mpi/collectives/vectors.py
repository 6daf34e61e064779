"""Algorithms of collectives whose parts differ in size.

Source: MPICH2 1.0.3, src/mpi/coll.
"""

from __future__ import annotations

from hcasim.mpi.buffer import Buffer
from hcasim.mpi.collectives.group import Group, Steps
from hcasim.mpi.message import Request


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


def allgatherv_ring(group: Group, own: Buffer, gathered: list[Buffer]) -> Steps:
    """To the right what came from the left, until all have come round."""
    count, rank = group.size, group.rank
    yield from group.copy(own, gathered[rank])
    right, left = (rank + 1) % count, (rank - 1) % count
    for step in range(count - 1):
        outgoing, incoming = gathered[(rank - step) % count], gathered[(rank - step - 1) % count]
        yield from group.exchange(outgoing, right, incoming, left)
