"""The responder: places incoming data, answers reads and atomics, and acknowledges."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from hcasim.engine import Probe, Waits
from hcasim.fabric.packet import PSN_MODULUS, Aeth, AtomicEth, Deth, Opcode, Packet, Reth, Syndrome
from hcasim.hca.atomics import ATOMIC_SIZE, AtomicUnit
from hcasim.hca.beats import LONG, Beats
from hcasim.hca.completion_queue import Status
from hcasim.hca.parts import Parts
from hcasim.hca.port import Arrival
from hcasim.hca.queue_pair import (
    Atomic,
    QPType,
    QueuePair,
    Read,
    ReceiveQueue,
    State,
)
from hcasim.hca.services import PacketService
from hcasim.hca.translation import Access
from hcasim.hca.wqe import ReceiveWqe

# Bound once, because compiled code looks members of enumerations up each time.
_WRITE: Final = Opcode.RDMA_WRITE

GRH: Final = 40
"""Bytes in front of the data of a datagram in its receive buffer (volume 1, 11.4.1.2)."""

LINE: Final = 64
"""Bytes of receive entries that are worth a fetch: a cache line of the host."""


class Responder:
    """The receiving half of the adapter for requests of other adapters.

    It knows of them what their headers say. Packets of a line are dealt with in order; one that
    needs a receive WQE or a context that is not on chip holds up those behind it. Answers of one
    queue pair keep their order. Where queue pairs overlap, a processing unit is at work on each
    packet of a response, and the time to begin an answer runs while those before it are given.
    """

    def __init__(self, parts: Parts) -> None:
        self.sim = parts.sim
        self.adapter = parts.adapter
        self.rqpc = parts.context_cache("rqpc", parts.adapter.rqpc)
        self.receive_wqes_fetched = 0
        self.acknowledgements = 0
        self.naks = 0
        self.out_of_sequence = self.dropped = 0
        self.atomics = AtomicUnit(parts, self._executed)
        self._probe = Probe(parts.sim, f"{parts.name}.responder")
        self._transport = parts.transport
        self._tables = parts.tables
        self._dma = parts.dma
        self._completions = parts.completions
        self._egresses = parts.egresses
        self._units = parts.units if parts.adapter.overlaps else None
        self._packet_service = PacketService(parts.adapter.send)
        self._beats = Beats(parts.sim, parts.adapter)
        self._latency = parts.adapter.responder.latency
        self._ahead = parts.adapter.receive_queue.ahead
        # Messages that have taken entries which are on their way to the chip.
        self._awaiting: dict[ReceiveQueue, deque[Arrival]] = {}
        self.entries = Waits(parts.sim, f"{parts.name}.receive_wqe_fetch")
        self._in_cqe = parts.adapter.cqe.inline or 0

    def post_receive(self, qp: QueuePair, wqe: ReceiveWqe) -> None:
        """Learn of one more entry in the receive queue of ``qp``."""
        qp.responder.receive_queue.post(wqe)
        if self._ahead:
            self._fetch_ahead(qp.responder.receive_queue)
        if qp.state is State.ERR:
            self._completions.flush(qp)

    def fill(self, qp: QueuePair, entries: Iterator[ReceiveWqe], count: int) -> None:
        """Know so many entries of an empty receive queue, as if posted long ago."""
        qp.responder.receive_queue.fill(entries, count, self._ahead)

    def drop(self, arrival: Arrival) -> None:
        """Give up a packet without a word."""
        arrival.free()
        self._lose(arrival)

    def _lose(self, arrival: Arrival) -> None:
        self.dropped += 1
        packet = arrival.packet
        if self._probe.listeners:
            self._probe.event("drop", packet.operation, packet)
        if packet.sender is not None:
            packet.sender.lost(packet)
        arrival.finish()

    def request(self, arrival: Arrival) -> None:
        """Deal with a request; the queue pair's context is on chip."""
        packet, mine = arrival.packet, arrival.qp.responder
        if self._probe.listeners:
            self._probe.event("receive QP context", packet.operation, packet)
        if packet.psn != mine.expected_psn and not _may_begin(arrival.qp, packet):
            # After a negative acknowledgement the requester starts again at the refused PSN.
            self.out_of_sequence += 1
            arrival.free()
            arrival.finish()
        elif packet.opcode is _WRITE:
            self._write(arrival)
        elif isinstance(packet.header, Reth):
            self._read(arrival, packet.header)
        elif isinstance(packet.header, AtomicEth):
            self._atomic(arrival, packet.header)
        elif packet.first:
            self._begin_receive(arrival)
        else:
            self._receive(arrival)

    # RDMA writes.

    def _write(self, arrival: Arrival) -> None:
        qp, packet = arrival.qp, arrival.packet
        mine, header = qp.responder, packet.header
        if isinstance(header, Reth):
            mine.write_region = None
            mine.write_address = header.address
            if header.length:
                mine.write_region = self._tables.find(
                    header.rkey, qp.pd, header.address, header.length, Access.REMOTE_WRITE
                )
                if mine.write_region is None:
                    self._refuse(arrival, Syndrome.REMOTE_ACCESS_ERROR)
                    return
        mine.accept(1, packet.last)
        if mine.write_region is None:
            arrival.free()
            self._placed(arrival)
            return
        address = mine.write_address
        mine.write_address += packet.payload
        self._dma.place(arrival, mine.write_region, address, self._placed)

    def _placed(self, arrival: Arrival) -> None:
        if arrival.packet.ack_request:
            self._acknowledge(arrival)
        arrival.finish()

    # Sends.

    def _begin_receive(self, arrival: Arrival) -> None:
        mine = arrival.qp.responder
        wqe = mine.receiving = mine.receive_queue.take()
        if wqe is None:
            self._refuse(arrival, self._transport.not_ready)
            return
        if isinstance(arrival.packet.header, Deth):
            wqe.received = GRH
        queue = mine.receive_queue
        if not self._ahead:
            self.receive_wqes_fetched += 1
            size = self.adapter.wqe.stride
            self._dma.fetch_entry(queue.ring, wqe.posted - 1, size, self._fetched, arrival)
            return
        if queue.ready:
            queue.ready -= 1
            self._fetched(arrival)
        else:
            self._awaiting.setdefault(queue, deque()).append(arrival)
            self.entries.begin()
        self._fetch_ahead(queue)

    def _fetch_ahead(self, queue: ReceiveQueue) -> None:
        """Fetch receive entries before messages take them."""
        stride = self.adapter.wqe.stride
        first, count = queue.fetch(self._ahead, LINE // stride)
        if count:
            self.receive_wqes_fetched += count
            self._dma.fetch_entry(
                queue.ring, first, count * stride, self._fetched_ahead, queue, count
            )

    def _fetched_ahead(self, queue: ReceiveQueue, count: int) -> None:
        queue.ready += count
        awaiting = self._awaiting.get(queue)
        while awaiting and queue.ready:
            queue.ready -= 1
            self.entries.end()
            self._fetched(awaiting.popleft())

    def _fetched(self, arrival: Arrival) -> None:
        self.sim.call_after(self.adapter.receive_queue.latency, self._ready, arrival)

    def _ready(self, arrival: Arrival) -> None:
        if self._probe.listeners:
            self._probe.event("receive WQE fetch", arrival.packet.operation, arrival.qp)
        self._receive(arrival)

    def _receive(self, arrival: Arrival) -> None:
        """Place a packet of a send behind those before it, if there is room."""
        qp, packet = arrival.qp, arrival.packet
        mine, payload = qp.responder, packet.payload
        wqe = mine.receiving
        if wqe is None:
            # Flushed meanwhile.
            self.drop(arrival)
            return
        address, region = wqe.address + wqe.received, wqe.region
        if payload:
            if wqe.received + payload > wqe.length:
                self._fail(arrival, wqe, Status.LOC_LEN_ERR, Syndrome.INVALID_REQUEST)
                return
            if region is None or not region.covers(address, payload):
                region = self._tables.find(wqe.key, qp.pd, address, payload, Access.LOCAL_WRITE)
                wqe.region = region
            if region is None:
                fault = Syndrome.REMOTE_OPERATIONAL_ERROR
                self._fail(arrival, wqe, Status.LOC_PROT_ERR, fault)
                return
        mine.accept(1, packet.last)
        if 0 < payload <= self._in_cqe and packet.first and packet.last and wqe.signaled:
            wqe.in_cqe = qp.kind is not QPType.UD
        if region is None or wqe.in_cqe:
            arrival.free()
            self._received(arrival)
        else:
            self._dma.place(arrival, region, address, self._received)

    def _received(self, arrival: Arrival) -> None:
        qp, packet = arrival.qp, arrival.packet
        wqe = qp.responder.receiving
        if wqe is None:
            self._lose(arrival)
            return
        wqe.received += packet.payload
        if packet.last:
            qp.responder.receiving = None
            if wqe.signaled:
                self._completions.receive(qp, wqe, Status.SUCCESS, wqe.received, packet.operation)
        self._placed(arrival)

    def _fail(self, arrival: Arrival, wqe: ReceiveWqe, status: Status, syndrome: Syndrome) -> None:
        arrival.qp.responder.receiving = None
        self._completions.receive(arrival.qp, wqe, status, 0)
        if not arrival.qp.reliable:
            self._completions.flush(arrival.qp)
        self._refuse(arrival, syndrome)

    # Reads and atomics.

    def _read(self, arrival: Arrival, header: Reth) -> None:
        qp, packet, region = arrival.qp, arrival.packet, None
        if header.length:
            region = self._tables.find(
                header.rkey, qp.pd, header.address, header.length, Access.REMOTE_READ
            )
            if region is None:
                self._refuse(arrival, Syndrome.REMOTE_ACCESS_ERROR)
                return
        # Both ends know the path MTU, so the responses take the sequence numbers left for them.
        segment = self._transport.wire.payload(qp.mtu, Opcode.RDMA_READ_REQUEST)
        packets = max(1, -(-header.length // segment))
        self._accept(arrival, packets, Read(qp, packet, header, region, segment))

    def _atomic(self, arrival: Arrival, header: AtomicEth) -> None:
        qp = arrival.qp
        region = self._tables.find(
            header.rkey, qp.pd, header.address, ATOMIC_SIZE, Access.REMOTE_ATOMIC
        )
        if region is None:
            self._refuse(arrival, Syndrome.REMOTE_ACCESS_ERROR)
        elif header.address % ATOMIC_SIZE:
            self._refuse(arrival, Syndrome.INVALID_REQUEST)
        else:
            self._accept(arrival, 1, Atomic(qp, arrival.packet, header, region))

    def _accept(self, arrival: Arrival, packets: int, answer: Read | Atomic) -> None:
        arrival.qp.responder.accept(packets, last=True)
        arrival.free()
        self._answer_in_turn(arrival.qp, answer)
        arrival.finish()

    def _execute(self, answer: Read | Atomic) -> None:
        if self._probe.listeners:
            event = "read responder" if isinstance(answer, Read) else "atomic responder"
            since = max(answer.accepted_ps, self.sim.now - self._latency)
            self._probe.event(event, answer.request.operation, answer.qp, None, since)
        if isinstance(answer, Read):
            self._respond(answer)
        else:
            self.atomics.execute(answer)

    def _respond(self, read: Read) -> None:
        """Send the packets of a response, as long as there is room for the next."""
        responses = self._egresses[read.qp.port].responses
        if self._units is not None:
            responses.room.acquire(responses.full, self._take_unit, read)
            return
        while responses.room.take(responses.full):
            if self._send_response(read):
                return
        responses.room.acquire(responses.full, self._go_on, read)

    def _go_on(self, read: Read) -> None:
        if not self._send_response(read):
            self._respond(read)

    def _take_unit(self, read: Read) -> None:
        assert self._units is not None
        payload = min(read.segment, read.header.length - read.sent * read.segment)
        service = self._packet_service.time(payload)
        read.qp.responder.busy_ps += service
        done = self._units.reserve(service)
        self.sim.call_at(done, self._go_on, read)

    def _send_response(self, read: Read) -> bool:
        """Send the next packet of a response; return whether it was the last."""
        qp, header, psn = read.qp, read.header, read.request.psn + read.sent
        segment = read.segment
        offset = read.sent * segment
        last = offset + segment >= header.length
        aeth = Aeth(Syndrome.ACK, qp.responder.msn) if last or not read.sent else None
        read.sent += 1
        packet = qp.answer(
            Opcode.RDMA_READ_RESPONSE,
            psn % PSN_MODULUS,
            aeth,
            header.length - offset if last else segment,
            operation=read.request.operation if last else 0,
            first=read.sent == 1,
            last=last,
            ack_request=self._transport.acknowledges_responses
            and (last or read.sent % self.adapter.ack.interval == 0),
        )
        responses = self._egresses[qp.port].responses
        responses.stage(packet)
        if self._probe.listeners:
            packet.staged_at = self.sim.now
        if header.length > LONG * segment:
            self._beats.sent(read, read.sent, read.packets, segment)
        if read.region is None:
            responses.complete(packet)
        else:
            self._dma.gather(responses, packet, read.region, header.address + offset)
        if last:
            self._answered(qp)
        return last

    def _executed(self, atomic: Atomic, original: int) -> None:
        responses = self._egresses[atomic.qp.port].responses
        responses.room.acquire(responses.full, self._send_word, atomic, original)

    def _send_word(self, atomic: Atomic, original: int) -> None:
        qp, request = atomic.qp, atomic.request
        aeth = Aeth(Syndrome.ACK, qp.responder.msn, original=original)
        packet = qp.answer(
            Opcode.ATOMIC_ACKNOWLEDGE, request.psn, aeth, ATOMIC_SIZE, operation=request.operation
        )
        self._egresses[qp.port].respond(packet)
        self._answered(qp)

    # Acknowledgements, and answers in turn.

    def _acknowledge(self, arrival: Arrival) -> None:
        self.acknowledgements += 1
        qp = arrival.qp
        header = Aeth(Syndrome.ACK, qp.responder.msn)
        packet = qp.answer(Opcode.ACKNOWLEDGE, arrival.packet.psn, header)
        if self._transport.answers_in_turn:
            self._answer_in_turn(qp, packet)
        else:
            self._egresses[qp.port].acknowledge_at_once(packet)

    def _refuse(self, arrival: Arrival, syndrome: Syndrome) -> None:
        arrival.free()
        if not arrival.qp.reliable:
            # The packets behind it are out of sequence, up to the first of another message.
            self.dropped += 1
            arrival.finish()
            return
        self.naks += 1
        qp = arrival.qp
        header = Aeth(syndrome, qp.responder.msn, rnr_timer_ps=qp.responder.rnr_timer_ps)
        self._answer_in_turn(qp, qp.answer(Opcode.NAK, arrival.packet.psn, header))
        if syndrome is not Syndrome.RNR_NAK:
            self._completions.flush(qp)
        arrival.finish()

    def _answer_in_turn(self, qp: QueuePair, answer: Packet | Read | Atomic) -> None:
        answers = qp.responder.answers
        answers.append(answer)
        if not isinstance(answer, Packet):
            answer.accepted_ps = self.sim.now
        if len(answers) == 1:
            self._begin_answers(qp)

    def _begin_answers(self, qp: QueuePair) -> None:
        """Send the acknowledgements that are next, and begin the read or atomic behind them."""
        answers = qp.responder.answers
        while answers:
            answer = answers[0]
            if not isinstance(answer, Packet):
                latency = self._latency
                if self._units is not None:
                    latency = max(0, latency - (self.sim.now - answer.accepted_ps))
                qp.responder.busy_ps += latency
                self.sim.call_after(latency, self._execute, answer)
                return
            self._egresses[qp.port].acknowledge(answer)
            answers.popleft()

    def _answered(self, qp: QueuePair) -> None:
        qp.responder.answers.popleft()
        self._begin_answers(qp)


def _may_begin(qp: QueuePair, packet: Packet) -> bool:
    """Make a packet the expected one where nothing is sent again and any message may be next."""
    begins = packet.first and not qp.reliable
    if begins:
        qp.responder.expected_psn = packet.psn
    return begins
