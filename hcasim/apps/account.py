"""What a process of a program does with its time, by the calls that it makes."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from hcasim.engine import Event
from hcasim.mpi import MPIError
from hcasim.mpi.path import COMPUTING
from hcasim.mpi.process import Process

PROGRAM = "program"
"""What a critical path passes through before the first call."""
_Returned = TypeVar("_Returned")


@dataclass(slots=True)
class Use:
    """How often something was called, and for how long.

    Attributes:
        calls: number of them.
        duration_ps: of all together.
    """

    calls: int = 0
    duration_ps: int = 0


class Account:
    """The calls of one process.

    Parameters:
        process: whose calls they are.

    Attributes:
        uses: by call.
    """

    def __init__(self, process: Process) -> None:
        self.uses: dict[str, Use] = {}
        self._process = process
        self._sim = process.sim
        self._name = f"rank {process.rank}"

    def during(
        self, call: str, steps: Generator[Event, Any, _Returned]
    ) -> Generator[Event, Any, _Returned]:
        """Return the steps of a call, whose time will be noted.

        Raises:
            MPIError: ``MPI_ERR_ARG``, if the call before has never been run.
        """
        run = self._run(call, steps)
        if fault := self._sim.unrun.made(run, self._name, f"comm.{call}"):
            raise MPIError("MPI_ERR_ARG", fault)
        return run

    def check(self) -> None:
        """Raise an MPIError if a call was made that has never been run."""
        if fault := self._sim.unrun.fault():
            raise MPIError("MPI_ERR_ARG", fault)

    def _run(
        self, call: str, steps: Generator[Event, Any, _Returned]
    ) -> Generator[Event, Any, _Returned]:
        self._sim.unrun.run()
        begin, path = self._sim.now, self._process.path
        before = path.turn_to(COMPUTING if call == "compute" else call, begin) if path else ""
        returned = yield from steps
        now = self._sim.now
        use = self.uses.setdefault(call, Use())
        use.calls += 1
        use.duration_ps += now - begin
        if path is not None:
            path.turn_to(before, now)
        return returned
