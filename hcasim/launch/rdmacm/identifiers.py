"""Identifiers of the connection manager: ends of connections, listeners, and who tells of them.

Its messages take a fixed time, as no program measures it. Source: Linux, core/cma.c and core/cm.c.
"""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, Final

from hcasim.cluster import Node
from hcasim.launch.rdmacm.layout import (
    AH,
    CONN,
    EVENT,
    LOOPBACK,
    QKEY,
    UD,
    UD_PARAM,
    EventType,
    Side,
)
from hcasim.verbs import QP, QPAttr, QPAttrMask, State
from hcasim.verbs.address import GID, GIDType, gid_type, gids, on_ethernet

if TYPE_CHECKING:
    from hcasim.launch.session import Process, Session

RESOLVE_PS: Final = 10_000_000
"""Assumed: an answer of the kernel's tables or of the subnet manager."""
_MESSAGE_PS: Final = 20_000_000
"""Assumed: a message of the connection manager, with the work of both kernels."""
_FIRST_FREE: Final = 49152
_NETWORK: Final = 0x0A00_0000
"""Of the ports' IPv4 addresses in the GIDs of RoCE; the rest is the LID of the port."""
_NODES: Final = 0x7F00_0000
_A_BYTE: Final = 254
"""Of the nodes' addresses, as native/sockets.c has them."""
_GROUPS: Final = 0xE
"""What IPv4 addresses of multicast groups begin with."""
_NO_SUCH_SERVICE: Final = 8
BY_PROGRAM: Final = 28
"""Why a request is rejected (volume 1, 12.6.7.2)."""

# Lengths of private data, which come padded (Linux, core/cma.c; volume 1, 12.6).
_REQ, _REP, _REJ, _SIDR_REQ, _SIDR_REP = 56, 196, 148, 180, 136


class EventChannel:
    """An open device, with the events that its program has not taken yet."""

    def __init__(self, process: Process, descriptor: int) -> None:
        self.process = process
        self.events: deque[tuple[Identifier, bytes]] = deque()
        self.ids: dict[int, Identifier] = {}
        self._pipe = process.pipe(descriptor)
        self._lit = False

    def tell(self, about: Identifier, event: bytes) -> None:
        self.events.append((about, event))
        if not self._lit:
            self._lit = True
            with suppress(OSError):
                os.write(self._pipe, b"!")
        self.process.session.touched()

    def dark(self) -> bool:
        """Whether the program has to take the byte out of the pipe, as no event is left."""
        if self.events or not self._lit:
            return False
        self._lit = False
        return True

    def forget(self, about: Identifier) -> None:
        self.events = deque(one for one in self.events if one[0] is not about)

    def close(self) -> None:
        for one in list(self.ids.values()):
            one.destroy()
        os.close(self._pipe)


