"""Buffers in the receive queue of the peer."""

from __future__ import annotations

from collections import deque
from typing import Final

from hcasim.catalog.mpi import Mpi
from hcasim.mpi.channels.channel import Channel
from hcasim.mpi.channels.posting import REMOTE, UNWATCHED, Sender
from hcasim.mpi.message import Kind, MpiPacket, Steps
from hcasim.mpi.settling import Turns
from hcasim.verbs import MR, SGE, RecvWR, SendWR, WROpcode

FEWEST_SPARE: Final = 8


def spare(library: Mpi) -> int:
    """Receives for packets that only give credits back, of which so many may be under way."""
    least: int = library.queue.receives // (library.queue.credit_return + 1)
    if library.ring is not None:
        least += library.ring.slots // (library.ring.credit_return + 1)
    return max(FEWEST_SPARE, least)


class Queue(Channel):
    """Buffers in the peer's receive queue; the peer polls its completion queue.

    Packets that only give credits back need none: the peer has receives to spare for them. Or the
    number of receives that are posted anew is written into the sender's memory.
    Source: LAM/MPI, ssi_rpi_ib_long.c.
    """

    COUNT = 4

    def __init__(self, lane: Sender, library: Mpi) -> None:
        queue = library.queue
        super().__init__(
            lane.way,
            queue.buffer - library.header.size,
            lane.receives,
            min(queue.credit_return, lane.receives - 1),
        )
        self._lane = lane
        self._opened = False
        self._buffers = lane.receives
        self._queue = queue
        self._inline_up_to = min(queue.inline, lane.max_inline)
        self._receives = self._buffers + spare(library)
        self._memory: MR = self.process.pd.reg_mr(self._receives * queue.buffer)
        self._source: MR = self.process.pd.reg_mr(self._buffers * queue.buffer)
        self.piggybacks = queue.credits_by == "packet"
        self._told: deque[int] = deque()
        if not self.piggybacks:
            self._count: MR = self.process.pd.reg_mr(self.COUNT, REMOTE)
            self._count.listen(self._counted)

    def turns(self, wire: int) -> list[Turns]:
        core, source, memory = self.process.context.core, self._source, self._memory
        size = self._queue.buffer
        length = min(size, wire)

        def out(number: int) -> None:
            start = number % self._buffers * size
            core.hold(source.addr + start, length)
            source.hold(source.addr + start, length)

        def into(number: int) -> None:
            memory.hold(memory.addr + number % self._receives * size, length)

        return [Turns(self._sent, self._buffers, out), Turns(self._taken, self._receives, into)]

    def open(self) -> None:
        """Post the receives in no time: they have been there since the program began."""
        self._opened = True
        self._lane.qp.fill_recv(self._receives, self._receive)

    def _receive(self, number: int) -> RecvWR:
        size = self._queue.buffer
        address = self._memory.addr + number % self._receives * size
        return RecvWR(SGE(address, size, self._memory.lkey))

    @property
    def ready(self) -> bool:
        return self.credits > 0 and self._sent - self._completed < self._buffers

    def post(self, packet: MpiPacket) -> Steps:
        queue = self._queue
        wire = self.way.wire_size(packet)
        address = self._source.addr + self._sent % self._buffers * queue.buffer
        self._sent += 1
        if packet.kind is not Kind.CREDIT:
            self.credits -= 1
        yield from self.copy_in(packet, address)
        peer = self.peer
        assert isinstance(peer, Queue)
        if not peer._opened:
            peer.open()
        peer.coming.append(packet)
        yield from self._lane.post(
            SendWR(
                WROpcode.SEND,
                SGE(address, wire, self._source.lkey),
                inline=wire <= self._inline_up_to,
            ),
            self,
            packet,
        )

    def write_credits(self) -> Steps:
        """Write into the sender's memory how many receives have been posted anew."""
        peer = self.peer
        assert isinstance(peer, Queue)
        peer._told.append(self.owed)
        self.owed = 0
        own, other = self._count, peer._count
        wr = SendWR(
            WROpcode.RDMA_WRITE,
            SGE(own.addr, self.COUNT, own.lkey),
            remote_addr=other.addr,
            rkey=other.rkey,
        )
        yield from self._lane.post(wr, UNWATCHED, "credits")

    def _counted(self, address: int, length: int) -> None:
        # Only a sender without room looks there.
        self.give(self._told.popleft())
        self.process.unblock(self.way)

    def completed(self, packet: MpiPacket) -> None:
        """The send of a packet has completed."""
        self._completed += 1
        self.process.unblock(self.way)
        self.way.sent(packet)

    def notice(self) -> Steps:
        """Its completion has been polled before."""
        yield from ()

    def place(self, packet: MpiPacket) -> int:
        number = packet.slot % self._receives
        return self._memory.addr + number * self._queue.buffer

    def release(self, packet: MpiPacket) -> Steps:
        yield from self._lane.qp.post_recv(self._receive(packet.slot))
        if self.probe.listeners:
            self.probe.event("repost receive", 0, packet)
        if packet.kind is not Kind.CREDIT:
            self.owed += 1
