"""Who is told of packets that switches mark.

Sources: mstconfig, help of ROCE CC ECN, whose names the parameters bear; InfiniBand Architecture
Specification volume 1, annex A17 (RoCEv2), of the packet that tells.
"""

from __future__ import annotations

from typing import ClassVar, Final

from hcasim.catalog.congestion import RoceCc
from hcasim.engine import Simulator
from hcasim.engine.changes import Changes
from hcasim.fabric.packet import Header, Opcode, Packet, Route
from hcasim.hca.egress import Egress
from hcasim.hca.qp.endpoint import Endpoint

RESERVED: Final = Header(16)
"""What a CNP has behind its base transport header."""


class HeldBack:
    """Time in ps in which packets of at least one queue pair are held back to its rate."""

    changes: ClassVar[Changes] = Changes(counts="wait_ps", times="_until")

    def __init__(self) -> None:
        self.wait_ps = self._until = 0

    def hold(self, begin_ps: int, until_ps: int) -> None:
        begin_ps = max(begin_ps, self._until)
        if until_ps > begin_ps:
            self.wait_ps += until_ps - begin_ps
            self._until = until_ps


class Notifications:
    """Tells queue pairs by CNPs that what they have sent was marked, or lost, on its way."""

    changes: ClassVar[Changes] = Changes(times="_next_at")

    def __init__(
        self, sim: Simulator, description: RoceCc, counts: dict[str, int], egresses: list[Egress]
    ) -> None:
        self._sim = sim
        self.description = description
        self.held = HeldBack()
        self._counts = counts
        self._egresses = egresses
        self._next_at: dict[tuple[int, int], int] = {}
        self._tells = description.algorithm == "dcqcn"

    def marked(self, packet: Packet, end: Endpoint | None) -> None:
        """A marked packet has come to an end; None if it does not know the one that has sent it."""
        self._counts["np_ecn_marked_roce_packets"] += 1
        if end is not None and packet.opcode is not Opcode.CNP and self._tells:
            self._tell(end, not packet.answers)

    def refused(self, end: Endpoint) -> None:
        """The end has sent a NAK, because packets are missing."""
        if self._tells and self.description.cnp_with_nak:
            self._tell(end, True)

    def _tell(self, end: Endpoint, requester: bool) -> None:
        description, route, now = self.description, end.path.route, self._sim.now
        limited = {"port": 0, "address_pair": route.lid, "queue_pair": end.qpn}
        name = end.port, limited[description.cnp_limit]
        if now < self._next_at.get(name, 0):
            return
        self._next_at[name] = now + description.min_time_between_cnps
        level = description.cnp_802p_prio
        way = Route(route.lid, level, route.pkey, route.grh, route.extra, flow=route.flow)
        packet = Packet(Opcode.CNP, way, end.path.qpn, 0, 0, (RESERVED,), sizes=end.sizes)
        packet.answers = requester
        self._counts["np_cnp_sent"] += 1
        self._egresses[end.port].acknowledge_at_once(packet)