@dataclass(eq=False)
class Identifier:
    """An identifier, as of rdma_create_id: one end of a connection, or a listener."""

    manager: Manager
    channel: EventChannel
    number: int
    uid: int
    space: int
    service: int
    node: Node
    port_num: int = 0
    host: int = 0
    port: int = 0
    far: tuple[int, int] = (0, 0)
    far_place: tuple[Node, int] | None = None
    listens: bool = False
    listener: Identifier | None = None
    peer: Identifier | None = None
    own: Side = field(default_factory=Side)
    other: Side = field(default_factory=Side)
    connected: bool = False
    gone: bool = False
    retry_count: int = 0
    told: int = 0
    timeout: int | None = None

    def event(
        self, kind: EventType, status: int = 0, side: Side | None = None, room: int = 0
    ) -> None:
        """Tell the program, with what the other side says in private data of so many bytes."""
        self.tell(kind, status, b"" if side is None else self._param(side, room))

    def tell(self, kind: EventType, status: int, param: bytes) -> None:
        """Tell the program, which knows of a request by the identifier that listens."""
        about = self.listener or self
        if about is not self and kind != EventType.CONNECT_REQUEST:
            return
        data = EVENT.pack(about.uid, self.number, kind, status & 0xFFFF_FFFF, param, 0, 0)
        self.channel.tell(about, data)

    def _param(self, side: Side, room: int) -> bytes:
        private = side.private.ljust(room, b"\0")
        if self.service == UD:
            return UD_PARAM.pack(side.qp_num, side.qkey, self.address(), private, len(private))
        # What the other side asks for is what this side may answer, and the other way round.
        rest = side.srq, side.initiator_depth, side.responder_resources, side.flow_control
        retries = side.retry_count, side.rnr_retry_count, 1
        return CONN.pack(side.qp_num, side.qkey, private, len(private), *rest, *retries)

    def after(self, delay_ps: int, then: Callable[[], None]) -> None:
        """Do something later, unless it has been destroyed until then."""
        self.manager.session.sim.call_after(delay_ps, self._later, then)

    def _later(self, then: Callable[[], None]) -> None:
        if self.number in self.manager.ids:
            then()

    def gid(self) -> GID:
        return gids(self.node, self.port_num or 1)[-1]

    def far_gid(self) -> GID:
        return IPv6Address(0) if self.far_place is None else gids(*self.far_place)[-1]

    def address(self) -> bytes:
        """The structure ib_uverbs_ah_attr of the other end."""
        if self.far_place is None:
            return bytes(AH.size)
        node, port = self.far_place
        ethernet = on_ethernet(self.node)
        index = len(gids(self.node, self.port_num or 1)) - 1
        lid = 0 if ethernet else node.adapter.ports[port - 1].lid
        rest = lid, 0, 0, 0, int(ethernet), self.port_num, 0
        return AH.pack(self.far_gid().packed, 0, index, 64 if ethernet else 1, 0, 0, *rest)

    # Connections.

    def connect(self) -> None:
        listener = None
        if self.far_place is not None:
            listener = self.manager.listener(self.far_place[0], self.space, self.far)
        if listener is None:
            unheard = EventType.REJECTED, _NO_SUCH_SERVICE, Side(), _REJ
            self.after(_MESSAGE_PS, lambda: self.event(*unheard))
            return
        made = self.manager.make(listener.channel, 0, self.space, self.service)
        made.listener, made.peer, self.peer, self.gone = listener, self, made, False
        made.node, made.host, made.port = listener.node, self.far[0], self.far[1]
        made.far, made.far_place = (self.host, self.port), (self.node, self.port_num)
        assert self.far_place is not None
        made.port_num, made.other = self.far_place[1], self.own
        made.retry_count = self.retry_count = self.own.retry_count
        room = _SIDR_REQ if self.service == UD else _REQ
        made.after(_MESSAGE_PS, lambda: made.event(EventType.CONNECT_REQUEST, 0, self.own, room))

    def accept(self, side: Side | None, uid: int) -> None:
        peer = self.peer
        if side is None:
            # Its program has seen the answer, and is ready.
            self.connected = True
            if peer is not None:
                peer.after(_MESSAGE_PS, peer.established)
            return
        self.own, self.listener, self.uid = side, None, uid
        if peer is None:
            return
        peer.other = side
        if self.service == UD:
            side.qkey = side.qkey or QKEY
            peer.after(_MESSAGE_PS, lambda: peer.event(EventType.ESTABLISHED, 0, side, _SIDR_REP))
        else:
            peer.after(_MESSAGE_PS, lambda: peer.event(EventType.CONNECT_RESPONSE, 0, side, _REP))

    def established(self) -> None:
        self.connected = True
        self.event(EventType.ESTABLISHED, 0, Side(), 0)

    def reject(self, private: bytes, reason: int) -> None:
        peer, self.peer = self.peer, None
        if peer is not None:
            peer.peer = None
            side = Side(private=private)
            peer.after(_MESSAGE_PS, lambda: peer.event(EventType.REJECTED, reason, side, _REJ))

    def disconnect(self) -> None:
        """The other side is told; this one when the other has gone, too."""
        peer = self.peer
        if self.connected and peer is not None:
            peer.after(_MESSAGE_PS, peer.left)
            self._close()
        self.connected = False

    def left(self) -> None:
        if not self.gone:
            self.gone = True
            self._close()
            self.event(EventType.DISCONNECTED)

    def _close(self) -> None:
        """Over iWARP the kernel closes a queue pair with its connection, else the program does."""
        if gid_type(self.node) is GIDType.ROCE_V2 or not on_ethernet(self.node):
            return
        for one in self.channel.process.objects.values():
            if isinstance(one, QP) and one.qp_num == self.own.qp_num:
                one.modify_qp(QPAttr(State.ERR), QPAttrMask.STATE)

    def destroy(self) -> None:
        for one in [one for one in self.channel.ids.values() if one.listener is self]:
            one.destroy()
        self.manager.ids.pop(self.number, None)
        self.channel.ids.pop(self.number, None)
        self.channel.forget(self)
        if self.listener is not None:
            self.reject(b"", BY_PROGRAM)
        self.disconnect()
        if self.peer is not None:
            self.peer.peer = None

    def bind(self, host: int, port: int) -> int:
        """Take an address of the node; an errno, or 0."""
        place = self.manager.place(host, self.node) if host else None
        if host and (place is None or place[0] is not self.node):
            return errno.EADDRNOTAVAIL
        number = self.manager.take(self, port)
        if not number:
            return errno.EADDRINUSE
        self.host, self.port = host, number
        if place is not None:
            self.port_num = place[1]
        return 0

    def resolve(self, near: tuple[int, int], far: tuple[int, int]) -> int:
        """Find the other end, and the port of this one that leads there; an errno, or 0."""
        self.far = far
        self.far_place = self.manager.place(far[0], self.node)
        group = far[0] >> 28 == _GROUPS
        if self.far_place is None and not group:
            self.after(RESOLVE_PS, lambda: self.event(EventType.ADDR_ERROR, -errno.EHOSTUNREACH))
            return 0
        if not self.port and (fault := self.bind(*near)):
            return fault
        if not self.port_num:
            there = 1 if self.far_place is None else self.far_place[1]
            self.port_num = min(there, len(self.node.adapter.ports))
        self.host = self.host or self.manager.host(self.node, self.port_num)
        self.after(RESOLVE_PS, lambda: self.event(EventType.ADDR_RESOLVED))
        return 0


