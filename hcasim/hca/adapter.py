"""The adapter: its blocks and how they are wired."""

from __future__ import annotations

from typing import Final

from hcasim.bus import Bus
from hcasim.catalog import Adapter, Link
from hcasim.engine import Simulator, servers
from hcasim.fabric.packet import Opcode
from hcasim.hca.completion import CompletionEngine
from hcasim.hca.completion_queue import CompletionQueue
from hcasim.hca.context_cache import ContextCache
from hcasim.hca.dma import DmaEngine
from hcasim.hca.doorbell import Doorbell
from hcasim.hca.egress import Egress
from hcasim.hca.icm import Icm
from hcasim.hca.local_memory import LocalMemory
from hcasim.hca.parts import Parts
from hcasim.hca.port import Arrival, Desk, Port
from hcasim.hca.queue_pair import (
    QPType,
    QueuePair,
    ReceiveQueue,
    ReliableRequester,
    ReliableResponder,
    State,
)
from hcasim.hca.requester import Requester
from hcasim.hca.responder import Responder
from hcasim.hca.rings import Ring, WorkQueueBuffer
from hcasim.hca.send_engine import SendEngine
from hcasim.hca.translation import Access, TranslationTables
from hcasim.hca.transport import transport
from hcasim.hca.wqe_cache import WqeCache

DRIVER: Final = 0
"""Protection domain of the queues, which no application shares."""

# Bound once, because compiled code looks members of enumerations up each time.
_RTS: Final = State.RTS
_WITHOUT_DATA: Final = (Opcode.ACKNOWLEDGE, Opcode.NAK, Opcode.RESPONSE_ACKNOWLEDGE)


