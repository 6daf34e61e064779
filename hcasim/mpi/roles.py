"""What the parts of the library ask of the process and of the connection that they belong to."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Any, Protocol, TypeAlias

from hcasim.catalog.mpi import Mpi
from hcasim.engine import Event, Simulator
from hcasim.mpi.heap import Heap
from hcasim.mpi.path import Path
from hcasim.mpi.registration import RegistrationCache
from hcasim.verbs import PD, Context

# What these hand on is defined in terms of them, so that its kinds are not known here.
Packet: TypeAlias = Any
Receiver: TypeAlias = Any
Recv: TypeAlias = Any
Request: TypeAlias = Any
Channel: TypeAlias = Any
Lane: TypeAlias = Any

Steps = Generator[Event, object, None]


class Todo(Protocol):
    """What waits for a process to be dealt with."""

    def progress(self) -> Steps:
        """Deal with it."""


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
        receiver: its receives.
        recorder: of what it does, if somebody wants to know.
    """

    collective: str
    context: Context
    heap: Heap
    path: Path | None
    pd: PD
    rank: int
    ready: deque[Todo]
    receiver: Receiver
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

    def accept(self, recv: Recv, packet: Packet) -> Steps:
        """The receiver knows where the announced message goes."""


class Announcer(Protocol):
    """What asks receivers for messages."""

    def over(self) -> None:
        """A message that the receiver was asked for has gone."""


class Way(Announcer, Protocol):
    """One end of a connection.

    Attributes:
        lanes: its queue pairs.
        channels: all ways of packets, in the order that both ends have.
    """

    lanes: list[Lane]
    channels: list[Channel]

    @property
    def process(self) -> Worker:
        """Whose end it is."""

    @property
    def library(self) -> Mpi:
        """The MPI library of both ends."""

    @property
    def blocked(self) -> bool:
        """Whether packets wait for room."""

    def wire_size(self, packet: Packet) -> int:
        """Bytes of a packet that is about to be sent, with its header."""

    def next_lane(self) -> int:
        """The lane of a message that is not divided."""

    def send(self, packet: Packet, lane: int = 0) -> Steps:
        """Send a packet, or keep it until there is room for it."""

    def flush(self) -> Steps:
        """Send what has waited for room, as far as there is some."""

    def receive(self, packet: Packet, channel: Channel) -> Steps:
        """Deal with a packet."""

    def sent(self, packet: Packet) -> None:
        """The adapter has completed a packet."""
