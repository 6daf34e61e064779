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
        queue, receives = library.queue, lane.receives
        owed = min(queue.credit_return, receives - 1)
        capacity, room = queue.buffer - library.header.size, receives + spare(library)
        super().__init__(lane, capacity, queue.buffer, receives, room, owed, queue.inline)
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
        sge, inline = SGE(address, wire, self.source.lkey), wire <= self._inline_up_to
        yield from self._lane.post(SendWR(WROpcode.SEND, sge, inline=inline), self, packet)

    def write_credits(self) -> Steps:
        """Write into the sender's memory how many receives have been posted anew."""
        peer = self.peer
        assert isinstance(peer, Queue)
        peer._told.append(self.owed)
        self.owed = 0
        own, other = self._count, peer._count
        sge = SGE(own.addr, self.COUNT, own.lkey)
        wr = SendWR(WROpcode.RDMA_WRITE, sge, remote_addr=other.addr, rkey=other.rkey)
        yield from self._lane.post(wr, None, "credits")

    def _counted(self, address: int, length: int) -> None:
        # Only a sender without room looks there.
        self.give(self._told.popleft())
        self.process.unblock(self.way)

    def notice(self) -> Steps:
        yield from ()

    def place(self, packet: MpiPacket) -> int:
        return self.memory.addr + packet.slot % self.room * self.slot

    def release(self, packet: MpiPacket) -> Steps:
        yield from self._lane.qp.post_recv(self._receive(packet.slot))
        self.process.tell("repost receive", packet)
        if packet.kind is not Kind.CREDIT:
            self.owed += 1
