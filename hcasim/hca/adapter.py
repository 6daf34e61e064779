"""The adapter: its blocks and how they are wired."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hcasim.engine import Args
from hcasim.fabric.packet import (
    ANY_GROUP,
    MEMBERSHIP,
    MULTICAST_QPN,
    NOBODY,
    Deth,
    Opcode,
    Packet,
)
from hcasim.hca.completion_queue import CompletionQueue
from hcasim.hca.context_cache import ContextCache
from hcasim.hca.counters import shown
from hcasim.hca.egress import REQUESTS
from hcasim.hca.events import EventType
from hcasim.hca.parts import Parts
from hcasim.hca.port import Arrival, Port, Verdict
from hcasim.hca.qp.congestion.table import BECN
from hcasim.hca.qp.endpoint import QPType, State
from hcasim.hca.qp.queue_pair import QueuePair
from hcasim.hca.qp.queues import ReceiveQueue
from hcasim.hca.send_engine import SendEngine
from hcasim.hca.translation import DRIVER, Access, Ring, WorkQueueBuffer

# Bound once, because compiled code looks members of enumerations up each time.
_CNP: Final = Opcode.CNP
_WITHOUT_DATA: Final = (Opcode.ACKNOWLEDGE, Opcode.NAK, Opcode.RESPONSE_ACKNOWLEDGE)


class HostChannelAdapter(Parts):
    """An RDMA adapter with its ports."""

    def _build(self) -> None:
        description = self.description
        self.send_engines = [SendEngine(self, port) for port in range(description.ports)]
        self._queue_pairs: dict[int, QueuePair] = {}
        self._protection_domains = self._completion_queues = self._created = 0
        self.ports = [
            Port(self.sim, description, self.pipeline, egress, self.dma, self)
            for egress in self.egresses
        ]

    @property
    def caches(self) -> tuple[ContextCache, ...]:
        tables = self.tables
        caches = (self.sqpc, self.rqpc, self.completions.cqc, tables.mpt, tables.mtt)
        return caches if self.rdb is None else (*caches, self.rdb)

    @property
    def queue_pairs(self) -> int:
        return len(self._queue_pairs)

    def every_qp(self) -> list[QueuePair]:
        """Its queue pairs in the order in which they were created."""
        return list(self._queue_pairs.values())

    def alloc_pd(self) -> int:
        self._protection_domains += 1
        return self._protection_domains

    def create_cq(self, depth: int, address: int) -> CompletionQueue:
        self._completion_queues += 1
        stride = self.description.cqe.size
        memory = self.tables.register(DRIVER, address, depth * stride, Access.LOCAL_WRITE)
        return CompletionQueue(self._completion_queues, depth, Ring(memory, 0, stride, depth))

    def resize_cq(self, queue: CompletionQueue, depth: int, address: int) -> None:
        """Go on with a buffer of another size, into which the entries have been copied."""
        stride = queue.ring.stride
        self.tables.deregister(queue.ring.region)
        memory = self.tables.register(DRIVER, address, depth * stride, Access.LOCAL_WRITE)
        queue.resize(depth, Ring(memory, 0, stride, depth))

    def create_srq(self, depth: int, stride: int, address: int) -> ReceiveQueue:
        memory = self.tables.register(DRIVER, address, depth * stride, Access.LOCAL_WRITE)
        return ReceiveQueue(Ring(memory, 0, stride, depth), self, shared=True)

    def overrun(self, queue: CompletionQueue) -> None:
        """Give up the queue pairs of a completion queue that has lost an entry."""
        for qp in self._queue_pairs.values():
            if queue in (qp.requester.cq, qp.responder.cq) and qp.state is not State.ERR:
                qp.tell(EventType.QP_FATAL)
                qp.fail()

    def create_qp(
        self,
        pd: int,
        port: int,
        queues: tuple[CompletionQueue, CompletionQueue],
        layout: WorkQueueBuffer,
        address: int,
        kind: QPType = QPType.RC,
        signals_all: bool = False,
        shared: ReceiveQueue | None = None,
    ) -> QueuePair:
        memory = self.tables.register(DRIVER, address, layout.size, Access.LOCAL_WRITE)
        self._created += 1
        number = self.first_number + self._created
        qp = QueuePair(number, pd, port, kind, signals_all, self.wire)
        qp.create(queues, layout.rings(memory), self, self.send_engines[port], shared)
        self._queue_pairs[qp.qpn] = qp
        return qp

    def destroy_qp(self, qp: QueuePair) -> None:
        """Forget a queue pair, which has been reset: packets that are for it find nobody."""
        del self._queue_pairs[qp.qpn]
        self.tables.deregister(qp.requester.queue.ring.region)

    def attach(self, qp: QueuePair, mlid: int, mgid: int) -> None:
        """Have a queue pair receive what comes for a multicast group, of which its port is one."""
        port = self.ports[qp.port]
        members = port.members.setdefault(mlid, [])
        if (mgid, qp.qpn) not in members:
            members.append((mgid, qp.qpn))
            port.groups.join(mlid, port.lid)

    def detach(self, qp: QueuePair, mlid: int, mgid: int) -> bool:
        """Have it receive that no longer; return whether it did."""
        port = self.ports[qp.port]
        members = port.members.get(mlid, [])
        if (mgid, qp.qpn) not in members:
            return False
        members.remove((mgid, qp.qpn))
        if not members:
            del port.members[mlid]
            port.groups.leave(mlid, port.lid)
        return True

    def change_port(self, qp: QueuePair, port: int) -> None:
        """Have a queue pair use another port, which becomes one of the groups that it is in."""
        groups = [
            (mlid, mgid)
            for mlid, members in self.ports[qp.port].members.items()
            for mgid, qpn in members
            if qpn == qp.qpn
        ]
        for mlid, mgid in groups:
            self.detach(qp, mlid, mgid)
        qp.change_port(port, self.send_engines[port])
        for mlid, mgid in groups:
            self.attach(qp, mlid, mgid)

    def loop_back(self, packet: Packet, port: int) -> None:
        if packet.route.lid in self.ports[port].members:
            way, copy = self.egresses[port].loopback, packet.copy(packet.qpn)
            way.send(REQUESTS, copy, self.sim.now, NOBODY)

    def _spread(self, arrival: Arrival) -> None:
        """Hand a packet to each queue pair that is attached to its group."""
        packet, port = arrival.packet, arrival.port
        mgid, origin = packet.route.mgid, packet.header(Deth)
        copies = []
        for group, qpn in port.members.get(packet.route.lid, ()):
            sends = origin is not None and (origin.source_lid, origin.source_qpn) == (port.lid, qpn)
            if mgid in (ANY_GROUP, group) and not (sends and self._queue_pairs[qpn].deaf_to_itself):
                copies.append(packet.copy(qpn))
        if copies:
            arrival.split(copies)
        else:
            self.lose(packet)
            arrival.settle(Verdict.DROP)

    def ring(self, action: Callable[[*Args], None], *args: *Args) -> None:
        self.counts["doorbells"] += 1
        self.sim.call_after(self.description.doorbell.latency, action, *args)

    def packets(self, opcode: Opcode, length: int) -> int:
        return max(1, -(-length // self.wire.payload(self.mtu, opcode)))

    def dispatch(self, arrival: Arrival) -> None:
        """Hand a packet to the requester or the responder, once their context is on chip.

        A queue pair that is not ready, or in another partition, drops it without a word (volume 1,
        10.3.1 and 10.9.3).
        """
        packet = arrival.packet
        qp = self._queue_pairs.get(packet.qpn)
        if packet.marked and qp is not None:
            self._marked(qp, packet)
        if qp is None and packet.qpn == MULTICAST_QPN:
            self._spread(arrival)
        elif qp is None or (qp.accepts != packet.route.pkey and not self._admits(qp, packet)):
            self.lose(packet)
            arrival.settle(Verdict.DROP)
        elif packet.opcode is _CNP:
            self._slow_down(qp, packet)
            arrival.settle(Verdict.DROP)
        elif packet.answers:
            if packet.opcode in _WITHOUT_DATA:
                arrival.free()
                if self.becns is not None and packet.headers and packet.headers[-1] is BECN:
                    qp.requester.slow_down()
            arrival.half = qp.requester
            if self.sqpc.held(qp.index):
                arrival.accept()
            else:
                self.sqpc.access(qp.index, arrival.accept)
        else:
            arrival.half = qp.responder
            if self.rqpc.held(qp.index):
                arrival.accept()
            else:
                self.rqpc.access(qp.index, arrival.accept)

    def _marked(self, qp: QueuePair, packet: Packet) -> None:
        end = qp.requester.end if packet.answers else qp.responder.peer(packet)
        if self.notifications is not None:
            self.notifications.marked(packet, end)
        elif self.becns is not None:
            self.becns.marked(packet, end)

    def _slow_down(self, qp: QueuePair, packet: Packet) -> None:
        if self.notifications is not None:
            self.counts["rp_cnp_handled"] += 1
        if self.notifications is not None or self.becns is not None:
            (qp.requester if packet.answers else qp.responder).slow_down()

    def _admits(self, qp: QueuePair, packet: Packet) -> bool:
        """Whether a packet with another key may come: of a partition one may be no full member."""
        if qp.accepts < 0:
            return False
        mine, other = qp.pkey, packet.route.pkey
        if not (mine ^ other) % MEMBERSHIP and (mine | other) & MEMBERSHIP:
            return True
        self.ports[qp.port].bad_pkeys += 1
        return False

    def refuse_key(self, packet: Packet, port: int) -> None:
        self.ports[port].bad_qkeys += 1
        self.lose(packet)

    def counters(self) -> dict[str, int]:
        found = shown(self.counts, self.description, self.over_ethernet) | {
            "cqes_written": self.completions.written,
            "port_xmit_packets": sum(p.transmitter.packets for p in self.ports),
            "port_xmit_data": sum(p.transmitter.payload_bytes for p in self.ports),
            "port_rcv_packets": sum(p.packets_received for p in self.ports),
            "port_rcv_data": sum(p.payload_received for p in self.ports),
            "bad_pkey": sum(p.bad_pkeys for p in self.ports),
            "qkey_viol": sum(p.bad_qkeys for p in self.ports),
            "flow_control_packets": sum(p.transmitter.flow_control_packets for p in self.ports),
        }
        for cache in self.caches:
            found |= cache.counters()
        if (shared := self.icm.cache) is not None:
            found |= {"icm_access_cnt": shared.accesses, "icm_miss_cnt": shared.misses}
        if (in_flight := self.wqe_cache) is not None:
            found["wqe_cache_miss_cnt"] = in_flight.misses
        return found | self.memory.counters() | self.bus.counters()
