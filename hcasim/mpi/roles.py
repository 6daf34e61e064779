"""What the parts of the library ask of the process and of the connection that they belong to."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Any, Protocol

from hcasim.catalog.mpi import Mpi
from hcasim.engine import Event
from hcasim.mpi.registration import RegistrationCache
from hcasim.verbs import PD, Context

Steps = Generator[Event, Any, None]


class Todo(Protocol):
    """What waits for a process to be dealt with."""

    def progress(self) -> Steps:
        """Deal with it."""


class Worker(Protocol):
    """A process.

    Attributes:
        ready: what has come in and has not been noticed, or has to be done next.
        collective: name of the last one that it has begun.
    """

    collective: str
    context: Context
    pd: PD
    ready: deque[Todo]
    registrations: RegistrationCache

    @property
    def notice_ps(self) -> int:
        """Picoseconds until a packet in memory is noticed."""

    def wire_size(self, packet: Any) -> int:
        """Bytes of a packet, with its header."""

    def wake(self) -> None:
        """Go on if it sleeps."""

    def arrive(self, what: Todo) -> None:
        """Something has come in."""

    def unblock(self, way: Any) -> None:
        """There may be room for what a connection could not send."""

    def drain(self) -> Steps:
        """Take the next completion."""

    def wait(self, request: Any) -> Steps:
        """Make progress until a request is done."""

    def look(self) -> Steps:
        """Look once whether something has come in, and deal with it."""

    def match(self, packet: Any, channel: Any) -> Steps:
        """Find where a message goes."""

    def take_data(self, packet: Any, channel: Any) -> Steps:
        """Copy a piece of a message to its place."""


class Announcer(Protocol):
    """What asks receivers for messages."""

    def over(self) -> None:
        """A message that the receiver was asked for has gone."""


class Way(Announcer, Protocol):
    """One end of a connection."""

    @property
    def process(self) -> Worker:
        """Whose end it is."""

    @property
    def library(self) -> Mpi:
        """The MPI library of both ends."""

    def send(self, packet: Any, lane: int = 0) -> Steps:
        """Send a packet, or keep it until there is room for it."""

    def receive(self, packet: Any, channel: Any) -> Steps:
        """Deal with a packet."""

    def sent(self, packet: Any) -> None:
        """The adapter has completed a packet."""
