"""The send engine: fetches WQEs and cuts messages into packets, queue pair by queue pair."""

from __future__ import annotations

from collections.abc import Callable

from hcasim.bus import Bus
from hcasim.catalog import Adapter
from hcasim.engine import SerialServer, Simulator
from hcasim.fabric.packet import Packet
from hcasim.hca.context_cache import ContextCache
from hcasim.hca.dma import DmaEngine
from hcasim.hca.port import Port, StagedPacket
from hcasim.hca.work_queue import PSN_MODULUS, QueuePair, SendEntry, State


class SendEngine:
    """Turns entries of send queues into packets; shared by the ports of the adapter.

    A queue pair fetches one WQE at a time: the next when all packets of the last have been
    handed to the port. Ports take turns at the engine packet by packet, and within a port the
    ready queue pairs do.

    Args:
        begin: called before the first packet of a message; it says whether the message may go.
    """

    def __init__(
        self,
        sim: Simulator,
        name: str,
        adapter: Adapter,
        bus: Bus,
        dma: DmaEngine,
        ports: list[Port],
        begin: Callable[[QueuePair, SendEntry], bool],
    ) -> None:
        self.sim = sim
        self.name = name
        self.adapter = adapter
        self.sqpc = ContextCache(sim, "sqpc", adapter.sqpc)
        self.server = SerialServer(sim, f"{name}.send_engine")
        self.wqes_fetched = 0
        # Both ends agree on it when they connect, and all adapters of a machine are alike.
        self._outstanding = min(adapter.requester.outstanding, adapter.responder.outstanding)
        self._bus = bus
        self._dma = dma
        self._ports = ports
        self._begin = begin

    # From the work queue to a WQE in the adapter.

    def fetch_next(self, qp: QueuePair) -> None:
        """Fetch the next entry of ``qp`` if it has none in hand."""
        if qp.fetching or qp.current is not None or not qp.send_queue or qp.rnr_waiting:
            return
        if qp.state is not State.RTS:
            return
        qp.fetching = True
        self.sqpc.access(qp.qpn, self._fetch, qp)

    def _fetch(self, qp: QueuePair) -> None:
        if not qp.send_queue:
            qp.fetching = False
            return
        entry = qp.send_queue[0]
        self._bus.read(0, entry.size(self.adapter.wqe.stride), self._fetched, qp)

    def _fetched(self, qp: QueuePair) -> None:
        qp.fetching = False
        self.wqes_fetched += 1
        if not qp.send_queue or qp.state is not State.RTS or qp.rnr_waiting:
            return
        entry = qp.send_queue.popleft()
        if entry.trace is not None:
            entry.trace.append((int(self.sim.now), "WQE fetch"))
        if self.sim.log is not None:
            self.sim.log(int(self.sim.now), self.name, "wqe", f"{entry.opcode.name} qp {qp.qpn}")
        qp.current = entry
        self.make_ready(qp)

    def make_ready(self, qp: QueuePair) -> None:
        """Let ``qp`` compete for its port, unless it has too many reads or atomics in flight."""
        entry = qp.current
        if entry is None:
            return
        if entry.awaits_response and entry.sent == 0 and qp.outstanding_reads >= self._outstanding:
            qp.stalled = True
            return
        port = self._ports[qp.port]
        port.scheduler.add(qp)
        self._pump(port)

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
        else:
            self._send_packet(port, qp, entry)
        self._pump(port)

    def _send_packet(self, port: Port, qp: QueuePair, entry: SendEntry) -> None:
        if entry.sent == 0 and not self._begin(qp, entry):
            port.requests.slots.release(1)
            return
        packet = self._segment(qp, entry)
        staged = port.requests.stage(packet)
        if self.sim.log is not None:
            self.sim.log(int(self.sim.now), self.name, "packet", repr(packet))
        if entry.sent == entry.request_packets:
            qp.current = None
            self.fetch_next(qp)
        else:
            port.scheduler.add(qp)
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
                trace=entry.trace,
            )
        offset = index * qp.mtu
        payload = entry.length - offset if last else qp.mtu
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
            trace=entry.trace if last else None,
        )

    def _gather(
        self,
        port: Port,
        entry: SendEntry,
        packet: Packet,
        staged: StagedPacket,
    ) -> None:
        if packet.trace is not None:
            packet.trace.append((int(self.sim.now), "send engine"))
        region = entry.region
        if region is None or packet.payload == 0:
            port.requests.complete(staged)
        else:
            self._dma.gather(
                region,
                entry.address + packet.offset,
                packet.payload,
                port.requests.complete,
                staged,
            )
