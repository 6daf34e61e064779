"""One end of a connection: its number, its state and its peer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from hcasim.fabric.packet import (
    FULL_MEMBER,
    INDEX,
    MEMBERSHIP,
    Header,
    Opcode,
    Packet,
    Route,
    Sizes,
)
from hcasim.hca.events import EventType
from hcasim.hca.translation import Access


class QPType(Enum):
    """Transport service of a queue pair; names and numbers are those of libibverbs.

    UC, unreliable connection, and UD, unreliable datagram, are not acknowledged: a request has
    ended when its last packet has left, and what finds no receive buffer is dropped without a word
    (InfiniBand Architecture Specification volume 1, 9.8.2 and 9.8.3). DCI and DCT, initiator and
    target of the dynamically connected transport, are those of mlx5dv; they have the numbers of
    Linux' driver mlx5. XRC_SEND and XRC_RECV, extended reliable connection, RAW_PACKET and DRIVER,
    those of a driver's own, are not modelled.
    """

    RC = 2
    UC = 3
    UD = 4
    RAW_PACKET = 8
    XRC_SEND = 9
    XRC_RECV = 10
    DRIVER = 0xFF
    DCI = 0x1002
    DCT = 0x1003


class State(Enum):
    """State of a queue pair; names and numbers are those of libibverbs.

    INIT takes receive requests, RTR also messages, RTS sends. SQD finishes what it has begun to
    send and holds the rest; SQE follows an error of a send without an acknowledgement, and flushes
    sends; ERR flushes everything (InfiniBand Architecture Specification volume 1, 10.3.1).
    """

    RESET = 0
    INIT = 1
    RTR = 2
    RTS = 3
    SQD = 4
    SQE = 5
    ERR = 6


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
_RECEIVING: Final = (State.RTR, State.RTS, State.SQD, State.SQE)
_DEAF: Final = -1
_LOOKED_AT: Final = 1 << 16
ALL_ACCESS: Final = (
    Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ | Access.REMOTE_ATOMIC
)


@dataclass(frozen=True)
class Path:
    """What both ends of a connection have agreed on, or datagrams begin with.

    Attributes:
        timeout: exponent of the time to wait for an answer, 0 to 31; 0 is for ever.
        retries: times that it may expire in a row before the request is given up.
        rnr_retry: tries after the receiver was not ready; 7 is for ever.
        rnr_timer_ps: pause that this end asks for when it is not ready.
        max_rd_atomic: reads and atomics that may be in flight.
        max_dest_rd_atomic: reads and atomics of the other end that this end takes at once.
        access: value of the rights that the other end has here; regions may give fewer.
        rq_psn, sq_psn: number of the first packet that comes, and of the first that goes.
        pkey_index: place of the partition's key in the table of the port.
        qkey: what datagrams have to name to be received.
    """

    mtu: int = 0
    route: Route = NOWHERE
    qpn: int = 0
    timeout: int = 0
    retries: int = 0
    rnr_retry: int = 0
    rnr_timer_ps: int = 0
    max_rd_atomic: int = 1
    max_dest_rd_atomic: int = 1
    access: int = ALL_ACCESS.value
    rq_psn: int = 0
    sq_psn: int = 0
    pkey_index: int = 0
    qkey: int = 0


@dataclass(eq=False)
class Endpoint:
    """One end of a connection, or of datagrams, at a port of the adapter.

    Attributes:
        qpn: its number, which others know it by; ``index`` counts those of its adapter from 1.
        signals_all: whether each of its requests has a completion.
        sizes: of its packets.
        pkey: of its partition; ``accepts`` is the same for full members, whose packets may come
            without another look, and less than 0 while none may come.
        denies: value of the rights that the other end does not have here, whatever its region says.
        segment: data of a full packet that comes; 0 if that is not agreed on.
        dc_key: what initiators have to name, if it is a target of dynamic connections.
        on_event: told of asynchronous events.
        index: its number among those of its adapter.
    """

    qpn: int
    pd: int
    port: int
    kind: QPType
    signals_all: bool
    sizes: Sizes
    state: State = State.RESET
    path: Path = Path()
    pkey: int = FULL_MEMBER
    accepts: int = _DEAF
    denies: int = 0
    segment: int = 0
    dc_key: int | None = None
    on_event: Callable[[EventType], None] | None = None
    index: int = 0

    def __post_init__(self) -> None:
        self.index = self.qpn & INDEX

    def __str__(self) -> str:
        return f"qp {self.index}"

    def answer(
        self,
        opcode: Opcode,
        psn: int,
        headers: tuple[Header, ...],
        payload: int = 0,
        operation: int = 0,
    ) -> Packet:
        path = self.path
        packet = Packet(opcode, path.route, path.qpn, psn, payload, headers, sizes=self.sizes)
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
            self._listen()

    def join(self, pkey: int) -> None:
        """Take part in the partition of a key."""
        self.pkey = pkey
        self._listen()

    def _listen(self) -> None:
        if self.state not in _RECEIVING:
            self.accepts = _DEAF
        else:
            self.accepts = self.pkey if self.pkey & MEMBERSHIP else _LOOKED_AT

    def tell(self, event: EventType) -> None:
        if self.on_event is not None:
            self.on_event(event)

    def fail(self) -> None:
        """Enter the error state; the queue pair says how, which knows both halves."""
        raise NotImplementedError

    def fail_send(self) -> None:
        """Enter the state that follows the error of a send."""
        raise NotImplementedError

    def drained(self) -> None:
        """Learn that what had begun in the state SQD has been finished."""
