"""Messages of a process to itself.

Source: MVAPICH 1.x, MPID_VIA_self_start and MPID_VIA_self_finish.
"""

from __future__ import annotations

from hcasim.mpi.buffer import Buffer
from hcasim.mpi.delivery import Delivery
from hcasim.mpi.message import Kind, MpiPacket, Recv, Send, Steps


class Itself:
    """What joins a process to itself: a message is copied to the receive that waits for it.

    If none does, a short one is put aside, and a long one stays where it is until one comes.

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
            yield from self.accept(recv, packet)
        elif buffer.size > self._eager_limit:
            packet.kind = Kind.RTS
            send.rendezvous = self
        else:
            yield from self._copy(buffer, delivery.process.heap.scratch(buffer.size))
            packet.data = buffer.take(buffer.size)
            send.finish()

    def accept(self, recv: Recv, packet: MpiPacket) -> Steps:
        """A message and its receive have met."""
        send = packet.send
        assert send is not None
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
