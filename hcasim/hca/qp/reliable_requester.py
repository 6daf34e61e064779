"""The requesters of reliable connections, which find their requests by sequence number."""

from __future__ import annotations

from collections import deque
from typing import ClassVar, Final

from hcasim.engine import Retry
from hcasim.engine.changes import Changes
from hcasim.fabric.packet import PSN_MODULUS, Aeth, Opcode, Packet, Sender, behind
from hcasim.hca.completion_queue import CompletionQueue, WCStatus
from hcasim.hca.parts import Parts
from hcasim.hca.port import Arrival, Verdict
from hcasim.hca.qp.endpoint import Endpoint
from hcasim.hca.qp.requester import Line, Requester
from hcasim.hca.translation import LOCAL_WRITE, Ring
from hcasim.hca.wqe import SendWqe, cut

# Bound once, because compiled code looks members of enumerations up each time.
_READ_RESPONSE: Final = Opcode.RDMA_READ_RESPONSE
_ATOMIC_ACKNOWLEDGE: Final = Opcode.ATOMIC_ACKNOWLEDGE
_ACKNOWLEDGE: Final = Opcode.ACKNOWLEDGE
_DROP: Final = Verdict.DROP
_PLACE: Final = Verdict.PLACE


class Recovery:
    """What a requester does about packets that are lost, of which its ``watch`` is told, or
    refused.

    It hears that an answer has come, that the responder has received something, of negative
    acknowledgements, and of answers that are missing. It is a class as `Half` is.
    """

    watch: Sender

    def heard(self) -> None:
        raise NotImplementedError

    def acknowledged(self) -> None:
        raise NotImplementedError

    def refused(self, psn: int, aeth: Aeth) -> None:
        raise NotImplementedError

    def missed(self, wqe: SendWqe) -> None:
        raise NotImplementedError


