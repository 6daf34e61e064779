"""The requesters of what nobody acknowledges: unreliable connections and datagrams."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import ClassVar, Final

from hcasim.engine import Action, Call, Retry, Waits
from hcasim.engine.changes import Changes
from hcasim.fabric.packet import (
    PSN_MODULUS,
    AtomicEth,
    Header,
    Ieth,
    Immediate,
    Opcode,
    Packet,
    Reth,
    Sender,
)
from hcasim.fabric.payload import Payload, Transfer
from hcasim.hca.completion_queue import CompletionQueue, WCStatus
from hcasim.hca.counters import count_request
from hcasim.hca.parts import Parts
from hcasim.hca.port import Arrival, Half, Verdict
from hcasim.hca.qp.congestion.algorithms import notified
from hcasim.hca.qp.endpoint import Endpoint, State
from hcasim.hca.qp.pacing import FOR_EVER, Pacing, paced
from hcasim.hca.qp.queues import SendQueue
from hcasim.hca.translation import LOCAL_WRITE, NO_ACCESS, Region, Ring
from hcasim.hca.wqe import PLAIN, SendWqe

# Bound once, because compiled code looks members of enumerations up each time.
_RTS: Final = State.RTS
_SQD: Final = State.SQD
_SQE: Final = State.SQE
_ERR: Final = State.ERR
_SEND: Final = Opcode.SEND
_FETCH_ADD: Final = Opcode.FETCH_ADD
_SUCCESS: Final = WCStatus.SUCCESS


class Line(Action):
    """Where requesters line up for the port; a class as `Half` is."""

    def schedule(self, requester: Requester) -> None:
        raise NotImplementedError

    def compete(self, requester: Requester) -> None:
        raise NotImplementedError

    def go_on(self, requester: Requester) -> None:
        raise NotImplementedError

    def leave(self, requester: Requester) -> None:
        raise NotImplementedError


class Requester(Half):
    """The requester of an unreliable connection: a request has ended when its last packet has left.

    Source: InfiniBand Architecture Specification volume 1, 9.8.2.

    Attributes:
        qpn: number of its queue pair among those of the adapter.
        awaits_entry: whether its turn has come before an entry was on the chip.
        backlogged: whether more than what is being fetched was left when that began to be awaited.
        current: the entry being executed, if not ``stalled`` by an earlier read or atomic.
        unacknowledged: entries sent, oldest first, whose completion is still due.
        outstanding_reads: reads and atomics sent that have not been answered.
        busy_ps: time that a processing unit was at work for it, in ps.
        watch: told of packets that are lost, if answers are waited for.
        pacing: holds its packets back; None if it may send as fast as it can.
    """

    changes: ClassVar[Changes] = Changes(times="paused_until", counts="busy_ps next_psn")

    def __init__(
        self, end: Endpoint, cq: CompletionQueue, ring: Ring, parts: Parts, line: Line
    ) -> None:
        super().__init__()
        self.end = end
        self.qpn = end.index
        self.cq = cq
        self.queue = SendQueue(ring)
        self.egress = parts.egresses[end.port]
        self.awaits_entry = self.backlogged = self.stalled = False
        self.paused_until = self.next_psn = self.outstanding_reads = self.busy_ps = 0
        self.current: SendWqe | None = None
        self.unacknowledged: deque[SendWqe] = deque()
        self.waits = Waits(parts.sim, f"{parts.name}.send_queue.qp{end.index}")
        self.watch: Sender | None = None
        self.pacing: Pacing | None = None
        self._sim = parts.sim
        self._parts = parts
        self._line = line
        self._packet_service = parts.packet_service

    @property
    def wait_ps(self) -> int:
        return self.busy_ps + self.waits.wait_ps

    # From the doorbell to an entry in the adapter.

    def post(self, wqes: Sequence[SendWqe]) -> None:
        parts, end = self._parts, self.end
        for wqe in wqes:
            if parts.send_probe.listeners:
                since = self._sim.now - parts.description.doorbell.latency
                parts.send_probe.event("doorbell", wqe.operation, end, None, since)
            wqe.segment = parts.wire.payload(end.path.mtu, wqe.opcode)
            self.queue.post(wqe)
        self._line.schedule(self)
        if end.state is _ERR:
            end.fail()
        elif end.state is _SQE:
            self.flush()

    def pause(self, until_ps: int, retry: Retry | None = None) -> None:
        self.paused_until = max(self.paused_until, until_ps)
        if until_ps < FOR_EVER:
            self._sim.schedule(until_ps, retry or Call(self._line.schedule, (self,)))

    def go_on(self) -> None:
        """Pause no longer."""
        self.paused_until = self._sim.now
        self._line.schedule(self)

    @property
    def pausing(self) -> bool:
        return self._sim.now < self.paused_until

    @property
    def ready(self) -> bool:
        """Whether there is something to do that nothing holds up."""
        if self.pausing or self.stalled or (self.end.state is not _RTS and not self.sends):
            return False
        # What has a fault waits for the requests before it, and those behind it will be flushed.
        return self.queue.has_work if self.current is None else self.current.fault is None

    @property
    def sends(self) -> bool:
        """Whether it may go on: in the state SQD only with what it has begun to send."""
        state = self.end.state
        if state is not _SQD:
            return state is _RTS
        wqe = self.current
        if wqe is None:
            queue = self.queue.fetched or self.queue.posted
            wqe = queue[0] if queue else None
        return wqe is not None and wqe.first_psn >= 0

    def resume(self) -> None:
        """Go on with what the state of the queue pair has held."""
        self._line.schedule(self)

    @property
    def drained(self) -> bool:
        """Whether nothing is left of what it has begun to send."""
        return not self.unacknowledged and not self.sends

    def load(self) -> None:
        self._parts.sqpc.access(self.qpn, self._next)

    def _next(self) -> None:
        queue = self.queue
        state = self.end.state
        if self.current is not None and (state is _RTS or self.sends):
            self._make_ready(self.current)
        elif not queue.has_work or not (state is _RTS or self.sends) or self.pausing:
            # By an event, because a whole line may have lost its work while it waited.
            self._sim.call_after(0, self._line.leave, self)
        elif queue.fetched:
            self._begin_next()
        else:
            self.awaits_entry = True
            self.waits.begin()
            if not queue.fetching:
                if self._parts.send_probe.listeners:
                    operation = queue.posted[0].operation
                    self._parts.send_probe.event("send QP context", operation, self.end)
                self._fetch()
            if len(queue.posted) > queue.fetching and not self.backlogged:
                self.backlogged = True
                self._parts.entries.begin()

    def _fetch(self) -> None:
        parts, queue = self._parts, self.queue
        first, size = queue.posted[0], queue.fetch(parts.description.wqe.fetch)
        parts.dma.fetch_entry(
            queue.ring, first.slot, size, self._fetched, first, queue.fetching, self._sim.now
        )

    def _fetched(self, first: SendWqe, count: int, since_ps: int) -> None:
        parts, queue = self._parts, self.queue
        parts.counts["wqes_fetched"] += count
        if queue.fetching:
            if queue.posted[0] is not first:
                # What this read brings has been taken back, and another is on its way.
                return
            for wqe in queue.arrive():
                if parts.send_probe.listeners:
                    details = f"{wqe.opcode.name} {self.end}"
                    parts.send_probe.event("WQE fetch", wqe.operation, details, None, since_ps)
        if self.awaits_entry:
            self.awaits_entry = False
            self.waits.end()
            if self.backlogged:
                self.backlogged = False
                parts.entries.end()
            self._next()
        self._fetch_ahead()

    def _fetch_ahead(self) -> None:
        queue = self.queue
        ahead = self._parts.description.wqe.ahead
        if queue.posted and not queue.fetching and len(queue.fetched) < ahead:
            self._fetch()

    def _begin_next(self) -> None:
        self.current = wqe = self.queue.fetched.popleft()
        self._fetch_ahead()
        self._make_ready(wqe)

    def _make_ready(self, wqe: SendWqe) -> None:
        """Compete for the port, unless too many reads or atomics are in flight.

        The first data of a message is translated before.
        """
        full = self.outstanding_reads >= self.end.path.max_rd_atomic
        fenced = wqe.extras.fenced and self.outstanding_reads > 0
        if ((full and wqe.awaits_response) or fenced) and wqe.sent == 0:
            if not self.end.path.max_rd_atomic and wqe.awaits_response:
                # It would wait for ever.
                self.give_up(wqe, WCStatus.LOC_QP_OP_ERR)
                return
            self.stalled = True
            self.waits.begin()
            self._parts.reads.begin()
            self._line.leave(self)
            return
        looks_up = not wqe.awaits_response and not wqe.sent
        region = self._find(wqe, NO_ACCESS) if looks_up else None
        if region is None:
            self._line.compete(self)
        else:
            skipped = wqe.resumes_at * wqe.segment
            first = min(wqe.length - skipped, wqe.segment)
            tables = self._parts.tables
            tables.translate(region, wqe.address + skipped, first, self._line.compete, self)

    def _find(self, wqe: SendWqe, needed: int) -> Region | None:
        """Local memory of a message, or its first piece; None without any, or if it is wrong."""
        if wqe.inline or not wqe.length:
            return None
        find, pd = self._parts.tables.find, self.end.pd
        if wqe.extras.pieces is None:
            return find(wqe.key, pd, wqe.address, wqe.length, needed)
        for piece in wqe.extras.pieces:
            piece.region = find(piece.key, pd, piece.address, piece.length, needed)
            if piece.region is None:
                return None
        return wqe.extras.pieces[0].region

    # Its turns at the port, one packet each.

    def service(self) -> int:
        wqe, packets = self.current, self._packet_service
        if wqe is not None and wqe.sent:
            service = packets.further
        else:
            service = packets.first
            if wqe is not None and packets.requests:
                service += packets.requests.get(wqe.opcode, 0)
        self.busy_ps += service
        return service

    def arrived(self, wqe: SendWqe) -> bool:
        """Whether a request that is to be sent again has arrived before, and is over."""
        return False

    def begin(self, wqe: SendWqe) -> bool:
        """Begin to send a request, or to send it again; return whether there is anything to send.

        It is translated and numbered.
        """
        if wqe.first_psn >= 0 and self.arrived(wqe):
            return False
        self.unacknowledged.append(wqe)
        wqe.region = self._find(wqe, LOCAL_WRITE if wqe.awaits_response else NO_ACCESS)
        if wqe.region is None and wqe.length and not wqe.inline:
            self.fail(wqe, WCStatus.LOC_PROT_ERR)
            return False
        if wqe.region is not None and wqe.extras.pieces is None and not wqe.awaits_response:
            contents = wqe.region.contents
            if contents is not None:
                wqe.transfer = Transfer(contents)
        self.number(wqe)
        if not wqe.awaits_response:
            wqe.sent = wqe.resumes_at
        if self._parts.wqe_cache is not None and wqe.awaits_response:
            self._parts.wqe_cache.add(self.qpn, wqe)
        return True

    def count_from(self, psn: int) -> None:
        """Give this number to the first packet."""
        self.next_psn = psn

    def number(self, wqe: SendWqe) -> None:
        if wqe.first_psn < 0:
            wqe.first_psn = self.next_psn
            wqe.packets = 1 if wqe.is_atomic else max(1, -(-wqe.length // wqe.segment))
            self.next_psn = (self.next_psn + wqe.packets) % PSN_MODULUS
        if wqe.awaits_response:
            self.outstanding_reads += 1

    def send(self, wqe: SendWqe) -> Packet:
        # A read that is sent again asks for what is missing of its response.
        index = wqe.resumes_at if wqe.awaits_response else wqe.sent
        wqe.sent += 1
        last = wqe.sent == wqe.request_packets
        end = self.end
        headers: tuple[Header, ...] = ()
        payload, asks = 0, False
        if wqe.is_atomic:
            # The operand of a fetch-and-add is in the field of a swap (9.4.5.1).
            adds = wqe.opcode is _FETCH_ADD
            swap_add, compare = (wqe.compare_add, 0) if adds else (wqe.swap, wqe.compare_add)
            headers = (AtomicEth(wqe.remote_address, wqe.remote_key, swap_add, compare),)
        elif wqe.opcode is not _SEND and (
            index == 0 or wqe.awaits_response or self.addresses_all()
        ):
            begun = index * wqe.segment
            headers = (Reth(wqe.remote_address + begun, wqe.remote_key, wqe.length - begun),)
        extras = wqe.extras
        if last and extras is not PLAIN:
            if extras.immediate is not None:
                headers = (*headers, Immediate(extras.immediate))
            elif extras.invalidates:
                headers = (*headers, Ieth(extras.invalidates))
        if not wqe.awaits_response:
            payload = wqe.length - index * wqe.segment if last else wqe.segment
            asks = self.asks_for_acknowledgement(last)
            if self.pacing is not None:
                headers = self.pacing.headed(headers)
        packet = Packet(
            wqe.opcode,
            end.path.route,
            end.path.qpn,
            (wqe.first_psn + index) % PSN_MODULUS,
            payload,
            headers,
            first=index == 0 or wqe.awaits_response,
            last=last,
            ack_request=asks,
            operation=wqe.operation if last else 0,
            sizes=end.sizes,
            sender=self.watch,
        )
        if payload and (wqe.data is not None or wqe.transfer is not None):
            first = index * wqe.segment
            packet.data = Payload(wqe.transfer, wqe.address + first, payload)
            if wqe.data is not None:
                packet.data.add(wqe.data[first : first + payload])
        if last:
            packet.solicited = extras.solicited
            self.current = None
            self.sent(wqe, packet)
        return packet

    def addresses_all(self) -> bool:
        """Whether each packet of a write says where it goes, not only the first."""
        return False

    def asks_for_acknowledgement(self, last: bool) -> bool:
        return False

    def sent(self, wqe: SendWqe, packet: Packet) -> None:
        self.egress.requests.when_sent(packet, Call(self._left, (wqe,)))

    def _left(self, wqe: SendWqe) -> None:
        wqe.responded = True
        self.retire()

    def register(self, wqe: SendWqe) -> None:
        if wqe.first_psn < 0:
            self._parts.registrations.add(wqe, self._registered)
        else:
            # It has been done, before a request ahead of it had to be sent again.
            self._sim.call_after(0, self._registered, wqe)

    def _registered(self, wqe: SendWqe) -> None:
        if self.current is not wqe:
            # It has been given up, or taken back, meanwhile.
            self._line.leave(self)
            return
        if wqe.first_psn >= 0:
            pass
        elif wqe.region is not None:
            if wqe.extras.invalidates:
                self._parts.tables.invalidate(wqe.extras.invalidates, self.end.pd)
            self._parts.tables.enter(wqe.region)
        elif not self._parts.tables.invalidate(wqe.extras.invalidates, self.end.pd):
            self.give_up(wqe, WCStatus.LOC_PROT_ERR)
            return
        self.current = None
        # It completes in its turn, behind what has been sent before it.
        if wqe.first_psn < 0:
            wqe.first_psn = self.next_psn
        wqe.responded = True
        self.unacknowledged.append(wqe)
        self.retire()
        self._line.go_on(self)

    def slow_down(self) -> None:
        """Learn that what it has sent was marked or lost on its way."""
        parts, link = self._parts, self.egress.transmitter
        if parts.notifications is not None:
            self.pacing = notified(self.pacing, link, parts.notifications, self.release)
        elif parts.becns is not None:
            self.pacing = parts.becns.notified(self.pacing, link, self.release)

    def release(self) -> None:
        """Let packets go as fast as they can, or may by their static rate."""
        self.pacing = paced(self.egress.transmitter, self.end.path.route.slower)
        if self.pacing is not None:
            self.pacing.begin()

    # The end of requests.

    def accept(self, arrival: Arrival) -> Verdict:
        return Verdict.DROP

    def retire(self) -> None:
        """Complete the requests that have been answered, as far as none before them waits."""
        unacknowledged = self.unacknowledged
        while unacknowledged and unacknowledged[0].responded:
            wqe = unacknowledged.popleft()
            if self.current is wqe:
                # It has failed, or what was to be sent again of it had arrived before.
                self.current = None
            self._complete(wqe, wqe.fault or _SUCCESS)
            if wqe.fault is not None:
                self.end.fail_send()
        if self.end.state is _SQD and not unacknowledged and self.drained:
            self.end.drained()

    def fail(self, wqe: SendWqe, status: WCStatus) -> None:
        """Complete a request in error as soon as all before it have completed."""
        wqe.fault = status
        wqe.responded = True
        self.retire()

    def give_up(self, wqe: SendWqe, status: WCStatus) -> None:
        """Fail a request of which nothing has been sent, and let others have its turn."""
        self.unacknowledged.append(wqe)
        self.fail(wqe, status)
        self._line.leave(self)

    def flush(self) -> None:
        for wqe in self.drain():
            self._complete(wqe, WCStatus.WR_FLUSH_ERR)

    def discard(self) -> None:
        """Forget all requests, as the queue pair is reset."""
        for wqe in self.drain():
            self._parts.completions.over(wqe)
            if self._sim.forward is not None:
                self._sim.forward.checkpoint(wqe, 0)

    def _complete(self, wqe: SendWqe, status: WCStatus) -> None:
        completions, succeeded = self._parts.completions, status is _SUCCESS
        completions.over(wqe)
        if not succeeded:
            count_request(self._parts.counts, self._parts.description, status)
            if self._sim.forward is not None:
                # A message that has failed comes to no further checkpoint.
                self._sim.forward.checkpoint(wqe, 0)
        if wqe.signaled or not succeeded:
            # What is only acknowledged has ended for the application when its data was there.
            operation = wqe.operation if wqe.awaits_response and succeeded else 0
            completions.complete(self.cq, self.end.qpn, wqe, status, wqe.length, operation)

    def drain(self) -> list[SendWqe]:
        drained = [*self.unacknowledged]
        if self.current is not None and self.current not in self.unacknowledged:
            drained.append(self.current)
        self.current = None
        self.unacknowledged.clear()
        self.outstanding_reads = 0
        return drained + self.queue.drain()
