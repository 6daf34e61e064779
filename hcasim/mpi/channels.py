"""The ways of a packet to another process: a ring of slots, a receive queue, shared memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Final

from hcasim.catalog.mpi import Mpi
from hcasim.engine import Probe
from hcasim.mpi.lane import Lane, spare, tell_post
from hcasim.mpi.message import Kind, MpiPacket, Steps, Way, Worker
from hcasim.mpi.settling import Turns
from hcasim.verbs import MR, SGE, Access, RecvWR, SendWR, WROpcode

REMOTE: Final = Access.LOCAL_WRITE | Access.REMOTE_WRITE
ALIGNMENT: Final = 4
"""Of a packet in its slot of a ring."""


class Channel(ABC):
    """One way to one peer, in one direction out and one in.

    Attributes:
        capacity: most bytes of data in one packet.
        credits: packets that the peer can take.
        owed: packets of the peer that have made room, and of which it has not been told; it is,
            without a packet to go with, when they are ``credit_return``.
        piggybacks: whether packets give credits back.
        coming: what the peer has sent and this process not noticed.
    """

    peer: Channel
    piggybacks = True

    def __init__(self, way: Way, capacity: int, credits: int, credit_return: int) -> None:
        self.way = way
        self.process: Worker = way.process
        self.probe: Probe = way.process.context.probe
        self.capacity = capacity
        self.credits = credits
        self.owed = 0
        self.credit_return = credit_return
        self.coming: deque[MpiPacket] = deque()
        self._sent = self._completed = self._taken = 0
        self.longest = way.library.header.control

    @property
    def ready(self) -> bool:
        return self.credits > 0

    @abstractmethod
    def turns(self) -> list[Turns]:
        """Its buffers, out and in, each for a packet as long as the longest so far."""

    @abstractmethod
    def post(self, packet: MpiPacket) -> Steps:
        """Copy a packet to where it is sent from, and send it."""

    def notice(self) -> Steps:
        yield self.process.context.core.work(self.process.notice_ps)

    @abstractmethod
    def place(self, packet: MpiPacket) -> int:
        """Address of the data of a packet that has been noticed."""

    def copy_in(self, packet: MpiPacket, address: int) -> Steps:
        if packet.size and packet.buffer is not None:
            packet.data = packet.buffer.take(packet.size)
            yield self.process.context.core.copy(packet.size, packet.buffer.address, address)
            self.process.tell("copy in", packet)

    def progress(self) -> Steps:
        yield from self.notice()
        packet = self.coming.popleft()
        packet.slot = self._taken
        if self.probe.listeners:
            self.probe.event("poll memory", packet.operation, packet)
        self._taken += 1
        yield from self.way.receive(packet, self)

    def release(self, packet: MpiPacket) -> Steps:
        self.owed += 1
        yield from ()

    def give(self, number: int) -> None:
        self.credits += number


class Registered(Channel):
    """A way over a queue pair, out of registered slots into others of the peer.

    Each of the ``places`` out of ``source`` is free again when its request has completed; ``room``
    are slots in ``memory``.
    """

    source: MR
    memory: MR

    def __init__(
        self,
        lane: Lane,
        capacity: int,
        slot: int,
        places: int,
        room: int,
        credit_return: int,
        inline: int,
    ) -> None:
        super().__init__(lane.way, capacity, places, credit_return)
        self._lane = lane
        self.slot = slot
        self.places = places
        lane.hold(places)
        self.room = room
        self._inline_up_to = min(inline, lane.max_inline)

    @property
    def ready(self) -> bool:
        return self.credits > 0 and self._sent - self._completed < self.places

    @abstractmethod
    def filled(self, wire: int) -> tuple[int, int]:
        """Where in its slot a packet begins, and its bytes there."""

    def turns(self) -> list[Turns]:
        context, source, memory = self.process.context, self.source, self.memory
        core, host = context.core, context.node.host
        start, length = self.filled(self.longest)
        first, filled = self.filled(self.peer.longest)

        def out(number: int) -> None:
            address = source.addr + number % self.places * self.slot + start
            core.hold(address, length)
            source.hold(address, length)

        def into(number: int) -> None:
            address = memory.addr + number % self.room * self.slot + first
            host.hold(address, filled)
            memory.hold(address, filled)

        return [Turns(self._sent, self.places, out), Turns(self._taken, self.room, into)]

    def pass_on(self, packet: MpiPacket, wr: SendWR) -> Steps:
        yield from self._lane.post(wr, self, packet, self.way.awaited(packet))

    def completed(self, packet: MpiPacket) -> None:
        self._completed += 1
        self.process.unblock(self.way)
        self.way.sent(packet)


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
        slot, room = library.buffer, receives + spare(library)
        capacity = slot - library.header.size
        super().__init__(lane, capacity, slot, receives, room, owed, queue.inline)
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
        return RecvWR((SGE(address, self.slot, self.memory.lkey),))

    def post(self, packet: MpiPacket) -> Steps:
        wire = self.way.wire_size(packet)
        self.longest = max(self.longest, wire)
        address = self.source.addr + self._sent % self.places * self.slot
        self._sent += 1
        if packet.kind is not Kind.CREDIT:
            self.credits -= 1
        sge, inline = SGE(address, wire, self.source.lkey), wire <= self._inline_up_to
        if packet.direct:
            sge, inline = self._in_place(packet), False
        else:
            yield from self.copy_in(packet, address)
        peer = self.peer
        assert isinstance(peer, Queue)
        if not peer._opened:
            peer.open()
        peer.coming.append(packet)
        yield from self.pass_on(packet, SendWR(WROpcode.SEND, (sge,), inline=inline))

    def _in_place(self, packet: MpiPacket) -> SGE:
        """The data where the program has them; the header, which is in the request, is left out."""
        send, buffer = packet.send, packet.buffer
        assert buffer is not None
        assert send is not None
        assert send.registration is not None
        packet.data = buffer.take(packet.size)
        return SGE(buffer.address, packet.size, send.registration.mr.lkey)

    def write_credits(self) -> Steps:
        """Write into the sender's memory how many receives have been posted anew."""
        peer = self.peer
        assert isinstance(peer, Queue)
        peer._told.append(self.owed)
        self.owed = 0
        own, other = self._count, peer._count
        sge = SGE(own.addr, self.COUNT, own.lkey)
        wr = SendWR(WROpcode.RDMA_WRITE, (sge,), remote_addr=other.addr, rkey=other.rkey)
        yield from self._lane.post(wr, None, "credits")

    def _counted(self, address: int, length: int) -> None:
        # Only a sender without room looks there.
        self.give(self._told.popleft())
        self.process.unblock(self.way)

    def notice(self) -> Steps:
        """Read the header in its buffer; that of one behind others is fetched ahead.

        Source: UCX, rc_mlx5.inl: the buffer that is filled next is prefetched.
        """
        context = self.process.context
        if context.costs.line and len(self.coming) == 1:
            yield context.core.work(context.costs.line)

    def place(self, packet: MpiPacket) -> int:
        return self.memory.addr + packet.slot % self.room * self.slot

    def release(self, packet: MpiPacket) -> Steps:
        yield from self._lane.qp.post_recv(self._receive(packet.slot))
        self.process.tell("repost receive", packet)
        if packet.kind is not Kind.CREDIT:
            self.owed += 1


