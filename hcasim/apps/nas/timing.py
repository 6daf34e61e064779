"""The timed part of a kernel: how long it takes, and what is sent in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hcasim.mpi import Comm

Progress = Callable[[int, int], None]
"""Is told by rank 0 how many iterations are done, and of how many."""


@dataclass(frozen=True, slots=True)
class Timed:
    """The timed part, as one process has it.

    Attributes:
        timed_s: seconds from its begin to its end.
        messages: to other processes, those within collectives included.
        sent_bytes: of those messages.
        self_messages: to itself.
        self_bytes: of those messages.
        verified: whether the results are right; of rank 0 those of all processes, and None
            without contents.
    """

    timed_s: float
    messages: int
    sent_bytes: int
    self_messages: int
    self_bytes: int
    verified: bool | None = None


def now_ps(comm: Comm) -> int:
    """The time of a process, in picoseconds."""
    return comm.process.sim.now


class Stopwatch:
    """Measures the timed part of a process.

    Parameters:
        iterations: of the timed part.
        progress: is told of each that is done.
    """

    def __init__(self, comm: Comm, iterations: int, progress: Progress | None) -> None:
        self._comm = comm
        self._iterations = iterations
        self._progress = None if comm.rank else progress
        self._begin = self._end = (0, 0, 0, 0, 0)

    def start(self) -> None:
        """The timed part begins."""
        self._begin = self._now()

    def done(self, iterations: int) -> None:
        """So many iterations are done."""
        if self._progress is not None:
            self._progress(iterations, self._iterations)

    def stop(self) -> None:
        """The timed part has ended."""
        self._end = self._now()

    def result(self, verified: bool | None = None) -> Timed:
        """What has been measured."""
        elapsed, *sent = (end - begin for begin, end in zip(self._begin, self._end, strict=True))
        messages, size, self_messages, self_size = sent
        return Timed(elapsed / 1e12, messages, size, self_messages, self_size, verified)

    def _now(self) -> tuple[int, int, int, int, int]:
        process = self._comm.process
        others = process.connections.values()
        return (
            now_ps(self._comm),
            sum(one.messages for one in others),
            sum(one.sent_bytes for one in others),
            process.itself.messages,
            process.itself.sent_bytes,
        )
