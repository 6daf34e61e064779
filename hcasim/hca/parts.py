"""What the queue pairs of an adapter share."""

from __future__ import annotations

from typing import ClassVar, Final

from hcasim.bus import Bus
from hcasim.catalog import Adapter, Cache, EthernetLink, Link
from hcasim.catalog.subnet import CongestionControl, Qos
from hcasim.engine import Probe, Simulator, Waits, servers
from hcasim.engine.changes import Changes
from hcasim.fabric.packet import FULL_MEMBER, INDEX, Packet
from hcasim.fabric.wire import wire_format
from hcasim.hca.completion import CompletionEngine
from hcasim.hca.context_cache import ContextCache
from hcasim.hca.counters import COUNTED, FECN, Overdue
from hcasim.hca.dma import DmaEngine, OverlappingDmaEngine
from hcasim.hca.egress import Egress
from hcasim.hca.icm import Icm
from hcasim.hca.local_memory import LocalMemory
from hcasim.hca.pipeline import InOrder, PacketService, PerQueuePair
from hcasim.hca.port import Dispatcher
from hcasim.hca.qp.congestion.notifications import Notifications
from hcasim.hca.qp.congestion.table import Becns
from hcasim.hca.translation import TranslationTables
from hcasim.hca.units import AtomicUnit, RegistrationUnit
from hcasim.hca.wqe import WqeCache

NUMBERINGS: Final = 31
"""Adapters side by side whose queue pairs have different numbers, of 24 bits."""

_PIPELINES: Final[dict[str, tuple[type[InOrder], type[DmaEngine]]]] = {
    "port": (InOrder, DmaEngine),
    "queue_pair": (PerQueuePair, OverlappingDmaEngine),
}


