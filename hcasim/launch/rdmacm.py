"""The connection manager of the kernel, as librdmacm writes commands to its device.

Its messages take a fixed time, as no program measures it. Source: Linux, rdma/rdma_user_cm.h; what
it answers is that of core/cma.c, core/ucma.c and core/cm.c.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from struct import Struct
from typing import TYPE_CHECKING, Final

from hcasim.cluster import Node
from hcasim.fabric.multicast import MULTICAST_LIDS
from hcasim.fabric.packet import FULL_MEMBER
from hcasim.launch.channel import Question
from hcasim.launch.circles import Nothing
from hcasim.launch.session import Answer, Steps, Thread, call
from hcasim.verbs import QP, QPAttr, QPAttrMask, State
from hcasim.verbs.address import GID, GIDType, gid_type, gids, on_ethernet
from hcasim.verbs.device import device_of, port_of

if TYPE_CHECKING:
    from hcasim.launch.session import Process, Session

_MESSAGE_PS: Final = 20_000_000
"""Assumed: a message of the connection manager, with the work of both kernels."""
_COMMAND_PS: Final = 2_000_000
"""Assumed: what the kernel does about a command."""
_RESOLVE_PS: Final = 10_000_000
"""Assumed: an answer of the kernel's tables or of the subnet manager."""
_FIRST_FREE: Final = 49152
_NETWORK: Final = 0x0A00_0000
"""Of the ports' IPv4 addresses in the GIDs of RoCE; the rest is the LID of the port."""
_NODES: Final = 0x7F00_0000
_A_BYTE: Final = 254
"""Of the nodes' addresses, as native/sockets.c has them."""
_LOOPBACK: Final = 0x7F00_0001
_GROUPS: Final = 0xE
"""What IPv4 addresses of multicast groups begin with."""
_RC, _UD = 2, 4
_SERVICES: Final = {0x0106: _RC, 0x0111: _UD, 0x0002: _UD}
"""Port spaces of TCP, UDP and IPoIB."""
_ACK_TIMEOUT: Final = (0, 3)
_QKEY: Final = 0x0123_4567
"""Of all datagrams that are addressed by IP (RDMA_UDP_QKEY)."""
_IB_TIMEOUT, _ROCE_TIMEOUT = 19, 17
_NO_SUCH_SERVICE, _BY_PROGRAM = 8, 28
_REMOTE_WRITE, _REMOTE_READS = 1 << 1, 1 << 2 | 1 << 3

# Lengths of private data, which come padded (Linux, core/cma.c; volume 1, 12.6).
_REQ, _REP, _REJ, _SIDR_REQ, _SIDR_REP = 56, 196, 148, 180, 136

_ADDR_RESOLVED, _ADDR_ERROR, _ROUTE_RESOLVED = 0, 1, 2
_CONNECT_REQUEST, _CONNECT_RESPONSE = 4, 5
_REJECTED, _ESTABLISHED, _DISCONNECTED = 8, 9, 10
_MULTICAST_JOIN: Final = 12
_GET_EVENT: Final = 12

_CONN: Final = Struct("=II256s8B")
_AH: Final = Struct("=16sI4BH6B")
_UD_PARAM: Final = Struct("=II32s256sB7x")
_EVENT: Final = Struct("=Q3I304s4xII")
_PATH: Final = Struct("=16s16s2s2sI4sII2s10B")
_ROUTE: Final = Struct("=8s64s64s28s28sIB3xII")
_ATTR: Final = Struct("=10I32s32s5IHH11B5x")
_IN, _IN6 = 2, 10


@dataclass(slots=True)
class _Side:
    """What one side of a connection says."""

    qp_num: int = 0
    qkey: int = 0
    private: bytes = b""
    srq: int = 0
    responder_resources: int = 0
    initiator_depth: int = 0
    flow_control: int = 0
    retry_count: int = 0
    rnr_retry_count: int = 0

    @classmethod
    def read(cls, data: bytes) -> tuple[_Side, bool]:
        """Of a command, and whether it says anything."""
        number, qkey, private, length, *rest, valid = _CONN.unpack_from(data)
        return cls(number, qkey, private[:length], *rest), bool(valid)


