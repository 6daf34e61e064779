"""The collectives of a trace: who takes part in which, and with how many bytes."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, NamedTuple

from hcasim.apps.replay.operations import Kind, Operations, Ranks
from hcasim.apps.replay.text import MOST_BYTES, refuse
from hcasim.mpi.message import Steps
from hcasim.mpi.messages import MAX_BYTES

_ROOTED: Final = ("bcast", "scatter", "scatterv", "reduce", "gather", "gatherv")
CALLS: Final = (
    *_ROOTED,
    *("barrier", "allgather", "alltoall", "allreduce", "reduce_scatter", "allgatherv", "alltoallv"),
)


class Collective(NamedTuple):
    """One collective: one of CALLS, its root's place in the group, and bytes of each member as the
    trace has them, those that it has before and those behind.
    """

    call: str
    root: int
    sent: Sequence[int]
    received: Sequence[int]


Parts = Callable[[Collective], Sequence[int]]


class Collectives:
    """The collectives of all groups.

    Parameters:
        ranks: operations of the trace.
        parts: bytes of the part of each member, such as what it sends to one other, as the format
            tells them.
    """

    def __init__(self, ranks: Ranks, parts: Parts) -> None:
        self._ranks, self._parts = ranks, parts
        self.groups: list[tuple[int, ...]] = []
        self._names: list[str] = []
        # By group and rank, the operations; and collectives that some members have begun, each
        # with its parts and how many members have not.
        self._found: list[dict[int, array[int]]] = []
        self._open: dict[tuple[int, int], tuple[Collective, Sequence[int], int]] = {}

    def add_group(self, members: Sequence[int], name: str) -> int:
        """Add a group of ranks; return its number."""
        self.groups.append(tuple(members))
        self._names.append(name)
        self._found.append({rank: array("q") for rank in members})
        return len(self.groups) - 1

    def members(self, group: int) -> Collection[int]:
        return self._found[group].keys()

    def place(self, rank: int, one: int) -> tuple[int, int]:
        """The group of an operation, and its place among the collectives of that."""
        group = self._ranks[rank].tags[one]
        return group, bisect_left(self._found[group][rank], one)

    def check(self, places: Sequence[str]) -> None:
        """Raise a CatalogError if the members of a group do not call the same.

        Parameters:
            places: of the operations of each rank, as messages show them before a line.
        """
        for rank, operations in enumerate(self._ranks):
            for one, kind in enumerate(operations.kinds):
                if kind == Kind.COLL:
                    self._found[operations.tags[one]][rank].append(one)
        for number, found in enumerate(self._found):
            if found:
                first = max(found, key=lambda rank: len(found[rank]))
                for place in range(len(found[first])):
                    self._check_one(number, first, place, places)

    def _check_one(self, number: int, first: int, place: int, places: Sequence[str]) -> None:
        found, of = self._found[number], f"of {self._names[number]}"

        def where(rank: int) -> str:
            return f"{places[rank]}{self._ranks[rank].lines[found[rank][place]]}"

        wanted = self._said(self._ranks[first], found[first][place])
        for rank, own in found.items():
            if place >= len(own):
                here = f"rank {first} calls {wanted} {of}, its collective number {place + 1} there"
                refuse(where(first), f"{here}; rank {rank} has {len(own)}")
            if (said := self._said(self._ranks[rank], own[place])) != wanted:
                there = f"rank {first} calls {wanted} in {where(first)}"
                refuse(where(rank), f"rank {rank} calls {said} {of}; {there}")
        one = self._one(number, place)
        if one.call in _ROOTED and not 0 <= one.root < len(one.sent):
            refuse(where(first), f"root: found {one.root}; allowed: 0 to {len(one.sent) - 1}")
        parts = self._parts(one)
        alike = one.call in ("bcast", "reduce", "allreduce")
        size, most = (max(parts), MOST_BYTES) if alike else (sum(parts), MAX_BYTES)
        if size > most:
            refuse(where(first), f"bytes: found {size}; allowed: 0 to {most}")

    @staticmethod
    def _said(operations: Operations, one: int) -> str:
        call = CALLS[operations.threads[one]]
        return f"{call} with root {operations.peers[one]}" if call in _ROOTED else call

    def _one(self, number: int, place: int) -> Collective:
        found = [
            (self._ranks[rank], self._found[number][rank][place]) for rank in self.groups[number]
        ]
        operations, one = found[0]
        return Collective(
            CALLS[operations.threads[one]],
            operations.peers[one],
            [operations.sizes[one] for operations, one in found],
            [operations.received[one] for operations, one in found],
        )

    def run(self, comm: Any, number: int, place: int) -> Steps:
        """Take part in a collective, with the communicator of its group."""
        found = self._open.pop((number, place), None)
        if found is None:
            made = self._one(number, place)
            found = made, self._parts(made), len(made.sent)
        one, parts, left = found
        if left > 1:
            self._open[number, place] = one, parts, left - 1
        mine, whole, root = parts[comm.rank], sum(parts), one.root
        if one.call == "alltoallv":
            # Only sums are known: each sends to the others in proportion to what they receive.
            total = max(1, sum(one.sent), sum(one.received))
            out = [one.sent[comm.rank] * other // total for other in one.received]
            into = [other * one.received[comm.rank] // total for other in one.sent]
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
