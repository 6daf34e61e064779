"""What all kernels offer."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from hcasim.apps.nas.timing import Pace, Progress, Stopwatch, Timed
from hcasim.engine import Event
from hcasim.ground.errors import CatalogError, nearest, one_of
from hcasim.mpi import Comm, MPIError

Run: TypeAlias = Generator[Event, object, Timed]
Main: TypeAlias = Callable[[Comm], Run]
Size: TypeAlias = Any
"""What `classes` says of a class of the kernel."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of the NAS Parallel Benchmarks.

    Attributes:
        name: as in the sources, in small letters.
        title: what it computes.
        sizes: by class.
        faults: what is wrong with a number of processes, by size and number.
        total: operations of the timed part, by size.
        run: what a process does: with size, seconds of computing in the timed part, and what
            measures that part.
    """

    name: str
    title: str
    sizes: Mapping[str, Size]
    faults: Callable[[Size, int], list[str]]
    total: Callable[[Size], float]
    run: Callable[[Comm, Size, float, Stopwatch], Run]

    def processes(self, class_: str, n: int) -> list[str]:
        """Why a class cannot be run on so many processes; nothing if it can."""
        size = self._size(class_)
        if n < 1 or n & (n - 1):
            return [f"{self.name}: found {n} processes; allowed: a power of two"]
        return [f"{self.name}, class {class_}: {fault}" for fault in self.faults(size, n)]

    def operations(self, class_: str) -> float:
        """Operations of the timed part, as NPB counts them for its Mop/s."""
        return self.total(self._size(class_))

    def iterations(self, class_: str) -> int:
        """Iterations of the timed part."""
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

        def main(comm: Comm) -> Run:
            if wrong := self.processes(class_, comm.size):
                raise MPIError("MPI_ERR_ARG", "; ".join(wrong))
            watch = Stopwatch(comm, size.iterations, progress, pace)
            return self.run(comm, size, seconds / comm.size, watch)

        return main

    def _size(self, class_: str) -> Size:
        if class_ not in self.sizes:
            hint = nearest(class_, self.sizes)
            allowed = f"allowed: {one_of(tuple(self.sizes))}{hint}"
            raise CatalogError([f"{self.name}: class: found {class_!r}; {allowed}"])
        return self.sizes[class_]


def at_most(n: int, most: int, why: str) -> list[str]:
    """The fault of too many processes, if they are."""
    return [f"found {n} processes; allowed: at most {most}, {why}"] if n > most else []
