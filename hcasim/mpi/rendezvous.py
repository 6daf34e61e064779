"""Protocols for messages that the receiver is asked for before they are sent.

Sources: MVAPICH2 of April 2006, vapi_rndv.c (RPUT and R3); MVAPICH 1.2RC1 (RGET); LAM/MPI,
ssi_rpi_ib_long.c (the receiver reads).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from hcasim.catalog.mpi import Mpi
from hcasim.mpi.message import Kind, MpiPacket, Recv, Send, Steps, Way
from hcasim.verbs import SGE, SendWR, WROpcode


class Rendezvous(ABC):
    """A protocol, in the steps of both ends."""

    def announce(self, way: Way, send: Send) -> Steps:
        """Ask the receiver."""
        packet = MpiPacket(Kind.RTS, send.source, send.tag, send.context, send=send)
        yield from way.send(packet)

    @abstractmethod
    def accept(self, recv: Recv, send: Send, packet: MpiPacket) -> Steps:
        """The receiver knows where the announced message goes."""

    def cleared(self, way: Way, send: Send, packet: MpiPacket) -> Steps:
        """The sender may go on."""
        raise AssertionError(f"{type(self).__name__} asks for no {packet}")
        yield


def _chunks(library: Mpi, offset: int, size: int) -> Iterator[tuple[int, int]]:
    chunk = library.rendezvous.chunk
    for start in range(offset, offset + size, chunk):
        yield start, min(chunk, offset + size - start)


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
        address, key = packet.target
        send.registration = yield from send.process.registrations.acquire(send.buffer)
        own = send.registration.mr.lkey
        pieces = way.parts(send.buffer.size)
        send.unfinished = len(pieces)
        for lane, offset, size in pieces:
            for start, length in _chunks(way.library, offset, size):
                wr = SendWR(
                    WROpcode.RDMA_WRITE,
                    SGE(send.buffer.address + start, length, own),
                    remote_addr=address + start,
                    rkey=key,
                )
                yield from way.post(lane, wr, None, "data")
        data = send.buffer.take(send.buffer.size)
        for lane, _, _ in pieces:
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
        way, (address, key) = packet.way, packet.target
        send.unfinished = 1
        recv.registration = yield from recv.process.registrations.acquire(recv.buffer)
        own = recv.registration.mr.lkey
        pieces = [
            (lane, start, length)
            for lane, offset, size in way.parts(send.buffer.size)
            for start, length in _chunks(way.library, offset, size)
        ]
        recv.missing = len(pieces)
        reading = _Reading(way, recv, send)
        for lane, start, length in pieces:
            wr = SendWR(
                WROpcode.RDMA_READ,
                SGE(recv.buffer.address + start, length, own),
                remote_addr=address + start,
                rkey=key,
            )
            yield from way.post(lane, wr, reading, "data")


class _Reading:
    """A message that its receiver reads."""

    def __init__(self, way: Way, recv: Recv, send: Send) -> None:
        self._way = way
        self._recv = recv
        self._send = send

    def completed(self, what: object) -> None:
        """One of the reads has completed."""
        self._recv.missing -= 1
        if not self._recv.missing:
            self._way.process.ready.append(self.progress)

    def progress(self) -> Steps:
        """Tell the sender."""
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
