"""The ways of a packet to another process: a ring of slots, a receive queue, shared memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Any, Protocol

from hcasim.catalog.mpi import Mpi
from hcasim.engine import Probe
from hcasim.mpi.message import Kind, Packet
from hcasim.mpi.roles import Steps, Way, Worker
from hcasim.mpi.settling import Turns
from hcasim.verbs import MR, QP, SGE, Access, RecvWR, SendWR, WROpcode

_REMOTE = Access.LOCAL_WRITE | Access.REMOTE_WRITE
ALIGNMENT = 4


class Poster(Protocol):
    """What is told when its work request has completed."""

    def completed(self, what: Any, /) -> None:
        """The adapter is done with it."""


class Unwatched:
    """Whose completion says nothing that another will not say."""

    def completed(self, what: Any) -> None:
        """Nothing follows."""


UNWATCHED = Unwatched()


class Sender(Protocol):
    """The queue pair of a channel."""

    @property
    def way(self) -> Way:
        """The end of the connection that it belongs to."""

    @property
    def qp(self) -> QP:
        """It."""

    @property
    def max_inline(self) -> int:
        """Bytes that its requests may carry inside."""

    @property
    def receives(self) -> int:
        """Packets that may wait in its receive queue."""

    def post(self, wr: SendWR, poster: Poster, what: Any) -> Steps:
        """Post a request; wait for room in the send queue if there is none."""


def tell_post(probe: Probe, operation: int, what: Packet | str) -> None:
    """Tell that an operation has begun to carry a packet, or what a word says."""
    if isinstance(what, Packet):
        what.operation = operation
        probe.event(f"post {what.kind.value}", operation, what)
    else:
        probe.event(f"post {what}", operation)


class Channel(ABC):
    """One way to one peer, in one direction out and one in.

    Attributes:
        peer: the other end.
        capacity: most bytes of data in one packet.
        credits: packets that the peer can take.
        owed: packets of the peer that have made room and of which it has not been told.
        credit_return: owed credits of which the peer is told without a packet to go with.
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
        self.coming: deque[Packet] = deque()
        self._sent = 0
        self._completed = 0
        self._taken = 0

    @property
    def ready(self) -> bool:
        """Whether a packet can go now."""
        return self.credits > 0

    @abstractmethod
    def turns(self, wire: int) -> list[Turns]:
        """Its buffers, those of packets out and those of packets in.

        Parameters:
            wire: bytes of a packet with its header.
        """

    @abstractmethod
    def post(self, packet: Packet) -> Steps:
        """Copy a packet to where it is sent from, and send it."""

    @abstractmethod
    def notice(self) -> Steps:
        """What it takes the processor to see that a packet has come in."""

    @abstractmethod
    def place(self, packet: Packet) -> int:
        """Address of the data of a packet that has been noticed."""

    def progress(self) -> Steps:
        """Notice the next packet and deal with it."""
        yield from self.notice()
        packet = self.coming.popleft()
        packet.slot = self._taken
        if self.probe.listeners:
            self.probe.event("poll memory", packet.operation, packet)
        self._taken += 1
        yield from self.way.receive(packet, self)

    def release(self, packet: Packet) -> Steps:
        """Make room for one more packet."""
        self.owed += 1
        yield from ()

    def give(self, number: int) -> None:
        """Take credits back from the peer."""
        self.credits += number


class Ring(Channel):
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
        self._inline = min(ring.inline, lane.max_inline)
        size = ring.slots * ring.slot
        self._source: MR = self.process.pd.reg_mr(size)
        self.memory: MR = self.process.pd.reg_mr(size, _REMOTE)
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

    def post(self, packet: Packet) -> Steps:
        ring, process = self._ring, self.process
        wire = process.wire_size(packet)
        wire += -wire % ALIGNMENT + ring.flag
        start = self._sent % ring.slots * ring.slot + ring.slot - wire
        self._sent += 1
        self.credits -= 1
        address = self._source.addr + start
        if packet.size and packet.buffer is not None:
            packet.data = packet.buffer.take(packet.size)
            yield process.context.core.copy(packet.size, packet.buffer.address, address)
            if self.probe.listeners:
                self.probe.event("copy in", 0, packet)
        peer = self.peer
        assert isinstance(peer, Ring)
        peer.coming.append(packet)
        yield from self._lane.post(
            SendWR(
                WROpcode.RDMA_WRITE,
                SGE(address, wire, self._source.lkey),
                remote_addr=peer.memory.addr + start,
                rkey=peer.memory.rkey,
                inline=wire <= self._inline,
            ),
            self,
            packet,
        )

    def completed(self, packet: Packet) -> None:
        """The write of a packet has completed."""
        self._completed += 1
        self.process.unblock(self.way)
        self.way.sent(packet)

    def _written(self, address: int, length: int) -> None:
        if (address + length - self.memory.addr) % self._ring.slot == 0:
            self.process.arrive(self)

    def notice(self) -> Steps:
        yield self.process.context.core.work(self.process.notice_ps)

    def place(self, packet: Packet) -> int:
        slot = packet.slot % self._ring.slots
        return self.memory.addr + (slot + 1) * self._ring.slot - self._ring.flag - packet.size


