"""What packets and switches tell a sender of the network, which receivers send back with answers.

Source: Li and others, "HPCC: High Precision Congestion Control" (SIGCOMM 2019), section 4.1.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from hcasim.engine.changes import Changes
from hcasim.fabric.memory import Lane
from hcasim.fabric.packet import Header, Packet


class Hop(NamedTuple):
    """An output as a packet begins to leave by it.

    Attributes:
        at_ps: that time.
        sent: bytes on the wire before it.
        queue: bytes that wait behind it.
        rate: bit/s.
        output: its name.
    """

    at_ps: int
    sent: int
    queue: int
    rate: int
    output: str


class Telemetry(Header):
    """A header for what happens to a packet on its way.

    Attributes:
        marked: whether a switch marked it.
        left_at: when its first byte left its sender, in ps.
        hops: outputs of switches on its way that write into packets.
    """

    changes: ClassVar[Changes] = Changes(since="left_at")

    __slots__ = ("hops", "left_at", "marked")

    def __init__(self, size: int) -> None:
        self.size = size
        self.marked = False
        self.left_at = 0
        self.hops: list[Hop] = []


class WritingLane(Lane):
    """A way through a switch that writes into packets what it knows of their output."""

    __slots__ = ()

    def free(self, packet: Packet, at_ps: int) -> None:
        super().free(packet, at_ps)
        if packet.headers and not packet.answers:
            seen = packet.header(Telemetry)
            if seen is not None:
                out = self.output
                sent = out.wire_bytes - packet.size - out.medium.around
                rate = int(8 * 10**12 / out.medium.ps_per_byte)
                seen.hops.append(Hop(self.memory.sim.now, sent, self.queue.length, rate, out.name))
