"""The receives of a process, and the messages that come in for them."""

from __future__ import annotations

from collections.abc import Generator

from hcasim.engine import Event
from hcasim.mpi.buffer import Buffer
from hcasim.mpi.errors import MPIError
from hcasim.mpi.matching import Matching
from hcasim.mpi.message import Incoming, Kind, MpiPacket, Recv, Status, Steps, Worker


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
        yield from send.rendezvous.accept(recv, packet)

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