class Manager:
    """All identifiers of a launch, and the ports that they have."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.ids: dict[int, Identifier] = {}
        self._next = 1

    def make(self, channel: EventChannel, uid: int, space: int, service: int) -> Identifier:
        number, self._next = self._next, self._next + 1
        made = Identifier(self, channel, number, uid, space, service, channel.process.node)
        self.ids[number] = channel.ids[number] = made
        return made

    def place(self, host: int, near: Node) -> tuple[Node, int] | None:
        """Node and port of an address; those of the near node for the loopback address."""
        if host == LOOPBACK:
            return near, 1
        for node in self.session.cluster.nodes:
            for port, one in enumerate(node.adapter.ports, 1):
                if host in (self.host(node, port), _NETWORK | one.lid):
                    return node, port
        return None

    def host(self, node: Node, port: int) -> int:
        """The address of a port; that of the first is the node's, as sockets have it."""
        if port > 1:
            return _NETWORK | node.adapter.ports[port - 1].lid
        return _NODES | (1 + node.index // _A_BYTE) << 8 | (1 + node.index % _A_BYTE)

    def take(self, taker: Identifier, port: int) -> int:
        """A port of the node that nobody else has; 0 if somebody has it."""
        taken = {
            one.port
            for one in self.ids.values()
            if one is not taker and one.node is taker.node and one.space == taker.space
            if one.listens or one.peer is None
        }
        if port:
            return 0 if port in taken else port
        return next(one for one in range(_FIRST_FREE, 1 << 16) if one not in taken)

    def listener(self, node: Node, space: int, far: tuple[int, int]) -> Identifier | None:
        for one in self.ids.values():
            where = one.listens, one.node, one.space, one.port
            if where == (True, node, space, far[1]) and one.host in (0, far[0]):
                return one
        return None
