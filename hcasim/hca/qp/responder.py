"""The responders of what nobody acknowledges: unreliable connections and datagrams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from hcasim.engine.changes import Changes
from hcasim.fabric.packet import (
    PSN_MODULUS,
    AtomicEth,
    Deth,
    Ieth,
    Immediate,
    Opcode,
    Packet,
    Reth,
    Syndrome,
)
from hcasim.hca.completion_queue import CompletionQueue, End, WCStatus
from hcasim.hca.counters import count_receive
from hcasim.hca.parts import Parts
from hcasim.hca.port import Arrival, Half, Verdict
from hcasim.hca.qp.endpoint import Endpoint, State
from hcasim.hca.qp.queues import ReceiveQueue
from hcasim.hca.translation import LOCAL_WRITE, REMOTE_WRITE, Region
from hcasim.hca.wqe import Pieces, ReceiveWqe, cut

# Bound once, because compiled code looks members of enumerations up each time.
_WRITE: Final = Opcode.RDMA_WRITE
_PLACE: Final = Verdict.PLACE
_SUCCESS: Final = WCStatus.SUCCESS
_SEND: Final = Opcode.SEND
_DROP: Final = Verdict.DROP
_HOLD: Final = Verdict.HOLD
_ERR: Final = State.ERR

NOTHING_FOLLOWS: Final = -1
"""The expected PSN while only the first packet of a message is taken."""


class Responder(Half):
    """The responder of an unreliable connection.

    It places data, and knows of it what the headers say. What it cannot place it drops without a
    word; then the packets behind are out of sequence, up to the first of another message
    (InfiniBand Architecture Specification volume 1, 9.8.2). Answers took ``busy_ps`` before they or
    the next could begin.
    """

    changes: ClassVar[Changes] = Changes(counts="busy_ps expected_psn msn")

    front: ClassVar[int] = 0
    not_ready: ClassVar[Syndrome] = Syndrome.RNR_NAK

    def __init__(
        self, end: Endpoint, cq: CompletionQueue, queue: ReceiveQueue, parts: Parts
    ) -> None:
        super().__init__()
        self.end = end
        self.cq = cq
        self.queue = queue
        self.expected_psn = self.msn = self.busy_ps = 0
        self.receiving: ReceiveWqe | None = None
        self._sim = parts.sim
        self._parts = parts
        self._probe = parts.receive_probe
        self._egress = parts.egresses[end.port]
        self._syndrome = Syndrome.ACK
        self._length = 0

    def ends(self) -> dict[str, int]:
        ends = {"expected_psn": PSN_MODULUS}
        if self.region is not None:
            ends["address"] = self.region.alike_until(self.address)
        return ends

    def peer(self, packet: Packet) -> Endpoint | None:
        """The end that knows where a packet has come from; None if none does."""
        return self.end

    def slow_down(self) -> None:
        """Learn that what it has sent was marked on its way; it sends nothing that has data."""

    def post_list(self, wqes: Sequence[ReceiveWqe]) -> None:
        for wqe in wqes:
            self.post(wqe)

    def post(self, wqe: ReceiveWqe) -> None:
        self.queue.post(wqe)
        if self.end.state is _ERR:
            self.end.fail()

    def accept(self, arrival: Arrival) -> Verdict:
        packet = arrival.packet
        if self._probe.listeners:
            self._probe.event("receive QP context", packet.operation, packet)
        if packet.psn != self.expected_psn and not self.begins_at(packet):
            return self.out_of_sequence(packet)
        payload, segment = packet.payload, self.end.segment
        if (
            packet.first
            and payload != segment
            and (payload > segment or not packet.last)
            and segment
        ):
            # Not as long as the path MTU lets it be, of which both ends may have been told
            # different ones (9.7.4.1.6). Segments of TCP have any length.
            return self.deny(Syndrome.INVALID_REQUEST)
        if packet.opcode is _WRITE:
            return self._write(arrival)
        if packet.opcode is not _SEND:
            return self.ask(packet)
        return self._begin_receive(arrival) if packet.first else self._receive(packet)

    def begins_at(self, packet: Packet) -> bool:
        """Whether another message may begin with a packet that is not the expected one."""
        if packet.first:
            # Nothing is sent again, so any message may be next.
            self.expected_psn = packet.psn
        return packet.first

    def out_of_sequence(self, packet: Packet) -> Verdict:
        """Drop a packet that was lost, or comes twice, and the message that it belongs to."""
        self._parts.counts["out_of_sequence"] += 1
        self.expected_psn = NOTHING_FOLLOWS
        return _DROP

    def ask(self, packet: Packet) -> Verdict:
        """Take what asks for data: this service has neither reads nor atomics."""
        return _DROP

    def advance(self, packets: int, last: bool) -> None:
        """Note that packets are in sequence and allowed, and whether they end a message."""
        self.expected_psn = (self.expected_psn + packets) % PSN_MODULUS
        if last:
            self.msn = (self.msn + 1) % PSN_MODULUS

    def _write(self, arrival: Arrival) -> Verdict:
        packet = arrival.packet
        header = packet.header(Reth) if packet.headers else None
        if header is not None:
            if self.end.denies & REMOTE_WRITE:
                return self.deny(Syndrome.INVALID_REQUEST)
            self._parts.counts["rx_write_requests"] += 1
            self.address = header.address
            self.region = self.find(header, header.length, REMOTE_WRITE)
            if self.region is None and header.length:
                return self.deny(Syndrome.REMOTE_ACCESS_ERROR)
            self.pieces = None
            if packet.first:
                self._length = header.length
        if packet.last and takes_receive(packet):
            return self._begin_receive(arrival)
        self.advance(1, packet.last)
        return _PLACE

    def find(self, header: Reth | AtomicEth, size: int, needed: int) -> Region | None:
        if not size:
            return None
        end = self.end
        region = self._parts.tables.find(header.rkey, end.pd, header.address, size, needed)
        return None if region is not None and region.qpn not in (0, end.qpn) else region

    def _begin_receive(self, arrival: Arrival) -> Verdict:
        wqe = self.receiving
        if wqe is not None:
            # It has been here for a message that lost packets, and is there for the next.
            wqe.received = self.front
            self.queue.use(self._ready, arrival)
            return _HOLD
        wqe = self.receiving = self.queue.take()
        if wqe is None:
            self._parts.counts["out_of_buffer"] += 1
            return self.deny(self.not_ready)
        wqe.received = self.front
        self.queue.bring(wqe, self._ready, arrival)
        return _HOLD

    def _ready(self, arrival: Arrival) -> None:
        packet = arrival.packet
        if self._probe.listeners:
            self._probe.event("receive WQE fetch", packet.operation, self.end)
        arrival.settle(self._receive(packet))

    def _receive(self, packet: Packet) -> Verdict:
        wqe, payload = self.receiving, packet.payload
        if wqe is None:
            # Flushed meanwhile.
            self._parts.lose(packet)
            return _DROP
        if packet.opcode is _WRITE:
            # Its data go where the write says.
            self.advance(1, packet.last)
            return _PLACE
        if wqe.received + payload > wqe.length:
            return self.spoil(wqe, WCStatus.LOC_LEN_ERR, Syndrome.INVALID_REQUEST)
        address, region = wqe.address + wqe.received, wqe.region
        if payload:
            if wqe.pieces is not None:
                region = self._find_pieces(wqe.pieces, wqe.received, payload)
            elif region is None or not region.covers(address, payload):
                tables = self._parts.tables
                region = tables.find(wqe.key, self.end.pd, address, payload, LOCAL_WRITE)
                wqe.region = region
            if region is None:
                return self.spoil(wqe, WCStatus.LOC_PROT_ERR, Syndrome.REMOTE_OPERATIONAL_ERROR)
        if wqe.pieces is None:
            self.pieces = None
        self.advance(1, packet.last)
        if 0 < payload <= self._parts.in_cqe and packet.first and packet.last and wqe.signaled:
            wqe.in_cqe = self.front == 0 and wqe.pieces is None
            if wqe.in_cqe and packet.data is not None:
                wqe.data = packet.data.content()
        self.region = None if wqe.in_cqe else region
        self.address = address
        return _PLACE

    def _find_pieces(self, pieces: Pieces, first: int, length: int) -> Region | None:
        """Look up where so many bytes of a message go; None if one of the places is wrong."""
        tables, pd = self._parts.tables, self.end.pd
        self.pieces = cut(pieces, first, length)
        for one in self.pieces:
            one.region = tables.find(one.key, pd, one.address, one.length, LOCAL_WRITE)
            if one.region is None:
                return None
        return self.pieces[0].region

    def placed(self, packet: Packet) -> None:
        if packet.opcode is _WRITE:
            self.address += packet.payload
            # The entry may also wait for a message that has lost packets.
            if packet.last and self.receiving is not None and takes_receive(packet):
                self._received(self.receiving, packet, self._length)
        else:
            wqe = self.receiving
            if wqe is None:
                self._parts.lose(packet)
                return
            wqe.received += packet.payload
            if packet.last:
                self._received(wqe, packet, wqe.received)
        if packet.ack_request:
            self.acknowledge(packet)

    def _received(self, wqe: ReceiveWqe, packet: Packet, length: int) -> None:
        """Complete the entry of a message whose last packet is here."""
        self.receiving = None
        if packet.headers or packet.solicited:
            wqe.end = self.end_of(packet)
        if wqe.signaled:
            self._complete(wqe, WCStatus.SUCCESS, length, packet.operation)

    def end_of(self, packet: Packet) -> End:
        end = End(written=packet.opcode is _WRITE, solicited=packet.solicited)
        for header in packet.headers:
            if isinstance(header, Immediate):
                end.immediate = header.value
            elif isinstance(header, Ieth):
                end.invalidated = header.rkey
                self._parts.tables.invalidate(header.rkey, self.end.pd)
            elif isinstance(header, Deth):
                end.source_qpn, end.source_lid = header.source_qpn, header.source_lid
        return end

    def acknowledge(self, packet: Packet) -> None:
        """Acknowledge a packet that asks for it; none does."""

    def _complete(
        self, wqe: ReceiveWqe, status: WCStatus, length: int = 0, operation: int = 0
    ) -> None:
        if status is not _SUCCESS:
            count_receive(self._parts.counts, self._parts.description, status)
        completions = self._parts.completions
        completions.complete(self.cq, self.end.qpn, wqe, status, length, operation)

    def spoil(self, wqe: ReceiveWqe, status: WCStatus, syndrome: Syndrome) -> Verdict:
        self.receiving = None
        self._complete(wqe, status)
        self.end.fail()
        return self.deny(syndrome)

    def deny(self, syndrome: Syndrome) -> Verdict:
        """Refuse a packet, for a reason of which its requester is told if the service does so."""
        self._syndrome = syndrome
        if syndrome is Syndrome.REMOTE_ACCESS_ERROR:
            counters = self._parts.description.counters
            if counters is not None and counters.responder_errors:
                self._parts.counts["resp_remote_access_errors"] += 1
        return Verdict.REFUSE

    def refuse(self, packet: Packet) -> None:
        self._parts.counts["dropped"] += 1

    def discard(self) -> None:
        """Forget all receive requests, as the queue pair is reset."""
        self.receiving = None
        if not self.queue.shared:
            self.queue.drain()

    def flush(self) -> None:
        if self.receiving is not None:
            receiving, self.receiving = self.receiving, None
            self._complete(receiving, WCStatus.WR_FLUSH_ERR)
        if self.queue.shared:
            return
        for wqe in self.queue.drain():
            self._complete(wqe, WCStatus.WR_FLUSH_ERR)


def takes_receive(write: Packet) -> bool:
    """Whether a write has immediate data, for which its receiver needs a receive request."""
    return bool(write.headers) and isinstance(write.headers[-1], Immediate)