class Queue(Channel):
    """Buffers in the peer's receive queue; the peer polls its completion queue.

    Packets that only give credits back need none: the peer has receives to spare for them. Or the
    number of receives that are posted anew is written into the sender's memory.
    Source: LAM/MPI, ssi_rpi_ib_long.c.
    """

    SPARE = 8
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
        self._inline = min(queue.inline, lane.max_inline)
        self._receives = self._buffers + self.SPARE
        self._memory: MR = self.process.pd.reg_mr(self._receives * queue.buffer)
        self._source: MR = self.process.pd.reg_mr(self._buffers * queue.buffer)
        self.piggybacks = queue.credits_by == "packet"
        self._told: deque[int] = deque()
        if not self.piggybacks:
            self._count: MR = self.process.pd.reg_mr(self.COUNT, _REMOTE)
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
        for number in range(self._receives):
            self._lane.qp.prepost_recv(self._receive(number))

    def _receive(self, number: int) -> RecvWR:
        size = self._queue.buffer
        address = self._memory.addr + number % self._receives * size
        return RecvWR(SGE(address, size, self._memory.lkey))

    @property
    def ready(self) -> bool:
        return self.credits > 0 and self._sent - self._completed < self._buffers

    def post(self, packet: Packet) -> Steps:
        queue, process = self._queue, self.process
        wire = process.wire_size(packet)
        address = self._source.addr + self._sent % self._buffers * queue.buffer
        self._sent += 1
        if packet.kind is not Kind.CREDIT:
            self.credits -= 1
        if packet.size and packet.buffer is not None:
            packet.data = packet.buffer.take(packet.size)
            yield process.context.core.copy(packet.size, packet.buffer.address, address)
            if self.probe.listeners:
                self.probe.event("copy in", 0, packet)
        peer = self.peer
        assert isinstance(peer, Queue)
        if not peer._opened:
            peer.open()
        peer.coming.append(packet)
        yield from self._lane.post(
            SendWR(
                WROpcode.SEND,
                SGE(address, wire, self._source.lkey),
                inline=wire <= self._inline,
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

    def completed(self, packet: Packet) -> None:
        """The send of a packet has completed."""
        self._completed += 1
        self.process.unblock(self.way)
        self.way.sent(packet)

    def notice(self) -> Steps:
        """Its completion has been polled before."""
        yield from ()

    def place(self, packet: Packet) -> int:
        number = packet.slot % self._receives
        return self._memory.addr + number * self._queue.buffer

    def release(self, packet: Packet) -> Steps:
        yield from self._lane.qp.post_recv(self._receive(packet.slot))
        if self.probe.listeners:
            self.probe.event("repost receive", 0, packet)
        if packet.kind is not Kind.CREDIT:
            self.owed += 1


class SharedMemory(Channel):
    """A queue in memory that two processes of a node share: copied in by one, out by the other."""

    def __init__(self, way: Way, library: Mpi) -> None:
        shared = library.shared
        assert shared is not None
        room = max(1, shared.queue // shared.packet)
        super().__init__(way, shared.packet, room, 1)
        self._packet = shared.packet
        self._room = room
        self.address = self.process.context.node.allocate(room * shared.packet)

    def turns(self, wire: int) -> list[Turns]:
        core, peer = self.process.context.core, self.peer
        assert isinstance(peer, SharedMemory)
        theirs = peer.address

        def out(number: int) -> None:
            core.hold(theirs + number % self._room * self._packet, min(wire, self._packet))

        def into(number: int) -> None:
            core.hold(self.address + number % self._room * self._packet, min(wire, self._packet))

        return [Turns(self._sent, self._room, out), Turns(self._taken, self._room, into)]

    def post(self, packet: Packet) -> Steps:
        peer = self.peer
        assert isinstance(peer, SharedMemory)
        address = peer.address + self._sent % self._room * self._packet
        self._sent += 1
        if packet.kind is not Kind.CREDIT:
            self.credits -= 1
        if packet.size and packet.buffer is not None:
            packet.data = packet.buffer.take(packet.size)
            yield self.process.context.core.copy(packet.size, packet.buffer.address, address)
            if self.probe.listeners:
                self.probe.event("copy in", 0, packet)
        if self.probe.listeners:
            tell_post(self.probe, next(self.process.context.sim.operations), packet)
        peer.coming.append(packet)
        peer.process.arrive(peer)

    def notice(self) -> Steps:
        yield self.process.context.core.work(self.process.notice_ps)

    def place(self, packet: Packet) -> int:
        slot = packet.slot % self._room
        return self.address + slot * self._packet

    def release(self, packet: Packet) -> Steps:
        """The sender sees the free place itself."""
        peer = self.peer
        peer.credits += 1
        peer.process.unblock(peer.way)
        yield from ()
