"""The send engine: fetches WQEs and cuts messages into packets, queue pair by queue pair."""

from __future__ import annotations

from collections.abc import Callable

from hcasim.catalog import Adapter
from hcasim.engine import Probe, SerialServer, Simulator
from hcasim.fabric.packet import Packet
from hcasim.hca.dma import DmaEngine
from hcasim.hca.icm import Icm
from hcasim.hca.port import Port, StagedPacket
from hcasim.hca.translation import Region
from hcasim.hca.transport import transport
from hcasim.hca.work_queue import PSN_MODULUS, QueuePair, SendEntry, State


class SendEngine:
    """Turns entries of send queues into packets; shared by the ports of the adapter.

    The queue pair in hand of each schedule queue has one WQE on the chip; the next is fetched when
    all packets of the last have been handed to the port, by the same queue pair or by the next in
    line. Ports take turns at the engine packet by packet, and within a port the schedule queues
    do.

    Args:
        begin: called before the first packet of a message; it says whether the message may go.
        find: the local memory that a message is read from, if there is any.
    """

    def __init__(
        self,
        sim: Simulator,
        name: str,
        adapter: Adapter,
        icm: Icm,
        dma: DmaEngine,
        ports: list[Port],
        begin: Callable[[QueuePair, SendEntry], bool],
        find: Callable[[QueuePair, SendEntry], Region | None],
    ) -> None:
        self.sim = sim
        self.name = name
        self.adapter = adapter
        self.sqpc = icm.cache("sqpc", adapter.sqpc, written=True)
        self.server = SerialServer(sim, f"{name}.send_engine")
        self._probe = Probe(sim, self.server.name)
        self.wqes_fetched = 0
        self._size_of = transport(adapter.protocol).wire.size
        self._dma = dma
        self._ports = ports
        self._begin = begin
        self._find = find

    # From the work queue to a WQE in the adapter.

    def schedule(self, qp: QueuePair) -> None:
        """Put ``qp`` in line if it has work and is not in line yet."""
        if qp.scheduled or qp.rnr_waiting or qp.stalled or qp.state is not State.RTS:
            return
        if qp.current is None:
            if not qp.send_queue:
                return
        elif qp.current.fault is not None:
            # It waits for the requests before it, and those behind it will be flushed.
            return
        if self._ports[qp.port].scheduler.enqueue(qp):
            self._load(qp)

    def _load(self, qp: QueuePair) -> None:
        """Bring the context and the next entry of the queue pair in hand onto the chip."""
        self.sqpc.access(qp.qpn, self._fetch, qp)

    def _fetch(self, qp: QueuePair) -> None:
        if qp.current is not None:
            self._make_ready(qp)
        elif qp.send_queue and qp.state is State.RTS and not qp.rnr_waiting:
            entry = qp.send_queue[0]
            if self._probe.listeners:
                self._probe.event("send QP context", entry.operation, qp)
            size = entry.size(self.adapter.wqe.stride)
            self._dma.fetch_entry(qp.send_ring, entry.posted - 1, size, self._fetched, qp)
        else:
            # By an event, because a whole line may have lost its work while it waited.
            self.sim.call_after(0, self._leave, qp)

    def _fetched(self, qp: QueuePair) -> None:
        self.wqes_fetched += 1
        if not qp.send_queue or qp.state is not State.RTS or qp.rnr_waiting:
            self._leave(qp)
            return
        entry = qp.send_queue.popleft()
        if self._probe.listeners:
            self._probe.event("WQE fetch", entry.operation, f"{entry.opcode.name} {qp}")
        qp.current = entry
        self._make_ready(qp)

    def _make_ready(self, qp: QueuePair) -> None:
        """Let ``qp`` compete for its port once it can send a packet.

        It has to wait if too many reads or atomics are in flight, and for the translation of its
        first data.
        """
        entry = qp.current
        assert entry is not None
        full = qp.outstanding_reads >= qp.max_rd_atomic
        if full and entry.awaits_response and entry.sent == 0:
            qp.stalled = True
            self._leave(qp)
            return
        region = self._find(qp, entry)
        if region is None:
            self._compete(qp)
        else:
            self._dma.prepare(
                region, entry.address, min(entry.length, entry.segment), self._compete, qp
            )

    def _compete(self, qp: QueuePair) -> None:
        port = self._ports[qp.port]
        port.scheduler.add(qp)
        self._pump(port)

    def resume(self, qp: QueuePair) -> None:
        """Go on with a queue pair that had too many reads or atomics in flight."""
        qp.stalled = False
        self.schedule(qp)

    def _leave(self, qp: QueuePair) -> None:
        """Let the next in line take the place of ``qp``, which lines up again if it has work."""
        follower = self._ports[qp.port].scheduler.release(qp)
        if follower is not None:
            self._load(follower)
        self.schedule(qp)

    # From the schedule queues to the port, one packet at a time.

    def _pump(self, port: Port) -> None:
        if not port.pumping and port.scheduler:
            port.pumping = True
            port.requests.slots.acquire(1, self._slot_held, port)

    def _slot_held(self, port: Port) -> None:
        if not port.scheduler:
            port.pumping = False
            port.requests.slots.release(1)
            return
        qp = port.scheduler.take()
        entry = qp.current
        send = self.adapter.send
        service = send.packet_service
        if entry is not None and entry.sent == 0:
            service += send.wqe_service
        self.sim.call_at(self.server.reserve(service), self._execute, port, qp)

    def _execute(self, port: Port, qp: QueuePair) -> None:
        port.pumping = False
        entry = qp.current
        if entry is None or qp.state is not State.RTS:
            port.requests.slots.release(1)
            self._leave(qp)
        else:
            self._send_packet(port, qp, entry)
        self._pump(port)

    def _send_packet(self, port: Port, qp: QueuePair, entry: SendEntry) -> None:
        if entry.sent == 0 and not self._begin(qp, entry):
            port.requests.slots.release(1)
            self._leave(qp)
            return
        packet = self._segment(qp, entry)
        staged = port.requests.stage(packet)
        if self._probe.listeners:
            self._probe.event("send engine", packet.operation, packet)
        if entry.sent == entry.request_packets:
            qp.current = None
            if qp.send_queue and not port.scheduler.contended(qp):
                self._load(qp)
            else:
                self._leave(qp)
        else:
            burst = self.adapter.scheduler.burst
            port.scheduler.add(qp, goes_on=entry.sent * entry.segment % burst >= entry.segment)
        self._gather(port, entry, packet, staged)

    def _segment(self, qp: QueuePair, entry: SendEntry) -> Packet:
        index = entry.sent
        entry.sent += 1
        last = entry.sent == entry.request_packets
        if entry.awaits_response:
            return Packet(
                entry.opcode,
                qp.remote_lid,
                qp.remote_qpn,
                entry.first_psn,
                message=entry,
                operation=entry.operation,
                size_of=self._size_of,
            )
        offset = index * entry.segment
        payload = entry.length - offset if last else entry.segment
        qp.since_ack_request += 1
        ask = last or qp.since_ack_request >= self.adapter.ack.interval
        if ask:
            qp.since_ack_request = 0
        return Packet(
            entry.opcode,
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

    def _gather(
        self,
        port: Port,
        entry: SendEntry,
        packet: Packet,
        staged: StagedPacket,
    ) -> None:
        region = entry.region
        if region is None or packet.payload == 0:
            port.requests.complete(staged)
        else:
            self._dma.gather(port.requests, staged, region, entry.address + packet.offset)
