"""A queue in the memory that two processes of a node share."""

from __future__ import annotations

from hcasim.catalog.mpi import Mpi
from hcasim.mpi.channels.channel import Channel
from hcasim.mpi.lane import tell_post
from hcasim.mpi.message import Kind, MpiPacket, Steps, Way
from hcasim.mpi.settling import Turns


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

    def post(self, packet: MpiPacket) -> Steps:
        peer = self.peer
        assert isinstance(peer, SharedMemory)
        address = peer.address + self._sent % self._room * self._packet
        self._sent += 1
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
