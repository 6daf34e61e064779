"""Which message belongs to which receive of a process, and how it gets there."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from itertools import count

from hcasim.engine import Event
from hcasim.mpi.memory import Buffer
from hcasim.mpi.message import (
    ANY_SOURCE,
    ANY_TAG,
    Incoming,
    Kind,
    MPIError,
    MpiPacket,
    Recv,
    Send,
    Status,
    Steps,
    Worker,
)

_Key = tuple[int, int, int]


class Matching:
    """Receives without a message and messages without a receive, of one process.

    A message takes the receive that was posted first among those that fit, and a receive the
    message that came first; so messages of one sender never overtake each other (MPI 3.1, section
    3.5). Those without wildcards are found by context, source and tag in constant time.
    """

    def __init__(self) -> None:
        self.serials = count()
        self._posted: dict[_Key, deque[Recv]] = {}
        self._wild: list[Recv] = []
        self._unexpected: dict[_Key, deque[tuple[int, MpiPacket]]] = {}

    def post(self, recv: Recv) -> MpiPacket | None:
        packet = self.probe(recv)
        if packet is not None:
            key = (packet.context, packet.source, packet.tag)
            waiting = self._unexpected[key]
            waiting.popleft()
            if not waiting:
                del self._unexpected[key]
            return packet
        if recv.peer == ANY_SOURCE or recv.tag == ANY_TAG:
            self._wild.append(recv)
        else:
            key = (recv.context, recv.peer, recv.tag)
            self._posted.setdefault(key, deque()).append(recv)
        return None

    def probe(self, recv: Recv) -> MpiPacket | None:
        """The first message that belongs to a receive, if there is one."""
        if recv.peer != ANY_SOURCE and recv.tag != ANY_TAG:
            waiting = self._unexpected.get((recv.context, recv.peer, recv.tag))
            return waiting[0][1] if waiting else None
        firsts = (waiting[0] for waiting in self._unexpected.values())
        fitting = [first for first in firsts if recv.matches(first[1])]
        return min(fitting, key=lambda one: one[0])[1] if fitting else None

    def arrive(self, packet: MpiPacket) -> Recv | None:
        key = (packet.context, packet.source, packet.tag)
        exact = self._posted.get(key)
        found = exact[0] if exact else None
        for recv in self._wild:
            if recv.matches(packet):
                if found is None or recv.serial < found.serial:
                    self._wild.remove(recv)
                    return recv
                break
        if found is None:
            self._unexpected.setdefault(key, deque()).append((next(self.serials), packet))
        elif exact is not None:
            exact.popleft()
            if not exact:
                del self._posted[key]
        return found


class Delivery:
    """Brings messages and receives together, and the data to where they are wanted."""

    def __init__(self, process: Worker) -> None:
        self.process = process
        self.matching = Matching()
        self._core = process.context.core

    def irecv(
        self, buffer: Buffer, source: int, tag: int, context: int
    ) -> Generator[Event, object, Recv]:
        recv = Recv(self.process, buffer, source, tag, context, next(self.matching.serials))
        yield self._core.work(self.process.calls.recv)
        self.process.tell("call recv", recv)
        packet = self.matching.post(recv)
        if packet is None:
            return recv
        if packet.kind is Kind.RTS:
            yield from self._accept(recv, packet)
        else:
            yield from self._take_unexpected(recv, packet)
        return recv

    def _take_unexpected(self, recv: Recv, packet: MpiPacket) -> Steps:
        """Copy what has come of a message from where it was put aside; the rest comes later."""
        self._begin(recv, packet)
        for part in (packet, *packet.rest):
            place = self.process.heap.scratch(part.size).address
            yield from self._store(recv, part, place)
        packet.rest.clear()

    def match(self, packet: MpiPacket, channel: Incoming) -> Steps:
        recv = self.matching.arrive(packet)
        if packet.kind is Kind.RTS:
            yield from channel.release(packet)
            if recv is not None:
                yield from self._accept(recv, packet)
            return
        assert packet.send is not None
        packet.send.first = packet
        if recv is None:
            yield from self._put_aside(packet, channel)
            return
        self._begin(recv, packet)
        yield from self._store(recv, packet, channel.place(packet), channel)

    def _put_aside(self, packet: MpiPacket, channel: Incoming) -> Steps:
        if packet.size:
            to = self.process.heap.scratch(packet.size)
            yield from self._copy(packet, channel.place(packet), to)
        yield from channel.release(packet)

    def _begin(self, recv: Recv, packet: MpiPacket) -> None:
        """A receive takes a message, whose first packet has come."""
        assert packet.send is not None
        size = packet.send.buffer.size
        self.check(recv, size)
        recv.status = Status(packet.source, packet.tag, size)
        recv.missing = size
        packet.send.taken = recv

    def _store(
        self, recv: Recv, packet: MpiPacket, source: int, channel: Incoming | None = None
    ) -> Steps:
        """Copy a part of a message to where it is wanted, and free the place where it was."""
        to = recv.buffer.part(packet.offset, packet.size)
        if packet.size:
            yield from self._copy(packet, source, to)
        if channel is not None:
            yield from channel.release(packet)
        to.put(packet.data)
        recv.missing -= packet.size
        if not recv.missing:
            recv.finish()

    def _copy(self, packet: MpiPacket, source: int, to: Buffer) -> Steps:
        yield self._core.copy(packet.size, source, to.address)
        self.process.tell("copy out", packet)

    def fill(self, recv: Recv, packet: MpiPacket) -> None:
        recv.buffer.put(packet.data)
        recv.status = Status(packet.source, packet.tag, packet.size)
        recv.finish()

    def _accept(self, recv: Recv, packet: MpiPacket) -> Steps:
        send = packet.send
        assert send is not None
        assert send.rendezvous is not None
        self.check(recv, send.buffer.size)
        recv.status = Status(packet.source, packet.tag, send.buffer.size)
        yield from send.rendezvous.accept(recv, send, packet)

    def check(self, recv: Recv, size: int) -> None:
        if size > recv.buffer.size:
            found = f"a message of {size} bytes; the receive has {recv.buffer.size}"
            raise MPIError("MPI_ERR_TRUNCATE", f"rank {self.process.rank}: {found}")

    def take_data(self, packet: MpiPacket, channel: Incoming) -> Steps:
        send = packet.send
        assert send is not None
        recv = packet.recv or send.taken
        if recv is not None:
            yield from self._store(recv, packet, channel.place(packet), channel)
            return
        assert send.first is not None
        yield from self._put_aside(packet, channel)
        send.first.rest.append(packet)


class Itself:
    """What joins a process to itself: a message is copied to the receive that waits for it.

    If none does, a short one is put aside, and a long one stays where it is until one comes.
    Source: MVAPICH 1.x, MPID_VIA_self_start and MPID_VIA_self_finish.
    """

    def __init__(self, delivery: Delivery, eager_limit: int) -> None:
        self._delivery = delivery
        self._eager_limit = eager_limit
        self.messages = self.sent_bytes = 0

    def start(self, send: Send, source: int) -> Steps:
        delivery, buffer = self._delivery, send.buffer
        self.messages += 1
        self.sent_bytes += buffer.size
        packet = MpiPacket(Kind.EAGER, source, send.tag, send.context, buffer.size, send=send)
        recv = delivery.matching.arrive(packet)
        if recv is not None:
            delivery.check(recv, buffer.size)
            yield from self.accept(recv, send, packet)
        elif buffer.size > self._eager_limit:
            packet.kind = Kind.RTS
            send.rendezvous = self
        else:
            yield from self._copy(buffer, delivery.process.heap.scratch(buffer.size))
            packet.data = buffer.take(buffer.size)
            send.finish()

    def accept(self, recv: Recv, send: Send, packet: MpiPacket) -> Steps:
        yield from self._copy(send.buffer, recv.buffer)
        packet.data = send.buffer.take(send.buffer.size)
        packet.size = send.buffer.size
        self._delivery.fill(recv, packet)
        send.finish()

    def over(self) -> None:
        """Nothing waits until a long message has gone."""

    def _copy(self, source: Buffer, to: Buffer) -> Steps:
        if source.size:
            process = self._delivery.process
            yield process.context.core.copy(source.size, source.address, to.address)
            process.tell("copy")
