"""The collectives of a trace: who takes part in which, and with how many bytes."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hcasim.apps.replay.text import MOST_BYTES, Where, refuse
from hcasim.mpi.message import Steps
from hcasim.mpi.messages import MAX_BYTES

FROM_ROOT: Final = ("bcast", "scatter", "scatterv")
TO_ROOT: Final = ("reduce", "gather", "gatherv")
CALLS: Final = (
    *FROM_ROOT,
    *TO_ROOT,
    *("barrier", "allgather", "alltoall", "allreduce", "reduce_scatter", "allgatherv", "alltoallv"),
)
_ROOTED: Final = (*FROM_ROOT, *TO_ROOT)
_NO_ROOT: Final = -1


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective.

    Attributes:
        call: one of CALLS.
        root: its rank in the group.
        sent: bytes of each member, as the trace has them.
        received: and those that it receives.
    """

    call: str
    root: int
    sent: Sequence[int]
    received: Sequence[int]


class UnequalError(Exception):
    """What members say of a collective does not fit together.

    Parameters:
        member: by its place in the group, who is wrong.
        reason: what is.
    """

    def __init__(self, member: int, reason: str) -> None:
        super().__init__(reason)
        self.member = member


Parts = Callable[[Collective], Sequence[int]]
"""Bytes of the part of each member, such as what it sends to one other; may raise UnequalError."""
Exchange = Callable[[Collective, int], tuple[Sequence[int], Sequence[int]]]
"""Of an alltoallv, the bytes that a member sends to each and receives from each."""


def by_sums(one: Collective, rank: int) -> tuple[list[int], list[int]]:
    """Let each member send to the others as much as they receive in all: only sums are known."""
    total = max(1, sum(one.sent), sum(one.received))
    sent, received = one.sent[rank], one.received[rank]
    return (
        [sent * other // total for other in one.received],
        [other * received // total for other in one.sent],
    )


class _Part:
    """The collectives of one member of a group, in its order."""

    def __init__(self) -> None:
        self.calls = bytearray()
        self.roots = array("q")
        self.sent = array("q")
        self.received = array("q")
        self.lines = array("Q")


class Collectives:
    """The collectives of all groups.

    Parameters:
        parts: how many bytes the numbers of the trace stand for.
        exchange: likewise, of an alltoallv.
    """

    def __init__(self, parts: Parts, exchange: Exchange = by_sums) -> None:
        self._parts, self._exchange = parts, exchange
        self.groups: list[tuple[int, ...]] = []
        self._names: list[str] = []
        self._found: list[dict[int, _Part]] = []
        self._open: dict[tuple[int, int], tuple[Collective, Sequence[int], int]] = {}

    def add_group(self, members: Sequence[int], name: str) -> int:
        """Add a group of ranks; return its number."""
        self.groups.append(tuple(members))
        self._names.append(name)
        self._found.append({rank: _Part() for rank in members})
        return len(self.groups) - 1

    def add(
        self, group: int, rank: int, call: str, root: int, sent: int, received: int, line: int
    ) -> int:
        """Add what a member does; return its place among the collectives of the group."""
        part = self._found[group][rank]
        part.calls.append(CALLS.index(call))
        part.roots.append(root if call in _ROOTED else _NO_ROOT)
        part.sent.append(sent)
        part.received.append(received)
        part.lines.append(line)
        return len(part.calls) - 1

    def members(self, group: int) -> Collection[int]:
        """The ranks of a group."""
        return self._found[group].keys()

    def call(self, group: int, place: int) -> tuple[str, int]:
        """What a collective is, and the rank of its root in the whole program, if it has one."""
        members = self.groups[group]
        part = self._found[group][members[0]]
        return CALLS[part.calls[place]], members[part.roots[place]]

    def check(self, where: Where) -> None:
        """Compare what the members of each group call.

        Raises:
            CatalogError: they do not call the same.
        """
        for number, found in enumerate(self._found):
            if not found:
                continue
            first = max(found, key=lambda rank: len(found[rank].calls))
            for place in range(len(found[first].calls)):
                self._check_one(number, first, place, where)

    def _check_one(self, number: int, first: int, place: int, where: Where) -> None:
        found, like = self._found[number], self._found[number][first]
        wanted, line = self._said(like, place), like.lines[place]
        of = f"of {self._names[number]}"
        for rank, part in found.items():
            if place >= len(part.calls):
                here = f"rank {first} calls {wanted} {of}, its collective number {place + 1} there"
                refuse(where(first, line), f"{here}; rank {rank} has {len(part.calls)}")
            if (said := self._said(part, place)) != wanted:
                there = f"rank {first} calls {wanted} in {where(first, line)}"
                refuse(where(rank, part.lines[place]), f"rank {rank} calls {said} {of}; {there}")
        one = self._one(number, place)
        if one.call in _ROOTED and not 0 <= one.root < len(one.sent):
            refuse(where(first, line), f"root: found {one.root}; allowed: 0 to {len(one.sent) - 1}")
        try:
            parts = self._parts(one)
        except UnequalError as error:
            rank = self.groups[number][error.member]
            refuse(where(rank, found[rank].lines[place]), f"rank {rank}: {one.call}: {error}")
        alike = one.call in ("bcast", "reduce", "allreduce")
        size, most = (max(parts), MOST_BYTES) if alike else (sum(parts), MAX_BYTES)
        if size > most:
            refuse(where(first, line), f"bytes: found {size}; allowed: 0 to {most}")

    @staticmethod
    def _said(part: _Part, place: int) -> str:
        call = CALLS[part.calls[place]]
        return f"{call} with root {part.roots[place]}" if call in _ROOTED else call

    def _one(self, number: int, place: int) -> Collective:
        parts = [self._found[number][rank] for rank in self.groups[number]]
        return Collective(
            CALLS[parts[0].calls[place]],
            parts[0].roots[place],
            [part.sent[place] for part in parts],
            [part.received[place] for part in parts],
        )

    def _shared(self, number: int, place: int) -> tuple[Collective, Sequence[int]]:
        """A collective and its parts, made once for all members."""
        found = self._open.pop((number, place), None)
        if found is None:
            one = self._one(number, place)
            found = one, self._parts(one), len(one.sent)
        one, parts, left = found
        if left > 1:
            self._open[number, place] = one, parts, left - 1
        return one, parts

    def run(self, comm: Any, number: int, place: int) -> Steps:
        """Take part in a collective.

        Parameters:
            comm: that of the group.
        """
        one, parts = self._shared(number, place)
        mine, whole, root = parts[comm.rank], sum(parts), one.root
        if one.call == "alltoallv":
            out, into = self._exchange(one, comm.rank)
            yield from comm.alltoallv(sum(out), out, sum(into), into)
            return
        arguments: dict[str, tuple[Any, ...]] = {
            "barrier": (),
            "bcast": (mine, root),
            "reduce": (mine, mine, None, root),
            "allreduce": (mine, mine),
            "gather": (mine, whole, root),
            "scatter": (whole, mine, root),
            "allgather": (mine, whole),
            "alltoall": (whole, whole),
            "reduce_scatter": (whole, mine),
            "gatherv": (mine, whole, parts, root),
            "scatterv": (whole, parts, mine, root),
            "allgatherv": (mine, whole, parts),
        }
        yield from getattr(comm, one.call)(*arguments[one.call])
