"""The responders of reliable connections, which answer in order."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import ClassVar, Final

from hcasim.engine.changes import ALIKE, Changes, declare
from hcasim.fabric.packet import (
    PSN_MODULUS,
    Aeth,
    AtomicEth,
    Header,
    Opcode,
    Packet,
    Reth,
    Syndrome,
    behind,
)
from hcasim.fabric.payload import Payload, Transfer
from hcasim.fabric.telemetry import Telemetry
from hcasim.hca.completion_queue import CompletionQueue, WCStatus
from hcasim.hca.events import EventType
from hcasim.hca.parts import Parts
from hcasim.hca.port import Verdict
from hcasim.hca.qp.congestion.algorithms import notified
from hcasim.hca.qp.congestion.table import BECN
from hcasim.hca.qp.endpoint import Endpoint
from hcasim.hca.qp.pacing import Pacing
from hcasim.hca.qp.queues import ReceiveQueue
from hcasim.hca.qp.responder import Responder
from hcasim.hca.translation import REMOTE_ATOMIC, REMOTE_READ, WORD, Region
from hcasim.hca.units import Atomic
from hcasim.hca.wqe import CHECKPOINT, LONG, ReceiveWqe

# Bound once, because compiled code looks members of enumerations up each time.
_ACKNOWLEDGE: Final = Opcode.ACKNOWLEDGE
_READ: Final = Opcode.RDMA_READ_REQUEST
_READ_RESPONSE: Final = Opcode.RDMA_READ_RESPONSE
_ACK: Final = Syndrome.ACK
_DROP: Final = Verdict.DROP
_ANSWER: Final = Verdict.ANSWER

_TRIED_AGAIN: Final = (Syndrome.RNR_NAK, Syndrome.PSN_SEQUENCE_ERROR)
_EVENTS: Final = {
    Syndrome.REMOTE_ACCESS_ERROR: EventType.QP_ACCESS_ERR,
    Syndrome.INVALID_REQUEST: EventType.QP_REQ_ERR,
}


@dataclass(slots=True, eq=False)
class Read:
    """A read of a region, or of nothing, that a responder answers by packets of ``segment`` bytes.

    Its turn began to be awaited at ``accepted_ps``. It has been executed before if it comes
    ``again``, and it is ``over`` once it is asked for again.
    """

    request: Packet
    header: Reth
    region: Region | None
    segment: int
    accepted_ps: int
    transfer: Transfer | None = None
    sent: int = 0
    again: bool = False
    over: bool = False

    def ends(self) -> dict[str, int]:
        """What the count of packets may not reach unnoticed: the last one, or a large page."""
        packets = self.packets
        if self.region is not None:
            address = self.header.address + self.sent * self.segment
            alike = (self.region.alike_until(address) - address) // self.segment
            packets = min(packets, self.sent + alike)
        return {"sent": packets}

    @property
    def packets(self) -> int:
        return max(1, -(-self.header.length // self.segment))

    def holds(self, psn: int) -> bool:
        """Whether a packet of the response has this number."""
        return (psn - self.request.psn) % PSN_MODULUS < self.packets


declare(Read, counts="sent", since="accepted_ps")


class ReliableResponder(Responder):
    """The responder of a reliable connection over InfiniBand.

    Acknowledgements keep their place behind read responses, which need none, and the requester may
    ask a receiver again that is not ready (volume 1, 9.7). Where queue pairs overlap, a processing
    unit is at work on the first packet of a response, and the time to begin an answer runs while
    those before it, in `answers`, are given.

    One gap in the sequence is refused once, and what follows dropped until the packet comes that is
    missing. What comes again has been executed: sends and writes are acknowledged again, reads are
    executed again instead of what is left of them, and atomics have the results that are
    remembered (9.7.5.2.8, 9.7.5.1.5).
    """

    changes: ClassVar[Changes] = Changes(unseen="_refused_psn _results")

    def __init__(
        self, end: Endpoint, cq: CompletionQueue, queue: ReceiveQueue, parts: Parts
    ) -> None:
        super().__init__(end, cq, queue, parts)
        self.answers: deque[Packet | Read | Atomic] = deque()
        self._refused_psn = -1
        self._results: list[tuple[int, int]] = []
        self._responses = self._egress.responses
        self._units = parts.response_units
        self._latency = parts.description.responder.latency
        self._rdb = parts.rdb
        self.pacing: Pacing | None = None

    def begins_at(self, packet: Packet) -> bool:
        """After a negative acknowledgement the requester starts again at the refused PSN."""
        return False

    def out_of_sequence(self, packet: Packet) -> Verdict:
        if behind(packet.psn, self.expected_psn):
            return self._again(packet)
        self._parts.counts["out_of_sequence"] += 1
        if self._refused_psn != self.expected_psn:
            return self.deny(Syndrome.PSN_SEQUENCE_ERROR)
        if packet.sender is not None and self._syndrome is Syndrome.PSN_SEQUENCE_ERROR:
            packet.sender.lost(packet)
        return _DROP

    def _again(self, packet: Packet) -> Verdict:
        """Answer a request that has been executed before."""
        self._parts.counts["duplicate_request"] += 1
        if (header := packet.header(Reth)) is not None and packet.opcode is not Opcode.RDMA_WRITE:
            region = self.find(header, header.length, REMOTE_READ)
            if region is None and header.length:
                return _DROP
            for answer in self.answers:
                if isinstance(answer, Read) and answer.holds(packet.psn):
                    answer.over = True
            self._read(packet, header, region).again = True
            return _ANSWER
        if packet.header(AtomicEth) is not None:
            for psn, original in self._results:
                if psn == packet.psn:
                    self.answers.append(self._word(packet, original))
                    return _ANSWER
            return _DROP
        if not packet.ack_request:
            return _DROP
        self.answers.append(self._acknowledgement(packet, self.expected_psn - 1))
        return _ANSWER

    def spoil(self, wqe: ReceiveWqe, status: WCStatus, syndrome: Syndrome) -> Verdict:
        """Give up a message that does not fit its receive entry; the queue pair once it is told."""
        self.receiving = None
        self._complete(wqe, status)
        return self.deny(syndrome)

    # Reads and atomics.

    @property
    def full(self) -> bool:
        """Whether as many reads and atomics are to be answered as both ends have agreed on.

        Those that come again were answered before their requester went on.
        """
        count = 0
        for answer in self.answers:
            if isinstance(answer, Atomic) or (isinstance(answer, Read) and not answer.again):
                count += 1
        return count >= self.end.path.max_dest_rd_atomic

    def ask(self, packet: Packet) -> Verdict:
        if len(self.answers) >= self.end.path.max_dest_rd_atomic and self.full:
            # Too many (9.9.3).
            return self.deny(Syndrome.INVALID_REQUEST)
        if (header := packet.header(Reth)) is not None:
            if self.end.denies & REMOTE_READ:
                return self.deny(Syndrome.INVALID_REQUEST)
            self._parts.counts["rx_read_requests"] += 1
            region = self.find(header, header.length, REMOTE_READ)
            if region is None and header.length:
                return self.deny(Syndrome.REMOTE_ACCESS_ERROR)
            self.advance(self._read(packet, header, region).packets, last=True)
        elif (operands := packet.header(AtomicEth)) is not None:
            if self.end.denies & REMOTE_ATOMIC:
                return self.deny(Syndrome.INVALID_REQUEST)
            self._parts.counts["rx_atomic_requests"] += 1
            region = self.find(operands, WORD, REMOTE_ATOMIC)
            if region is None:
                return self.deny(Syndrome.REMOTE_ACCESS_ERROR)
            if operands.address % WORD:
                return self.deny(Syndrome.INVALID_REQUEST)
            self.answers.append(Atomic(packet, operands, region, self._sim.now, self._executed))
            self.advance(1, last=True)
        return _ANSWER

    def _read(self, packet: Packet, header: Reth, region: Region | None) -> Read:
        # Both ends know the path MTU, so the responses take the sequence numbers left for them.
        segment = self._parts.wire.payload(self.end.path.mtu, _READ)
        contents = None if region is None else region.contents
        transfer = None if contents is None else Transfer(contents)
        read = Read(packet, header, region, segment, self._sim.now, transfer)
        self.answers.append(read)
        return read

    def _execute(self, answer: Read | Atomic) -> None:
        if self._probe.listeners:
            event = "read responder" if isinstance(answer, Read) else "atomic responder"
            since = max(answer.accepted_ps, self._sim.now - self._latency)
            self._probe.event(event, answer.request.operation, self.end, None, since)
        if isinstance(answer, Read):
            self._respond(answer)
        else:
            self._parts.atomics.execute(answer)

    def _respond(self, read: Read) -> None:
        responses = self._responses
        if read.over:
            self._answered()
            return
        pacing = self.pacing
        if pacing is not None:
            earliest = pacing.earliest(None)
            if earliest > self._sim.now:
                self._sim.call_at(earliest, self._respond, read)
                return
            pacing.begin()
        if self._units is not None and not read.sent:
            responses.room.acquire(responses.full, self._take_unit, read)
            return
        while responses.room.take(responses.full):
            if self._send_response(read):
                return
            if self.pacing is not None:
                self._respond(read)
                return
        responses.room.acquire(responses.full, self._go_on, read)

    def _go_on(self, read: Read) -> None:
        if not self._send_response(read):
            self._respond(read)

    def _take_unit(self, read: Read) -> None:
        assert self._units is not None
        service = self._parts.packet_service.first
        self.busy_ps += service
        done = self._units.reserve(service)
        self._sim.call_at(done, self._go_on, read)

    def _send_response(self, read: Read) -> bool:
        header, psn = read.header, read.request.psn + read.sent
        segment = read.segment
        offset = read.sent * segment
        last = offset + segment >= header.length
        aeth = (Aeth(_ACK, self.msn),) if last or not read.sent else ()
        read.sent += 1
        payload = header.length - offset if last else segment
        operation = read.request.operation if last else 0
        packet = self.end.answer(_READ_RESPONSE, psn % PSN_MODULUS, aeth, payload, operation)
        packet.first, packet.last = read.sent == 1, last
        packet.sender = read.request.sender
        packet.ack_request = self.asks_for_acknowledgement(read.sent, last)
        responses = self._responses
        responses.stage(packet)
        if self.pacing is not None:
            self.pacing.sent(packet)
        if self._probe.listeners:
            packet.staged_at = self._sim.now
        long = header.length > LONG * segment and read.sent % CHECKPOINT == 0
        if long and (forward := self._sim.forward) is not None:
            forward.checkpoint(read, (read.packets - read.sent) // CHECKPOINT, offset % ALIKE)
        if read.region is None:
            responses.complete(packet)
        else:
            address = header.address + offset
            if read.transfer is not None:
                packet.data = Payload(read.transfer, address, payload)
            self._parts.dma.gather(responses, packet, read.region, address)
        if last:
            self._answered()
        return last

    def slow_down(self) -> None:
        parts, link = self._parts, self._egress.transmitter
        if parts.notifications is not None:
            self.pacing = notified(self.pacing, link, parts.notifications, self._release)
        elif parts.becns is not None:
            self.pacing = parts.becns.notified(self.pacing, link, self._release)

    def _release(self) -> None:
        self.pacing = None

    def asks_for_acknowledgement(self, sent: int, last: bool) -> bool:
        """Whether the packet of a response that is the ``sent``-th does."""
        return False

    def _executed(self, atomic: Atomic, original: int) -> None:
        self._responses.room.acquire(self._responses.full, self._send_word, atomic, original)

    def _send_word(self, atomic: Atomic, original: int) -> None:
        self._results.append((atomic.request.psn, original))
        del self._results[: -self._parts.description.responder.outstanding]
        self._egress.respond(self._word(atomic.request, original))
        self._answered()

    def _word(self, request: Packet, original: int) -> Packet:
        aeth = Aeth(_ACK, self.msn, original=original)
        opcode, operation = Opcode.ATOMIC_ACKNOWLEDGE, request.operation
        packet = self.end.answer(opcode, request.psn, (aeth,), WORD, operation)
        packet.data = Payload(None, 0, WORD)
        packet.data.add(original.to_bytes(WORD, "little"))
        packet.sender = request.sender
        return packet

    # Acknowledgements, and answers in turn.

    def _acknowledgement(self, packet: Packet, psn: int) -> Packet:
        self._parts.counts["acknowledgements"] += 1
        headers: tuple[Header, ...] = (Aeth(_ACK, self.msn),)
        if packet.headers and (seen := packet.header(Telemetry)) is not None:
            seen.marked = packet.marked
            headers = (*headers, seen)
        if packet.marked and packet.ack_request and self._parts.becns is not None:
            headers = (*headers, BECN)
        answer = self.end.answer(_ACKNOWLEDGE, psn % PSN_MODULUS, headers)
        answer.sender = packet.sender
        return answer

    def acknowledge(self, packet: Packet) -> None:
        answer = self._acknowledgement(packet, packet.psn)
        if self.answers:
            self.answers.append(answer)
        else:
            self._egress.acknowledge(answer)

    def acknowledge_before(self, packet: Packet) -> None:
        """Acknowledge what has come in order, whatever a packet is."""
        self.answers.append(self._acknowledgement(packet, self.expected_psn - 1))
        self.answer(packet)

    def refuse(self, packet: Packet) -> None:
        """Tell why a packet was refused, and give up the queue pair unless it may be sent again."""
        self._parts.counts["naks"] += 1
        header = Aeth(self._syndrome, self.msn, rnr_timer_ps=self.end.path.rnr_timer_ps)
        self._refused_psn = self.expected_psn
        answer = self.end.answer(Opcode.NAK, self.expected_psn, (header,))
        answer.sender = packet.sender
        self.answers.append(answer)
        self.answer(packet)
        if self._syndrome is Syndrome.PSN_SEQUENCE_ERROR:
            self.tell_of_loss()
        if self._syndrome not in _TRIED_AGAIN:
            self.end.tell(_EVENTS.get(self._syndrome, EventType.QP_FATAL))
            self.end.fail()

    def tell_of_loss(self) -> None:
        """Tell who sends of congestion, besides a NAK of packets that are missing."""
        if (notifications := self._parts.notifications) is not None:
            notifications.refused(self.end)

    def answer(self, packet: Packet) -> None:
        if len(self.answers) == 1:
            self._begin_answers()

    def _begin_answers(self) -> None:
        while self.answers:
            answer = self.answers[0]
            if not isinstance(answer, Packet):
                if self._rdb is None:
                    self._begin_answer(answer)
                else:
                    self._rdb.access(self.end.index, self._begin_answer, answer)
                return
            self._egress.acknowledge(answer)
            self.answers.popleft()

    def _begin_answer(self, answer: Read | Atomic) -> None:
        latency = self._latency
        if self._units is not None:
            latency = max(0, latency - (self._sim.now - answer.accepted_ps))
        self.busy_ps += latency
        self._sim.call_after(latency, self._execute, answer)

    def _answered(self) -> None:
        self.answers.popleft()
        self._begin_answers()
