"""What keeps its order in an adapter, and how long requests and packets occupy its units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hcasim.bus import Bus
from hcasim.catalog.adapter import Send, Services
from hcasim.engine import Action, Server
from hcasim.fabric.packet import INDEX, Opcode, Packet

LEAST: Final = 64
"""Bytes that the descriptor of a packet takes at least in a buffer that is shared by bytes."""

_SERVED: Final = {
    Opcode.RDMA_WRITE: "write",
    Opcode.SEND: "send",
    Opcode.RDMA_READ_REQUEST: "read",
    Opcode.FETCH_ADD: "atomic",
    Opcode.COMPARE_SWAP: "atomic",
}

Fetch = Callable[[int, int, Action], None]
"""Reads so many bytes from an address; the action is done when they are here."""


class InOrder:
    """All packets of a port keep their order, and each takes the room of a full one."""

    def line(self, packet: Packet) -> int:
        return 0

    def room(self, size: int, full: int) -> int:
        """Bytes of room in a buffer of ``size`` bytes for packets with up to ``full`` of data."""
        return size // full * full

    def takes(self, packet: Packet, full: int) -> int:
        return full

    def fetch(self, bus: Bus) -> Fetch:
        return bus.start_read

    def response_units(self, units: Server) -> Server | None:
        return None

    def further(self, service_ps: int) -> int:
        """Occupancy of a unit by a packet of a message behind its first, of one of that occupancy.

        Here each is served as the first is.
        """
        return service_ps

    def rest(self, service_ps: int) -> int:
        """Time from the end of a message to the next of its line, whose service takes so long."""
        return 0


class PerQueuePair(InOrder):
    """Packets of other queue pairs go on while one has to wait; buffers are shared by bytes.

    A processing unit deals with the first packet of a message. Those behind it differ by a sequence
    number and an address: they follow as fast as data and link allow. The next message of a queue
    pair is dealt with when the last packet of the one before has left; its data are read meanwhile.
    """

    def line(self, packet: Packet) -> int:
        return packet.route.lid << 24 | packet.qpn

    def room(self, size: int, full: int) -> int:
        return size

    def takes(self, packet: Packet, full: int) -> int:
        """What its data takes, or its descriptor at least."""
        return min(full, max(LEAST, packet.payload))

    def fetch(self, bus: Bus) -> Fetch:
        return bus.start_fetch

    def response_units(self, units: Server) -> Server | None:
        return units

    def further(self, service_ps: int) -> int:
        return 0

    def rest(self, service_ps: int) -> int:
        return service_ps


def name_of(line: int) -> str:
    """What the name of a line ends with; nothing if there is only one."""
    return f".qp{line & INDEX}" if line else ""


def services_of(description: Services | None, otherwise: int = 0) -> dict[Opcode, int]:
    """Occupancy of a unit by the first packet of a request in ps, by opcode if described so."""
    if description is None:
        return dict.fromkeys(_SERVED, otherwise) if otherwise else {}
    return {opcode: getattr(description, name) for opcode, name in _SERVED.items()}


class PacketService:
    """Occupancy of a processing unit by a packet that leaves, in ps.

    The first of a message takes ``first`` and what ``requests`` says of its opcode beside, those
    behind it ``further``.
    """

    def __init__(self, send: Send, pipeline: InOrder) -> None:
        self.requests = services_of(send.services, send.wqe_service)
        self.first = send.packet_service
        self.further = pipeline.further(self.first)
