"""Packets, the messages that they belong to, and what these ask of processes and connections."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from enum import Enum
from typing import Any, Final, Protocol

from hcasim.catalog.mpi import Mpi
from hcasim.engine import Event, Simulator
from hcasim.mpi.heap import Buffer, Bytes, Heap
from hcasim.mpi.path import Mark, Path
from hcasim.mpi.registration import Registration, RegistrationCache
from hcasim.verbs import PD, Context, SendWR

Steps = Generator[Event, object, None]

ANY_SOURCE: Final = -1
ANY_TAG: Final = -2


class Kind(Enum):
    """What a packet is for."""

    EAGER = "eager"
    RTS = "RTS"
    CTS = "CTS"
    DATA = "data"
    FIN = "FIN"
    CREDIT = "credit"


Todo = Callable[[], Steps]
"""Deals with what a process has to deal with."""


class Recorder(Protocol):
    """Is told what a process does, to write it down."""

    def grouped(self, context: int, members: tuple[int, ...]) -> None:
        """The process has a communicator of these ranks of the whole program."""

    def sends(self, request: Request, rank: int) -> None:
        """It begins to send to a rank of the whole program."""

    def receives(self, request: Request) -> None:
        """It begins to receive."""

    def waited(self, request: Request) -> None:
        """It knows that a request is done."""

    def computed(self, duration_ps: int) -> None:
        """It has computed, or copied or combined what it has."""


class Worker(Protocol):
    """A process.

    Attributes:
        ready: what has come in and has not been noticed, or has to be done next.
        collective: name of the last one that it has begun.
        heap: its memory.
        path: the critical path that ends in it, if somebody wants to know.
        rank: in the whole program.
        recorder: of what it does, if somebody wants to know.
    """

    collective: str
    context: Context
    heap: Heap
    path: Path | None
    pd: PD
    rank: int
    ready: deque[Todo]
    recorder: Recorder | None
    registrations: RegistrationCache
    sim: Simulator

    @property
    def notice_ps(self) -> int:
        """Picoseconds until a packet in memory is noticed."""

    def wake(self) -> None:
        """Go on if it sleeps."""

    def arrive(self, what: Todo) -> None:
        """Something has come in."""

    def unblock(self, way: Way) -> None:
        """There may be room for what a connection could not send."""

    def drain(self) -> Steps:
        """Take the next completion."""

    def wait(self, request: Request) -> Steps:
        """Make progress until a request is done."""

    def look(self) -> Steps:
        """Look once whether something has come in, and deal with it."""


class Acceptor(Protocol):
    """How a receiver gets a message that it was asked for."""

    def accept(self, recv: Recv, packet: MpiPacket) -> Steps:
        """The receiver knows where the announced message goes."""


class Announcer(Protocol):
    """What asks receivers for messages."""

    def over(self) -> None:
        """A message that the receiver was asked for has gone."""


class Poster(Protocol):
    """What is told when its work request has completed."""

    def completed(self, what: Any, /) -> None:
        """The adapter is done with it."""


class Incoming(Protocol):
    """The channel by which a packet has come in.

    Attributes:
        owed: packets of the peer that have made room and of which it has not been told.
        credit_return: owed credits of which the peer is told without a packet to go with.
        piggybacks: whether packets give credits back.
    """

    owed: int
    credit_return: int

    @property
    def piggybacks(self) -> bool: ...

    def place(self, packet: MpiPacket) -> int:
        """Address of the data of a packet that has been noticed."""

    def release(self, packet: MpiPacket) -> Steps:
        """Make room for one more packet."""


class Way(Announcer, Protocol):
    """One end of a connection."""

    @property
    def process(self) -> Worker:
        """Whose end it is."""

    @property
    def library(self) -> Mpi:
        """The MPI library of both ends."""

    @property
    def blocked(self) -> bool:
        """Whether packets wait for room."""

    @property
    def piece(self) -> int:
        """Most bytes of data in a packet, by whichever channel it goes."""

    def wire_size(self, packet: MpiPacket) -> int:
        """Bytes of a packet that is about to be sent, with its header."""

    def divided(self, size: int) -> int:
        """Parts that a message has."""

    def parts(self, size: int) -> list[tuple[int, int, int]]:
        """Lane, offset and bytes of each part of a message."""

    def send(self, packet: MpiPacket, lane: int = 0) -> Steps:
        """Send a packet, or keep it until there is room for it."""

    def post(self, lane: int, wr: SendWR, poster: Poster | None, what: str) -> Steps:
        """Post a request on a lane; wait for room in its send queue if there is none."""

    def flush(self) -> Steps:
        """Send what has waited for room, as far as there is some."""

    def receive(self, packet: MpiPacket, channel: Incoming) -> Steps:
        """Deal with a packet."""

    def sent(self, packet: MpiPacket) -> None:
        """The adapter has completed a packet."""


class MpiPacket:
    """One packet between two processes.

    Attributes:
        source: rank of the sender in the communicator.
        context: of the communicator.
        size: bytes of the message that it carries.
        data: them, if contents matter.
        buffer: where the sender has them until they are copied.
        offset: of them in the message.
        way: the end of the connection by which it came in.
        send: the request that it belongs to at the sender of the message.
        recv: and at its receiver.
        target: where the peer may write or read, and with which key.
        credits: of each channel, given back with it.
        sequence: its number among those to the peer that have to be dealt with in order.
        slot: its number among those of its channel.
        mark: the critical path up to its sending, if somebody wants to know.
        operation: number under which probes tell of its way, if somebody listens.
    """

    __slots__ = (
        "buffer",
        "context",
        "credits",
        "data",
        "kind",
        "mark",
        "offset",
        "operation",
        "recv",
        "send",
        "sequence",
        "size",
        "slot",
        "source",
        "tag",
        "target",
        "way",
    )

    def __init__(
        self,
        kind: Kind,
        source: int = 0,
        tag: int = 0,
        context: int = 0,
        size: int = 0,
        buffer: Buffer | None = None,
        send: Send | None = None,
        recv: Recv | None = None,
    ) -> None:
        self.kind = kind
        self.source = source
        self.tag = tag
        self.context = context
        self.size = size
        self.buffer = buffer
        self.data: Bytes | None = None
        self.offset = 0
        self.send = send
        self.recv = recv
        self.target: tuple[int, int] = (0, 0)
        self.credits: tuple[int, ...] = ()
        self.sequence = 0
        self.slot = 0
        self.mark: Mark | None = None
        self.operation = 0
        self.way: Way | None = None

    def __str__(self) -> str:
        return f"{self.kind.value} {self.size} B"


class Status:
    """What has been received: rank of its sender, tag, and bytes."""

    __slots__ = ("count", "source", "tag")

    def __init__(self, source: int, tag: int, count: int) -> None:
        self.source = source
        self.tag = tag
        self.count = count

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Status):
            return NotImplemented
        return (self.source, self.tag, self.count) == (other.source, other.tag, other.count)

    def __hash__(self) -> int:
        return hash((self.source, self.tag, self.count))

    def __repr__(self) -> str:
        return f"Status(source={self.source}, tag={self.tag}, count={self.count})"


class Request:
    """A message under way.

    Attributes:
        done: whether the process may use the buffer again.
        told: whether a call has told the program so; `waitany` passes over it then.
        status: of what was received; None for a send.
    """

    __slots__ = (
        "buffer",
        "context",
        "done",
        "peer",
        "process",
        "registration",
        "status",
        "tag",
        "told",
    )
    what = "a message with"

    def __init__(self, process: Worker, buffer: Buffer, peer: int, tag: int, context: int) -> None:
        self.process = process
        self.buffer = buffer
        self.peer = peer
        self.tag = tag
        self.context = context
        self.done = self.told = False
        self.status: Status | None = None
        self.registration: Registration | None = None

    def wait(self) -> Generator[Event, object, Status | None]:
        """Make progress until it is done."""
        yield from self.process.wait(self)
        self.told = True
        return self.status

    def test(self) -> Generator[Event, object, bool]:
        """Make some progress; return whether it is done."""
        if not self.done:
            yield from self.process.look()
        self.told = self.done
        if self.done and self.process.recorder is not None:
            self.process.recorder.waited(self)
        return self.done

    def finish(self) -> None:
        """The buffer may be used again."""
        if self.registration is not None:
            self.process.registrations.release(self.registration)
            self.registration = None
        self.done = True

    def __str__(self) -> str:
        peer = "any rank" if self.peer == ANY_SOURCE else f"rank {self.peer}"
        communicator, of_collective = divmod(self.context, 2)
        if communicator:
            peer += f" of communicator {communicator}"
        tag = "any tag" if self.tag == ANY_TAG else f"tag {self.tag}"
        if of_collective:
            # It is blocking, so it is the last one that the process has begun.
            tag = f"{self.process.collective}, call {self.tag}"
        return f"{self.what} {peer} ({tag}, {self.extent()})"

    def extent(self) -> str:
        """Its bytes, in words."""
        return f"{self.buffer.size} B"


class Send(Request):
    """A message that is sent.

    Attributes:
        way: the connection that it takes.
        source: rank of the sender in the communicator.
        rendezvous: how the receiver is asked for it, if it is not eager.
        unfinished: parts of it that have not gone.
    """

    __slots__ = ("rendezvous", "source", "unfinished", "way")
    what = "its send to"

    def __init__(
        self,
        process: Worker,
        buffer: Buffer,
        peer: int,
        tag: int,
        context: int,
        way: Announcer,
    ) -> None:
        super().__init__(process, buffer, peer, tag, context)
        self.way = way
        self.source = 0
        self.rendezvous: Acceptor | None = None
        self.unfinished = 1

    def completed(self) -> None:
        """One part of it has gone."""
        self.unfinished -= 1
        if not self.unfinished:
            self.finish()

    def finish(self) -> None:
        super().finish()
        if self.rendezvous is not None:
            self.way.over()


class Recv(Request):
    """A message that is received.

    Attributes:
        serial: number of this receive among those of the process.
        missing: bytes, or parts, of it that have not come in.
    """

    __slots__ = ("missing", "serial")
    what = "a message from"

    def __init__(
        self, process: Worker, buffer: Buffer, peer: int, tag: int, context: int, serial: int
    ) -> None:
        super().__init__(process, buffer, peer, tag, context)
        self.serial = serial
        self.missing = 0

    def matches(self, packet: MpiPacket) -> bool:
        """Whether a message belongs here."""
        return (
            self.context == packet.context
            and self.peer in (ANY_SOURCE, packet.source)
            and self.tag in (ANY_TAG, packet.tag)
        )

    def fetched(self, packet: MpiPacket) -> None:
        """One part of it has been written."""
        self.missing -= 1
        if not self.missing:
            self.buffer.put(packet.data)
            self.finish()


class Wanted(Recv):
    """What a message is compared with that is only looked for."""

    __slots__ = ()

    def extent(self) -> str:
        return "any size"


class AnyOf:
    """Requests of which one has to be done, for who tells of them."""

    __slots__ = ("_requests",)

    def __init__(self, requests: Sequence[Request]) -> None:
        self._requests = requests

    def __str__(self) -> str:
        return "any of " + ", ".join(str(one) for one in self._requests)
