"""Protocols for messages that the receiver is asked for before they are sent.

Sources: MVAPICH2 of April 2006, vapi_rndv.c (RPUT and R3); MVAPICH 1.2RC1 (RGET); LAM/MPI,
ssi_rpi_ib_long.c (the receiver reads).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from hcasim.catalog.mpi import Mpi
from hcasim.mpi.message import Kind, MpiPacket, Poster, Recv, Request, Send, Steps, Way
from hcasim.verbs import SGE, SendWR, WROpcode


class Rendezvous(ABC):
    """A protocol, in the steps of both ends."""

    def announce(self, way: Way, send: Send) -> Steps:
        packet = MpiPacket(Kind.RTS, send.source, send.tag, send.context, send=send)
        yield from way.send(packet)

    @abstractmethod
    def accept(self, recv: Recv, send: Send, packet: MpiPacket) -> Steps:
        """The receiver knows where the announced message goes."""

    def cleared(self, way: Way, send: Send, packet: MpiPacket) -> Steps:
        raise AssertionError(f"{type(self).__name__} asks for no {packet}")
        yield


def _chunks(way: Way, parts: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Lane, offset and bytes of each request for the parts of a message."""
    most = way.library.rendezvous.chunk
    return [
        (lane, start, min(most, offset + size - start))
        for lane, offset, size in parts
        for start in range(offset, offset + size, most)
    ]


def _move(
    way: Way,
    opcode: WROpcode,
    chunks: list[tuple[int, int, int]],
    request: Request,
    target: tuple[int, int],
    poster: Poster | None,
) -> Steps:
    """Write or read pieces of a message, whose buffer is registered."""
    assert request.registration is not None
    (address, key), own = target, request.registration.mr.lkey
    for lane, start, length in chunks:
        local = SGE(request.buffer.address + start, length, own)
        wr = SendWR(opcode, (local,), remote_addr=address + start, rkey=key)
        yield from way.post(lane, wr, poster, "data")


class Rput(Rendezvous):
    """The receiver tells its address, the sender writes there and says when it is done."""

    def accept(self, recv: Recv, send: Send, packet: MpiPacket) -> Steps:
        way = packet.way
        recv.registration = yield from recv.process.registrations.acquire(recv.buffer)
        recv.missing = way.divided(send.buffer.size)
        reply = MpiPacket(Kind.CTS, send=send, recv=recv)
        reply.target = recv.buffer.address, recv.registration.mr.rkey
        yield from way.send(reply)

    def cleared(self, way: Way, send: Send, packet: MpiPacket) -> Steps:
        send.registration = yield from send.process.registrations.acquire(send.buffer)
        parts = way.parts(send.buffer.size)
        send.unfinished = len(parts)
        chunks = _chunks(way, parts)
        yield from _move(way, WROpcode.RDMA_WRITE, chunks, send, packet.target, None)
        data = send.buffer.take(send.buffer.size)
        for lane, _, _ in parts:
            end = MpiPacket(Kind.FIN, send=send, recv=packet.recv)
            end.data = data
            yield from way.send(end, lane)


class Rget(Rendezvous):
    """The sender tells its address, the receiver reads from there and says when it is done."""

    def announce(self, way: Way, send: Send) -> Steps:
        send.registration = yield from send.process.registrations.acquire(send.buffer)
        packet = MpiPacket(Kind.RTS, send.source, send.tag, send.context, send=send)
        packet.target = send.buffer.address, send.registration.mr.rkey
        yield from way.send(packet)

    def accept(self, recv: Recv, send: Send, packet: MpiPacket) -> Steps:
        way = packet.way
        send.unfinished = 1
        recv.registration = yield from recv.process.registrations.acquire(recv.buffer)
        chunks = _chunks(way, way.parts(send.buffer.size))
        recv.missing = len(chunks)
        reading = _Reading(way, recv, send)
        yield from _move(way, WROpcode.RDMA_READ, chunks, recv, packet.target, reading)


class _Reading:
    """A message that its receiver reads."""

    def __init__(self, way: Way, recv: Recv, send: Send) -> None:
        self._way = way
        self._recv = recv
        self._send = send

    def completed(self, what: object) -> None:
        self._recv.missing -= 1
        if not self._recv.missing:
            self._way.process.ready.append(self.progress)

    def progress(self) -> Steps:
        self._recv.buffer.put(self._send.buffer.take(self._send.buffer.size))
        self._recv.finish()
        yield from self._way.send(MpiPacket(Kind.FIN, send=self._send))


class R3(Rendezvous):
    """The message is copied through the buffers of eager messages, piece by piece."""

    def accept(self, recv: Recv, send: Send, packet: MpiPacket) -> Steps:
        recv.missing = send.buffer.size
        yield from packet.way.send(MpiPacket(Kind.CTS, send=send, recv=recv))

    def cleared(self, way: Way, send: Send, packet: MpiPacket) -> Steps:
        size, piece = send.buffer.size, way.piece
        offsets = range(0, size, piece)
        send.unfinished = len(offsets)
        for offset in offsets:
            length = min(piece, size - offset)
            data = MpiPacket(Kind.DATA, size=length, buffer=send.buffer.part(offset, length))
            data.offset, data.send, data.recv = offset, send, packet.recv
            yield from way.send(data)


_RPUT, _RGET, _R3 = Rput(), Rget(), R3()


def choose(library: Mpi, size: int, shared: bool) -> Rendezvous:
    """The protocol of a message of so many bytes."""
    rules = library.rendezvous
    if shared or rules.protocol == "r3" or size <= rules.r3_limit:
        return _R3
    return _RPUT if rules.protocol == "rput" else _RGET
