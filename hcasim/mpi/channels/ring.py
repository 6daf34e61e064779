"""Slots in the memory of the peer."""

from __future__ import annotations

from typing import Final

from hcasim.catalog.mpi import Mpi
from hcasim.mpi.channels.channel import REMOTE, Registered
from hcasim.mpi.lane import Lane
from hcasim.mpi.message import MpiPacket, Steps
from hcasim.verbs import SGE, SendWR, WROpcode

ALIGNMENT: Final = 4


class EagerRing(Registered):
    """Slots in the peer's memory, written by RDMA; the peer polls the flag at the end of each.

    Packets lie against the end of their slot, so that one write carries both, and the flag lands
    last. A slot is free when its write has completed and the peer has given it back.
    Source: MVAPICH2, vapi_recv.c and vapi_send.c (2006).
    """

    def __init__(self, lane: Lane, library: Mpi) -> None:
        ring = library.ring
        assert ring is not None
        capacity, slots = ring.slot - ring.flag - library.header.size, ring.slots
        super().__init__(lane, capacity, ring.slot, slots, slots, ring.credit_return, ring.inline)
        self._flag = ring.flag
        size = ring.slots * ring.slot
        self.source = self.process.pd.reg_mr(size)
        self.memory = self.process.pd.reg_mr(size, REMOTE)
        self.memory.listen(self._written)

    def filled(self, wire: int) -> tuple[int, int]:
        length = min(self.slot, wire + self._flag)
        return self.slot - length, length

    def post(self, packet: MpiPacket) -> Steps:
        wire = self.way.wire_size(packet)
        wire += -wire % ALIGNMENT + self._flag
        start = self._sent % self.places * self.slot + self.slot - wire
        self._sent += 1
        self.credits -= 1
        address = self.source.addr + start
        yield from self.copy_in(packet, address)
        peer = self.peer
        assert isinstance(peer, EagerRing)
        peer.coming.append(packet)
        wr = SendWR(WROpcode.RDMA_WRITE, SGE(address, wire, self.source.lkey))
        wr.remote_addr, wr.rkey = peer.memory.addr + start, peer.memory.rkey
        wr.inline = wire <= self._inline_up_to
        yield from self._lane.post(wr, self, packet)

    def _written(self, address: int, length: int) -> None:
        if (address + length - self.memory.addr) % self.slot == 0:
            self.process.arrive(self.progress)

    def place(self, packet: MpiPacket) -> int:
        slot = packet.slot % self.room
        return self.memory.addr + (slot + 1) * self.slot - self._flag - packet.size