class ReliableRequester(Requester):
    """The requester of a reliable connection: it completes what the responder acknowledges.

    Attributes:
        since_ack_request: packets sent since one asked for an acknowledgement.
        unanswered_psn: the first of which the responder may not have told that it is there.
    """

    changes: ClassVar[Changes] = Changes(wraps="since_ack_request", counts="unanswered_psn")

    recovery: Recovery

    def __init__(
        self, end: Endpoint, cq: CompletionQueue, ring: Ring, parts: Parts, line: Line
    ) -> None:
        super().__init__(end, cq, ring, parts, line)
        self.since_ack_request = 0
        self.unanswered_psn, self._missed_psn = 0, -1
        self._interval = parts.description.ack.interval

    def ends(self) -> dict[str, int]:
        return {"unanswered_psn": PSN_MODULUS}

    def count_from(self, psn: int) -> None:
        self.next_psn = self.unanswered_psn = psn

    def arrived(self, wqe: SendWqe) -> bool:
        if wqe.awaits_response:
            return False
        there = (self.unanswered_psn - wqe.first_psn) % PSN_MODULUS
        if there < PSN_MODULUS // 2:
            if there >= wqe.packets:
                self.unacknowledged.append(wqe)
                self.current = None
                wqe.responded = True
                self.retire()
                return True
            wqe.resumes_at = max(there, wqe.resumes_at)
        return False

    def asks_for_acknowledgement(self, last: bool) -> bool:
        self.since_ack_request += 1
        if last or self.since_ack_request >= self._interval:
            self.since_ack_request = 0
            return True
        return self.pacing is not None and self.pacing.asks()

    def sent(self, wqe: SendWqe, packet: Packet) -> None:
        """The last packet of a request is about to leave, and will be answered."""

    def accept(self, arrival: Arrival) -> Verdict:
        packet = arrival.packet
        opcode = packet.opcode
        if opcode is _READ_RESPONSE or opcode is _ATOMIC_ACKNOWLEDGE:
            return self._response(arrival)
        if opcode is _ACKNOWLEDGE:
            self.acknowledge(packet.psn)
            if self.pacing is not None:
                self.pacing.acknowledged(self.unanswered_psn, packet)
            self.retire()
        elif (aeth := packet.header(Aeth)) is not None:
            self.recovery.refused(packet.psn, aeth)
            if self.pacing is not None:
                self.pacing.acknowledged(self.unanswered_psn, packet)
        return _DROP

    def acknowledge(self, psn: int) -> None:
        """Everything up to ``psn`` has been received, and a read or atomic before it answered."""
        following = (psn + 1) % PSN_MODULUS
        ahead = (following - self.unanswered_psn - 1) % PSN_MODULUS
        if ahead >= (self.next_psn - self.unanswered_psn) % PSN_MODULUS:
            # An acknowledgement that says nothing new, or of what has not been sent.
            return
        self.recovery.heard()
        for wqe in self.unacknowledged:
            if behind(psn, wqe.first_psn + wqe.packets - 1):
                break
            if wqe.awaits_response and not wqe.responded:
                self.unanswered_psn = wqe.first_psn
                self.miss(wqe)
                return
            wqe.responded = True
        self.unanswered_psn = following
        self.recovery.acknowledged()

    # Reads and atomics.

    def awaiting(self, psn: int) -> SendWqe | None:
        for wqe in self.unacknowledged:
            if wqe.awaits_response and (psn - wqe.first_psn) % PSN_MODULUS < wqe.packets:
                return wqe
        return None

    def _response(self, arrival: Arrival) -> Verdict:
        packet, parts = arrival.packet, self._parts
        wqe = self.awaiting(packet.psn)
        if wqe is None or not self._in_order(wqe, packet):
            return _DROP
        self.recovery.heard()
        self.region = region = self._find(wqe, LOCAL_WRITE)
        if region is None:
            if wqe.length == 0:
                return _PLACE
            self.fail(wqe, WCStatus.LOC_PROT_ERR)
            return _DROP
        if wqe.is_atomic and (aeth := packet.header(Aeth)) is not None and region.contents is None:
            region.words[wqe.address] = aeth.original
        if parts.wqe_cache is not None and not parts.wqe_cache.held(self.qpn, wqe):
            ring = self.queue.ring
            parts.dma.fetch_entry(ring, wqe.slot, wqe.size, self._again, arrival, wqe)
            return Verdict.HOLD
        return self._place(packet, wqe)

    def _in_order(self, wqe: SendWqe, packet: Packet) -> bool:
        """Whether a response is the next one; tell if one before it is missing (9.7.5.2.8)."""
        if self.unacknowledged[0] is not wqe:
            for before in self.unacknowledged:
                if before is wqe:
                    break
                if before.awaits_response and not before.responded:
                    self.miss(before)
                    return False
                # Requests are executed in order: one that is answered acknowledges those before.
                before.responded = True
            self._answered_to(wqe.first_psn)
            self.recovery.acknowledged()
            self.retire()
        index = (packet.psn - wqe.first_psn) % PSN_MODULUS
        if index > wqe.received:
            self.miss(wqe)
        return index == wqe.received and not wqe.responded

    def _answered_to(self, psn: int) -> None:
        if behind(self.unanswered_psn, psn):
            self.unanswered_psn = psn

    def miss(self, wqe: SendWqe) -> None:
        """A response is missing: ask for it once, as if the responder had refused the request."""
        psn = (wqe.first_psn + wqe.received) % PSN_MODULUS
        if psn != self._missed_psn:
            self._missed_psn = psn
            self.recovery.missed(wqe)

    def _again(self, arrival: Arrival, wqe: SendWqe) -> None:
        cache = self._parts.wqe_cache
        assert cache is not None
        done = arrival.occupy(cache.service)
        self._sim.call_at(done, self._go_on, arrival, wqe)

    def _go_on(self, arrival: Arrival, wqe: SendWqe) -> None:
        arrival.settle(self._place(arrival.packet, wqe))

    def _place(self, packet: Packet, wqe: SendWqe) -> Verdict:
        if wqe.length <= self._parts.in_cqe and self.end.signals_all and wqe.extras.pieces is None:
            wqe.in_cqe = True
            wqe.data = None if packet.data is None else packet.data.content()
            self.region = None
        first = (packet.psn - wqe.first_psn) % PSN_MODULUS * wqe.segment
        self.address = wqe.address + first
        pieces = wqe.extras.pieces
        self.pieces = None if pieces is None else cut(pieces, first, packet.payload)
        return _PLACE

    def placed(self, packet: Packet) -> None:
        wqe = self.awaiting(packet.psn)
        if wqe is None:
            return
        wqe.received += 1
        if wqe.received < wqe.packets:
            return
        wqe.responded = True
        self._answered_to((wqe.first_psn + wqe.packets) % PSN_MODULUS)
        if self._parts.wqe_cache is not None:
            self._parts.wqe_cache.drop(self.qpn, wqe)
        self.outstanding_reads -= 1
        self.recovery.acknowledged()
        self.retire()
        if self.pacing is not None:
            self.pacing.acknowledged(self.unanswered_psn, packet)
        if self.stalled:
            self._unstall()
            self._line.schedule(self)

    def _unstall(self) -> None:
        if self.stalled:
            self.stalled = False
            self.waits.end()
            self._parts.reads.end()

    # When things go wrong.

    def recover_by(self, recovery: Recovery) -> None:
        self.recovery = recovery
        self.watch = recovery.watch

    def send_again(
        self, wqe: SendWqe, pause_ps: int | None = None, retry: Retry | None = None
    ) -> None:
        """Go back to a request, to its first packet that is not known to be there."""
        self.rewind(wqe)
        if pause_ps is None:
            self._line.schedule(self)
        else:
            self.pause(self._sim.now + pause_ps, retry)

    def refuse_at(self, psn: int) -> SendWqe | None:
        """The entry that ``psn`` belongs to has been refused; those before it were received."""
        if behind(psn, self.unanswered_psn):
            return None
        for wqe in self.unacknowledged:
            if not behind(wqe.first_psn + wqe.packets - 1, psn):
                if not wqe.awaits_response:
                    self.unanswered_psn = psn
                return wqe
            if not wqe.awaits_response:
                wqe.responded = True
        return None

    def missing(self, wqe: SendWqe) -> int:
        """Which packet of a request, or of its response, is the first that may not be there."""
        if wqe.awaits_response:
            return wqe.received
        there = (self.unanswered_psn - wqe.first_psn) % PSN_MODULUS
        return there if there < wqe.packets else 0

    def drain(self) -> list[SendWqe]:
        self._unstall()
        return super().drain()

    def rewind(self, wqe: SendWqe) -> None:
        self._unstall()
        missing = self.missing(wqe)
        again: deque[SendWqe] = deque()
        while self.unacknowledged:
            last = self.unacknowledged.pop()
            again.appendleft(last)
            if last.awaits_response and last.sent and not last.responded:
                self.outstanding_reads -= 1
            last.reset(missing if last is wqe else 0)
            if last is wqe:
                break
        self._parts.counts["retransmissions"] += len(again)
        if self.current is not None and self.current not in again:
            again.append(self.current)
        self.current = None
        self.queue.take_back(again)
        self.since_ack_request = 0
        if self.pacing is not None and self.pacing.went_back(
            (wqe.first_psn + missing) % PSN_MODULUS
        ):
            self.paused_until = self._sim.now
