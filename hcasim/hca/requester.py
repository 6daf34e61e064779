"""The requester: tells the send engine of work, and completes it when it has been answered."""

from __future__ import annotations

from functools import partial

from hcasim.catalog import Adapter
from hcasim.engine import Probe, Simulator
from hcasim.fabric.packet import Opcode, Packet
from hcasim.hca.completion import CompletionEngine
from hcasim.hca.dma import DmaEngine
from hcasim.hca.icm import Icm
from hcasim.hca.port import Port
from hcasim.hca.send_engine import SendEngine
from hcasim.hca.translation import Access, Region, TranslationTables
from hcasim.hca.transport import transport
from hcasim.hca.work_queue import (
    PSN_MODULUS,
    Completion,
    QueuePair,
    SendEntry,
    State,
    Status,
)

NO_ACCESS = Access(0)
RETRY_FOR_EVER = 7


class Requester:
    """The half of the adapter that asks: reliable transport of what the send engine sends.

    Attributes:
        send_engine: makes packets of the work.
        retransmissions: messages sent again because the receiver was not ready.
        acknowledgements: of responses, sent so far.
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
    ) -> None:
        self.sim = sim
        self._probe = Probe(sim, f"{name}.requester")
        self.send_engine = SendEngine(
            sim, name, adapter, icm, dma, ports, self._begin, self._source
        )
        self.retransmissions = 0
        self.acknowledgements = 0
        self._transport = transport(adapter.protocol)
        self._tables = tables
        self._dma = dma
        self._completions = completions

    # From the doorbell to the first packet.

    def doorbell(self, qp: QueuePair, entry: SendEntry) -> None:
        """Learn of one more entry in the send queue of ``qp``."""
        if self._probe.listeners:
            self._probe.event("doorbell", entry.operation, qp)
        entry.segment = self._transport.wire.payload(qp.mtu, entry.opcode)
        qp.send_queue.append(entry)
        self.send_engine.schedule(qp)
        if qp.state is State.ERR:
            self.flush(qp)

    def _source(self, qp: QueuePair, entry: SendEntry) -> Region | None:
        """The memory that the data of a message comes from; None without any, or if it is wrong."""
        if entry.inline or not entry.length or entry.awaits_response:
            return None
        return self._tables.find(entry.key, qp.pd, entry.address, entry.length, NO_ACCESS)

    def _begin(self, qp: QueuePair, entry: SendEntry) -> bool:
        """Check the local memory and give the message its sequence numbers, or fail it."""
        qp.unacknowledged.append(entry)
        if not entry.inline and entry.length:
            needed = Access.LOCAL_WRITE if entry.awaits_response else NO_ACCESS
            entry.region = self._tables.find(entry.key, qp.pd, entry.address, entry.length, needed)
            if entry.region is None:
                self._fail(qp, entry, Status.LOC_PROT_ERR)
                return False
        if entry.first_psn < 0:
            entry.first_psn = qp.next_psn
            entry.packets = 1 if entry.is_atomic else max(1, -(-entry.length // entry.segment))
            qp.next_psn = (qp.next_psn + entry.packets) % PSN_MODULUS
        if entry.awaits_response:
            qp.outstanding_reads += 1
        return True

    # From the answer to the completion.

    def acknowledged(self, port: Port, qp: QueuePair, packet: Packet) -> None:
        """An acknowledgement has arrived: everything up to its PSN has been received."""
        for entry in qp.unacknowledged:
            if entry.awaits_response:
                continue
            if _behind(packet.psn, entry.first_psn + entry.packets - 1):
                break
            entry.responded = True
        qp.rnr_tries = 0
        self._retire(qp)
        port.done()

    def response(self, port: Port, qp: QueuePair, packet: Packet) -> None:
        """A packet of a read response or an atomic response has arrived."""
        entry: SendEntry = packet.message
        if packet.ack_request:
            self._acknowledge(port, qp, packet)
        region = None
        if qp.state is State.RTS:
            region = self._tables.find(
                entry.key, qp.pd, entry.address, entry.length, Access.LOCAL_WRITE
            )
        if region is None:
            port.free(packet)
            if qp.state is not State.RTS:
                port.done()
            elif entry.length == 0:
                self._placed(port, qp, entry)
            else:
                self._fail(qp, entry, Status.LOC_PROT_ERR)
                port.done()
            return
        if entry.is_atomic:
            region.words[entry.address] = packet.content
        self._dma.place(
            port,
            packet,
            region,
            entry.address + packet.offset,
            partial(self._placed, port, qp, entry),
        )

    def _acknowledge(self, port: Port, qp: QueuePair, packet: Packet) -> None:
        self.acknowledgements += 1
        port.acknowledge_at_once(
            Packet(
                Opcode.RESPONSE_ACKNOWLEDGE,
                qp.remote_lid,
                qp.remote_qpn,
                packet.psn,
                size_of=self._transport.wire.size,
            )
        )

    def response_acknowledged(self, port: Port, qp: QueuePair, packet: Packet) -> None:
        """A response has arrived at the other end, which completes nothing here."""
        port.done()

    def _placed(self, port: Port, qp: QueuePair, entry: SendEntry) -> None:
        entry.received += 1
        if entry.received == entry.packets:
            entry.responded = True
            qp.outstanding_reads -= 1
            self._retire(qp)
            if qp.stalled:
                self.send_engine.resume(qp)
        port.done()

    def _retire(self, qp: QueuePair) -> None:
        while qp.unacknowledged and qp.unacknowledged[0].responded:
            entry = qp.unacknowledged.popleft()
            if entry.fault is not None:
                self._break(qp, entry, entry.fault)
            elif entry.signaled:
                operation = entry.operation if entry.awaits_response else 0
                self._report(qp, entry, Status.SUCCESS, operation)

    def _report(
        self,
        qp: QueuePair,
        entry: SendEntry,
        status: Status,
        operation: int = 0,
    ) -> None:
        self._completions.complete(
            qp.send_cq,
            Completion(entry.wr_id, status, qp.qpn, entry.length, False, posted=entry.posted),
            operation,
        )

    # When things go wrong.

    def refused(self, port: Port, qp: QueuePair, packet: Packet) -> None:
        """A negative acknowledgement has arrived."""
        status: Status
        status, rnr_timer_ps = packet.content
        port.done()
        entry = next(
            (e for e in qp.unacknowledged if not _behind(e.first_psn + e.packets - 1, packet.psn)),
            None,
        )
        if entry is None or qp.state is not State.RTS:
            return
        for earlier in qp.unacknowledged:
            if earlier is entry:
                break
            if not earlier.awaits_response:
                earlier.responded = True
        self._retire(qp)
        not_ready = status is Status.RNR_RETRY_EXC_ERR
        if not_ready and (qp.rnr_retry == RETRY_FOR_EVER or qp.rnr_tries < qp.rnr_retry):
            qp.rnr_tries += 1
            self._rewind(qp, entry, rnr_timer_ps)
        else:
            self._fail(qp, entry, status)

    def _rewind(self, qp: QueuePair, entry: SendEntry, pause_ps: int) -> None:
        """Take back ``entry`` and all after it, to send them again after a pause."""
        again = []
        while qp.unacknowledged:
            last = qp.unacknowledged.pop()
            again.append(last)
            if last is entry:
                break
        for taken in again:
            if taken.awaits_response and taken.sent:
                qp.outstanding_reads -= 1
        if qp.current is not None and qp.current not in again:
            qp.send_queue.appendleft(qp.current)
        qp.current = None
        for taken in again:
            taken.sent = taken.received = 0
            taken.responded = False
            taken.fault = None
            self.retransmissions += 1
        qp.send_queue.extendleft(again)
        qp.since_ack_request = 0
        qp.stalled = False
        qp.rnr_waiting = True
        self.sim.call_after(pause_ps, self._resume, qp)

    def _resume(self, qp: QueuePair) -> None:
        qp.rnr_waiting = False
        self.send_engine.schedule(qp)

    def _fail(self, qp: QueuePair, entry: SendEntry, status: Status) -> None:
        """Complete ``entry`` in error as soon as all before it have completed."""
        entry.fault = status
        entry.responded = True
        self._retire(qp)

    def _break(self, qp: QueuePair, entry: SendEntry, status: Status) -> None:
        """Complete the oldest entry in error and flush the rest."""
        if qp.current is entry:
            qp.current = None
        self._report(qp, entry, status)
        self.flush(qp)

    def flush(self, qp: QueuePair) -> None:
        """Put ``qp`` into the error state; all that is queued completes with a flush error."""
        qp.state = State.ERR
        if qp.current is not None and qp.current not in qp.unacknowledged:
            qp.unacknowledged.append(qp.current)
        qp.current = None
        for entry in [*qp.unacknowledged, *qp.send_queue]:
            self._report(qp, entry, Status.WR_FLUSH_ERR)
        qp.unacknowledged.clear()
        qp.send_queue.clear()
        qp.outstanding_reads = 0
        for receive in qp.receive_queue:
            self._completions.complete(
                qp.receive_cq,
                Completion(
                    receive.wr_id, Status.WR_FLUSH_ERR, qp.qpn, 0, True, posted=receive.posted
                ),
            )
        qp.receive_queue.clear()


def _behind(psn: int, other: int) -> bool:
    """Whether ``psn`` comes before ``other`` on the circle of sequence numbers."""
    return (psn - other) % PSN_MODULUS >= PSN_MODULUS // 2
