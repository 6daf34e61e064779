"""The send engine: fetches WQEs and cuts messages into packets, queue pair by queue pair."""

from __future__ import annotations

from collections.abc import Sequence

from hcasim.engine import Probe, SerialServer
from hcasim.fabric.packet import AtomicEth, Deth, Header, Opcode, Packet, Reth
from hcasim.hca.completion_queue import Status
from hcasim.hca.parts import Parts
from hcasim.hca.queue_pair import PSN_MODULUS, QPType, QueuePair, State
from hcasim.hca.scheduler import Scheduler
from hcasim.hca.translation import Access, Region
from hcasim.hca.wqe import SendWqe

NO_ACCESS = Access(0)


class SendEngine:
    """Turns entries of send queues into packets; shared by the ports of the adapter.

    The queue pair in hand of each schedule queue has one WQE on the chip; the next is fetched when
    all packets of the last have been handed to the port, by the same queue pair or by the next in
    line. Ports take turns at the engine packet by packet, and within a port the schedule queues
    do.

    Attributes:
        schedulers: of each port, the queue pairs that have work for it.
    """

    def __init__(self, parts: Parts) -> None:
        self.sim = parts.sim
        self.adapter = parts.adapter
        self.sqpc = parts.context_cache("sqpc", parts.adapter.sqpc)
        self.server = SerialServer(parts.sim, f"{parts.name}.send_engine")
        self.schedulers = [Scheduler(parts.adapter.scheduler.queues) for _ in parts.egresses]
        self.wqes_fetched = 0
        self._pumping = [False for _ in parts.egresses]
        self._probe = Probe(parts.sim, self.server.name)
        self._wire = parts.transport.wire
        self._tables = parts.tables
        self._dma = parts.dma
        self._completions = parts.completions
        self._egresses = parts.egresses

    # From the doorbell to a WQE in the adapter.

    def doorbell(self, qp: QueuePair, wqes: Sequence[SendWqe]) -> None:
        """Learn of more entries in the send queue of ``qp``."""
        mine = qp.requester
        for wqe in wqes:
            if self._probe.listeners:
                self._probe.event("doorbell", wqe.operation, qp)
            wqe.segment = self._wire.payload(qp.mtu, wqe.opcode)
            mine.send_queue.append(wqe)
        self.schedule(qp)
        if qp.state is State.ERR:
            self._completions.flush(qp)

    def schedule(self, qp: QueuePair) -> None:
        """Put ``qp`` in line if it has work and is not in line yet."""
        mine = qp.requester
        if qp.scheduled or mine.rnr_waiting or mine.stalled or qp.state is not State.RTS:
            return
        if mine.current is None:
            if not mine.send_queue:
                return
        elif mine.current.fault is not None:
            # It waits for the requests before it, and those behind it will be flushed.
            return
        if self.schedulers[qp.port].enqueue(qp):
            self._load(qp)

    def _load(self, qp: QueuePair) -> None:
        """Bring the context and the next entry of the queue pair in hand onto the chip."""
        self.sqpc.access(qp.qpn, self._fetch, qp)

    def _fetch(self, qp: QueuePair) -> None:
        mine = qp.requester
        if mine.current is not None:
            self._make_ready(qp, mine.current)
        elif mine.send_queue and qp.state is State.RTS and not mine.rnr_waiting:
            wqe = mine.send_queue[0]
            if self._probe.listeners:
                self._probe.event("send QP context", wqe.operation, qp)
            if wqe.carried:
                self.sim.call_after(0, self._begin_entry, qp)
            else:
                self._dma.fetch_entry(mine.ring, wqe.slot, wqe.size, self._fetched, qp)
        else:
            # By an event, because a whole line may have lost its work while it waited.
            self.sim.call_after(0, self._leave, qp)

    def _fetched(self, qp: QueuePair) -> None:
        self.wqes_fetched += 1
        self._begin_entry(qp)

    def _begin_entry(self, qp: QueuePair) -> None:
        mine = qp.requester
        if not mine.send_queue or qp.state is not State.RTS or mine.rnr_waiting:
            self._leave(qp)
            return
        mine.current = wqe = mine.send_queue.popleft()
        if self._probe.listeners:
            self._probe.event("WQE fetch", wqe.operation, f"{wqe.opcode.name} {qp}")
        self._make_ready(qp, wqe)

    def _make_ready(self, qp: QueuePair, wqe: SendWqe) -> None:
        """Let ``qp`` compete for its port once it can send a packet.

        It has to wait if too many reads or atomics are in flight, and for the translation of its
        first data.
        """
        mine = qp.requester
        full = mine.outstanding_reads >= mine.max_rd_atomic
        if full and wqe.awaits_response and wqe.sent == 0:
            mine.stalled = True
            self._leave(qp)
            return
        region = None if wqe.awaits_response else self._find(qp, wqe, NO_ACCESS)
        if region is None:
            self._compete(qp)
        else:
            first = min(wqe.length, wqe.segment)
            self._tables.translate(region, wqe.address, first, self._compete, qp)

    def _find(self, qp: QueuePair, wqe: SendWqe, needed: Access) -> Region | None:
        """The local memory of a message; None without any, or if it is wrong."""
        if wqe.inline or not wqe.length:
            return None
        return self._tables.find(wqe.key, qp.pd, wqe.address, wqe.length, needed)

    def _compete(self, qp: QueuePair) -> None:
        self.schedulers[qp.port].add(qp)
        self._pump(qp.port)

    def resume(self, qp: QueuePair) -> None:
        """Go on with a queue pair that had too many reads or atomics in flight."""
        qp.requester.stalled = False
        self.schedule(qp)

    def _leave(self, qp: QueuePair) -> None:
        """Let the next in line take the place of ``qp``, which lines up again if it has work."""
        follower = self.schedulers[qp.port].release(qp)
        if follower is not None:
            self._load(follower)
        self.schedule(qp)

    # From the schedule queues to the port, one packet at a time.

    def _pump(self, port: int) -> None:
        if not self._pumping[port] and self.schedulers[port].competing:
            self._pumping[port] = True
            self._egresses[port].requests.slots.acquire(1, self._slot_held, port)

    def _slot_held(self, port: int) -> None:
        scheduler = self.schedulers[port]
        if not scheduler.competing:
            self._pumping[port] = False
            self._egresses[port].requests.slots.release(1)
            return
        qp = scheduler.take()
        wqe = qp.requester.current
        send = self.adapter.send
        service = send.packet_service
        if wqe is not None and wqe.sent == 0:
            service += send.wqe_service
        self.sim.call_at(self.server.reserve(service), self._execute, port, qp)

    def _execute(self, port: int, qp: QueuePair) -> None:
        self._pumping[port] = False
        wqe = qp.requester.current
        if wqe is None or qp.state is not State.RTS or (wqe.sent == 0 and not self._begin(qp, wqe)):
            self._egresses[port].requests.slots.release(1)
            self._leave(qp)
        else:
            self._send_packet(port, qp, wqe)
        self._pump(port)

    def _begin(self, qp: QueuePair, wqe: SendWqe) -> bool:
        """Check the local memory and give the message its sequence numbers, or fail it."""
        qp.requester.unacknowledged.append(wqe)
        wqe.region = self._find(qp, wqe, Access.LOCAL_WRITE if wqe.awaits_response else NO_ACCESS)
        if wqe.region is None and wqe.length and not wqe.inline:
            self._completions.fail(qp, wqe, Status.LOC_PROT_ERR)
            return False
        qp.requester.number(wqe)
        return True

    def _send_packet(self, port: int, qp: QueuePair, wqe: SendWqe) -> None:
        offset = wqe.sent * wqe.segment
        packet = self._next_packet(qp, wqe, offset)
        staging = self._egresses[port].requests
        staging.stage(packet)
        if self._probe.listeners:
            self._probe.event("send engine", packet.operation, packet)
        scheduler = self.schedulers[port]
        if packet.last:
            qp.requester.current = None
            if qp.requester.send_queue and not scheduler.contended(qp):
                self._load(qp)
            else:
                self._leave(qp)
        else:
            burst = self.adapter.scheduler.burst
            scheduler.add(qp, goes_on=wqe.sent * wqe.segment % burst >= wqe.segment)
        if packet.last and not qp.reliable:
            staging.when_sent(packet, lambda: self._left(qp, wqe))
        if wqe.region is None or packet.payload == 0:
            staging.complete(packet)
        else:
            self._dma.gather(staging, packet, wqe.region, wqe.address + offset)

    def _left(self, qp: QueuePair, wqe: SendWqe) -> None:
        """The last packet of a request that nobody acknowledges has left."""
        wqe.responded = True
        self._completions.retire(qp)

    def _next_packet(self, qp: QueuePair, wqe: SendWqe, offset: int) -> Packet:
        index = wqe.sent
        wqe.sent += 1
        last = wqe.sent == wqe.request_packets
        header: Header | None = None
        if wqe.is_atomic:
            # The operand of a fetch-and-add is in the field of a swap (9.4.5.1).
            adds = wqe.opcode is Opcode.FETCH_ADD
            swap_add, compare = (wqe.compare_add, 0) if adds else (wqe.swap, wqe.compare_add)
            header = AtomicEth(wqe.remote_address, wqe.remote_key, swap_add, compare)
        elif index == 0 and wqe.opcode is not Opcode.SEND:
            header = Reth(wqe.remote_address, wqe.remote_key, wqe.length)
        lid, qpn = qp.remote_lid, qp.remote_qpn
        if qp.kind is QPType.UD:
            lid, qpn, header = wqe.dlid, wqe.remote_qpn, Deth(qp.qpn)
        payload, ask = 0, False
        if not wqe.awaits_response:
            payload = wqe.length - offset if last else wqe.segment
            if qp.reliable:
                ask = qp.requester.asks_for_acknowledgement(last, self.adapter.ack.interval)
        return Packet(
            wqe.opcode,
            lid,
            qpn,
            (wqe.first_psn + index) % PSN_MODULUS,
            payload,
            header,
            first=index == 0,
            last=last,
            ack_request=ask,
            operation=wqe.operation if last else 0,
            size_of=qp.size_of,
        )