class Parts(Dispatcher):
    """What the queue pairs of an adapter share.

    Attributes:
        mtu: largest path MTU in bytes.
        first_number: what the numbers of its queue pairs are counted from.
        in_cqe: bytes of a message that a completion has room for.
        wqe_cache: the requests in flight whose entries are on the chip, if that is limited.
        entries: requesters that wait for an entry behind which others wait to be fetched.
        reads: requesters that have as many reads and atomics in flight as they may.
        receive_entries: messages that wait for entries on their way to the chip.
        notifications: what tells others of congestion over Ethernet, if the adapter does.
        becns: what does so in a subnet of InfiniBand, if its congestion control is on.
        overdue: what timers have waited for requests that had to be sent again.
    """

    changes: ClassVar[Changes] = Changes(counts="counts")

    def __init__(
        self,
        sim: Simulator,
        name: str,
        description: Adapter,
        bus: Bus,
        link: Link,
        mtu: int,
        first_lid: int,
        pausable: bool = False,
        qos: Qos | None = None,
        subnet: CongestionControl | None = None,
    ) -> None:
        self.sim = sim
        self.name = name
        self.description = adapter = description
        self.bus = bus
        self.mtu = mtu
        self.first_number = (1 + (first_lid - 1) % NUMBERINGS) * (INDEX + 1)
        self.wire = wire_format(adapter.protocol)
        pipeline, dma = _PIPELINES[adapter.order]
        self.pipeline = pipeline()
        common = adapter, link, self.wire.payload(mtu), self.pipeline, pausable, qos
        self.egresses = [
            Egress(sim, f"{name}.port{index + 1}", first_lid + index, *common)
            for index in range(adapter.ports)
        ]
        fetch = self.pipeline.fetch(bus)
        self.memory = LocalMemory(sim, f"{name}.memory", adapter.memory, adapter.local_memory_size)
        self.icm = Icm(sim, name, adapter, bus, self.memory, fetch)
        self.tables = TranslationTables(adapter, self.icm, first_lid)
        self.dma = dma(sim, name, adapter, bus, self.memory, self.tables, fetch)
        self.completions = CompletionEngine(sim, name, adapter, self.icm, self.dma)
        self.sqpc = self._context_cache("sqpc", adapter.sqpc)
        self.rqpc = self._context_cache("rqpc", adapter.rqpc)
        self.rdb = self._context_cache("rdb", reads) if (reads := adapter.rdb) else None
        self.units = servers(sim, f"{name}.send_engine", adapter.send.units)
        self.response_units = self.pipeline.response_units(self.units)
        self.packet_service = PacketService(adapter.send, self.pipeline)
        self.in_cqe = adapter.cqe.inline or 0
        self.wqe_cache = WqeCache(in_flight) if (in_flight := adapter.wqe.cache) else None
        self.atomics = AtomicUnit(sim, f"{name}.atomic_unit", adapter.responder.atomics, self.dma)
        self.entries = Waits(sim, f"{name}.wqe_fetch")
        self.reads = Waits(sim, f"{name}.reads_in_flight")
        self.receive_entries = Waits(sim, f"{name}.receive_wqe_fetch")
        self.registrations = RegistrationUnit(sim, f"{name}.registrations", adapter.umr, self.dma)
        self.send_probe = Probe(sim, self.units.name)
        self.receive_probe = Probe(sim, f"{name}.responder")
        self.counts = dict.fromkeys(COUNTED, 0)
        self.overdue = Overdue()
        self.over_ethernet = isinstance(link, EthernetLink)
        self.notifications: Notifications | None = None
        control = adapter.roce_cc
        if control is not None and self.over_ethernet and control.algorithm != "none":
            self.notifications = told = Notifications(sim, control, self.counts, self.egresses)
            if control.acts_from_first:
                # How full queues are does not repeat itself.
                sim.forward = None
            sim.resources.keeps_waiting(f"{name}.rate_control", told.held)
        self.becns: Becns | None = None
        if subnet is not None:
            self.counts |= dict.fromkeys(FECN, 0)
            self.becns = Becns(subnet, self.counts, self.egresses)
            sim.resources.keeps_waiting(f"{name}.congestion_table", self.becns.held)
        self._pkeys = [[FULL_MEMBER] for _ in self.egresses]
        self._enter_resources()
        self._build()

    @property
    def repeats_selectively(self) -> bool:
        """Whether only what is missing is sent again, as over Ethernet a register may force."""
        adapter = self.description
        forced = adapter.roce_accl is not None and adapter.roce_accl.selective_repeat_forced_en
        return adapter.recovery == "selective_repeat" or (forced and self.over_ethernet)

    def _build(self) -> None:
        """Add what uses these parts."""

    def _enter_resources(self) -> None:
        description, atomics, resources = self.description, self.atomics, self.sim.resources
        for server in (self.units, self.memory, self.icm):
            resources.serves(server.name, server)
        if description.responder.atomics is not None:
            resources.serves(atomics.server.name, atomics.server)
        if description.completion.service:
            resources.serves(self.completions.writer.name, self.completions.writer)
        if description.umr is not None:
            resources.serves(self.registrations.name, self.registrations)
        resources.keeps_waiting(atomics.slots.name, atomics.slots)
        resources.keeps_waiting(f"{self.name}.retry_timer", self.overdue)
        for waits in (atomics.locks, self.entries, self.reads, self.receive_entries):
            resources.keeps_waiting(waits.name, waits)

    def _context_cache(self, name: str, description: Cache) -> ContextCache:
        return ContextCache(self.sim, name, description, self.icm.table(description), written=True)

    def pkeys(self, port: int) -> list[int]:
        """The table of keys of partitions of a port, which the subnet manager writes."""
        return self._pkeys[port]

    def refuse_key(self, packet: Packet, port: int) -> None:
        """Drop a datagram that has come to a port and names a wrong key."""
        raise NotImplementedError

    def lose(self, packet: Packet) -> None:
        """Drop a packet without a word; who waits for an answer will notice."""
        self.counts["dropped"] += 1
        if self.receive_probe.listeners:
            self.receive_probe.event("drop", packet.operation, packet)
        if packet.sender is not None:
            packet.sender.lost(packet)

    def loop_back(self, packet: Packet, port: int) -> None:
        """Bring a packet to a multicast group to the members at the port that has sent it, too."""
        raise NotImplementedError
