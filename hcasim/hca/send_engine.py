"""The send engine: fetches WQEs and cuts messages into packets, queue pair by queue pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from hcasim.engine import Action, Call, Probe, Waits
from hcasim.fabric.packet import PSN_MODULUS, AtomicEth, Deth, Header, Opcode, Packet, Reth
from hcasim.hca.beats import LONG, Beats
from hcasim.hca.completion_queue import Status
from hcasim.hca.parts import Parts
from hcasim.hca.queue_pair import QPType, QueuePair, State
from hcasim.hca.registrations import RegistrationUnit
from hcasim.hca.scheduler import Scheduler
from hcasim.hca.services import PacketService, services_of
from hcasim.hca.translation import Access, Region
from hcasim.hca.wqe import SendWqe

NO_ACCESS: Final = Access(0)

# Bound once, because compiled code looks members of enumerations up each time.
_RTS: Final = State.RTS
_DATAGRAM: Final = QPType.UD
_REGISTER: Final = Opcode.REGISTER


class _Room(Action):
    """Room for a packet that a port's engine has waited for."""

    __slots__ = ("_engine", "_port")

    def __init__(self, engine: SendEngine, port: int) -> None:
        self._engine = engine
        self._port = port

    def act(self) -> None:
        """It is held."""
        self._engine.room_held(self._port)


class _Turn(Action):
    """The turn of a queue pair at a processing unit."""

    __slots__ = ("_engine", "_port", "_qp", "_since")

    block: ClassVar[str] = "SendEngine"

    def __init__(self, engine: SendEngine, port: int, qp: QueuePair, since_ps: int) -> None:
        self._engine = engine
        self._since = since_ps
        self._port = port
        self._qp = qp

    def act(self) -> None:
        """Its time is over."""
        self._engine.execute(self._port, self._qp, self._since)