class _Channel:
    """An open device, with the events that its program has not taken yet."""

    def __init__(self, process: Process, descriptor: int) -> None:
        self.process = process
        self.events: deque[tuple[_ID, bytes]] = deque()
        self.ids: dict[int, _ID] = {}
        self._pipe = process.pipe(descriptor)
        self._lit = False

    def tell(self, about: _ID, event: bytes) -> None:
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

    def forget(self, about: _ID) -> None:
        self.events = deque(one for one in self.events if one[0] is not about)

    def close(self) -> None:
        for one in list(self.ids.values()):
            one.destroy()
        os.close(self._pipe)


@dataclass(eq=False)
class _ID:
    """An identifier, as of rdma_create_id: one end of a connection, or a listener."""

    manager: _Manager
    channel: _Channel
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
    listener: _ID | None = None
    peer: _ID | None = None
    own: _Side = field(default_factory=_Side)
    other: _Side = field(default_factory=_Side)
    connected: bool = False
    gone: bool = False
    retry_count: int = 0
    told: int = 0
    timeout: int | None = None

    def event(self, kind: int, status: int = 0, side: _Side | None = None, room: int = 0) -> None:
        """Tell the program, with what the other side says in private data of so many bytes."""
        self.tell(kind, status, b"" if side is None else self._param(side, room))

    def tell(self, kind: int, status: int, param: bytes) -> None:
        """Tell the program, which knows of a request by the identifier that listens."""
        about = self.listener or self
        if about is not self and kind != _CONNECT_REQUEST:
            return
        data = _EVENT.pack(about.uid, self.number, kind, status & 0xFFFF_FFFF, param, 0, 0)
        self.channel.tell(about, data)

    def _param(self, side: _Side, room: int) -> bytes:
        private = side.private.ljust(room, b"\0")
        if self.service == _UD:
            return _UD_PARAM.pack(side.qp_num, side.qkey, self.address(), private, len(private))
        # What the other side asks for is what this side may answer, and the other way round.
        rest = side.srq, side.initiator_depth, side.responder_resources, side.flow_control
        retries = side.retry_count, side.rnr_retry_count, 1
        return _CONN.pack(side.qp_num, side.qkey, private, len(private), *rest, *retries)

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
            return bytes(_AH.size)
        node, port = self.far_place
        ethernet = on_ethernet(self.node)
        index = len(gids(self.node, self.port_num or 1)) - 1
        lid = 0 if ethernet else node.adapter.ports[port - 1].lid
        rest = lid, 0, 0, 0, int(ethernet), self.port_num, 0
        return _AH.pack(self.far_gid().packed, 0, index, 64 if ethernet else 1, 0, 0, *rest)

    # Connections.

    def connect(self) -> None:
        listener = None
        if self.far_place is not None:
            listener = self.manager.listener(self.far_place[0], self.space, self.far)
        if listener is None:
            self.after(_MESSAGE_PS, lambda: self.event(_REJECTED, _NO_SUCH_SERVICE, _Side(), _REJ))
            return
        made = self.manager.make(listener.channel, 0, self.space, self.service)
        made.listener, made.peer, self.peer, self.gone = listener, self, made, False
        made.node, made.host, made.port = listener.node, self.far[0], self.far[1]
        made.far, made.far_place = (self.host, self.port), (self.node, self.port_num)
        assert self.far_place is not None
        made.port_num, made.other = self.far_place[1], self.own
        made.retry_count = self.retry_count = self.own.retry_count
        room = _SIDR_REQ if self.service == _UD else _REQ
        made.after(_MESSAGE_PS, lambda: made.event(_CONNECT_REQUEST, 0, self.own, room))

    def accept(self, side: _Side | None, uid: int) -> None:
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
        if self.service == _UD:
            side.qkey = side.qkey or _QKEY
            peer.after(_MESSAGE_PS, lambda: peer.event(_ESTABLISHED, 0, side, _SIDR_REP))
        else:
            peer.after(_MESSAGE_PS, lambda: peer.event(_CONNECT_RESPONSE, 0, side, _REP))

    def established(self) -> None:
        self.connected = True
        self.event(_ESTABLISHED, 0, _Side(), 0)

    def reject(self, private: bytes, reason: int) -> None:
        peer, self.peer = self.peer, None
        if peer is not None:
            peer.peer = None
            side = _Side(private=private)
            peer.after(_MESSAGE_PS, lambda: peer.event(_REJECTED, reason, side, _REJ))

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
            self.event(_DISCONNECTED)

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
            self.reject(b"", _BY_PROGRAM)
        self.disconnect()
        if self.peer is not None:
            self.peer.peer = None

    # What the program asks for.

    def attributes(self, state: int) -> bytes:
        """The structure ib_uverbs_qp_attr that takes the queue pair to a state."""
        init, rtr, rts = 1, 2, 3
        connected = self.service == _RC
        mask = 1 << 0
        flags = 0
        if state == init:
            mask |= 1 << 4 | 1 << 5 | (1 << 3 if connected else 1 << 6)
            if connected and self.peer is not None:
                flags = _REMOTE_WRITE | (_REMOTE_READS if self.other.initiator_depth else 0)
        elif state == rtr and connected:
            mask |= 1 << 7 | 1 << 8 | 1 << 12 | 1 << 15 | 1 << 17 | 1 << 20
        elif state == rts:
            mask |= 1 << 16
            if connected:
                mask |= 1 << 9 | 1 << 10 | 1 << 11 | 1 << 13
        peer = self.peer.number if self.peer is not None else 0
        first = state, 0, port_of(self.node, self.port_num or 1).active_mtu, 0
        numbers = _QKEY, peer, self.number, self.other.qp_num, flags
        usual = _ROCE_TIMEOUT if on_ethernet(self.node) else _IB_TIMEOUT
        timeout = usual if self.timeout is None else self.timeout
        both = self.other.responder_resources, self.other.initiator_depth
        retries = timeout, self.retry_count, self.other.rnr_retry_count
        return _ATTR.pack(
            mask,
            *first,
            *numbers,
            self.address(),
            bytes(_AH.size),
            *[0] * 5,
            0,
            0,
            0,
            0,
            *both,
            0,
            self.port_num,
            *retries,
            0,
            0,
        )

    def group(self, host: int) -> bytes:
        """What it is told of the multicast group of an IPv4 address (RFC 4391, 4)."""
        ethernet = on_ethernet(self.node)
        mgid = IPv6Address((0xFF0E << 112) | 0xFFFF << 32 | host)
        if not ethernet:
            mgid = IPv6Address(0xFF12_401B_FFFF << 80 | host & 0x0FFF_FFFF)
        lid = MULTICAST_LIDS[host % len(MULTICAST_LIDS)]
        index = len(gids(self.node, self.port_num or 1)) - 1
        rest = lid, 0, 0, 0, 1, self.port_num or 1, 0
        address = _AH.pack(mgid.packed, 0, index, 64 if ethernet else 1, 0, 0, *rest)
        return _UD_PARAM.pack(0xFF_FFFF, _QKEY, address, b"", 0)

    def route(self) -> bytes:
        """The structure rdma_ucm_query_route_resp."""
        node, ethernet = self.node, on_ethernet(self.node)
        guid = device_of(node).node_guid.to_bytes(8) if self.port_num else bytes(8)
        path, paths = bytes(_PATH.size), 0
        if self.port_num and self.far_place is not None:
            lids = [
                0 if ethernet else one.adapter.ports[port - 1].lid
                for one, port in (self.far_place, (node, self.port_num))
            ]
            mtu, paths = port_of(node, self.port_num).active_mtu, 1
            path = _PATH.pack(
                self.far_gid().packed,
                self.gid().packed,
                lids[0].to_bytes(2),
                lids[1].to_bytes(2),
                0,
                bytes(4),
                1,
                mtu,
                FULL_MEMBER.to_bytes(2),
                64 if ethernet else 0,
                *[0] * 9,
            )
        elif self.port_num:
            path = bytes(16) + self.gid().packed + bytes(20) + FULL_MEMBER.to_bytes(2) + bytes(10)
        ends = [_sockaddr(*one) for one in ((self.host, self.port), self.far)]
        return _ROUTE.pack(guid, path, bytes(_PATH.size), *ends, paths, self.port_num, 0, 0)

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
            self.after(_RESOLVE_PS, lambda: self.event(_ADDR_ERROR, -errno.EHOSTUNREACH))
            return 0
        if not self.port and (fault := self.bind(*near)):
            return fault
        if not self.port_num:
            there = 1 if self.far_place is None else self.far_place[1]
            self.port_num = min(there, len(self.node.adapter.ports))
        self.host = self.host or self.manager.host(self.node, self.port_num)
        self.after(_RESOLVE_PS, lambda: self.event(_ADDR_RESOLVED))
        return 0


