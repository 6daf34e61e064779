"""The requester: takes the answers to what the send engine has sent, and completes it."""

from __future__ import annotations

from typing import Final

from hcasim.engine import Action
from hcasim.fabric.packet import PSN_MODULUS, Aeth, Opcode, Packet, Syndrome
from hcasim.hca.completion_queue import Status
from hcasim.hca.parts import Parts
from hcasim.hca.port import Arrival
from hcasim.hca.queue_pair import RETRY_FOR_EVER, QueuePair, State
from hcasim.hca.retry_timer import RetryTimer
from hcasim.hca.send_engine import SendEngine
from hcasim.hca.translation import Access, Region
from hcasim.hca.wqe import SendWqe

_STATUS: Final = {
    Syndrome.RNR_NAK: Status.RNR_RETRY_EXC_ERR,
    Syndrome.INVALID_REQUEST: Status.REM_INV_REQ_ERR,
    Syndrome.REMOTE_ACCESS_ERROR: Status.REM_ACCESS_ERR,
    Syndrome.REMOTE_OPERATIONAL_ERROR: Status.REM_OP_ERR,
}


class _Expiry(Action):
    """A queue pair has had no answer for too long."""

    __slots__ = ("_qp", "_requester")

    def __init__(self, requester: Requester, qp: QueuePair) -> None:
        self._requester = requester
        self._qp = qp

    def act(self) -> None:
        """Send again, or give up."""
        self._requester.unanswered(self._qp)


class Requester:
    """The half of the adapter that has asked: it finds its requests by sequence number.

    Attributes:
        retransmissions: messages sent again because the receiver was not ready or did not answer.
        acknowledgements: of responses, sent so far.
    """

    def __init__(self, parts: Parts, send_engine: SendEngine) -> None:
        self.sim = parts.sim
        self.retransmissions = 0
        self.acknowledgements = 0
        self._tables = parts.tables
        self._dma = parts.dma
        self._completions = parts.completions
        self._egresses = parts.egresses
        self._send_engine = send_engine
        self._in_cqe = parts.adapter.cqe.inline or 0
        self._flight = parts.flight

    def answer(self, arrival: Arrival) -> None:
        """Deal with a packet of a responder; the queue pair's context is on chip."""
        qp, packet = arrival.qp, arrival.packet
        if qp.timer is not None:
            qp.timer.heard_at = self.sim.now
        opcode = packet.opcode
        if opcode is Opcode.RDMA_READ_RESPONSE or opcode is Opcode.ATOMIC_ACKNOWLEDGE:
            self._response(arrival)
        elif opcode is Opcode.ACKNOWLEDGE:
            qp.requester.acknowledge(packet.psn)
            self._completions.retire(qp)
            arrival.finish()
        else:
            arrival.finish()
            if isinstance(packet.header, Aeth):
                self._refused(qp, packet, packet.header)

    # Reads and atomics.

    def _response(self, arrival: Arrival) -> None:
        qp, packet = arrival.qp, arrival.packet
        if packet.ack_request:
            self.acknowledgements += 1
            acknowledgement = qp.answer(Opcode.RESPONSE_ACKNOWLEDGE, packet.psn, None)
            self._egresses[qp.port].acknowledge_at_once(acknowledgement)
        wqe = qp.requester.awaiting(packet.psn)
        region = None
        if wqe is not None:
            region = self._tables.find(wqe.key, qp.pd, wqe.address, wqe.length, Access.LOCAL_WRITE)
        if wqe is None or region is None:
            arrival.free()
            if wqe is not None and wqe.length == 0:
                self._placed(arrival)
                return
            if wqe is not None:
                self._completions.fail(qp, wqe, Status.LOC_PROT_ERR)
            arrival.finish()
            return
        if wqe.is_atomic and isinstance(packet.header, Aeth):
            region.words[wqe.address] = packet.header.original
        if self._flight is not None and not self._flight.held(qp, wqe):
            ring = qp.requester.ring
            self._dma.fetch_entry(ring, wqe.slot, wqe.size, self._again, arrival, wqe, region)
        else:
            self._place(arrival, wqe, region)

    def _again(self, arrival: Arrival, wqe: SendWqe, region: Region) -> None:
        """Go on with a response whose entry had to be fetched again."""
        assert self._flight is not None
        done = arrival.occupy(self._flight.service)
        self.sim.call_at(done, self._place, arrival, wqe, region)

    def _place(self, arrival: Arrival, wqe: SendWqe, region: Region) -> None:
        if wqe.length <= self._in_cqe and arrival.qp.signals_all:
            wqe.in_cqe = True
            arrival.free()
            self._placed(arrival)
            return
        offset = (arrival.packet.psn - wqe.first_psn) % PSN_MODULUS * wqe.segment
        self._dma.place(arrival, region, wqe.address + offset, self._placed)

    def _placed(self, arrival: Arrival) -> None:
        qp = arrival.qp
        wqe = qp.requester.awaiting(arrival.packet.psn)
        if wqe is not None:
            wqe.received += 1
            if wqe.received == wqe.packets:
                self._responded(qp, wqe)
        arrival.finish()

    def _responded(self, qp: QueuePair, wqe: SendWqe) -> None:
        wqe.responded = True
        if self._flight is not None:
            self._flight.drop(qp, wqe)
        qp.requester.outstanding_reads -= 1
        self._completions.retire(qp)
        if qp.requester.stalled:
            self._send_engine.resume(qp)

    # When things go wrong.

    def _refused(self, qp: QueuePair, packet: Packet, header: Aeth) -> None:
        mine = qp.requester
        wqe = mine.refuse(packet.psn)
        if wqe is None:
            return
        self._completions.retire(qp)
        not_ready = header.syndrome is Syndrome.RNR_NAK
        if not_ready and (mine.rnr_retry == RETRY_FOR_EVER or mine.rnr_tries < mine.rnr_retry):
            mine.rnr_tries += 1
            self.retransmissions += self._send_engine.rewind(qp, wqe)
            mine.rnr_waiting = True
            self.sim.call_after(header.rnr_timer_ps, self._retry, qp)
        else:
            self._completions.fail(qp, wqe, _STATUS[header.syndrome])

    def timer(self, qp: QueuePair) -> RetryTimer:
        """The transport timer of a queue pair."""
        return RetryTimer(self.sim, _Expiry(self, qp))

    def unanswered(self, qp: QueuePair) -> None:
        """Send again what has had no answer for too long, or give it up."""
        waiting = qp.requester.unacknowledged
        if qp.state is not State.RTS or not waiting:
            return
        assert qp.timer is not None
        if qp.timer.exhausted:
            self._completions.fail(qp, waiting[0], Status.RETRY_EXC_ERR)
        else:
            self.retransmissions += self._send_engine.rewind(qp, waiting[0])
            self._send_engine.schedule(qp)

    def _retry(self, qp: QueuePair) -> None:
        qp.requester.rnr_waiting = False
        self._send_engine.schedule(qp)
