"""The receives of a process, and the messages for them: of others, and its own to itself."""

from __future__ import annotations

from collections.abc import Generator

from hcasim.engine import Event
from hcasim.mpi.heap import Buffer
from hcasim.mpi.matching import Matching
from hcasim.mpi.message import (
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


class Delivery:
    """Brings messages and receives together, and the data to where they are wanted.

    Parameters:
        process: whose receives they are.
        call_ps: what a call to receive takes.

    Attributes:
        matching: receives without a message, and messages without a receive.
    """

    def __init__(self, process: Worker, call_ps: int) -> None:
        self.process = process
        self.matching = Matching()
        self._core = process.context.core
        self._probe = process.context.probe
        self._call_ps = call_ps

    def irecv(
        self, buffer: Buffer, source: int, tag: int, context: int
    ) -> Generator[Event, object, Recv]:
        """Begin to receive from a rank of a communicator."""
        recv = Recv(self.process, buffer, source, tag, context, next(self.matching.serials))
        if self.process.recorder is not None:
            self.process.recorder.receives(recv)
        yield self._core.work(self._call_ps)
        if self._probe.listeners:
            self._probe.event("call recv", 0, recv)
        packet = self.matching.post(recv)
        if packet is None:
            return recv
        if packet.kind is Kind.RTS:
            yield from self._accept(recv, packet)
        else:
            self.check(recv, packet.size)
            if packet.size:
                place = self.process.heap.scratch(packet.size).address
                yield self._core.copy(packet.size, place, buffer.address)
                if self._probe.listeners:
                    self._probe.event("copy out", 0, packet)
            self.fill(recv, packet)
        return recv

    def match(self, packet: MpiPacket, channel: Incoming) -> Steps:
        """Find where a message goes."""
        recv = self.matching.arrive(packet)
        if packet.kind is Kind.RTS:
            yield from channel.release(packet)
            if recv is not None:
                yield from self._accept(recv, packet)
            return
        if recv is not None:
            self.check(recv, packet.size)
        if packet.size:
            to = self.process.heap.scratch(packet.size) if recv is None else recv.buffer
            yield self._core.copy(packet.size, channel.place(packet), to.address)
            if self._probe.listeners:
                self._probe.event("copy out", 0, packet)
        yield from channel.release(packet)
        if recv is not None:
            self.fill(recv, packet)

    def fill(self, recv: Recv, packet: MpiPacket) -> None:
        """A message is where it was wanted."""
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
        """Raise an MPIError if a message is longer than its receive."""
        if size > recv.buffer.size:
            raise MPIError(
                "MPI_ERR_TRUNCATE",
                f"rank {self.process.rank}: a message of {size} bytes; "
                f"the receive has {recv.buffer.size}",
            )

    def take_data(self, packet: MpiPacket, channel: Incoming) -> Steps:
        """Copy a piece of a message to its place."""
        recv = packet.recv
        assert recv is not None
        to = recv.buffer.part(packet.offset, packet.size)
        yield self._core.copy(packet.size, channel.place(packet), to.address)
        if self._probe.listeners:
            self._probe.event("copy out", 0, packet)
        yield from channel.release(packet)
        to.put(packet.data)
        recv.missing -= packet.size
        if not recv.missing:
            recv.finish()


class Itself:
    """What joins a process to itself: a message is copied to the receive that waits for it.

    If none does, a short one is put aside, and a long one stays where it is until one comes.
    Source: MVAPICH 1.x, MPID_VIA_self_start and MPID_VIA_self_finish.

    Parameters:
        delivery: the receives of the process.
        eager_limit: bytes of the longest short one.

    Attributes:
        messages: sent.
        sent_bytes: of those messages.
    """

    def __init__(self, delivery: Delivery, eager_limit: int) -> None:
        self._delivery = delivery
        self._eager_limit = eager_limit
        self.messages = self.sent_bytes = 0

    def start(self, send: Send, source: int) -> Steps:
        """Begin to send a message from a rank of a communicator."""
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
        """A message and its receive have met."""
        yield from self._copy(send.buffer, recv.buffer)
        packet.data = send.buffer.take(send.buffer.size)
        packet.size = send.buffer.size
        self._delivery.fill(recv, packet)
        send.finish()

    def over(self) -> None:
        """A long message has gone."""

    def _copy(self, source: Buffer, to: Buffer) -> Steps:
        if source.size:
            process = self._delivery.process
            context, begin = process.context, process.sim.now
            yield context.core.copy(source.size, source.address, to.address)
            if context.probe.listeners:
                context.probe.event("copy", 0)
            if process.recorder is not None:
                process.recorder.computed(process.sim.now - begin)
