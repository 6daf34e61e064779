"""Allreduce over two binary trees at once, each of which carries half of the message.

Who is inside one tree is at the edge of the other, so that all send and receive as much. The trees
are those of NCCL, src/graph/trees.cc; the idea is that of Sanders, Speck and Träff, Two-tree
algorithms for full bandwidth broadcast, reduction and scan (2009).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from hcasim.mpi.collectives.group import Group, Reduction
from hcasim.mpi.memory import Buffer
from hcasim.mpi.message import Request, Steps

PIECE: Final = 128 * 1024
"""Bytes that are passed on at a time; assumed: a quarter of a step of NCCL's buffer of 4 MiB."""


def neighbours(rank: int, count: int) -> tuple[int, list[int]]:
    """The parent of a rank in a binary tree, -1 for the root 0, and its children."""
    if not rank:
        below = (1 << (count - 1).bit_length()) >> 1
        return -1, [below] if below else []
    bit = rank & -rank
    parent = (rank ^ bit) | (bit << 1)
    if parent >= count:
        parent = rank ^ bit
    children = [rank - bit // 2] if bit > 1 else []
    step = bit // 2
    while step and rank + step >= count:
        step //= 2
    if step:
        children.append(rank + step)
    return parent, children


def second(rank: int, count: int) -> tuple[int, list[int]]:
    """As `neighbours`, in the other tree: mirrored, or of odd numbers shifted by one."""
    if count % 2:
        parent, children = neighbours((rank - 1) % count, count)
        above = -1 if parent < 0 else (parent + 1) % count
        return above, [(child + 1) % count for child in children]
    parent, children = neighbours(count - 1 - rank, count)
    return -1 if parent < 0 else count - 1 - parent, [count - 1 - child for child in children]


@dataclass(slots=True, eq=False)
class _Source:
    """What a process gets from one of its neighbours, piece by piece."""

    pieces: list[Buffer]
    arrived: int = 0
    requests: list[Request] = field(default_factory=list)

    def post(self, group: Group, rank: int, stream: int) -> Steps:
        for piece in self.pieces:
            self.requests.append((yield from group.irecv(piece, rank, stream)))


class _Half:
    """A part of the message on its way up a tree, in one stream, and down again, in the next."""

    def __init__(
        self, group: Group, result: Buffer, parent: int, children: list[int], up: int
    ) -> None:
        self._group = group
        self._parent = parent
        self._children = children
        self._up = up
        self._pieces = _pieces(group, result)
        self._combined = [0] * len(self._pieces)
        self.sources: list[_Source] = []
        for _ in children:
            self.sources.append(_Source(_pieces(group, group.temporary(result.size, result))))
        if parent >= 0:
            self.sources.append(_Source(self._pieces))
        self.sent: list[Request] = []

    def begin(self) -> Steps:
        for child, source in zip(self._children, self.sources, strict=False):
            yield from source.post(self._group, child, self._up)
        if self._parent >= 0:
            yield from self.sources[-1].post(self._group, self._parent, self._up + 1)
            if not self._children:
                for piece in self._pieces:
                    yield from self._send(piece, self._parent, self._up)

    def take(self, source: _Source, operation: Reduction | None) -> Steps:
        number = source.arrived
        source.arrived += 1
        piece = self._pieces[number]
        if source.pieces is not self._pieces:
            yield from self._group.combine(piece, source.pieces[number], operation)
            self._combined[number] += 1
            if self._combined[number] < len(self._children):
                return
            if self._parent >= 0:
                yield from self._send(piece, self._parent, self._up)
                return
        for child in self._children:
            yield from self._send(piece, child, self._up + 1)

    def _send(self, piece: Buffer, rank: int, stream: int) -> Steps:
        self.sent.append((yield from self._group.isend(piece, rank, stream)))


def _pieces(group: Group, whole: Buffer) -> list[Buffer]:
    each = max(group.unit, PIECE // group.unit * group.unit)
    return whole.blocks(each, -(-whole.size // each))


def tree(group: Group, result: Buffer, operation: Reduction | None) -> Steps:
    """Up two trees and down again, in pieces, one behind the other."""
    count, rank = group.size, group.rank
    if count == 1:
        return
    first = min(result.size, group.share(result.size, 2))
    halves: list[_Half] = []
    for number, (start, size) in enumerate(((0, first), (first, result.size - first))):
        parent, children = second(rank, count) if number else neighbours(rank, count)
        halves.append(_Half(group, result.part(start, size), parent, children, 2 * number))
    for half in halves:
        yield from half.begin()
    waiting = [(half, one) for half in halves for one in half.sources if one.pieces]
    while waiting:
        place = yield from group.waitany([one.requests[one.arrived] for _, one in waiting])
        half, source = waiting[place]
        yield from half.take(source, operation)
        if source.arrived == len(source.pieces):
            del waiting[place]
    for half in halves:
        yield from group.waitall(half.sent)
