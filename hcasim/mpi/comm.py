"""Communicators, with the calls of mpi4py; those that take time are generators."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from itertools import count

from hcasim.engine import Event
from hcasim.mpi.collective_calls import CollectiveCalls
from hcasim.mpi.process import Process


class Program:
    """What all communicators of a program have in common.

    Parameters:
        algorithms: of collectives, by name, in place of what the stack's rules choose.
    """

    def __init__(self, algorithms: Mapping[str, str]) -> None:
        self.algorithms = algorithms
        self._contexts = count(1)
        self._split: dict[tuple[int, int, int], int] = {}

    def new_context(self, parent: int, serial: int, color: int) -> int:
        """Number of a communicator that is split off another, the same for all its members."""
        key = parent, serial, color
        if key not in self._split:
            self._split[key] = next(self._contexts)
        return self._split[key]


class Comm(CollectiveCalls):
    """A group of processes, as one of them sees it.

    Parameters:
        members: ranks in the whole program, by rank in the group.
        context: tells its messages from those of other communicators.
    """

    def __init__(
        self, process: Process, members: Sequence[int], context: int, program: Program
    ) -> None:
        super().__init__(process, members, context, program.algorithms)
        self._splits = 0
        self._program = program

    def subgroup(self, members: Sequence[int], number: int) -> Comm:
        """Return a communicator of some, which all of them know already; takes no time.

        Parameters:
            members: their ranks in this one, by rank in the other.
            number: tells it from others, the same for all its members.
        """
        context = self._program.new_context(self.context, -1 - number, 0)
        return Comm(self.process, [self.members[one] for one in members], context, self._program)

    def Split(self, color: int, key: int = 0) -> Generator[Event, object, Comm | None]:
        """Make a communicator of those with the same color, in the order of key and rank.

        Returns:
            It, or None if ``color`` is negative.
        """
        from numpy import array, empty

        self._splits += 1
        own = array([color, key], dtype="int64")
        every = empty((self.size, 2), dtype="int64")
        yield from self.allgather(own, every)
        if color < 0:
            return None
        chosen = [rank for rank in range(self.size) if every[rank, 0] == color]
        chosen.sort(key=lambda rank: (every[rank, 1], rank))
        context = self._program.new_context(self.context, self._splits, color)
        return Comm(self.process, [self.members[rank] for rank in chosen], context, self._program)
