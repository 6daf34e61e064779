"""The communicator of a program, which keeps account of its calls."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from functools import wraps
from typing import Any

from hcasim.apps.account import Account
from hcasim.engine import Event
from hcasim.mpi import Comm, Request, Status

Steps = Generator[Event, Any, Any]


def _accounted(call: Callable[..., Steps]) -> Callable[..., Steps]:
    """A call of the communicator beneath, whose time is noted under the same name."""
    name = call.__name__

    @wraps(call)
    def accounted(self: ProgramComm, *arguments: Any, **named: Any) -> Steps:
        return self.account.during(name, call(self.comm, *arguments, **named))

    return accounted


class ProgramRequest:
    """A message under way.

    Parameters:
        request: the one beneath.
        account: keeps account of what it waits.
    """

    __slots__ = ("_account", "request")

    def __init__(self, request: Request, account: Account) -> None:
        self.request = request
        self._account = account

    @property
    def done(self) -> bool:
        """Whether the process may use the buffer again."""
        return self.request.done

    @property
    def status(self) -> Status | None:
        """Of what was received; None for a send."""
        return self.request.status

    def wait(self) -> Generator[Event, Any, Status | None]:
        """Make progress until it is done."""
        return self._account.during("wait", self.request.wait())

    def test(self) -> Generator[Event, Any, bool]:
        """Make some progress; return whether it is done."""
        return self._account.during("test", self.request.test())


class ProgramComm:
    """A communicator with the calls of `hcasim.mpi.Comm`.

    Parameters:
        comm: the one beneath.
        account: of its process.
        show: is told how far the program is, if somebody wants to know.

    Attributes:
        rank: of this process in it.
        size: number of its processes.
    """

    def __init__(
        self, comm: Comm, account: Account, show: Callable[[int, int], None] | None = None
    ) -> None:
        self.comm = comm
        self.account = account
        self.rank = comm.rank
        self.size = comm.size
        self._show = show

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

    compute = _accounted(Comm.compute)
    send = _accounted(Comm.send)
    recv = _accounted(Comm.recv)
    sendrecv = _accounted(Comm.sendrecv)
    probe = _accounted(Comm.probe)
    iprobe = _accounted(Comm.iprobe)
    bcast = _accounted(Comm.bcast)
    barrier = _accounted(Comm.barrier)
    allgather = _accounted(Comm.allgather)
    alltoall = _accounted(Comm.alltoall)
    alltoallv = _accounted(Comm.alltoallv)
    reduce = _accounted(Comm.reduce)
    allreduce = _accounted(Comm.allreduce)
    reduce_scatter = _accounted(Comm.reduce_scatter)
    gather = _accounted(Comm.gather)
    scatter = _accounted(Comm.scatter)
    gatherv = _accounted(Comm.gatherv)
    scatterv = _accounted(Comm.scatterv)
    allgatherv = _accounted(Comm.allgatherv)

    def _requested(
        self, steps: Generator[Event, Any, Request]
    ) -> Generator[Event, Any, ProgramRequest]:
        request = yield from steps
        return ProgramRequest(request, self.account)

    @wraps(Comm.isend)
    def isend(self, *arguments: Any, **named: Any) -> Generator[Event, Any, ProgramRequest]:
        return self.account.during("isend", self._requested(self.comm.isend(*arguments, **named)))

    @wraps(Comm.irecv)
    def irecv(self, *arguments: Any, **named: Any) -> Generator[Event, Any, ProgramRequest]:
        return self.account.during("irecv", self._requested(self.comm.irecv(*arguments, **named)))

    def wait(self, request: ProgramRequest) -> Generator[Event, Any, Status | None]:
        """Wait until a request is done."""
        return request.wait()

    def test(self, request: ProgramRequest) -> Generator[Event, Any, bool]:
        """Make some progress; return whether a request is done."""
        return request.test()

    def waitall(
        self, requests: Iterable[ProgramRequest]
    ) -> Generator[Event, Any, list[Status | None]]:
        """Wait until all requests are done."""
        beneath = [one.request for one in requests]
        return self.account.during("waitall", self.comm.waitall(beneath))

    def waitany(self, requests: Sequence[ProgramRequest]) -> Generator[Event, Any, int | None]:
        """Wait until one of the requests is done; see `hcasim.mpi.Comm.waitany`."""
        beneath = [one.request for one in requests]
        return self.account.during("waitany", self.comm.waitany(beneath))

    def subgroup(self, members: Sequence[int], number: int) -> ProgramComm:
        """Return a communicator of some; see `hcasim.mpi.Comm.subgroup`."""
        return ProgramComm(self.comm.subgroup(members, number), self.account, self._show)

    def Split(self, color: int, key: int = 0) -> Generator[Event, Any, ProgramComm | None]:
        """Make a communicator of those with the same color, in the order of key and rank."""
        return self.account.during("Split", self._split(color, key))

    def _split(self, color: int, key: int) -> Generator[Event, Any, ProgramComm | None]:
        comm = yield from self.comm.Split(color, key)
        return None if comm is None else ProgramComm(comm, self.account, self._show)
