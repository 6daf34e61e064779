"""The halves of unreliable datagrams, each of which says where it goes and comes from."""

from __future__ import annotations

from typing import ClassVar, Final

from hcasim.engine import Call
from hcasim.fabric.packet import GRH, MULTICAST_QPN, Deth, Packet
from hcasim.fabric.payload import Led
from hcasim.fabric.route_header import filled
from hcasim.hca.completion_queue import End, WCStatus
from hcasim.hca.port import Arrival, Verdict
from hcasim.hca.qp.endpoint import Endpoint
from hcasim.hca.qp.pacing import AddressRates
from hcasim.hca.qp.requester import Requester
from hcasim.hca.qp.responder import Responder
from hcasim.hca.translation import LOCAL_WRITE
from hcasim.hca.wqe import Piece, ReceiveWqe, SendWqe, cut

# Bound once, because compiled code looks members of enumerations up each time.
_DROP: Final = Verdict.DROP
_PLACE: Final = Verdict.PLACE

_CONTROLLED: Final = 1 << 31
"""Keys of datagrams from here on are the system's: that of the queue pair goes out (10.2.5)."""


class DatagramRequester(Requester):
    """The requester of unreliable datagrams, each of which says where it goes.

    One to a multicast group comes back to the members at its own port when it has left.
    """

    def begin(self, wqe: SendWqe) -> bool:
        if wqe.route is not None:
            if wqe.route.slower is not None and self.pacing is None:
                self.pacing = AddressRates(self.egress.transmitter)
                self.pacing.begin()
            return super().begin(wqe)
        # Its address is of another protection domain.
        self.unacknowledged.append(wqe)
        self.fail(wqe, WCStatus.LOC_QP_OP_ERR)
        return False

    def send(self, wqe: SendWqe) -> Packet:
        packet = super().send(wqe)
        assert wqe.route is not None
        end, qkey = self.end, wqe.remote_qkey
        if qkey >= _CONTROLLED:
            qkey = end.path.qkey
        packet.headers = (Deth(end.qpn, self.egress.lid, qkey), *packet.headers)
        packet.route, packet.qpn = wqe.route, wqe.remote_qpn
        size = end.sizes.size(packet.opcode, packet.payload, packet.headers)
        packet.size = size + wqe.route.extra
        return packet

    def sent(self, wqe: SendWqe, packet: Packet) -> None:
        if wqe.remote_qpn == MULTICAST_QPN:
            self.egress.requests.when_sent(packet, Call(self._left_to_group, (wqe, packet)))
        else:
            super().sent(wqe, packet)

    def _left_to_group(self, wqe: SendWqe, packet: Packet) -> None:
        self._parts.loop_back(packet, self.end.port)
        self._left(wqe)


class DatagramResponder(Responder):
    """The responder of unreliable datagrams, in front of whose data is room for a routing header.

    A datagram that names another key than that of the queue pair is dropped without a word (volume
    1, 10.2.5). The room is that of 11.4.1.2; over Ethernet its last half takes the IPv4 header.
    """

    front: ClassVar[int] = GRH

    def accept(self, arrival: Arrival) -> Verdict:
        origin = arrival.packet.header(Deth)
        if origin is not None and origin.qkey != self.end.path.qkey:
            self._parts.refuse_key(arrival.packet, self.end.port)
            return _DROP
        return super().accept(arrival)

    def peer(self, packet: Packet) -> Endpoint | None:
        """None: it would take an address of its own."""
        return None

    def _receive(self, packet: Packet) -> Verdict:
        wqe, verdict = self.receiving, super()._receive(packet)
        if verdict is _PLACE and wqe is not None and packet.route.grh is not None:
            self._lead(packet, wqe, packet.route.grh)
        return verdict

    def _lead(self, packet: Packet, wqe: ReceiveWqe, header: bytes) -> None:
        """Have the header written in front of the data, where bytes of memory are known."""
        tables, pd = self._parts.tables, self.end.pd
        pieces = cut(wqe.pieces or [Piece(wqe.address, wqe.length, wqe.key)], 0, GRH)
        places = []
        for one in pieces:
            region = tables.find(one.key, pd, one.address, one.length, LOCAL_WRITE)
            if region is not None and region.contents is not None:
                places.append((region.contents, one.address, one.length))
        if places:
            data = Led(packet.data, filled(header, packet), places)
            if packet.payload:
                packet.data = data
            else:
                data.lead()

    def end_of(self, packet: Packet) -> End:
        end, route = super().end_of(packet), packet.route
        end.service_level, end.routed = route.service_level, route.grh is not None
        return end
