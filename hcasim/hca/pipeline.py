"""What keeps its order in an adapter: all packets of a port, or those of each queue pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hcasim.bus import Bus
from hcasim.engine import Action, Server
from hcasim.fabric.packet import Packet

LEAST: Final = 64
"""Bytes that the descriptor of a packet takes at least in a buffer that is shared by bytes."""

Fetch = Callable[[int, int, Action], None]
"""Reads so many bytes from an address; the action is done when they are here."""


class InOrder:
    """All packets of a port keep their order, and each takes the room of a full one."""

    def line(self, packet: Packet) -> int:
        """Number of the line in which a packet waits for those before it."""
        return 0

    def room(self, size: int, full: int) -> int:
        """Bytes of room in a buffer of ``size`` bytes for packets with up to ``full`` of data."""
        return size // full * full

    def takes(self, packet: Packet, full: int) -> int:
        """Bytes of room that a packet takes."""
        return full

    def fetch(self, bus: Bus) -> Fetch:
        """How entries and contexts are read: behind data."""
        return bus.start_read

    def response_units(self, units: Server) -> Server | None:
        """Processing units that packets of responses have to take."""
        return None


class PerQueuePair(InOrder):
    """Packets of other queue pairs go on while one has to wait; buffers are shared by bytes."""

    def line(self, packet: Packet) -> int:
        """That of its connection: the far end."""
        return packet.route.lid << 24 | packet.qpn

    def room(self, size: int, full: int) -> int:
        """All of it."""
        return size

    def takes(self, packet: Packet, full: int) -> int:
        """What its data takes, or its descriptor at least."""
        return min(full, max(LEAST, packet.payload))

    def fetch(self, bus: Bus) -> Fetch:
        """How entries and contexts are read: ahead of data."""
        return bus.start_fetch

    def response_units(self, units: Server) -> Server | None:
        """Those of requests."""
        return units


def name_of(line: int) -> str:
    """What the name of a line ends with; nothing if there is only one."""
    return f".qp{line & 0xFFFFFF}" if line else ""
