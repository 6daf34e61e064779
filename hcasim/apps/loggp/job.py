"""A program on a LogGP machine."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from hcasim.apps.loggp.comm import LogGPComm
from hcasim.apps.loggp.machine import Machine
from hcasim.apps.loggp.params import LogGP, Times
from hcasim.engine import Event, Simulator
from hcasim.mpi import DeadlockError, MPIError

Main = Callable[[LogGPComm], Generator[Event, object, Any]]


class LogGPJob:
    """Processes that run the same program, without any hardware.

    Parameters:
        ranks: number of processes.
        params: of the machine.

    Attributes:
        worlds: the communicator of all processes, as each of them has it.

    Raises:
        MPIError: ``MPI_ERR_ARG`` without processes.
    """

    def __init__(self, ranks: int, params: LogGP, sim: Simulator | None = None) -> None:
        if ranks < 1:
            raise MPIError("MPI_ERR_ARG", f"ranks: found {ranks!r}; allowed: 1 or more")
        self.sim = sim or Simulator()
        self.params = params
        self._machine = Machine(self.sim, ranks, Times(params))
        self.worlds = [LogGPComm(self._machine, rank) for rank in range(ranks)]

    @property
    def finished_ps(self) -> list[int]:
        """When each process has ended."""
        return [self._machine.finished_ps(rank) for rank in range(len(self.worlds))]

    def run(self, main: Main) -> list[Any]:
        """Run a program in all processes to its end; return what each returns.

        Raises:
            DeadlockError: no process can go on.
            MPIError: ``MPI_ERR_ARG`` for a program that is no generator.
        """
        programs = [main(comm) for comm in self.worlds]
        for one in programs:
            if not isinstance(one, Generator):
                needed = "needed: a generator, with `yield from` before each call"
                raise MPIError("MPI_ERR_ARG", f"the program has returned {one!r}; {needed}")
        running = [self.sim.process(one) for one in programs]
        if not self.sim.reach(self.sim.all_of(running)):
            raise DeadlockError(
                {comm.rank: comm.waiting for comm in self.worlds if comm.waiting},
                [rank for rank, one in enumerate(running) if one.triggered],
            )
        # Messages that nobody receives, and what takes time without being waited for.
        self.sim.run()
        if self._machine.end_ps > self.sim.now:
            self.sim.run(until=self._machine.end_ps)
        return [one.value for one in running]
