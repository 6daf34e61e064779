"""Messages among the processes of a group, with the calls of mpi4py."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from numbers import Integral
from typing import Any, Final

from hcasim.engine import Event
from hcasim.mpi.memory import Buffer
from hcasim.mpi.message import (
    ANY_SOURCE,
    ANY_TAG,
    AnyOf,
    MPIError,
    Recv,
    Request,
    Status,
    Steps,
    Wanted,
)
from hcasim.mpi.process import Process

Memory = Any
"""A `Buffer`, a NumPy array whose contents are sent, or a number of bytes without contents."""
MAX_TAG: Final = 2**30
MAX_BYTES: Final = 2**40
"""Of a call: for many processes together, more than the 2 GiB that one message may have."""

MAX_SECONDS: Final = 10**6
"""Of computing at a time."""


class Messages:
    """The messages of a group of processes, as one of them sees it.

    Parameters:
        members: ranks in the whole program, by rank in the group.
        context: tells its messages from those of other communicators.
    """

    def __init__(self, process: Process, members: Sequence[int], context: int) -> None:
        self.process = process
        self.members = tuple(members)
        self.context = context
        self.rank = self.members.index(process.rank)
        self.size = len(self.members)
        self.algorithm = ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rank={self.rank}, size={self.size})"

    # Memory.

    def buffer(self, memory: Memory, *, incoming: bool = False) -> Buffer:
        """What a message is sent from, or received into: without contents that is another place."""
        if isinstance(memory, Buffer):
            return memory
        if isinstance(memory, Integral) and not isinstance(memory, bool):
            size = int(memory)
            if not 0 <= size <= MAX_BYTES:
                raise MPIError("MPI_ERR_COUNT", f"{size} bytes; allowed: 0 to {MAX_BYTES}")
            return self.process.heap.anonymous(size, incoming)
        if memory is None:
            return self.process.heap.anonymous(0, incoming)
        if hasattr(memory, "__array_interface__"):
            if not memory.flags.c_contiguous:
                raise MPIError("MPI_ERR_BUFFER", "an array whose elements are not in one piece")
            if memory.dtype.hasobject:
                raise MPIError("MPI_ERR_TYPE", "an array of Python objects, which cannot be sent")
            return self.process.heap.placed(memory)
        raise MPIError(
            "MPI_ERR_BUFFER", f"found {memory!r}; allowed: an array, a Buffer, a number of bytes"
        )

    def target(self, memory: Memory, call: str) -> Buffer:
        """What a call stores into: memory that is not read-only."""
        is_array = hasattr(memory, "flags") and not isinstance(memory, Integral)
        if is_array and not memory.flags.writeable:
            found = "found a read-only array; needed: one that can be written"
            raise self.refusal("MPI_ERR_BUFFER", call, found)
        return self.buffer(memory, incoming=True)

    def refusal(self, name: str, call: str, why: str) -> MPIError:
        return MPIError(name, f"rank {self.process.rank}: {call}: {why}")

    # Computing.

    def compute(self, seconds: float, beside: bool = False) -> Steps:
        """Compute for seconds, to the picosecond; messages that come in wait for the next call.

        Parameters:
            beside: whether an accelerator computes instead, and the processor deals with messages
                meanwhile.
        """
        if not 0 <= seconds <= MAX_SECONDS:
            raise self.refusal(
                "MPI_ERR_ARG", "compute", f"{seconds} seconds; allowed: 0 to {MAX_SECONDS}"
            )
        duration_ps = round(seconds * 1e12)
        if duration_ps and beside:
            yield from self.process.progress_until(self.process.sim.now + duration_ps)
        elif duration_ps:
            yield self.process.context.core.work(duration_ps)
            self.process.tell("compute")
        self.process.computed_ps += duration_ps

    # Messages.

    def _check(self, what: str, rank: int, tag: int, wild: bool = False) -> None:
        if not (0 <= rank < self.size or (wild and rank == ANY_SOURCE)):
            raise MPIError("MPI_ERR_RANK", f"{what} is {rank}; allowed: 0 to {self.size - 1}")
        if not (0 <= tag <= MAX_TAG or (wild and tag == ANY_TAG)):
            allowed = f"0 to {MAX_TAG}" + ", or ANY_TAG" * wild
            raise MPIError("MPI_ERR_TAG", f"tag is {tag}; allowed: {allowed}")

    def isend(self, memory: Memory, dest: int, tag: int = 0) -> Generator[Event, object, Request]:
        """Begin to send; the buffer is the library's until the request is done."""
        self._check("dest", dest, tag)
        return (yield from self.post(self.buffer(memory), dest, tag, 2 * self.context))

    def post(
        self, buffer: Buffer, dest: int, tag: int, context: int, waits: bool = False
    ) -> Generator[Event, object, Request]:
        rank = self.members[dest]
        return (yield from self.process.isend(buffer, rank, self.rank, dest, tag, context, waits))

    def irecv(
        self, memory: Memory, source: int = ANY_SOURCE, tag: int = ANY_TAG
    ) -> Generator[Event, object, Recv]:
        """Begin to receive; the buffer is the library's until the request is done."""
        self._check("source", source, tag, wild=True)
        into = self.target(memory, "recv")
        delivery = self.process.delivery
        return (yield from delivery.irecv(into, source, tag, 2 * self.context))

    def send(self, memory: Memory, dest: int, tag: int = 0) -> Generator[Event, object, None]:
        """Send; return when the buffer may be used again."""
        self._check("dest", dest, tag)
        request = yield from self.post(self.buffer(memory), dest, tag, 2 * self.context, waits=True)
        yield from request.wait()

    def recv(
        self, memory: Memory, source: int = ANY_SOURCE, tag: int = ANY_TAG
    ) -> Generator[Event, object, Status]:
        request = yield from self.irecv(memory, source, tag)
        status = yield from request.wait()
        assert status is not None
        return status

    def sendrecv(
        self,
        memory: Memory,
        dest: int,
        into: Memory,
        source: int = ANY_SOURCE,
        sendtag: int = 0,
        recvtag: int = ANY_TAG,
    ) -> Generator[Event, object, Status]:
        incoming = yield from self.irecv(into, source, recvtag)
        outgoing = yield from self.isend(memory, dest, sendtag)
        yield from self.waitall([incoming, outgoing])
        assert incoming.status is not None
        return incoming.status

    def waitall(self, requests: Iterable[Request]) -> Generator[Event, object, list[Status | None]]:
        requests = list(requests)
        for request in requests:
            yield from request.wait()
        return [request.status for request in requests]

    def waitany(self, requests: Sequence[Request]) -> Generator[Event, object, int | None]:
        """Wait until one of the requests is done; return its place, or None if all were before."""
        left = [place for place, request in enumerate(requests) if not request.told]
        waiting = AnyOf([requests[place] for place in left])
        while left:
            for place in left:
                if requests[place].done:
                    yield from requests[place].wait()
                    return place
            yield from self.process.advance(waiting)
        return None

    def iprobe(
        self, source: int = ANY_SOURCE, tag: int = ANY_TAG
    ) -> Generator[Event, object, Status | None]:
        self._check("source", source, tag, wild=True)
        yield from self.process.look()
        return self._probe(source, tag)

    def probe(
        self, source: int = ANY_SOURCE, tag: int = ANY_TAG
    ) -> Generator[Event, object, Status]:
        """Wait until a message could be received, and say which."""
        self._check("source", source, tag, wild=True)
        while True:
            found = self._probe(source, tag)
            if found is not None:
                return found
            yield from self.process.advance(self._wanted(source, tag))

    def _wanted(self, source: int, tag: int) -> Wanted:
        return Wanted(self.process, Buffer(0, 0), source, tag, 2 * self.context, 0)

    def _probe(self, source: int, tag: int) -> Status | None:
        packet = self.process.delivery.matching.probe(self._wanted(source, tag))
        if packet is None:
            return None
        size = packet.size if packet.send is None else packet.send.buffer.size
        return Status(packet.source, packet.tag, size)