class EagerRing(Registered):
    """Slots in the peer's memory, written by RDMA; the peer polls the flag at the end of each.

    Packets lie against the end of their slot, so that one write carries both, and the flag lands
    last. A slot is free when its write has completed and the peer has given it back.
    Source: MVAPICH2, vapi_recv.c and vapi_send.c (2006).
    """

    def __init__(self, lane: Lane, library: Mpi) -> None:
        ring = library.ring
        assert ring is not None
        slot, slots, inline = library.slot, ring.slots, library.queue.inline
        capacity = slot - ring.flag - library.header.size
        super().__init__(lane, capacity, slot, slots, slots, ring.credit_return, inline)
        self._flag = ring.flag
        size = slots * slot
        self.source = self.process.pd.reg_mr(size)
        self.memory = self.process.pd.reg_mr(size, REMOTE)
        self.memory.listen(self._written)

    def filled(self, wire: int) -> tuple[int, int]:
        return self.slot - wire, wire

    def post(self, packet: MpiPacket) -> Steps:
        wire = self.way.wire_size(packet)
        wire += -wire % ALIGNMENT + self._flag
        self.longest = max(self.longest, wire)
        start = self._sent % self.places * self.slot + self.slot - wire
        self._sent += 1
        self.credits -= 1
        address = self.source.addr + start
        yield from self.copy_in(packet, address)
        peer = self.peer
        assert isinstance(peer, EagerRing)
        peer.coming.append(packet)
        wr = SendWR(WROpcode.RDMA_WRITE, (SGE(address, wire, self.source.lkey),))
        wr.remote_addr, wr.rkey = peer.memory.addr + start, peer.memory.rkey
        wr.inline = wire <= self._inline_up_to
        yield from self.pass_on(packet, wr)

    def _written(self, address: int, length: int) -> None:
        if (address + length - self.memory.addr) % self.slot == 0:
            self.process.arrive(self.progress)

    def place(self, packet: MpiPacket) -> int:
        slot = packet.slot % self.room
        return self.memory.addr + (slot + 1) * self.slot - self._flag - packet.size


class SharedMemory(Channel):
    """A queue in memory that two processes of a node share: copied in by one, out by the other."""

    def __init__(self, way: Way, library: Mpi) -> None:
        shared = library.shared
        assert shared is not None
        room = max(1, shared.queue // shared.packet)
        super().__init__(way, shared.packet, room, 1)
        self._packet, self._room = shared.packet, room
        self.address = self.process.context.node.allocate(room * shared.packet)

    def turns(self) -> list[Turns]:
        core, peer = self.process.context.core, self.peer
        assert isinstance(peer, SharedMemory)
        theirs = peer.address

        def out(number: int) -> None:
            core.hold(theirs + number % self._room * self._packet, self.longest)

        def into(number: int) -> None:
            core.hold(self.address + number % self._room * self._packet, peer.longest)

        return [Turns(self._sent, self._room, out), Turns(self._taken, self._room, into)]

    def post(self, packet: MpiPacket) -> Steps:
        peer = self.peer
        assert isinstance(peer, SharedMemory)
        address = peer.address + self._sent % self._room * self._packet
        self._sent += 1
        self.longest = max(self.longest, packet.size)
        if packet.kind is not Kind.CREDIT:
            self.credits -= 1
        yield from self.copy_in(packet, address)
        if self.probe.listeners:
            tell_post(self.probe, next(self.process.context.sim.operations), packet)
        peer.coming.append(packet)
        peer.process.arrive(peer.progress)

    def place(self, packet: MpiPacket) -> int:
        return self.address + packet.slot % self._room * self._packet

    def release(self, packet: MpiPacket) -> Steps:
        """The sender sees the free place itself."""
        peer = self.peer
        peer.credits += 1
        peer.process.unblock(peer.way)
        yield from ()
