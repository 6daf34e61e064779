"""What all kernels offer, and their timed part: how long it takes, and what is sent in it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from hcasim.engine import Event
from hcasim.ground.errors import CatalogError, nearest, one_of
from hcasim.mpi import Comm, MPIError
from hcasim.mpi.message import Steps
from hcasim.mpi.messages import Memory

Main: TypeAlias = Callable[[Comm], Generator[Event, object, "Timed"]]
Size: TypeAlias = Any
"""What a class of the kernel has: a tuple with `iterations`."""
Progress = Callable[[int, int], None]
"""Is told by rank 0 how many iterations are done, and of how many."""


class Pace(Protocol):
    """Says how many iterations are enough to know all; one for all processes.

    It is told when the timed part of a process begins, and each iteration begins and ends.

    Attributes:
        last: iteration that is run, from 1.
    """

    last: int

    def start(self, rank: int) -> None: ...
    def begins(self, iteration: int) -> None: ...
    def ends(self, rank: int) -> None: ...
    def left_out_ps(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Timed:
    """The timed part, as one process has it.

    Attributes:
        timed_s: seconds from its begin to its end.
        messages, sent_bytes: to other processes, those within collectives included.
        self_messages, self_bytes: to itself.
    """

    timed_s: float
    messages: int
    sent_bytes: int
    self_messages: int
    self_bytes: int


class Stopwatch:
    """Measures the timed part of a process, of so many iterations in total."""

    def __init__(
        self, comm: Comm, total: int, progress: Progress | None, pace: Pace | None = None
    ) -> None:
        self._comm, self._total, self._pace = comm, total, pace
        self._progress = None if comm.rank else progress
        self._begin: list[int] = []
        self._end: list[int] = []
        # At the end of the first iteration, and of that before the last one.
        self._marks: list[list[int]] = []

    def start(self) -> None:
        self._begin = self._now()
        if self._pace is not None:
            self._pace.start(self._comm.rank)

    def iterations(self) -> Iterator[int]:
        """Yield the numbers of the iterations, from 1, each when it begins."""
        for iteration in range(1, self._total + 1):
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
                self._progress(iteration, self._total)

    def is_last(self, iteration: int) -> bool:
        """Whether no further iteration is run."""
        return iteration == (self._total if self._pace is None else self._pace.last)

    def stop(self) -> None:
        self._end = self._now()

    def result(self) -> Timed:
        """What has been measured, as if all iterations had been run."""
        elapsed, *sent = (end - begin for begin, end in zip(self._begin, self._end, strict=True))
        seconds = elapsed / 1e12
        if self._pace is not None and self._pace.last < self._total:
            seconds += self._pace.left_out_ps() / 1e12
            left_out, steps = self._total - self._pace.last, self._pace.last - 2
            for place, (first, behind) in enumerate(zip(*self._marks, strict=True)):
                if place:
                    sent[place - 1] += round(left_out * (behind - first) / steps)
        return Timed(seconds, *sent)

    def _now(self) -> list[int]:
        process = self._comm.process
        others = process.connections.values()
        return [
            process.sim.now,
            sum(one.messages for one in others),
            sum(one.sent_bytes for one in others),
            process.itself.messages,
            process.itself.sent_bytes,
        ]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of the NAS Parallel Benchmarks.

    Attributes:
        name: as in the sources, in small letters.
        sizes: by class.
        most: processes on which a size can be run, and why no more.
        total: operations of the timed part, by size.
        run: what a process does: with size, seconds of computing in the timed part, and what
            measures that part.
    """

    name: str
    sizes: Mapping[str, Size]
    most: Callable[[Size], tuple[int, str]]
    total: Callable[[Size], float]
    run: Callable[[Comm, Size, float, Stopwatch], Steps]

    def processes(self, class_: str, n: int) -> list[str]:
        """Why a class cannot be run on so many processes; nothing if it can."""
        most, why = self.most(self._size(class_))
        if n < 1 or n & (n - 1):
            return [f"{self.name}: found {n} processes; allowed: a power of two"]
        if n <= most:
            return []
        return [f"{self.name}, class {class_}: found {n} processes; allowed: at most {most}, {why}"]

    def operations(self, class_: str) -> float:
        """Operations of the timed part, as NPB counts them for its Mop/s."""
        return self.total(self._size(class_))

    def iterations(self, class_: str) -> int:
        iterations: int = self._size(class_).iterations
        return iterations

    def program(
        self,
        class_: str,
        rate: float,
        progress: Progress | None = None,
        pace: Pace | None = None,
    ) -> Main:
        """What each process runs.

        Parameters:
            rate: operations per second of one process; infinite if it computes in no time.
            progress: is told of each iteration by rank 0.
            pace: says after which iteration the others are left out; without it all are run.

        Raises:
            CatalogError: a class that is unknown, or a rate that is none. The program itself raises
                `MPIError` for a number of processes that is not allowed.
        """
        size = self._size(class_)
        if not rate > 0:
            allowed = "allowed: more than 0 operations/s"
            raise CatalogError([f"{self.name}: rate: found {rate}; {allowed}"])
        seconds = self.total(size) / rate

        def main(comm: Comm) -> Generator[Event, object, Timed]:
            if wrong := self.processes(class_, comm.size):
                raise MPIError("MPI_ERR_ARG", "; ".join(wrong))
            watch = Stopwatch(comm, size.iterations, progress, pace)
            yield from self.run(comm, size, seconds / comm.size, watch)
            return watch.result()

        return main

    def _size(self, class_: str) -> Size:
        if class_ not in self.sizes:
            allowed = f"allowed: {one_of(tuple(self.sizes))}{nearest(class_, self.sizes)}"
            raise CatalogError([f"{self.name}: class: found {class_!r}; {allowed}"])
        return self.sizes[class_]


def grid(n: int) -> tuple[int, int]:
    """Processes along two axes, for a power of two: as many, or twice as many along the second."""
    log2 = n.bit_length() - 1
    return 1 << log2 // 2, 1 << (log2 + 1) // 2


def most_along(longest: int) -> int:
    """The most processes, of which no more than this are along the second axis of their grid."""
    most = 1
    while grid(2 * most)[1] <= longest:
        most *= 2
    return most


def share(number: int, parts: int, place: int) -> tuple[int, int]:
    """First element and number of elements, of which the first parts may have one more."""
    each, more = divmod(number, parts)
    return place * each + min(place, more), each + (place < more)


def shift(
    comm: Comm, incoming: Memory, source: int, outgoing: Memory, dest: int, tag: int
) -> Steps:
    """Receive from one process while sending to another; there is none below 0."""
    if source >= 0:
        request = yield from comm.irecv(incoming, source, tag)
    if dest >= 0:
        yield from comm.send(outgoing, dest, tag)
    if source >= 0:
        yield from request.wait()
