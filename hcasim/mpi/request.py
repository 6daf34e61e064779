"""Requests: a message under way, as the process that sends or receives it sees it."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hcasim.engine import Event
from hcasim.mpi.buffer import Buffer

if TYPE_CHECKING:
    from hcasim.mpi.connection import Connection
    from hcasim.mpi.packet import Packet
    from hcasim.mpi.process import Process
    from hcasim.mpi.rendezvous import Rendezvous
    from hcasim.mpi.registration import Registration

ANY_SOURCE = -1
ANY_TAG = -2


@dataclass(frozen=True, slots=True)
class Status:
    """What has been received: rank of its sender, tag, and bytes."""

    source: int
    tag: int
    count: int


class Request:
    """A message under way.

    Attributes:
        done: whether the process may use the buffer again.
        status: of what was received; of a send, of what was sent.
    """

    __slots__ = ("buffer", "context", "done", "peer", "process", "registration", "status", "tag")
    what = "a message with"

    def __init__(
        self, process: Process, buffer: Buffer, peer: int, tag: int, context: int
    ) -> None:
        self.process = process
        self.buffer = buffer
        self.peer = peer
        self.tag = tag
        self.context = context
        self.done = False
        self.status: Status | None = None
        self.registration: Registration | None = None

    def wait(self) -> Generator[Event, Any, Status | None]:
        """Make progress until it is done."""
        yield from self.process.wait(self)
        return self.status

    def test(self) -> Generator[Event, Any, bool]:
        """Make some progress; return whether it is done."""
        if not self.done:
            yield from self.process.look()
        return self.done

    def __str__(self) -> str:
        peer = "any rank" if self.peer == ANY_SOURCE else f"rank {self.peer}"
        tag = "any tag" if self.tag == ANY_TAG else f"tag {self.tag}"
        return f"{self.what} {peer} ({tag}, {self.buffer.size} B)"


class Send(Request):
    """A message that is sent.

    Attributes:
        connection: the way it takes.
        source: rank of the sender in the communicator.
        rendezvous: how the receiver is asked for it, if it is not eager.
        unfinished: parts of it that have not gone.
    """

    __slots__ = ("connection", "rendezvous", "source", "unfinished")
    what = "its send to"

    def __init__(
        self,
        process: Process,
        buffer: Buffer,
        peer: int,
        tag: int,
        context: int,
        connection: Connection,
    ) -> None:
        super().__init__(process, buffer, peer, tag, context)
        self.connection = connection
        self.source = 0
        self.rendezvous: Rendezvous | None = None
        self.unfinished = 1

    def completed(self) -> None:
        """One part of it has gone."""
        self.unfinished -= 1
        if not self.unfinished:
            self.finish()

    def finish(self) -> None:
        """The buffer may be used again."""
        if self.registration is not None:
            self.process.registrations.release(self.registration)
            self.registration = None
        self.done = True
        if self.rendezvous is not None:
            self.connection.over()


class Recv(Request):
    """A message that is received.

    Attributes:
        serial: number of this receive among those of the process.
        missing: bytes, or parts, of it that have not come in.
    """

    __slots__ = ("missing", "serial")
    what = "a message from"

    def __init__(
        self, process: Process, buffer: Buffer, peer: int, tag: int, context: int, serial: int
    ) -> None:
        super().__init__(process, buffer, peer, tag, context)
        self.serial = serial
        self.missing = 0

    def matches(self, packet: Packet) -> bool:
        """Whether a message belongs here."""
        return (
            self.context == packet.context
            and self.peer in (ANY_SOURCE, packet.source)
            and self.tag in (ANY_TAG, packet.tag)
        )

    def fetched(self, packet: Packet) -> None:
        """One part of it has been written."""
        self.missing -= 1
        if not self.missing:
            self.buffer.put(packet.data)
            self.finish()

    def finish(self) -> None:
        """All of it is there."""
        if self.registration is not None:
            self.process.registrations.release(self.registration)
            self.registration = None
        self.done = True
