"""Links that lose, corrupt, repeat or mark packets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from math import log
from random import Random
from typing import ClassVar, Final

from hcasim.engine import Simulator
from hcasim.engine.changes import Changes
from hcasim.fabric.link import Receiver, Transmitter
from hcasim.fabric.packet import NOBODY, Packet

UNKNOWN_QPN: Final = 0
"""Where a packet goes whose headers nobody may trust: no queue pair has this number."""
_COPIES: Final = 1 << 16
"""Source of packets that a link repeats, behind those of all ports."""


class Fate(Enum):
    """What a link does to a packet that it does not carry as it is."""

    DROP = auto()  # It does not arrive.
    CORRUPT = auto()  # It arrives, and its CRC is wrong.
    DUPLICATE = auto()  # It arrives, and once more behind what waits for the link.
    MARK = auto()  # It arrives, marked.


class Losses:
    """Tells what becomes of each packet of one direction of a link, in order."""

    def fate(self, packet: Packet) -> Fate | None:
        """What is done to the next packet; None if it arrives as it is."""
        raise NotImplementedError


class ListedLosses(Losses):
    """Those of a list.

    Args:
        fates: by the number of the packet in this direction, counted from 1.
    """

    def __init__(self, fates: Mapping[int, Fate]) -> None:
        self._fates = dict(fates)
        self._seen = 0

    def fate(self, packet: Packet) -> Fate | None:
        self._seen += 1
        return self._fates.get(self._seen)


class ChosenLosses(Losses):
    """Those that a function chooses, which is given each packet."""

    def __init__(self, choose: Callable[[Packet], Fate | None]) -> None:
        self._choose = choose

    def fate(self, packet: Packet) -> Fate | None:
        return self._choose(packet)


class RandomLosses(Losses):
    """Losses of independent packets, the same in each run and whatever other links do.

    Args:
        drops, corrupts: shares of the packets, 0 to 1.
        seed: any number; with ``name``, that of the direction, it gives the random stream.
    """

    def __init__(self, drops: float, corrupts: float, seed: int, name: str) -> None:
        self._random = Random(f"{seed} {name}")
        self._any = drops + corrupts
        self._drops = drops
        self._left = self._next()

    def _next(self) -> int:
        """Packets that arrive before the next that does not: geometrically distributed."""
        if self._any <= 0:
            return -1
        if self._any >= 1:
            return 0
        return int(log(1 - self._random.random()) / log(1 - self._any))

    def fate(self, packet: Packet) -> Fate | None:
        if self._left:
            self._left -= 1
            return None
        dropped = self._random.random() * self._any < self._drops
        self._left = self._next()
        return Fate.DROP if dropped else Fate.CORRUPT


class Altered(Packet):
    """A packet as a link has repeated or corrupted it."""

    __slots__ = ()

    def __init__(self, packet: Packet, qpn: int) -> None:
        super().__init__(
            packet.opcode,
            packet.route,
            qpn,
            packet.psn,
            packet.payload,
            packet.headers,
            first=packet.first,
            last=packet.last,
            ack_request=packet.ack_request,
            answers=packet.answers,
            operation=packet.operation,
            sender=packet.sender,
        )
        self.size = packet.size
        self.data = packet.data
        self.solicited = packet.solicited
        self.gathered, self.marked = packet.gathered, packet.marked
        self.staged_at = packet.staged_at
        self.ack_request = packet.ack_request or qpn == UNKNOWN_QPN


class LossyWay(Receiver):
    """Stands before the end of one direction of a link, and loses what is told.

    What is lost has taken its time on the wire, and the sender knows the room that it would have
    taken at the end to be free as if it had come and gone.

    Attributes:
        dropped, corrupted, repeated: packets so far.
    """

    changes: ClassVar[Changes] = Changes(counts="dropped corrupted repeated")

    def __init__(self, way: Transmitter, end: Receiver, losses: Losses) -> None:
        self._sim: Simulator = way.sim
        self._way = way
        self._end = end
        self._losses = losses
        self.dropped = self.corrupted = self.repeated = 0

    def receive(self, packet: Packet, head_at: int, tail_at: int) -> None:
        altered = isinstance(packet, Altered)
        fate = None if altered else self._losses.fate(packet)
        if fate is Fate.DROP:
            self.dropped += 1
            self._sim.call_at(tail_at, self._lost, packet)
            return
        if fate is Fate.CORRUPT:
            self.corrupted += 1
            packet = Altered(packet, UNKNOWN_QPN)
        elif fate is Fate.DUPLICATE:
            self.repeated += 1
            self._way.send(_COPIES, Altered(packet, packet.qpn), self._sim.now, NOBODY)
        elif fate is Fate.MARK:
            packet.marked = True
        self._end.receive(packet, head_at, tail_at)

    def _lost(self, packet: Packet) -> None:
        self._end.buffer.free(packet, self._sim.now)
        packet.tell_lost()


def lose(way: Transmitter, losses: Losses) -> LossyWay:
    """Have one direction of a link lose packets; nothing is left out of the run from now on."""
    assert way.receiver is not None, f"{way.name} leads nowhere"
    way.sim.forward = None
    way.receiver = lossy = LossyWay(way, way.receiver, losses)
    return lossy
