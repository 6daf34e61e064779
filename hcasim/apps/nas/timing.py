"""The timed part of a kernel: how long it takes, and what is sent in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from hcasim.mpi import Comm

Progress = Callable[[int, int], None]
"""Is told by rank 0 how many iterations are done, and of how many."""


class Pace(Protocol):
    """Says how many iterations are enough to know all; one for all processes.

    Attributes:
        last: iteration that is run, from 1.
    """

    last: int

    def start(self, rank: int) -> None:
        """The timed part of a process begins."""

    def begins(self, iteration: int) -> None:
        """A process begins an iteration."""

    def ends(self, rank: int) -> None:
        """A process has ended an iteration."""

    def left_out_ps(self) -> float:
        """Time of the iterations that were not run."""


@dataclass(frozen=True, slots=True)
class Timed:
    """The timed part, as one process has it.

    Attributes:
        timed_s: seconds from its begin to its end.
        messages: to other processes, those within collectives included.
        sent_bytes: of those messages.
        self_messages: to itself.
        self_bytes: of those messages.
    """

    timed_s: float
    messages: int
    sent_bytes: int
    self_messages: int
    self_bytes: int


_Counts = tuple[int, int, int, int, int]


class Stopwatch:
    """Measures the timed part of a process.

    Parameters:
        iterations: of the timed part.
        progress: is told of each that is done.
        pace: says which is the last; without it all are run.
    """

    def __init__(
        self, comm: Comm, iterations: int, progress: Progress | None, pace: Pace | None = None
    ) -> None:
        self._comm = comm
        self._iterations = iterations
        self._progress = None if comm.rank else progress
        self._pace = pace
        self._begin = self._end = (0, 0, 0, 0, 0)
        # At the end of the first iteration, and of that before the last one.
        self._marks: list[_Counts] = []

    def start(self) -> None:
        """The timed part begins."""
        self._begin = self._now()
        if self._pace is not None:
            self._pace.start(self._comm.rank)

    def iterations(self) -> Iterator[int]:
        """Yield the numbers of the iterations, from 1, each when it begins."""
        for iteration in range(1, self._iterations + 1):
            if self._pace is not None:
                if iteration > self._pace.last:
                    return
                self._pace.begins(iteration)
            yield iteration
            if self._pace is not None:
                self._pace.ends(self._comm.rank)
                if not self.is_last(iteration):
                    self._marks[1:] = [self._now()]
            if self._progress is not None:
                self._progress(iteration, self._iterations)

    def is_last(self, iteration: int) -> bool:
        """Whether no further iteration is run."""
        return iteration == (self._iterations if self._pace is None else self._pace.last)

    def stop(self) -> None:
        """The timed part has ended."""
        self._end = self._now()

    def result(self) -> Timed:
        """What has been measured, as if all iterations had been run."""
        elapsed, *sent = (end - begin for begin, end in zip(self._begin, self._end, strict=True))
        seconds = elapsed / 1e12
        if self._pace is not None and self._pace.last < self._iterations:
            seconds += self._pace.left_out_ps() / 1e12
            first, behind = self._marks
            left_out, steps = self._iterations - self._pace.last, self._pace.last - 2
            each = (after - before for before, after in zip(first[1:], behind[1:], strict=True))
            sent = [
                one + round(left_out * more / steps) for one, more in zip(sent, each, strict=True)
            ]
        messages, size, self_messages, self_size = sent
        return Timed(seconds, messages, size, self_messages, self_size)

    def _now(self) -> _Counts:
        process = self._comm.process
        others = process.connections.values()
        return (
            process.sim.now,
            sum(one.messages for one in others),
            sum(one.sent_bytes for one in others),
            process.itself.messages,
            process.itself.sent_bytes,
        )
