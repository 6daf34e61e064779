"""The communicator of a program, which keeps account of its calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import wraps
from typing import Any, Final

from hcasim.engine import Event
from hcasim.mpi import Comm, MPIError, Request, Status
from hcasim.mpi.path import COMPUTING
from hcasim.mpi.process import Process

Steps = Generator[Event, Any, Any]
_CALLS: Final = (
    *("compute", "send", "recv", "isend", "irecv", "sendrecv", "probe", "iprobe"),
    *("bcast", "barrier", "allgather", "alltoall", "alltoallv", "reduce", "allreduce"),
    *("reduce_scatter", "gather", "scatter", "gatherv", "scatterv", "allgatherv", "Split"),
)


class Account:
    """The calls of one process: how often it has made each, and picoseconds of all of them
    together.
    """

    def __init__(self, process: Process) -> None:
        self.calls: Counter[str] = Counter()
        self.spent_ps: Counter[str] = Counter()
        self._process, self._sim = process, process.sim

    def during(self, call: str, steps: Steps) -> Steps:
        """Return the steps of a call, whose time will be noted.

        Raises:
            MPIError: ``MPI_ERR_ARG``, if the call before has never been run.
        """
        run = self._run(call, steps)
        name = f"rank {self._process.rank}"
        if fault := self._sim.unrun.made(run, name, f"comm.{call}"):
            raise MPIError("MPI_ERR_ARG", fault)
        return run

    def check(self) -> None:
        """Raise an MPIError if a call was made that has never been run."""
        if fault := self._sim.unrun.fault():
            raise MPIError("MPI_ERR_ARG", fault)

    def _run(self, call: str, steps: Steps) -> Steps:
        self._sim.unrun.run()
        begin, path = self._sim.now, self._process.path
        before = path.turn_to(COMPUTING if call == "compute" else call, begin) if path else ""
        returned = yield from steps
        now = self._sim.now
        self.calls[call] += 1
        self.spent_ps[call] += now - begin
        if path is not None:
            path.turn_to(before, now)
        return returned


class ProgramRequest:
    """A message under way, with the attributes and calls of `hcasim.mpi.Request`."""

    __slots__ = ("_account", "request")

    def __init__(self, request: Request, account: Account) -> None:
        self.request = request
        self._account = account

    def __getattr__(self, name: str) -> Any:
        return getattr(self.request, name)

    def wait(self) -> Generator[Event, Any, Status | None]:
        """Make progress until it is done."""
        return self._account.during("wait", self.request.wait())

    def test(self) -> Generator[Event, Any, bool]:
        """Make some progress; return whether it is done."""
        return self._account.during("test", self.request.test())


class ProgramComm:
    """A communicator with the calls of `hcasim.mpi.Comm`.

    Parameters:
        show: is told how far the program is, if somebody wants to know.
    """

    def __init__(
        self, comm: Comm, account: Account, show: Callable[[int, int], None] | None = None
    ) -> None:
        self.comm, self.account, self._show = comm, account, show
        self.rank, self.size = comm.rank, comm.size

    def __repr__(self) -> str:
        return f"Comm(rank={self.rank}, size={self.size})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.comm, name)

    def Wtime(self) -> float:
        """Seconds since the program was started."""
        return self.comm.process.sim.now / 1e12

    def progress(self, done: int, total: int) -> None:
        """Say how far the program is, such as in iterations, to who waits for it; takes no time."""
        if self._show is not None:
            self._show(done, total)

    def waitall(
        self, requests: Iterable[ProgramRequest]
    ) -> Generator[Event, Any, list[Status | None]]:
        beneath = [one.request for one in requests]
        return self.account.during("waitall", self.comm.waitall(beneath))

    def waitany(self, requests: Sequence[ProgramRequest]) -> Generator[Event, Any, int | None]:
        """Wait until one of the requests is done; see `hcasim.mpi.Comm.waitany`."""
        beneath = [one.request for one in requests]
        return self.account.during("waitany", self.comm.waitany(beneath))

    def subgroup(self, members: Sequence[int], number: int) -> ProgramComm:
        """Return a communicator of some; see `hcasim.mpi.Comm.subgroup`."""
        return ProgramComm(self.comm.subgroup(members, number), self.account, self._show)

    def _wrapped(self, steps: Steps) -> Steps:
        returned = yield from steps
        if isinstance(returned, Request):
            return ProgramRequest(returned, self.account)
        if isinstance(returned, Comm):
            return ProgramComm(returned, self.account, self._show)
        return returned


def _accounted(name: str) -> Callable[..., Steps]:
    """A call of the communicator beneath, whose time is noted under the same name."""
    call = getattr(Comm, name)

    @wraps(call)
    def accounted(self: ProgramComm, *arguments: Any, **named: Any) -> Steps:
        steps = call(self.comm, *arguments, **named)
        wraps_result = name in ("isend", "irecv", "Split")
        return self.account.during(name, self._wrapped(steps) if wraps_result else steps)

    return accounted


for _name in _CALLS:
    setattr(ProgramComm, _name, _accounted(_name))
