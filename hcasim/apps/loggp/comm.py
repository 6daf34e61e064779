"""The communicator of a LogGP machine: those calls of `hcasim.mpi.Comm` that are no collectives."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from numbers import Integral
from typing import Any

from hcasim.apps.loggp.machine import Machine
from hcasim.apps.loggp.request import Kind, Request
from hcasim.engine import Event
from hcasim.mpi import ANY_SOURCE, ANY_TAG, MPIError, Status
from hcasim.mpi.messages import MAX_BYTES, MAX_SECONDS, MAX_TAG

Change = tuple[Request, bool, int]
"""A request, whether it ends rather than begins, and the time in ps."""
Steps = Generator[Event, object, None]


class LogGPComm:
    """All processes of a program, as one of them sees them.

    Memory is a number of bytes, or whatever has such as ``nbytes`` or ``size``; messages have no
    contents. Calls that begin something return at once: the processor's time is taken when it is
    free, and a call that waits goes on behind it.

    Attributes:
        waiting: what it waits for, if it does.
    """

    def __init__(self, machine: Machine, rank: int) -> None:
        self.rank, self.size = rank, len(machine.hosts)
        self.waiting = ""
        self._machine = machine
        self._now_ps = 0
        self._event: Event | None = None
        self._changes: list[Change] | None = None
        machine.hosts[rank].told = self._tell

    def __repr__(self) -> str:
        return f"LogGPComm(rank={self.rank}, size={self.size})"

    def _tell(self, request: Request, ends: bool, at: int) -> None:
        if self._changes is not None:
            self._changes.append((request, ends, at))
        if self._event is not None:
            event, self._event = self._event, None
            event.succeed()

    def _sleep(self, what: str) -> Steps:
        self._event = self._machine.sim.event()
        self.waiting = what
        yield self._event
        self.waiting = ""

    # To ask for something.

    def _ask(self, request: Request, after_ps: int | None) -> Request:
        self._machine.ask(request, self._now_ps if after_ps is None else after_ps)
        return request

    def icompute(self, size_ps: int, thread: int = 0, after_ps: int | None = None) -> Request:
        """Begin to compute for so many picoseconds.

        Parameters:
            thread: that does it.
            after_ps: not before this time; without it, not before what the program has waited for.
        """
        request = Request(self, Kind.CALC, self.rank, size_ps, thread=thread)
        return self._ask(request, after_ps)

    def isend(
        self,
        memory: Any,
        dest: int,
        tag: int = 0,
        *,
        thread: int = 0,
        adapter: int = 0,
        after_ps: int | None = None,
    ) -> Generator[Event, object, Request]:
        """Begin to send; `icompute` says what `thread` and `after_ps` are."""
        if not 0 <= dest < self.size:
            raise MPIError("MPI_ERR_RANK", f"dest is {dest}; allowed: 0 to {self.size - 1}")
        if not 0 <= tag <= MAX_TAG:
            raise MPIError("MPI_ERR_TAG", f"tag is {tag}; allowed: 0 to {MAX_TAG}")
        yield from ()
        size = _bytes(memory)
        request = Request(self, Kind.SEND, self.rank, size, dest, tag, thread, adapter)
        return self._ask(request, after_ps)

    def irecv(
        self,
        memory: Any,
        source: int = ANY_SOURCE,
        tag: int = ANY_TAG,
        *,
        thread: int = 0,
        adapter: int = 0,
        after_ps: int | None = None,
    ) -> Generator[Event, object, Request]:
        """Begin to receive; `icompute` says what `thread` and `after_ps` are."""
        if source != ANY_SOURCE and not 0 <= source < self.size:
            raise MPIError("MPI_ERR_RANK", f"source is {source}; allowed: 0 to {self.size - 1}")
        if tag != ANY_TAG and not 0 <= tag <= MAX_TAG:
            raise MPIError("MPI_ERR_TAG", f"tag is {tag}; allowed: 0 to {MAX_TAG}, or ANY_TAG")
        yield from ()
        size = _bytes(memory)
        request = Request(self, Kind.RECV, self.rank, size, source, tag, thread, adapter)
        return self._ask(request, after_ps)

    # To wait for it.

    def wait(self, request: Request) -> Generator[Event, object, Status | None]:
        """Wait until a request is done."""
        while not request.done:
            yield from self._sleep(str(request))
        request.told = True
        self._now_ps = max(self._now_ps, request.end_ps)
        return request.status

    def test(self, request: Request) -> Generator[Event, object, bool]:
        """Return whether a request is done, in no time."""
        yield from ()
        done = request.done and request.end_ps <= max(self._machine.sim.now, self._now_ps)
        request.told = request.told or done
        return done

    def waitall(self, requests: Iterable[Request]) -> Generator[Event, object, list[Status | None]]:
        """Wait until all requests are done."""
        requests = list(requests)
        for request in requests:
            yield from self.wait(request)
        return [request.status for request in requests]

    def waitany(self, requests: Sequence[Request]) -> Generator[Event, object, int | None]:
        """Wait until one of the requests is done.

        Returns:
            Its place among them, or None if of all of them the program has been told before.
        """
        left = [place for place, request in enumerate(requests) if not request.told]
        while left:
            for place in left:
                if requests[place].done:
                    yield from self.wait(requests[place])
                    return place
            some = ", ".join(str(requests[place]) for place in left)
            yield from self._sleep(f"any of {some}")
        return None

    def watch(self) -> None:
        """Keep what changes from now on, for `changed`."""
        self._changes = []

    def changed(self) -> Generator[Event, object, list[Change]]:
        """Wait until a request begins or ends; return what has changed since the last call."""
        assert self._changes is not None
        while not self._changes:
            yield from self._sleep("what it has asked for")
        found, self._changes = self._changes, []
        return found

    # What does both.

    def compute(self, seconds: float) -> Steps:
        """Compute, to the picosecond."""
        if not 0 <= seconds <= MAX_SECONDS:
            wanted = f"compute: {seconds} seconds; allowed: 0 to {MAX_SECONDS}"
            raise MPIError("MPI_ERR_ARG", f"rank {self.rank}: {wanted}")
        yield from self.wait(self.icompute(round(seconds * 1e12)))

    def send(self, memory: Any, dest: int, tag: int = 0) -> Steps:
        """Send; return when the buffer may be used again."""
        request = yield from self.isend(memory, dest, tag)
        yield from self.wait(request)

    def recv(
        self, memory: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG
    ) -> Generator[Event, object, Status]:
        """Receive a message."""
        request = yield from self.irecv(memory, source, tag)
        status = yield from self.wait(request)
        assert status is not None
        return status

    def sendrecv(
        self,
        memory: Any,
        dest: int,
        into: Any,
        source: int = ANY_SOURCE,
        sendtag: int = 0,
        recvtag: int = ANY_TAG,
    ) -> Generator[Event, object, Status]:
        """Send and receive at the same time."""
        incoming = yield from self.irecv(into, source, recvtag)
        outgoing = yield from self.isend(memory, dest, sendtag)
        yield from self.waitall([incoming, outgoing])
        assert incoming.status is not None
        return incoming.status


def _bytes(memory: Any) -> int:
    """The size of what is sent from or received into."""
    if memory is None:
        return 0
    size: Any = memory
    if not isinstance(memory, Integral):
        size = getattr(memory, "nbytes", getattr(memory, "size", memory))
    is_number = isinstance(size, Integral) and not isinstance(size, bool)
    if not is_number or not 0 <= size <= MAX_BYTES:
        raise MPIError("MPI_ERR_COUNT", f"{size!r} bytes; allowed: 0 to {MAX_BYTES}")
    return int(size)
