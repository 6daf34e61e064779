"""What all traces that can be replayed have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final, Protocol

from hcasim.engine import Event
from hcasim.mpi.errors import MPIError

RATE: Final = 1e9
"""Operations a second of a processor, where a trace counts what is computed."""
MOST_RANKS: Final = 1 << 20
MOST_ACTIONS: Final = 1 << 24
MOST_BYTES: Final = 2**31
"""Of a message."""
_TIMES: Final = 100
"""How often progress is told."""

Progress = Callable[[int, int], object]
Steps = Generator[Event, object, None]
Main = Callable[[Any], Steps]


class Pending(Protocol):
    """A message under way."""

    @property
    def done(self) -> bool:
        """Whether its buffer may be used again."""

    def wait(self) -> Generator[Event, object, object]:
        """Wait until it is done."""

    def test(self) -> Generator[Event, object, bool]:
        """Make some progress; return whether it is done."""


class Communicator(Protocol):
    """What is needed to replay messages: a part of what `hcasim.mpi.Comm` has."""

    rank: int
    size: int

    def isend(self, memory: Any, dest: int, tag: int = 0) -> Generator[Event, object, Any]:
        """Begin to send."""

    def irecv(self, memory: Any, source: int, tag: int) -> Generator[Event, object, Any]:
        """Begin to receive."""

    def waitany(self, requests: Sequence[Any]) -> Generator[Event, object, int | None]:
        """Wait until one of them is done."""

    def compute(self, seconds: float) -> Steps:
        """Compute."""


class Counter:
    """Counts what has been replayed, and tells of it from time to time.

    Parameters:
        total: number of actions.
        progress: is called with the number of those done and of all.
    """

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total, self._progress = total, progress
        self._done = 0
        self._every = max(1, total // _TIMES)

    def count(self) -> None:
        """One more is done."""
        self._done += 1
        if self._progress is not None and (
            not self._done % self._every or self._done == self._total
        ):
            self._progress(self._done, self._total)


class Trace(ABC):
    """What the processes of a program have done, to be done again.

    Parameters:
        name: of the file.
        form: what it is: one of FORMS.
        ranks: number of processes.
        actions: of all of them.

    Attributes:
        counted: whether it counts what is computed, instead of saying how long that takes.
    """

    counted = False

    def __init__(self, name: str, form: str, ranks: int, actions: int) -> None:
        self.name, self.form, self.ranks, self.actions = name, form, ranks, actions

    def __repr__(self) -> str:
        return f"Trace({self.name!r}, {self.form}, ranks={self.ranks}, actions={self.actions})"

    def program(self, progress: Progress | None = None, rate: float = RATE) -> Main:
        """Return a program for at least as many processes as the trace has; others do nothing.

        It can be run once.

        Parameters:
            progress: is called from time to time with the number of actions done and of all.
            rate: operations a second, where a trace counts what is computed instead of its time.

        Raises:
            ValueError: a rate that is none.
        """
        if not 0 < rate < float("inf"):
            raise ValueError(f"rate: found {rate}; allowed: more than 0 operations a second")
        counter = Counter(self.actions, progress)

        def main(comm: Any) -> Steps:
            if comm.size < self.ranks:
                needed = f"{comm.size} processes; needed: {self.ranks}, as {self.name} has"
                raise MPIError("MPI_ERR_ARG", needed)
            if comm.rank < self.ranks:
                yield from self.replay(comm, counter, rate)

        return main

    @abstractmethod
    def replay(self, comm: Any, counter: Counter, rate: float) -> Steps:
        """Do what one process has done."""
