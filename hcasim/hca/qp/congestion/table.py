"""Congestion control of InfiniBand: who is told of marked packets, and what it delays then.

Source: InfiniBand Architecture Specification volume 1, annex A10.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from hcasim.catalog.subnet import CongestionControl
from hcasim.engine.changes import Changes
from hcasim.fabric.link import Transmitter
from hcasim.fabric.packet import Header, Opcode, Packet
from hcasim.hca.egress import Egress
from hcasim.hca.qp.congestion.control import RateControl
from hcasim.hca.qp.congestion.notifications import RESERVED, HeldBack
from hcasim.hca.qp.endpoint import Endpoint
from hcasim.hca.qp.pacing import Pacing

BECN: Final = Header(0)
"""A bit of the base transport header: packets that have gone the other way came marked."""
_TICK: Final = 1_024_000
"""Unit of CCTI_Timer, in ps."""


class CongestionTable(RateControl):
    """Delays the packets of a flow by the entry of a table at its place, CCTI.

    A BECN goes on in the table; a timer that all flows of an adapter share goes back. The delay
    behind a packet is a multiple of the time that the packet takes, or that of a static rate if
    that is longer. All is done when a packet or a BECN comes, for the times before: no event is
    spent on it.

    Attributes:
        place: CCTI.
    """

    changes: ClassVar[Changes] = Changes(counts="_ticks")

    def __init__(
        self,
        link: Transmitter,
        control: CongestionControl,
        held: HeldBack,
        release: Callable[[], None],
    ) -> None:
        super().__init__(link, control, held, release)
        self._delays = control.delays
        self._increase = control.ccti_increase
        self._least = control.ccti_min
        self._period = control.ccti_timer * _TICK
        self._ticks = self._sim.now // self._period
        self.place = self._least

    def notified(self) -> None:
        self.go_on()
        self._move(min(self.place + self._increase, len(self._delays) - 1))

    def go_on(self) -> bool:
        ticks = self._sim.now // self._period
        if ticks > self._ticks:
            if self.place > self._least:
                self._move(max(self._least, self.place - (ticks - self._ticks)))
            self._ticks = ticks
        return not self.place

    def sent(self, packet: Packet) -> None:
        super().sent(packet)
        slower = packet.route.slower
        if slower is not None:
            static = int(self.duration(packet) * slower)
            self.next_at = max(self.next_at, self._begun_at + static)

    def _move(self, place: int) -> None:
        self.place = place
        shift, multiplier = self._delays[place]
        self.rate = (self.line_rate << shift) // ((1 << shift) + multiplier)


class Becns:
    """Tells who sends that its packets came marked, and holds back what is told so.

    What asks for an acknowledgement is told of by that; all else by a CNP.
    """

    def __init__(
        self, control: CongestionControl, counts: dict[str, int], egresses: list[Egress]
    ) -> None:
        self.held = HeldBack()
        self._control = control
        self._counts = counts
        self._egresses = egresses

    def marked(self, packet: Packet, end: Endpoint | None) -> None:
        """A marked packet has come to an end; None if it does not know the one that has sent it."""
        self._counts["port_pkt_rcv_fecn"] += 1
        if end is None or packet.ack_request or packet.opcode is Opcode.CNP:
            return
        route = end.path.route
        told = Packet(Opcode.CNP, route, end.path.qpn, 0, 0, (RESERVED,), sizes=end.sizes)
        told.answers = not packet.answers
        self._egresses[end.port].acknowledge_at_once(told)

    def notified(
        self, pacing: Pacing | None, link: Transmitter, release: Callable[[], None]
    ) -> CongestionTable:
        """What holds the packets of a half back from now on, to which a BECN has come."""
        self._counts["port_pkt_rcv_becn"] += 1
        if not isinstance(pacing, CongestionTable):
            pacing = CongestionTable(link, self._control, self.held, release)
            pacing.begin()
        pacing.notified()
        return pacing
