"""What the two ends of an MPI library tell each other."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from hcasim.mpi.buffer import Buffer

if TYPE_CHECKING:
    from hcasim.mpi.request import Recv, Send


class Kind(Enum):
    """What a packet is for."""

    EAGER = "eager"
    RTS = "RTS"
    CTS = "CTS"
    DATA = "data"
    FIN = "FIN"
    CREDIT = "credit"


class Packet:
    """One packet between two processes.

    Attributes:
        source: rank of the sender in the communicator.
        context: of the communicator.
        size: bytes of the message that it carries.
        data: them, if contents matter.
        buffer: where the sender has them until they are copied.
        offset: of them in the message.
        send: the request that it belongs to at the sender of the message.
        recv: and at its receiver.
        target: where the peer may write or read, and with which key.
        credits: of each channel, given back with it.
        sequence: its number among those to the peer that have to be dealt with in order.
        slot: its number among those of its channel.
    """

    __slots__ = (
        "buffer",
        "context",
        "credits",
        "data",
        "kind",
        "offset",
        "recv",
        "send",
        "sequence",
        "size",
        "slot",
        "source",
        "tag",
        "target",
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
        self.data: Any = None
        self.offset = 0
        self.send = send
        self.recv = recv
        self.target: tuple[int, int] = (0, 0)
        self.credits: tuple[int, ...] = ()
        self.sequence = 0
        self.slot = 0

    def __str__(self) -> str:
        return f"{self.kind.value} {self.size} B"
