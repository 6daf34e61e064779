"""The collectives of a trace: who takes part in which, and with how many bytes."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hcasim.apps.replay.text import Faults
from hcasim.apps.replay.trace import MOST_BYTES, Steps

CALLS: Final = (
    *("barrier", "bcast", "gather", "scatter", "allgather", "alltoall", "allreduce", "reduce"),
    *("reduce_scatter", "gatherv", "scatterv", "allgatherv", "alltoallv"),
)
ROOTED: Final = ("bcast", "gather", "scatter", "reduce", "gatherv", "scatterv")
NO_ROOT: Final = -1


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


Parts = Callable[[Collective], Sequence[int]]
"""Bytes of the part of each member, such as what it sends to one other."""


class _Part:
    """The collectives of one member of a group, in its order."""

    __slots__ = ("calls", "lines", "received", "roots", "sent")

    def __init__(self) -> None:
        self.calls = bytearray()
        self.roots = array("q")
        self.sent = array("q")
        self.received = array("q")
        self.lines = array("q")


class Collectives:
    """The collectives of all groups.

    Parameters:
        parts: how many bytes the numbers of the trace stand for.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
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
        part.roots.append(root if call in ROOTED else NO_ROOT)
        part.sent.append(sent)
        part.received.append(received)
        part.lines.append(line)
        return len(part.calls) - 1

    def members(self, group: int) -> Collection[int]:
        """The ranks of a group."""
        return self._found[group].keys()

    def check(self, faults: Faults) -> None:
        """Find members that do not call the same as the others."""
        for number, members in enumerate(self.groups):
            found = self._found[number]
            first = max(members, key=lambda rank: len(found[rank].calls), default=None)
            if first is None:
                continue
            for place in range(len(found[first].calls)):
                if not self._check_one(number, first, place, faults):
                    break

    def _check_one(self, number: int, first: int, place: int, faults: Faults) -> bool:
        found, like = self._found[number], self._found[number][first]
        wanted = self._said(like, place)
        for rank, part in found.items():
            if place >= len(part.calls):
                faults.add(
                    like.lines[place],
                    f"rank {first} calls {wanted} of {self._names[number]}, its collective number "
                    f"{place + 1} there; rank {rank} has {len(part.calls)}",
                )
                return False
            if (said := self._said(part, place)) != wanted:
                faults.add(
                    part.lines[place],
                    f"rank {rank} calls {said} of {self._names[number]}; "
                    f"rank {first} calls {wanted} there",
                )
                return False
        one = self._one(number, place)
        if one.call in ROOTED and not 0 <= one.root < len(one.sent):
            allowed = f"0 to {len(one.sent) - 1}"
            faults.add(like.lines[place], f"root: found {one.root}; allowed: {allowed}")
            return False
        parts = self._parts(one)
        most = max(parts) * (1 if one.call in ("bcast", "reduce", "allreduce") else len(parts))
        if most > MOST_BYTES:
            faults.add(like.lines[place], f"bytes: found {most}; allowed: 0 to {MOST_BYTES}")
            return False
        return True

    def _said(self, part: _Part, place: int) -> str:
        call = CALLS[part.calls[place]]
        return f"{call} with root {part.roots[place]}" if call in ROOTED else call

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

    def _one(self, number: int, place: int) -> Collective:
        parts = [self._found[number][rank] for rank in self.groups[number]]
        return Collective(
            CALLS[parts[0].calls[place]],
            parts[0].roots[place],
            [part.sent[place] for part in parts],
            [part.received[place] for part in parts],
        )

    def group(self, comm: Any, number: int) -> Any:
        """The communicator of a group."""
        return comm.subgroup(self.groups[number], number)

    def run(self, comm: Any, number: int, place: int) -> Steps:
        """Take part in a collective.

        Parameters:
            comm: that of the group.
        """
        one, parts = self._shared(number, place)
        rank, size, mine = comm.rank, comm.size, parts[comm.rank]
        at_root = rank == one.root
        if one.call == "barrier":
            yield from comm.barrier()
        elif one.call == "bcast":
            yield from comm.bcast(mine, one.root)
        elif one.call == "reduce":
            yield from comm.reduce(mine, mine if at_root else None, root=one.root)
        elif one.call == "allreduce":
            yield from comm.allreduce(mine, mine)
        elif one.call == "gather":
            yield from comm.gather(mine, mine * size if at_root else None, one.root)
        elif one.call == "scatter":
            yield from comm.scatter(mine * size if at_root else None, mine, one.root)
        elif one.call == "allgather":
            yield from comm.allgather(mine, mine * size)
        elif one.call == "alltoall":
            yield from comm.alltoall(mine * size, mine * size)
        elif one.call == "reduce_scatter":
            yield from comm.reduce_scatter(mine * size, mine)
        else:
            yield from self._vector(comm, one, parts)

    def _vector(self, comm: Any, one: Collective, parts: Sequence[int]) -> Steps:
        """A collective whose parts differ."""
        mine, whole = parts[comm.rank], sum(parts)
        at_root = comm.rank == one.root
        if one.call == "gatherv":
            yield from comm.gatherv(mine, whole if at_root else None, parts, one.root)
        elif one.call == "scatterv":
            yield from comm.scatterv(whole if at_root else None, parts, mine, one.root)
        elif one.call == "allgatherv":
            yield from comm.allgatherv(mine, whole, parts)
        else:
            # Only sums are known: each member sends to the others as much as they receive in all.
            total = max(1, sum(one.sent), sum(one.received))
            sent, received = one.sent[comm.rank], one.received[comm.rank]
            out = [sent * other // total for other in one.received]
            into = [other * received // total for other in one.sent]
            yield from comm.alltoallv(sum(out), out, sum(into), into)
