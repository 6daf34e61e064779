"""How long requests occupy a processing unit, by their operation."""

from __future__ import annotations

from hcasim.catalog.adapter import Send, Services
from hcasim.engine import Rate
from hcasim.fabric.packet import Opcode


def services_of(description: Services | None, otherwise: int = 0) -> dict[Opcode, int]:
    """Occupancy of a unit by the first packet of a request in ps, by its opcode.

    Args:
        otherwise: that of every request if the adapter does not tell them apart.
    """
    requests = (
        Opcode.RDMA_WRITE,
        Opcode.SEND,
        Opcode.RDMA_READ_REQUEST,
        Opcode.FETCH_ADD,
        Opcode.COMPARE_SWAP,
    )
    if description is None:
        return dict.fromkeys(requests, otherwise) if otherwise else {}
    one = description
    return dict(zip(requests, (one.write, one.send, one.read, one.atomic, one.atomic), strict=True))


class PacketService:
    """Occupancy of a processing unit by a packet that leaves.

    Attributes:
        requests: what the first packet of a request takes beside, by its opcode.
        least: that of a packet without data, in ps.
        rate: of the data of others, if that may take longer.
    """

    def __init__(self, send: Send) -> None:
        self.requests = services_of(send.services, send.wqe_service)
        self.least = send.packet_service
        self.rate = Rate.from_bandwidth(send.unit_bandwidth) if send.unit_bandwidth else None

    def time(self, payload: int) -> int:
        """That of a packet with so many bytes of data, in ps."""
        if self.rate is None:
            return self.least
        return max(self.least, self.rate.time(payload))
