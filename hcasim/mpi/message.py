"""Packets, the messages that they belong to, and what these ask of processes and connections."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Protocol

from hcasim.catalog.mpi import Mpi
from hcasim.engine import Event, Simulator
from hcasim.mpi.memory import Buffer, Bytes, Heap, Registration, RegistrationCache
from hcasim.mpi.path import Mark, Path
from hcasim.verbs import PD, Context, SendWR
from hcasim.verbs.context import Costs

Steps = Generator[Event, object, None]

ANY_SOURCE: Final = -1
ANY_TAG: Final = -2


class MPIError(Exception):
    """An MPI call failed; `name` is that of the error class, such as ``MPI_ERR_TRUNCATE``."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(name, message)
        self.name = name

    def __str__(self) -> str:
        return f"{self.args[0]}: {self.args[1]}"


class Calls:
    """What calls take one processor, in ps, beside copies, verbs and polling."""

    def __init__(self, library: Mpi, costs: Costs) -> None:
        self._calls, self._cycles, self._costs = library.calls, library.cycles, costs

    @property
    def send(self) -> int:
        times, work = self._calls, self._cycles
        return (times.send if times else 0) + (self._costs.cycles(work.send) if work else 0)

    @property
    def recv(self) -> int:
        times, work = self._calls, self._cycles
        return (times.recv if times else 0) + (self._costs.cycles(work.recv) if work else 0)

    @property
    def packet(self) -> int:
        times, work = self._calls, self._cycles
        return (times.packet if times else 0) + (self._costs.cycles(work.packet) if work else 0)


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


class Worker(Protocol):
    """A `Process`, as its messages see it."""

    calls: Calls
    collective: str
    context: Context
    heap: Heap
    path: Path | None
    pd: PD
    rank: int
    ready: deque[Todo]
    registrations: RegistrationCache
    sim: Simulator

    @property
    def notice_ps(self) -> int: ...
    def arrive(self, what: Todo) -> None: ...
    def unblock(self, way: Way) -> None: ...
    def drain(self) -> Steps: ...
    def wait(self, request: Request) -> Steps: ...
    def look(self) -> Steps: ...
    def tell(self, step: str, what: object = "") -> None: ...


class Acceptor(Protocol):
    """How a receiver gets a message that it was asked for, once it knows where that goes."""

    def accept(self, recv: Recv, send: Send, packet: MpiPacket) -> Steps: ...


class Poster(Protocol):
    """What is told when its work request has completed."""

    def completed(self, what: Any, /) -> None: ...


class Incoming(Protocol):
    """The `Channel` by which a packet has come in."""

    owed: int
    credit_return: int

    @property
    def piggybacks(self) -> bool: ...
    def place(self, packet: MpiPacket) -> int: ...
    def release(self, packet: MpiPacket) -> Steps: ...


class Announcer(Protocol):
    """What asks receivers for messages, and is told when one has gone."""

    def over(self) -> None: ...


class Way(Announcer, Protocol):
    """One end of a `Connection`."""

    @property
    def process(self) -> Worker: ...
    @property
    def library(self) -> Mpi: ...
    @property
    def blocked(self) -> bool: ...
    @property
    def piece(self) -> int: ...
    def wire_size(self, packet: MpiPacket) -> int: ...
    def divided(self, size: int) -> int: ...
    def parts(self, size: int) -> list[tuple[int, int, int]]: ...
    def send(self, packet: MpiPacket, lane: int = 0) -> Steps: ...
    def post(self, lane: int, wr: SendWR, poster: Poster | None, what: str) -> Steps: ...
    def flush(self) -> Steps: ...
    def receive(self, packet: MpiPacket, channel: Incoming) -> Steps: ...
    def awaited(self, packet: MpiPacket) -> bool: ...
    def sent(self, packet: MpiPacket) -> None: ...


