"""The connection manager of the kernel, as librdmacm writes commands to its device."""

from __future__ import annotations

import errno
import struct
from collections.abc import Callable
from typing import Final

from hcasim.launch.channel import Question
from hcasim.launch.circles import Nothing
from hcasim.launch.rdmacm.answers import attributes, group, route
from hcasim.launch.rdmacm.identifiers import BY_PROGRAM, RESOLVE_PS, EventChannel, Manager
from hcasim.launch.rdmacm.layout import (
    SERVICES,
    EventType,
    Side,
    read_sockaddr,
)
from hcasim.launch.session import Answer, Steps, Thread, call

_COMMAND_PS: Final = 2_000_000
"""Assumed: what the kernel does about a command."""
_GET_EVENT: Final = 12
_ACK_TIMEOUT: Final = (0, 3)
"""Level and name of the option."""


def _manager(thread: Thread) -> Manager:
    session = thread.process.session
    found = session.kept.get(__name__)
    if not isinstance(found, Manager):
        found = session.kept[__name__] = Manager(session)
    return found


_Told = tuple[int, bytes]
_Command = Callable[[Thread, EventChannel, bytes], _Told]
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
def _create_id(thread: Thread, channel: EventChannel, data: bytes) -> _Told:
    uid, _, space = struct.unpack_from("=QQH", data)
    if space not in SERVICES:
        return _told(errno.EPROTONOSUPPORT)
    made = _manager(thread).make(channel, uid, space, SERVICES[space])
    return 0, struct.pack("=I", made.number)


@_command(1)
def _destroy_id(thread: Thread, channel: EventChannel, data: bytes) -> _Told:
    one = channel.ids[struct.unpack_from("=QI", data)[1]]
    one.destroy()
    return 0, struct.pack("=I", one.told)


@_command(2)
def _bind_ip(thread: Thread, channel: EventChannel, data: bytes) -> _Told:
    _, address, number = struct.unpack_from("=Q28sI", data)
    return _told(channel.ids[number].bind(*read_sockaddr(address)))


@_command(3)
def _resolve_ip(thread: Thread, channel: EventChannel, data: bytes) -> _Told:
    near, far, number = struct.unpack_from("=28s28sI", data)
    return _told(channel.ids[number].resolve(read_sockaddr(near), read_sockaddr(far)))


@_command(4)
def _resolve_route(thread: Thread, channel: EventChannel, data: bytes) -> _Told:
    one = channel.ids[struct.unpack_from("=I", data)[0]]
    if one.far_place is None:
        return _told(errno.EINVAL)
    one.after(RESOLVE_PS, lambda: one.event(EventType.ROUTE_RESOLVED))
    return _OK


@_command(5)
def _query_route(thread: Thread, channel: EventChannel, data: bytes) -> _Told:
    return 0, route(channel.ids[struct.unpack_from("=QI", data)[1]])


@_command(6)
def _connect(thread: Thread, channel: EventChannel, data: bytes) -> _Told:
    param, number = struct.unpack_from("=272sI", data)
    one = channel.ids[number]
    if one.far_place is None or one.peer is not None:
        return _told(errno.EINVAL)
    one.own, _ = Side.read(param)
    one.connect()
    return _OK


@_command(7)
def _listen(thread: Thread, channel: EventChannel, data: bytes) -> _Told:
    one = channel.ids[struct.unpack_from("=I", data)[0]]
    fault = 0 if one.port else one.bind(0, 0)
    one.listens = not fault
    return _told(fault)


@_command(8)
def _accept(thread: Thread, channel: EventChannel, data: bytes) -> _Told:
    uid, param, number = struct.unpack_from("=Q272sI", data)
    side, said = Side.read(param)
    channel.ids[number].accept(side if said else None, uid)
    return _OK


@_command(9)
def _reject(thread: Thread, channel: EventChannel, data: bytes) -> _Told:
    number, length, reason, private = struct.unpack_from("=IBB2x256s", data)
    channel.ids[number].reject(private[:length], reason or BY_PROGRAM)
    return _OK


@_command(10)
def _disconnect(thread: Thread, channel: EventChannel, data: bytes) -> _Told:
    channel.ids[struct.unpack_from("=I", data)[0]].disconnect()
    return _OK


@_command(11)
def _init_qp_attr(thread: Thread, channel: EventChannel, data: bytes) -> _Told:
    _, number, state = struct.unpack_from("=QII", data)
    return 0, attributes(channel.ids[number], state)


@_command(_GET_EVENT)
def _get_event(thread: Thread, channel: EventChannel, data: bytes) -> _Told:
    if not channel.events:
        return _told(errno.EAGAIN)
    about, event = channel.events.popleft()
    about.told += 1
    return 0, event


@_command(14)
def _set_option(thread: Thread, channel: EventChannel, data: bytes) -> _Told:
    _, number, level, name, length = struct.unpack_from("=QIIII", data)
    if (level, name) == _ACK_TIMEOUT and length == 1:
        channel.ids[number].timeout = data[24] & 31
    return _OK


@_command(15)
def _notify(thread: Thread, channel: EventChannel, data: bytes) -> _Told:
    return _OK


@_command(16)
def _join(thread: Thread, channel: EventChannel, data: bytes) -> _Told:
    _, uid, address, number = struct.unpack_from("=QQ28sI", data)
    one = channel.ids[number]
    made = _manager(thread).make(channel, uid, one.space, one.service)
    param = group(one, read_sockaddr(address)[0])
    made.after(RESOLVE_PS, lambda: made.tell(EventType.MULTICAST_JOIN, 0, param))
    return 0, struct.pack("=I", made.number)


_COMMANDS[17] = _destroy_id


@_command(18)
def _migrate(thread: Thread, channel: EventChannel, data: bytes) -> _Told:
    _, number, handle = struct.unpack_from("=QII", data)
    before: EventChannel = thread.process.objects[handle]
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
    channel = EventChannel(thread.process, question.words[0])
    thread.process.at_end.append(channel.close)
    return 0, (thread.process.enter(channel),), b""


@call("CM_CLOSE")
def _close(thread: Thread, question: Question) -> Answer:
    channel: EventChannel = thread.process.objects.pop(question.words[0])
    thread.process.at_end.remove(channel.close)
    channel.close()
    return 0, (), b""


@call("CM_WRITE")
def _write(thread: Thread, question: Question) -> Answer | Steps:
    """Words: device, command, whether it may wait.

    They tell whether no event is left of those that the pipe told of.
    """
    channel: EventChannel = thread.process.objects[question.words[0]]
    if question.words[1] == _GET_EVENT and question.words[2] and not channel.events:
        return errno.EAGAIN, (), b""
    return _answered(thread, channel, question)


def _answered(thread: Thread, channel: EventChannel, question: Question) -> Steps:
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
