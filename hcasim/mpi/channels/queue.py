"""Buffers in the receive queue of the peer."""

from __future__ import annotations

from collections import deque

from hcasim.catalog.mpi import Mpi
from hcasim.mpi.channels.channel import REMOTE, Registered
from hcasim.mpi.lane import Lane, spare
from hcasim.mpi.message import Kind, MpiPacket, Steps
from hcasim.verbs import MR, SGE, RecvWR, SendWR, WROpcode


class Queue(Registered):
    """Buffers in the peer's receive queue; the peer polls its completion queue.

    Packets that only give credits back need none: the peer has receives to spare for them. Or the
    number of receives that are posted anew is written into the sender's memory.
    Source: LAM/MPI, ssi_rpi_ib_long.c.
    """

    COUNT = 4

    def __init__(self, lane: Lane, library: Mpi) -> None:
        queue = library.queue
        super().__init__(
            lane,
            queue.buffer - library.header.size,
            queue.buffer,
            lane.receives,
            lane.receives + spare(library),
            min(queue.credit_return, lane.receives - 1),
            queue.inline,
        )
        lane.received = self.progress
        self._opened = False
        self.memory = self.process.pd.reg_mr(self.room * self.slot)
        self.source = self.process.pd.reg_mr(self.places * self.slot)
        self.piggybacks = queue.credits_by == "packet"
        self._told: deque[int] = deque()
        if not self.piggybacks:
            self._count: MR = self.process.pd.reg_mr(self.COUNT, REMOTE)
            self._count.listen(self._counted)

    def filled(self, wire: int) -> tuple[int, int]:
        return 0, min(self.slot, wire)

    def open(self) -> None:
        """Post the receives in no time: they have been there since the program began."""
        self._opened = True
        self._lane.qp.fill_recv(self.room, self._receive)

    def _receive(self, number: int) -> RecvWR:
        address = self.memory.addr + number % self.room * self.slot
        return RecvWR(SGE(address, self.slot, self.memory.lkey))

    def post(self, packet: MpiPacket) -> Steps:
        wire = self.way.wire_size(packet)
        address = self.source.addr + self._sent % self.places * self.slot
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
                SGE(address, wire, self.source.lkey),
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
        yield from self._lane.post(wr, None, "credits")

    def _counted(self, address: int, length: int) -> None:
        # Only a sender without room looks there.
        self.give(self._told.popleft())
        self.process.unblock(self.way)

    def notice(self) -> Steps:
        """Its completion has been polled before."""
        yield from ()

    def place(self, packet: MpiPacket) -> int:
        return self.memory.addr + packet.slot % self.room * self.slot

    def release(self, packet: MpiPacket) -> Steps:
        yield from self._lane.qp.post_recv(self._receive(packet.slot))
        if self.probe.listeners:
            self.probe.event("repost receive", 0, packet)
        if packet.kind is not Kind.CREDIT:
            self.owed += 1