@dataclass(slots=True, eq=False)
class MpiPacket:
    """One packet between two processes.

    Attributes:
        size: bytes of the message that it carries, ``data`` if contents matter, from ``offset`` on.
        buffer: where the sender has them until they are copied; a ``direct`` packet is sent from
            there.
        rest: packets with more of a message that no receive has asked for.
        send, recv: the requests that it belongs to at the sender and at the receiver of a message.
        target: where the peer may write or read, and with which key.
        credits: of each channel, given back with it.
        sequence: its number among those to the peer that have to be dealt with in order.
        slot: its number among those of its channel.
        mark: the critical path up to its sending, if somebody wants to know.
        operation: number under which probes tell of its way, if somebody listens.
        way: the end of the connection by which it came in.
    """

    kind: Kind
    source: int = 0
    tag: int = 0
    context: int = 0
    size: int = 0
    buffer: Buffer | None = None
    direct: bool = False
    send: Send | None = None
    recv: Recv | None = None
    data: Bytes | None = None
    offset: int = 0
    target: tuple[int, int] = (0, 0)
    credits: tuple[int, ...] = ()
    sequence: int = 0
    slot: int = 0
    mark: Mark | None = None
    operation: int = 0
    rest: list[MpiPacket] = field(default_factory=list)
    way: Way = field(init=False)

    def __str__(self) -> str:
        return f"{self.kind.value} {self.size} B"


@dataclass(slots=True, unsafe_hash=True)
class Status:
    """What has been received: rank of its sender, tag, and bytes."""

    source: int
    tag: int
    count: int


class Request:
    """A message under way.

    Attributes:
        done: whether the process may use the buffer again.
        told: whether a call has told the program so; `waitany` passes over it then.
    """

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
        yield from self.process.wait(self)
        self.told = True
        return self.status

    def test(self) -> Generator[Event, object, bool]:
        if not self.done:
            yield from self.process.look()
        self.told = self.done
        return self.done

    def finish(self) -> None:
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
        return f"{self.buffer.size} B"


class Send(Request):
    """A message that is sent, and of which ``unfinished`` parts have not gone.

    A ``rendezvous`` is how the receiver is asked for it, if it is not eager. There an eager one of
    several packets is known by its ``first`` packet, and by the receive that has ``taken`` it.
    """

    what = "its send to"

    def __init__(
        self, process: Worker, buffer: Buffer, peer: int, tag: int, context: int, way: Announcer
    ) -> None:
        super().__init__(process, buffer, peer, tag, context)
        self.way = way
        self.source = 0
        self.rendezvous: Acceptor | None = None
        self.unfinished = 1
        self.waits = False
        self.first: MpiPacket | None = None
        self.taken: Recv | None = None

    def completed(self) -> None:
        self.unfinished -= 1
        if not self.unfinished:
            self.finish()

    def finish(self) -> None:
        super().finish()
        if self.rendezvous is not None:
            self.way.over()


class Recv(Request):
    """A message that is received, the ``serial``-th of the process; `missing` has not come in."""

    what = "a message from"

    def __init__(
        self, process: Worker, buffer: Buffer, peer: int, tag: int, context: int, serial: int
    ) -> None:
        super().__init__(process, buffer, peer, tag, context)
        self.serial = serial
        self.missing = 0

    def matches(self, packet: MpiPacket) -> bool:
        return (
            self.context == packet.context
            and self.peer in (ANY_SOURCE, packet.source)
            and self.tag in (ANY_TAG, packet.tag)
        )

    def fetched(self, packet: MpiPacket) -> None:
        self.missing -= 1
        if not self.missing:
            self.buffer.put(packet.data)
            self.finish()


class Wanted(Recv):
    """What a message is compared with that is only looked for."""

    def extent(self) -> str:
        return "any size"


class AnyOf:
    """Requests of which one has to be done."""

    def __init__(self, requests: Sequence[Request]) -> None:
        self._requests = requests

    def __str__(self) -> str:
        return "any of " + ", ".join(str(one) for one in self._requests)
