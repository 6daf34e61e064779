"""Slots in the memory of the peer."""

from __future__ import annotations

from typing import Final

from hcasim.catalog.mpi import Mpi
from hcasim.mpi.channels.channel import Channel
from hcasim.mpi.channels.posting import REMOTE, Sender
from hcasim.mpi.message import MpiPacket, Steps
from hcasim.mpi.settling import Turns
from hcasim.verbs import MR, SGE, SendWR, WROpcode

ALIGNMENT: Final = 4


class EagerRing(Channel):
    """Slots in the peer's memory, written by RDMA; the peer polls the flag at the end of each.

    Packets lie against the end of their slot, so that one write carries both, and the flag lands
    last. A slot is free when its write has completed and the peer has given it back.
    Source: MVAPICH2, vapi_recv.c and vapi_send.c (2006).
    """

    def __init__(self, lane: Sender, library: Mpi) -> None:
        ring = library.ring
        assert ring is not None
        super().__init__(
            lane.way,
            ring.slot - ring.flag - library.header.size,
            ring.slots,
            ring.credit_return,
        )
        self._lane = lane
        self._library = library
        self._ring = ring
        self._inline_up_to = min(ring.inline, lane.max_inline)
        size = ring.slots * ring.slot
        self._source: MR = self.process.pd.reg_mr(size)
        self.memory: MR = self.process.pd.reg_mr(size, REMOTE)
        self.memory.listen(self._written)

    def turns(self, wire: int) -> list[Turns]:
        ring, core, source, memory = (
            self._ring,
            self.process.context.core,
            self._source,
            self.memory,
        )
        length = min(ring.slot, wire + ring.flag)

        def start(number: int) -> int:
            return (number % ring.slots + 1) * ring.slot - length

        def out(number: int) -> None:
            core.hold(source.addr + start(number), length)
            source.hold(source.addr + start(number), length)

        def into(number: int) -> None:
            memory.hold(memory.addr + start(number), length)

        return [Turns(self._sent, ring.slots, out), Turns(self._taken, ring.slots, into)]

    @property
    def ready(self) -> bool:
        return self.credits > 0 and self._sent - self._completed < self._ring.slots

    def post(self, packet: MpiPacket) -> Steps:
        ring = self._ring
        wire = self.way.wire_size(packet)
        wire += -wire % ALIGNMENT + ring.flag
        start = self._sent % ring.slots * ring.slot + ring.slot - wire
        self._sent += 1
        self.credits -= 1
        address = self._source.addr + start
        yield from self.copy_in(packet, address)
        peer = self.peer
        assert isinstance(peer, EagerRing)
        peer.coming.append(packet)
        yield from self._lane.post(
            SendWR(
                WROpcode.RDMA_WRITE,
                SGE(address, wire, self._source.lkey),
                remote_addr=peer.memory.addr + start,
                rkey=peer.memory.rkey,
                inline=wire <= self._inline_up_to,
            ),
            self,
            packet,
        )

    def completed(self, packet: MpiPacket) -> None:
        """The write of a packet has completed."""
        self._completed += 1
        self.process.unblock(self.way)
        self.way.sent(packet)

    def _written(self, address: int, length: int) -> None:
        if (address + length - self.memory.addr) % self._ring.slot == 0:
            self.process.arrive(self)

    def notice(self) -> Steps:
        yield self.process.context.core.work(self.process.notice_ps)

    def place(self, packet: MpiPacket) -> int:
        slot = packet.slot % self._ring.slots
        return self.memory.addr + (slot + 1) * self._ring.slot - self._ring.flag - packet.size
