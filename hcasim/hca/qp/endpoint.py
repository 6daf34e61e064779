"""One end of a connection: its number, its state and its peer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from fractions import Fraction
from typing import Final

from hcasim.fabric.packet import Header, Opcode, Packet, Route
from hcasim.hca.events import EventType


class QPType(Enum):
    """Transport service of a queue pair; the names are those of libibverbs.

    UC, unreliable connection, and UD, unreliable datagram, are not acknowledged: a request has
    ended when its last packet has left, and what finds no receive buffer is dropped without a word
    (InfiniBand Architecture Specification volume 1, 9.8.2 and 9.8.3). DCI and DCT, initiator and
    target of the dynamically connected transport, are those of mlx5dv. XRC_SEND and XRC_RECV,
    extended reliable connection, and RAW_PACKET are not modelled.
    """

    RC = auto()
    UC = auto()
    UD = auto()
    DCI = auto()
    DCT = auto()
    XRC_SEND = auto()
    XRC_RECV = auto()
    RAW_PACKET = auto()


class State(Enum):
    """State of a queue pair; the names are those of libibverbs."""

    RESET = auto()
    INIT = auto()
    RTR = auto()
    RTS = auto()
    SQD = auto()
    SQE = auto()
    ERR = auto()


NOWHERE: Final = Route(0)

_ANY: Final = (State.RESET, State.ERR)
_NEXT: Final = {
    State.RESET: (State.INIT, *_ANY),
    State.INIT: (State.INIT, State.RTR, *_ANY),
    State.RTR: (State.RTS, *_ANY),
    State.RTS: (State.RTS, State.SQD, State.SQE, *_ANY),
    State.SQD: (State.RTS, State.SQD, State.SQE, *_ANY),
    State.SQE: (State.RTS, *_ANY),
    State.ERR: _ANY,
}
"""The states that may follow each (volume 1, 10.3.1)."""


@dataclass(frozen=True)
class Path:
    """What both ends of a connection have agreed on, or datagrams begin with.

    Attributes:
        timeout: exponent of the time to wait for an answer, 0 to 31; 0 is for ever.
        retries: times that it may expire in a row before the request is given up.
        rnr_retry: tries after the receiver was not ready; 7 is for ever.
        rnr_timer_ps: pause that this end asks for when it is not ready.
        max_rd_atomic: reads and atomics that may be in flight.
        slower: how many times slower packets may leave than the link of the port would let them.
    """

    mtu: int = 0
    route: Route = NOWHERE
    qpn: int = 0
    timeout: int = 0
    retries: int = 0
    rnr_retry: int = 0
    rnr_timer_ps: int = 0
    max_rd_atomic: int = 1
    slower: Fraction = Fraction(1)


@dataclass(eq=False)
class Endpoint:
    """One end of a connection, or of datagrams, at a port of the adapter.

    Attributes:
        signals_all: whether each of its requests has a completion.
        size_of: sizes of its packets.
        on_event: told of asynchronous events.
    """

    qpn: int
    pd: int
    port: int
    kind: QPType
    signals_all: bool
    size_of: Callable[[Opcode, int, tuple[Header, ...]], int]
    state: State = State.RESET
    path: Path = Path()
    on_event: Callable[[EventType], None] | None = None

    def __str__(self) -> str:
        return f"qp {self.qpn}"

    def answer(
        self,
        opcode: Opcode,
        psn: int,
        headers: tuple[Header, ...],
        payload: int = 0,
        operation: int = 0,
    ) -> Packet:
        path, size_of = self.path, self.size_of
        packet = Packet(opcode, path.route, path.qpn, psn, payload, headers, size_of=size_of)
        packet.answers = True
        packet.operation = operation
        return packet

    def move(self, *states: State) -> None:
        """Go through states; raise a ValueError if one may not follow the one before it."""
        for state in states:
            if state not in _NEXT[self.state]:
                allowed = ", ".join(one.name for one in _NEXT[self.state])
                raise ValueError(f"{state.name} after {self.state.name}; allowed: {allowed}")
            self.state = state

    def tell(self, event: EventType) -> None:
        if self.on_event is not None:
            self.on_event(event)

    def fail(self) -> None:
        """Enter the error state; the queue pair says how, which knows both halves."""
        raise NotImplementedError
