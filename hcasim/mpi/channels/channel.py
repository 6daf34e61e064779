"""What all ways of a packet to another process have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Final

from hcasim.engine import Probe
from hcasim.mpi.lane import Lane
from hcasim.mpi.message import MpiPacket, Steps, Way, Worker
from hcasim.mpi.settling import Turns
from hcasim.verbs import MR, Access

REMOTE: Final = Access.LOCAL_WRITE | Access.REMOTE_WRITE


class Channel(ABC):
    """One way to one peer, in one direction out and one in.

    Attributes:
        capacity: most bytes of data in one packet. credits: packets that the peer can take. owed:
        packets of the peer that have made room and of which it has not been told; it is without
            a packet to go with when they are ``credit_return``.
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

    @property
    def ready(self) -> bool:
        return self.credits > 0

    @abstractmethod
    def turns(self, wire: int) -> list[Turns]:
        """Its buffers, out and in, for packets of so many bytes with their header."""

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
        self.room = room
        self._inline_up_to = min(inline, lane.max_inline)

    @property
    def ready(self) -> bool:
        return self.credits > 0 and self._sent - self._completed < self.places

    @abstractmethod
    def filled(self, wire: int) -> tuple[int, int]:
        """Where in its slot a packet begins, and its bytes there."""

    def turns(self, wire: int) -> list[Turns]:
        core, source, memory = self.process.context.core, self.source, self.memory
        start, length = self.filled(wire)

        def out(number: int) -> None:
            address = source.addr + number % self.places * self.slot + start
            core.hold(address, length)
            source.hold(address, length)

        def into(number: int) -> None:
            memory.hold(memory.addr + number % self.room * self.slot + start, length)

        return [Turns(self._sent, self.places, out), Turns(self._taken, self.room, into)]

    def completed(self, packet: MpiPacket) -> None:
        self._completed += 1
        self.process.unblock(self.way)
        self.way.sent(packet)