class HostChannelAdapter(Desk):
    """An RDMA adapter with its ports.

    Args:
        description: what the adapter is.
        bus: its connection to the host.
        link: the links on its ports.
        mtu: largest path MTU in bytes.
        first_lid: local identifier of its first port; the others follow.
    """

    def __init__(
        self,
        sim: Simulator,
        name: str,
        description: Adapter,
        bus: Bus,
        link: Link,
        mtu: int,
        first_lid: int,
    ) -> None:
        self.sim = sim
        self.name = name
        self.description = description
        self.bus = bus
        self.mtu = mtu
        self.link = link
        self.transport = transport(description.protocol)
        payload = self.transport.wire.payload(mtu)
        egresses = [
            Egress(sim, f"{name}.port{index + 1}", first_lid + index, description, link, payload)
            for index in range(description.ports)
        ]
        self.doorbell = Doorbell(sim, description.doorbell.latency)
        self.memory = LocalMemory(
            sim, f"{name}.memory", description.memory, description.local_memory_size
        )
        self.icm = Icm(sim, name, description, bus, self.memory)
        self.tables = TranslationTables(description, self.icm)
        self.dma = DmaEngine(
            sim,
            name,
            bus,
            self.memory,
            self.tables,
            description.send.prefetch,
            overlaps=description.overlaps,
            request=description.bus.longest_read,
            interval=description.send.read_interval,
        )
        self.completions = CompletionEngine(sim, name, description, self.icm, self.dma)
        parts = Parts(
            sim,
            name,
            description,
            self.transport,
            self.icm,
            self.tables,
            self.dma,
            self.completions,
            egresses,
            servers(sim, f"{name}.send_engine", description.send.units),
            WqeCache(in_flight) if (in_flight := description.wqe.cache) else None,
        )
        self.send_engine = SendEngine(parts)
        self.requester = Requester(parts, self.send_engine)
        self.responder = Responder(parts)
        self._queue_pairs: dict[int, QueuePair] = {}
        self._protection_domains = 0
        self._completion_queues = 0
        self.ports = [Port(sim, description, egress, self) for egress in egresses]

    @property
    def caches(self) -> tuple[ContextCache, ...]:
        """The caches of contexts and translations."""
        return (
            self.send_engine.sqpc,
            self.responder.rqpc,
            self.completions.cqc,
            self.tables.mpt,
            self.tables.mtt,
        )

    @property
    def queue_pairs(self) -> int:
        """Queue pairs in use."""
        return len(self._queue_pairs)

    def alloc_pd(self) -> int:
        """The number of a new protection domain."""
        self._protection_domains += 1
        return self._protection_domains

    def create_cq(self, depth: int, address: int) -> CompletionQueue:
        """A new completion queue of ``depth`` entries in host memory at ``address``."""
        self._completion_queues += 1
        stride = self.description.cqe.size
        memory = self.tables.register(DRIVER, address, depth * stride, Access.LOCAL_WRITE)
        return CompletionQueue(self._completion_queues, depth, Ring(memory, 0, stride, depth))

    def create_qp(
        self,
        pd: int,
        port: int,
        send_cq: CompletionQueue,
        receive_cq: CompletionQueue,
        queues: WorkQueueBuffer,
        address: int,
        kind: QPType = QPType.RC,
        signals_all: bool = False,
    ) -> QueuePair:
        """A new queue pair.

        Args:
            port: number of its port, from 0.
            queues: geometry of its send and receive queue.
            address: of their entries in host memory.
            kind: its transport service.
            signals_all: whether each of its requests has a completion.
        """
        memory = self.tables.register(DRIVER, address, queues.size, Access.LOCAL_WRITE)
        send_ring, receive_ring = queues.rings(memory)
        qp = QueuePair(
            len(self._queue_pairs) + 1,
            pd,
            port,
            ReliableRequester(send_cq, send_ring),
            ReliableResponder(receive_cq, ReceiveQueue(receive_ring)),
            self.transport.wire.size,
            kind,
            kind.reliable,
            signals_all,
        )
        if kind.reliable:
            qp.timer = self.requester.timer(qp)
        self._queue_pairs[qp.qpn] = qp
        return qp

    def packets(self, opcode: Opcode, length: int) -> int:
        """Packets that carry the ``length`` bytes of a message at the adapter's MTU."""
        return max(1, -(-length // self.transport.wire.payload(self.mtu, opcode)))

    def dispatch(self, arrival: Arrival) -> None:
        """Hand a packet to the requester or the responder, once their context is on chip.

        A queue pair that is not ready drops it without a word (volume 1, 10.3.1).
        """
        packet = arrival.packet
        qp = self._queue_pairs.get(packet.qpn)
        if qp is None or qp.state is not _RTS:
            self.responder.drop(arrival)
            return
        arrival.qp = qp
        if not packet.answers:
            if self.responder.rqpc.held(packet.qpn):
                self.responder.request(arrival)
            else:
                self.responder.rqpc.access(packet.qpn, self.responder.request, arrival)
            return
        if packet.opcode in _WITHOUT_DATA:
            arrival.free()
        self.send_engine.sqpc.access(packet.qpn, self.requester.answer, arrival)

    def counters(self) -> dict[str, int]:
        """Everything the adapter and its bus have counted so far, by name."""
        found = {
            "doorbells": self.doorbell.rung,
            "wqes_fetched": self.send_engine.wqes_fetched,
            "receive_wqes_fetched": self.responder.receive_wqes_fetched,
            "cqes_written": self.completions.written,
            "acknowledgements": self.responder.acknowledgements + self.requester.acknowledgements,
            "naks": self.responder.naks,
            "out_of_sequence": self.responder.out_of_sequence,
            "dropped": self.responder.dropped,
            "retransmissions": self.requester.retransmissions,
            "port_xmit_packets": sum(p.transmitter.packets for p in self.ports),
            "port_xmit_data": sum(p.transmitter.payload_bytes for p in self.ports),
            "port_rcv_packets": sum(p.packets_received for p in self.ports),
            "port_rcv_data": sum(p.payload_received for p in self.ports),
            "flow_control_packets": sum(p.transmitter.flow_control_packets for p in self.ports),
        }
        for cache in self.caches:
            found |= cache.counters()
        if (shared := self.icm.cache) is not None:
            found |= {"icm_access_cnt": shared.accesses, "icm_miss_cnt": shared.misses}
        if (in_flight := self.send_engine.flight) is not None:
            found["wqe_cache_miss_cnt"] = in_flight.misses
        return found | self.memory.counters() | self.bus.counters()

    def busy_ps(self) -> dict[str, int]:
        """Time in ps that each serial resource was in use so far, by name.

        Where several units keep the order of queue pairs, also what one of them did for each.
        """
        server = self.send_engine.server
        memory = self.memory
        found = {server.name: server.busy_ps, memory.name: memory.busy_ps}
        found |= {self.icm.name: self.icm.busy_ps} | self.bus.busy_ps()
        atomics = self.responder.atomics
        if self.description.responder.atomics is not None:
            found[atomics.server.name] = atomics.server.busy_ps
        if self.description.completion.service:
            found[self.completions.writer.name] = self.completions.writer.busy_ps
        if self.description.send.units > 1:
            units = server.name
            pairs = self._queue_pairs.items()
            found |= {f"{units}.qp{qpn}": qp.requester.busy_ps for qpn, qp in pairs}
        responder = f"{self.name}.responder"
        found |= {f"{responder}.qp{n}": qp.responder.busy_ps for n, qp in self._queue_pairs.items()}
        if self.description.umr is not None:
            registrations = self.send_engine.registrations
            found[registrations.name] = registrations.busy_ps
        for port in self.ports:
            found |= port.busy_ps()
        return found

    def waiting_ps(self) -> dict[str, int]:
        """Time in ps that work waited for tags, credits, buffers or entries so far, by name."""
        found = self.bus.waiting_ps()
        found |= {f"{self.name}.{cache.name}": cache.blocked_ps for cache in self.caches}
        atomics, engine = self.responder.atomics, self.send_engine
        waits = atomics.slots, atomics.locks, engine.entries, engine.reads, self.responder.entries
        for one in waits:
            found[one.name] = found.get(one.name, 0) + one.wait_ps
        now, queue = self.sim.now, f"{self.name}.send_queue"
        pairs = self._queue_pairs.items()
        found |= {f"{queue}.qp{qpn}": qp.requester.in_turn_ps(now) for qpn, qp in pairs}
        for port in self.ports:
            found |= port.waiting_ps()
        return found | self.dma.waiting_ps()
