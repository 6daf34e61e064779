"""The responder: places incoming data, answers reads and atomics, and acknowledges."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hcasim.catalog import Adapter
from hcasim.engine import CreditPool, Probe, Simulator
from hcasim.fabric.packet import Opcode, Packet
from hcasim.hca.completion import CompletionEngine
from hcasim.hca.dma import DmaEngine
from hcasim.hca.icm import Icm
from hcasim.hca.port import Port
from hcasim.hca.translation import Access, Region, TranslationTables
from hcasim.hca.transport import transport
from hcasim.hca.work_queue import (
    PSN_MODULUS,
    Completion,
    QueuePair,
    ReceiveEntry,
    SendEntry,
    State,
    Status,
)

ATOMIC_SIZE = 8


class Responder:
    """The receiving half of the adapter for requests of other adapters.

    Packets of a port are dealt with in order; one that needs a receive WQE or a context that
    is not on chip holds up those behind it. Answers of one queue pair keep their order.
    """

    def __init__(
        self,
        sim: Simulator,
        name: str,
        adapter: Adapter,
        icm: Icm,
        tables: TranslationTables,
        dma: DmaEngine,
        completions: CompletionEngine,
        ports: list[Port],
        flush: Callable[[QueuePair], None],
    ) -> None:
        self.sim = sim
        self._probe = Probe(sim, f"{name}.responder")
        self.adapter = adapter
        self.rqpc = icm.cache("rqpc", adapter.rqpc, written=True)
        self.receive_wqes_fetched = 0
        self.acknowledgements = 0
        self.naks = 0
        self.out_of_sequence = 0
        self._atomic_unit = CreditPool(sim, f"{name}.atomic_unit", 1)
        self._tables = tables
        self._dma = dma
        self._completions = completions
        self._ports = ports
        self._flush = flush
        self._transport = transport(adapter.protocol)
        self._size_of = self._transport.wire.size

    def post_receive(self, qp: QueuePair, entry: ReceiveEntry) -> None:
        """Learn of one more entry in the receive queue of ``qp``."""
        qp.receive_queue.append(entry)
        if qp.state is State.ERR:
            self._flush(qp)

    def request(self, port: Port, qp: QueuePair, packet: Packet) -> None:
        """Deal with a request packet whose queue pair context is on chip."""
        if self._probe.listeners:
            self._probe.event("receive QP context", packet.operation, packet)
        if packet.psn != qp.expected_psn:
            # After a negative acknowledgement the requester starts again at the refused PSN.
            self.out_of_sequence += 1
            port.free(packet)
            port.done()
            return
        if packet.opcode is Opcode.RDMA_WRITE:
            self._write(port, qp, packet)
        elif packet.opcode is Opcode.SEND:
            self._send(port, qp, packet)
        else:
            self._read_or_atomic(port, qp, packet)

    # RDMA writes.

    def _write(self, port: Port, qp: QueuePair, packet: Packet) -> None:
        entry: SendEntry = packet.message
        if packet.first:
            qp.write_region = None
            if entry.length:
                qp.write_region = self._tables.find(
                    entry.remote_key, qp.pd, entry.remote_address, entry.length, Access.REMOTE_WRITE
                )
                if qp.write_region is None:
                    self._refuse(port, qp, packet, Status.REM_ACCESS_ERR)
                    return
        self._accept(qp, 1)
        if qp.write_region is None:
            port.free(packet)
            self._written(port, qp, packet)
            return
        self._dma.place(
            port,
            packet,
            qp.write_region,
            entry.remote_address + packet.offset,
            partial(self._written, port, qp, packet),
        )

    def _written(self, port: Port, qp: QueuePair, packet: Packet) -> None:
        if packet.ack_request:
            self._acknowledge(port, qp, packet.psn)
        port.done()

    # Sends.

    def _send(self, port: Port, qp: QueuePair, packet: Packet) -> None:
        if not packet.first:
            self._place_send(port, qp, packet)
            return
        if not qp.receive_queue:
            self._refuse(port, qp, packet, self._transport.not_ready)
            return
        qp.receiving = qp.receive_queue.popleft()
        self._dma.fetch_entry(
            qp.receive_ring,
            qp.receiving.posted - 1,
            self.adapter.wqe.stride,
            self._receive_wqe,
            port,
            qp,
            packet,
        )

    def _receive_wqe(self, port: Port, qp: QueuePair, packet: Packet) -> None:
        self.receive_wqes_fetched += 1
        self.sim.call_after(self.adapter.receive_queue.latency, self._place_first, port, qp, packet)

    def _place_first(self, port: Port, qp: QueuePair, packet: Packet) -> None:
        if self._probe.listeners:
            self._probe.event("receive WQE fetch", packet.operation, qp)
        entry = qp.receiving
        assert entry is not None
        message: SendEntry = packet.message
        status = None
        if message.length > entry.length:
            status = Status.LOC_LEN_ERR
        elif message.length:
            entry.region = self._tables.find(
                entry.key, qp.pd, entry.address, message.length, Access.LOCAL_WRITE
            )
            if entry.region is None:
                status = Status.LOC_PROT_ERR
        if status is None:
            self._place_send(port, qp, packet)
            return
        qp.receiving = None
        self._complete_receive(qp, entry, status, 0, 0)
        too_long = status is Status.LOC_LEN_ERR
        self._refuse(port, qp, packet, Status.REM_INV_REQ_ERR if too_long else Status.REM_OP_ERR)

    def _place_send(self, port: Port, qp: QueuePair, packet: Packet) -> None:
        entry = qp.receiving
        assert entry is not None
        self._accept(qp, 1)
        if entry.region is None:
            port.free(packet)
            self._placed(port, qp, packet, entry)
            return
        self._dma.place(
            port,
            packet,
            entry.region,
            entry.address + packet.offset,
            partial(self._placed, port, qp, packet, entry),
        )

    def _placed(self, port: Port, qp: QueuePair, packet: Packet, entry: ReceiveEntry) -> None:
        entry.received += packet.payload
        if packet.last:
            qp.receiving = None
            self._complete_receive(qp, entry, Status.SUCCESS, entry.received, packet.operation)
        self._written(port, qp, packet)

    def _complete_receive(
        self,
        qp: QueuePair,
        entry: ReceiveEntry,
        status: Status,
        length: int,
        operation: int,
    ) -> None:
        if not entry.signaled and status is Status.SUCCESS:
            return
        completion = Completion(entry.wr_id, status, qp.qpn, length, True, posted=entry.posted)
        self._completions.complete(qp.receive_cq, completion, operation)

    # Reads and atomics.

    def _read_or_atomic(self, port: Port, qp: QueuePair, packet: Packet) -> None:
        entry: SendEntry = packet.message
        region: Region | None = None
        if entry.length:
            needed = Access.REMOTE_ATOMIC if entry.is_atomic else Access.REMOTE_READ
            region = self._tables.find(
                entry.remote_key, qp.pd, entry.remote_address, entry.length, needed
            )
            if region is None:
                self._refuse(port, qp, packet, Status.REM_ACCESS_ERR)
                return
        if entry.is_atomic and entry.remote_address % ATOMIC_SIZE:
            self._refuse(port, qp, packet, Status.REM_INV_REQ_ERR)
            return
        self._accept(qp, entry.packets)
        port.free(packet)
        if entry.is_atomic:
            assert region is not None
            job = partial(self._atomic, qp, entry, region)
        else:
            job = partial(self._read, qp, entry, region)
        self._queue_job(qp, partial(self.sim.call_after, self.adapter.responder.latency, job))
        port.done()

    def _read(self, qp: QueuePair, entry: SendEntry, region: Region | None) -> None:
        if self._probe.listeners:
            self._probe.event("read responder", entry.operation, qp)
        self._respond(qp, entry, region, 0)

    def _respond(self, qp: QueuePair, entry: SendEntry, region: Region | None, index: int) -> None:
        port = self._ports[qp.port]
        port.responses.slots.acquire(1, self._stage_response, port, qp, entry, region, index)

    def _stage_response(
        self, port: Port, qp: QueuePair, entry: SendEntry, region: Region | None, index: int
    ) -> None:
        offset = index * entry.segment
        last = index == entry.packets - 1
        payload = entry.length - offset if last else entry.segment
        ask = self._transport.acknowledges_responses and (
            last or (index + 1) % self.adapter.ack.interval == 0
        )
        packet = Packet(
            Opcode.RDMA_READ_RESPONSE,
            qp.remote_lid,
            qp.remote_qpn,
            (entry.first_psn + index) % PSN_MODULUS,
            payload,
            first=index == 0,
            last=last,
            offset=offset,
            ack_request=ask,
            message=entry,
            operation=entry.operation if last else 0,
            size_of=self._size_of,
        )
        staged = port.responses.stage(packet)
        if region is None:
            port.responses.complete(staged)
        else:
            self._dma.gather(port.responses, staged, region, entry.remote_address + offset)
        if last:
            self._finish_job(qp)
        else:
            self._respond(qp, entry, region, index + 1)

    def _atomic(self, qp: QueuePair, entry: SendEntry, region: Region) -> None:
        if self._probe.listeners:
            self._probe.event("atomic responder", entry.operation, qp)
        self._atomic_unit.acquire(1, self._fetch_word, qp, entry, region)

    def _fetch_word(self, qp: QueuePair, entry: SendEntry, region: Region) -> None:
        self._dma.fetch_word(
            region, entry.remote_address, ATOMIC_SIZE, self._modify, qp, entry, region
        )

    def _modify(self, qp: QueuePair, entry: SendEntry, region: Region) -> None:
        original = region.words.get(entry.remote_address, 0)
        if entry.opcode is Opcode.FETCH_ADD:
            region.words[entry.remote_address] = (original + entry.compare_add) % (1 << 64)
        elif original == entry.compare_add:
            region.words[entry.remote_address] = entry.swap
        self._dma.store(region, entry.remote_address, ATOMIC_SIZE)
        self._atomic_unit.release(1)
        port = self._ports[qp.port]
        port.responses.slots.acquire(1, self._stage_atomic, port, qp, entry, original)

    def _stage_atomic(self, port: Port, qp: QueuePair, entry: SendEntry, original: int) -> None:
        packet = Packet(
            Opcode.ATOMIC_ACKNOWLEDGE,
            qp.remote_lid,
            qp.remote_qpn,
            entry.first_psn,
            ATOMIC_SIZE,
            message=entry,
            content=original,
            operation=entry.operation,
            size_of=self._size_of,
        )
        port.responses.complete(port.responses.stage(packet))
        self._finish_job(qp)

    # Acknowledgements.

    def _accept(self, qp: QueuePair, packets: int) -> None:
        qp.expected_psn = (qp.expected_psn + packets) % PSN_MODULUS

    def _acknowledge(self, port: Port, qp: QueuePair, psn: int) -> None:
        self.acknowledgements += 1
        packet = Packet(
            Opcode.ACKNOWLEDGE, qp.remote_lid, qp.remote_qpn, psn, size_of=self._size_of
        )
        if self._transport.answers_in_turn:
            self._answer(port, qp, packet)
        else:
            port.acknowledge_at_once(packet)

    def _refuse(self, port: Port, qp: QueuePair, packet: Packet, status: Status) -> None:
        port.free(packet)
        self.naks += 1
        content = status, qp.rnr_timer_ps
        nak = Packet(
            Opcode.NAK,
            qp.remote_lid,
            qp.remote_qpn,
            packet.psn,
            content=content,
            size_of=self._size_of,
        )
        self._answer(port, qp, nak)
        if status is not Status.RNR_RETRY_EXC_ERR:
            self._flush(qp)
        port.done()

    def _answer(self, port: Port, qp: QueuePair, packet: Packet) -> None:
        if qp.jobs:
            self._queue_job(qp, partial(self._answer_in_turn, port, qp, packet))
        else:
            port.acknowledge(packet)

    def _answer_in_turn(self, port: Port, qp: QueuePair, packet: Packet) -> None:
        port.acknowledge(packet)
        self._finish_job(qp)

    def _queue_job(self, qp: QueuePair, job: partial[None]) -> None:
        qp.jobs.append(job)
        if len(qp.jobs) == 1:
            job()

    def _finish_job(self, qp: QueuePair) -> None:
        qp.jobs.popleft()
        if qp.jobs:
            qp.jobs[0]()
