"""What all ways of a packet to another process have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque

from hcasim.engine import Probe
from hcasim.mpi.message import MpiPacket, Steps, Way, Worker
from hcasim.mpi.settling import Turns


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
        self.coming: deque[MpiPacket] = deque()
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
    def post(self, packet: MpiPacket) -> Steps:
        """Copy a packet to where it is sent from, and send it."""

    @abstractmethod
    def notice(self) -> Steps:
        """What it takes the processor to see that a packet has come in."""

    @abstractmethod
    def place(self, packet: MpiPacket) -> int:
        """Address of the data of a packet that has been noticed."""

    def copy_in(self, packet: MpiPacket, address: int) -> Steps:
        """Copy what a packet carries, if anything, to where it is sent from."""
        if packet.size and packet.buffer is not None:
            packet.data = packet.buffer.take(packet.size)
            yield self.process.context.core.copy(packet.size, packet.buffer.address, address)
            if self.probe.listeners:
                self.probe.event("copy in", 0, packet)

    def progress(self) -> Steps:
        """Notice the next packet and deal with it."""
        yield from self.notice()
        packet = self.coming.popleft()
        packet.slot = self._taken
        if self.probe.listeners:
            self.probe.event("poll memory", packet.operation, packet)
        self._taken += 1
        yield from self.way.receive(packet, self)

    def release(self, packet: MpiPacket) -> Steps:
        """Make room for one more packet."""
        self.owed += 1
        yield from ()

    def give(self, number: int) -> None:
        """Take credits back from the peer."""
        self.credits += number