class SendEngine:
    """Turns entries of send queues into packets; shared by the ports of the adapter.

    The queue pair in hand of each schedule queue has one WQE in execution, and as many ready
    behind it as the adapter fetches ahead. Without that the next is fetched when all packets of
    the last have been handed to the port, by the same queue pair or by the next in line. Ports
    take turns at the processing units packet by packet, and within a port the schedule queues do;
    no two units work on the same queue pair.

    Attributes:
        schedulers: of each port, the queue pairs that have work for it.
        server: the processing units.
        fetches: reads of one or several WQEs so far.
        flight: the requests in flight whose entries are on the chip, if that is limited.
        entries: queue pairs that wait for a WQE behind which others wait to be fetched.
        reads: queue pairs that have as many reads and atomics in flight as they may.
    """

    def __init__(self, parts: Parts) -> None:
        self.sim = parts.sim
        self.adapter = parts.adapter
        self.sqpc = parts.context_cache("sqpc", parts.adapter.sqpc)
        self.server = parts.units
        self.schedulers = [Scheduler(parts.adapter.scheduler.queues) for _ in parts.egresses]
        self.wqes_fetched = 0
        self.fetches = 0
        self._units = parts.adapter.send.units
        self._burst = parts.adapter.scheduler.burst
        self._interval = parts.adapter.ack.interval
        self._busy = [0 for _ in parts.egresses]
        self._asking = [0 for _ in parts.egresses]
        self._rooms = [_Room(self, port) for port in range(len(parts.egresses))]
        self._services = services_of(parts.adapter.send.services, parts.adapter.send.wqe_service)
        self._packet_service = PacketService(parts.adapter.send)
        self._beats = Beats(parts.sim, parts.adapter)
        self._probe = Probe(parts.sim, self.server.name)
        self._wire = parts.transport.wire
        self._tables = parts.tables
        self._dma = parts.dma
        self._completions = parts.completions
        self._egresses = parts.egresses
        self.registrations = RegistrationUnit(
            parts.sim,
            f"{parts.name}.registrations",
            parts.adapter.umr,
            parts.dma,
            self._registered,
        )
        self.flight = parts.flight
        self.entries = Waits(parts.sim, f"{parts.name}.wqe_fetch")
        self.reads = Waits(parts.sim, f"{parts.name}.reads_in_flight")

    # From the doorbell to a WQE in the adapter.

    def doorbell(self, qp: QueuePair, wqes: Sequence[SendWqe]) -> None:
        """Learn of more entries in the send queue of ``qp``."""
        mine = qp.requester
        for wqe in wqes:
            if self._probe.listeners:
                since = self.sim.now - self.adapter.doorbell.latency
                self._probe.event("doorbell", wqe.operation, qp, None, since)
            wqe.segment = self._wire.payload(qp.mtu, wqe.opcode)
            if wqe.carried and not mine.send_queue:
                mine.fetched.append(wqe)
            else:
                mine.send_queue.append(wqe)
        self.schedule(qp)
        if qp.state is State.ERR:
            self._completions.flush(qp)

    def schedule(self, qp: QueuePair) -> None:
        """Put ``qp`` in line if it has work and is not in line yet."""
        mine = qp.requester
        if qp.scheduled or mine.rnr_waiting or mine.stalled or qp.state is not _RTS:
            return
        if mine.current is None:
            if not mine.has_work:
                return
        elif mine.current.fault is not None:
            # It waits for the requests before it, and those behind it will be flushed.
            return
        if self.schedulers[qp.port].enqueue(qp):
            self._load(qp)

    def _load(self, qp: QueuePair) -> None:
        """Bring the context and the next entry of the queue pair in hand onto the chip."""
        self.sqpc.access(qp.qpn, self._next, qp)

    def _next(self, qp: QueuePair) -> None:
        mine = qp.requester
        if mine.current is not None:
            self._make_ready(qp, mine.current)
        elif not mine.has_work or qp.state is not _RTS or mine.rnr_waiting:
            # By an event, because a whole line may have lost its work while it waited.
            self.sim.call_after(0, self._leave, qp)
        elif mine.fetched:
            self._begin_next(qp)
        else:
            mine.awaits_entry = True
            mine.waits_since = self.sim.now
            if not mine.fetching:
                if self._probe.listeners:
                    self._probe.event("send QP context", mine.send_queue[0].operation, qp)
                self._fetch(qp)
            if len(mine.send_queue) > mine.fetching and not mine.backlogged:
                mine.backlogged = True
                self.entries.begin()

    def _fetch(self, qp: QueuePair) -> None:
        """Fetch entries that lie side by side, as many as one read brings."""
        mine = qp.requester
        queue, ring = mine.send_queue, mine.ring
        first = last = queue[0]
        count = 1
        for _ in range(min(self.adapter.wqe.fetch, len(queue)) - 1):
            if queue[count].slot % ring.entries < last.slot % ring.entries:
                break
            last = queue[count]
            count += 1
        size = (last.slot - first.slot) * ring.stride + last.size
        mine.fetching = count
        self.fetches += 1
        self._dma.fetch_entry(ring, first.slot, size, self._fetched, qp, first, count, self.sim.now)

    def _fetched(self, qp: QueuePair, first: SendWqe, count: int, since_ps: int) -> None:
        self.wqes_fetched += count
        mine = qp.requester
        if mine.fetching and mine.send_queue[0] is first:
            for _ in range(mine.fetching):
                wqe = mine.send_queue.popleft()
                mine.fetched.append(wqe)
                if self._probe.listeners:
                    details = f"{wqe.opcode.name} {qp}"
                    self._probe.event("WQE fetch", wqe.operation, details, None, since_ps)
            mine.fetching = 0
        elif mine.fetching:
            # What this read brings has been taken back, and another is on its way.
            return
        if mine.awaits_entry:
            mine.awaits_entry = False
            mine.waited_ps += self.sim.now - mine.waits_since
            if mine.backlogged:
                mine.backlogged = False
                self.entries.end()
            self._next(qp)
        self._fetch_ahead(qp)

    def _fetch_ahead(self, qp: QueuePair) -> None:
        mine = qp.requester
        if mine.send_queue and not mine.fetching and len(mine.fetched) < self.adapter.wqe.ahead:
            self._fetch(qp)

    def _begin_next(self, qp: QueuePair) -> None:
        mine = qp.requester
        mine.current = wqe = mine.fetched.popleft()
        self._fetch_ahead(qp)
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
            mine.waits_since = self.sim.now
            self.reads.begin()
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
        self._unstall(qp)
        self.schedule(qp)

    def rewind(self, qp: QueuePair, wqe: SendWqe) -> int:
        """Take back an entry and all after it, to send them again; return how many."""
        self._unstall(qp)
        return qp.requester.rewind(wqe)

    def _unstall(self, qp: QueuePair) -> None:
        if qp.requester.stalled:
            qp.requester.stalled = False
            qp.requester.waited_ps += self.sim.now - qp.requester.waits_since
            self.reads.end()

    def _leave(self, qp: QueuePair) -> None:
        """Let the next in line take the place of ``qp``, which lines up again if it has work."""
        follower = self.schedulers[qp.port].release(qp)
        if follower is not None:
            self._load(follower)
        self.schedule(qp)

    # From the schedule queues to the port, one packet at a time.

    def _pump(self, port: int) -> None:
        """Put processing units to work, as many as there are and queue pairs compete."""
        staging = self._egresses[port].requests
        scheduler = self.schedulers[port]
        while self._busy[port] < self._units and self._asking[port] < scheduler.competing:
            self._busy[port] += 1
            self._asking[port] += 1
            if staging.room.take(staging.full):
                self.room_held(port)
            else:
                staging.room.wait(staging.full, self._rooms[port])

    def _idle(self, port: int) -> None:
        """Give back a unit and the room that nobody needs."""
        self._busy[port] -= 1
        staging = self._egresses[port].requests
        staging.room.release(staging.full)

    def room_held(self, port: int) -> None:
        """Give the queue pair whose turn it is a processing unit."""
        self._asking[port] -= 1
        qp = self.schedulers[port].take()
        wqe = qp.requester.current
        service = self._packet_service.least
        if wqe is not None:
            if self._packet_service.rate is not None and not wqe.awaits_response:
                payload = min(wqe.segment, wqe.length - wqe.sent * wqe.segment)
                service = self._packet_service.time(payload)
            if self._services and wqe.sent == 0:
                service += self._services.get(wqe.opcode, 0)
        qp.requester.busy_ps += service
        end = self.server.reserve(service)
        self.sim.schedule(end, _Turn(self, port, qp, end - service))

    def execute(self, port: int, qp: QueuePair, since_ps: int) -> None:
        """Send the packet of a queue pair for which a processing unit is done."""
        wqe = qp.requester.current
        if wqe is not None and wqe.opcode is _REGISTER and qp.state is _RTS:
            self._idle(port)
            self.registrations.add(qp, wqe)
        elif wqe is None or qp.state is not _RTS or (wqe.sent == 0 and not self._begin(qp, wqe)):
            self._idle(port)
            self._leave(qp)
        else:
            self._busy[port] -= 1
            self._send_packet(port, qp, wqe, since_ps)
        self._pump(port)

    def _registered(self, qp: QueuePair, wqe: SendWqe) -> None:
        """A registration has been done, for which the requests behind it have waited."""
        mine = qp.requester
        if mine.current is not wqe or wqe.region is None:
            return  # It has been given up meanwhile.
        self._tables.enter(wqe.region)
        mine.current = None
        # It completes in its turn, behind what has been sent before it.
        wqe.first_psn = mine.next_psn
        wqe.responded = True
        mine.unacknowledged.append(wqe)
        self._completions.retire(qp)
        self._go_on(qp)

    def _go_on(self, qp: QueuePair) -> None:
        """Begin the next request of a queue pair, or let others have their turn."""
        if qp.requester.has_work and not self.schedulers[qp.port].contended(qp):
            self._load(qp)
        else:
            self._leave(qp)

    def _begin(self, qp: QueuePair, wqe: SendWqe) -> bool:
        """Check the local memory and give the message its sequence numbers, or fail it."""
        qp.requester.unacknowledged.append(wqe)
        wqe.region = self._find(qp, wqe, Access.LOCAL_WRITE if wqe.awaits_response else NO_ACCESS)
        if wqe.region is None and wqe.length and not wqe.inline:
            self._completions.fail(qp, wqe, Status.LOC_PROT_ERR)
            return False
        qp.requester.number(wqe)
        if self.flight is not None and wqe.awaits_response:
            self.flight.add(qp, wqe)
        return True

    def _send_packet(self, port: int, qp: QueuePair, wqe: SendWqe, since_ps: int) -> None:
        offset = wqe.sent * wqe.segment
        packet = self._next_packet(qp, wqe, offset)
        staging = self._egresses[port].requests
        staging.stage(packet)
        packet.staged_at = self.sim.now
        if self._probe.listeners:
            self._probe.event("send engine", packet.operation, packet, None, since_ps)
        scheduler = self.schedulers[port]
        if packet.last:
            qp.requester.current = None
            self._go_on(qp)
        else:
            turn = wqe.sent * wqe.segment % self._burst
            scheduler.add(qp, goes_on=turn >= wqe.segment)
            wqe.turn = 0 if scheduler.alone else turn
        if wqe.packets > LONG:
            self._beats.sent(wqe, wqe.sent, wqe.request_packets, wqe.segment, scheduler.alone)
        if packet.last and not qp.reliable:
            staging.when_sent(packet, Call(self._left, (qp, wqe)).act)
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
        if qp.kind is _DATAGRAM:
            lid, qpn, header = wqe.dlid, wqe.remote_qpn, Deth(qp.qpn)
        payload, ask = 0, False
        if not wqe.awaits_response:
            payload = wqe.length - offset if last else wqe.segment
            if qp.reliable:
                ask = qp.requester.asks_for_acknowledgement(last, self._interval)
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
            sender=qp.timer,
        )