class _Manager:
    """All identifiers of a launch, and the ports that they have."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.ids: dict[int, _ID] = {}
        self._next = 1

    def make(self, channel: _Channel, uid: int, space: int, service: int) -> _ID:
        number, self._next = self._next, self._next + 1
        made = _ID(self, channel, number, uid, space, service, channel.process.node)
        self.ids[number] = channel.ids[number] = made
        return made

    def place(self, host: int, near: Node) -> tuple[Node, int] | None:
        """Node and port of an address; those of the near node for the loopback address."""
        if host == _LOOPBACK:
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

    def take(self, taker: _ID, port: int) -> int:
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

    def listener(self, node: Node, space: int, far: tuple[int, int]) -> _ID | None:
        for one in self.ids.values():
            where = one.listens, one.node, one.space, one.port
            if where == (True, node, space, far[1]) and one.host in (0, far[0]):
                return one
        return None


def _sockaddr(host: int, port: int) -> bytes:
    return Struct("=H2s4s20x").pack(_IN, port.to_bytes(2), host.to_bytes(4))


def _read_sockaddr(data: bytes) -> tuple[int, int]:
    """Address of IPv4, 0 for any, and port."""
    family = int.from_bytes(data[:2], sys.byteorder)
    port = int.from_bytes(data[2:4])
    if family == _IN:
        return int.from_bytes(data[4:8]), port
    if family == _IN6:
        address = IPv6Address(data[8:24])
        if address.is_loopback:
            return _LOOPBACK, port
        return int(address.ipv4_mapped or 0), port
    return 0, port


def _manager(thread: Thread) -> _Manager:
    session = thread.process.session
    found = session.kept.get(__name__)
    if not isinstance(found, _Manager):
        found = session.kept[__name__] = _Manager(session)
    return found


_Told = tuple[int, bytes]
_Command = Callable[[Thread, _Channel, bytes], _Told]
_COMMANDS: Final[dict[int, _Command]] = {}
_OK: Final[_Told] = 0, b""


def _command(number: int) -> Callable[[_Command], _Command]:
    """Have a function answer a command, of which it is given the bytes."""

    def enter(function: _Command) -> _Command:
        _COMMANDS[number] = function
        return function

    return enter


def _told(fault: int) -> _Told:
    return fault, b""


@_command(0)
def _create_id(thread: Thread, channel: _Channel, data: bytes) -> _Told:
    uid, _, space = struct.unpack_from("=QQH", data)
    if space not in _SERVICES:
        return _told(errno.EPROTONOSUPPORT)
    made = _manager(thread).make(channel, uid, space, _SERVICES[space])
    return 0, struct.pack("=I", made.number)


@_command(1)
def _destroy_id(thread: Thread, channel: _Channel, data: bytes) -> _Told:
    one = channel.ids[struct.unpack_from("=QI", data)[1]]
    one.destroy()
    return 0, struct.pack("=I", one.told)


@_command(2)
def _bind_ip(thread: Thread, channel: _Channel, data: bytes) -> _Told:
    _, address, number = struct.unpack_from("=Q28sI", data)
    return _told(channel.ids[number].bind(*_read_sockaddr(address)))


@_command(3)
def _resolve_ip(thread: Thread, channel: _Channel, data: bytes) -> _Told:
    near, far, number = struct.unpack_from("=28s28sI", data)
    return _told(channel.ids[number].resolve(_read_sockaddr(near), _read_sockaddr(far)))


@_command(4)
def _resolve_route(thread: Thread, channel: _Channel, data: bytes) -> _Told:
    one = channel.ids[struct.unpack_from("=I", data)[0]]
    if one.far_place is None:
        return _told(errno.EINVAL)
    one.after(_RESOLVE_PS, lambda: one.event(_ROUTE_RESOLVED))
    return _OK


@_command(5)
def _query_route(thread: Thread, channel: _Channel, data: bytes) -> _Told:
    return 0, channel.ids[struct.unpack_from("=QI", data)[1]].route()


@_command(6)
def _connect(thread: Thread, channel: _Channel, data: bytes) -> _Told:
    param, number = struct.unpack_from("=272sI", data)
    one = channel.ids[number]
    if one.far_place is None or one.peer is not None:
        return _told(errno.EINVAL)
    one.own, _ = _Side.read(param)
    one.connect()
    return _OK


@_command(7)
def _listen(thread: Thread, channel: _Channel, data: bytes) -> _Told:
    one = channel.ids[struct.unpack_from("=I", data)[0]]
    fault = 0 if one.port else one.bind(0, 0)
    one.listens = not fault
    return _told(fault)


@_command(8)
def _accept(thread: Thread, channel: _Channel, data: bytes) -> _Told:
    uid, param, number = struct.unpack_from("=Q272sI", data)
    side, said = _Side.read(param)
    channel.ids[number].accept(side if said else None, uid)
    return _OK


@_command(9)
def _reject(thread: Thread, channel: _Channel, data: bytes) -> _Told:
    number, length, reason, private = struct.unpack_from("=IBB2x256s", data)
    channel.ids[number].reject(private[:length], reason or _BY_PROGRAM)
    return _OK


@_command(10)
def _disconnect(thread: Thread, channel: _Channel, data: bytes) -> _Told:
    channel.ids[struct.unpack_from("=I", data)[0]].disconnect()
    return _OK


@_command(11)
def _init_qp_attr(thread: Thread, channel: _Channel, data: bytes) -> _Told:
    _, number, state = struct.unpack_from("=QII", data)
    return 0, channel.ids[number].attributes(state)


@_command(_GET_EVENT)
def _get_event(thread: Thread, channel: _Channel, data: bytes) -> _Told:
    if not channel.events:
        return _told(errno.EAGAIN)
    about, event = channel.events.popleft()
    about.told += 1
    return 0, event


@_command(14)
def _set_option(thread: Thread, channel: _Channel, data: bytes) -> _Told:
    _, number, level, name, length = struct.unpack_from("=QIIII", data)
    if (level, name) == _ACK_TIMEOUT and length == 1:
        channel.ids[number].timeout = data[24] & 31
    return _OK


@_command(15)
def _notify(thread: Thread, channel: _Channel, data: bytes) -> _Told:
    return _OK


@_command(16)
def _join(thread: Thread, channel: _Channel, data: bytes) -> _Told:
    _, uid, address, number = struct.unpack_from("=QQ28sI", data)
    one = channel.ids[number]
    group = _manager(thread).make(channel, uid, one.space, one.service)
    param = one.group(_read_sockaddr(address)[0])
    group.after(_RESOLVE_PS, lambda: group.tell(_MULTICAST_JOIN, 0, param))
    return 0, struct.pack("=I", group.number)


_COMMANDS[17] = _destroy_id


@_command(18)
def _migrate(thread: Thread, channel: _Channel, data: bytes) -> _Told:
    _, number, handle = struct.unpack_from("=QII", data)
    before: _Channel = thread.process.objects[handle]
    one = before.ids.pop(number)
    channel.ids[number], one.channel = one, channel
    moved = [event for about, event in before.events if about is one]
    before.forget(one)
    for event in moved:
        channel.tell(one, event)
    return 0, struct.pack("=I", one.told)


@call("CM_OPEN")
def _open(thread: Thread, question: Question) -> Answer:
    """Words: descriptor in the process of the pipe that tells of events."""
    channel = _Channel(thread.process, question.words[0])
    thread.process.at_end.append(channel.close)
    return 0, (thread.process.enter(channel),), b""


@call("CM_CLOSE")
def _close(thread: Thread, question: Question) -> Answer:
    channel: _Channel = thread.process.objects.pop(question.words[0])
    thread.process.at_end.remove(channel.close)
    channel.close()
    return 0, (), b""


@call("CM_WRITE")
def _write(thread: Thread, question: Question) -> Answer | Steps:
    """Words: device, command, whether it may wait.

    They tell whether no event is left of those that the pipe told of.
    """
    channel: _Channel = thread.process.objects[question.words[0]]
    if question.words[1] == _GET_EVENT and question.words[2] and not channel.events:
        return errno.EAGAIN, (), b""
    return _answered(thread, channel, question)


def _answered(thread: Thread, channel: _Channel, question: Question) -> Steps:
    yield thread.sim.timeout(_COMMAND_PS)
    try:
        fault, data = _COMMANDS[question.words[1]](thread, channel, question.data)
    except struct.error:
        fault, data = errno.EINVAL, b""
    except KeyError:
        fault, data = errno.ENOENT, b""
    if fault == errno.EAGAIN:
        return Nothing(fault)
    return fault, (int(channel.dark()),), data
