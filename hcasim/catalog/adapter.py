"""An RDMA adapter, its tables, engines and ports; and devices that have a DMA engine alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import Field, model_validator

from hcasim.catalog.buses import Bus
from hcasim.catalog.congestion import RoceCc
from hcasim.catalog.link import CableLength, EthernetLink, Port, Protocol
from hcasim.catalog.section import (
    Bandwidth,
    Clash,
    Count,
    Description,
    Latency,
    Refers,
    Section,
    Size,
    key,
    optional,
)
from hcasim.ground.errors import FaultError, one_of
from hcasim.ground.units import SIZE, Bytes, Picoseconds, format_size


class LocalMemory(Section):
    """The adapter's own memory, for tables and for buffers that applications place there.

    It is a DIMM, or the part of the memory on the chip that programs may have (device memory).
    """

    size: Bytes = key("capacity", 0, 2**40)
    latency: Latency = key("access begun to first data at the engines")
    bandwidth: Bandwidth = key("of reads and writes together")


Policy = Literal["lru", "random", "fifo"]
"""Which entry of a full cache leaves."""

NO_MEMORY = LocalMemory(size=0, latency=0, bandwidth=10**6)


class IcmCache(Section):
    """A cache of lines of all tables, between the caches of each and the memory behind them."""

    size: Size = key("capacity")
    banks: int = key("equal parts; a line belongs to one by the lowest bits of its number", 1, 1024)
    latency: Latency = key("of a line that it holds")
    policy: Policy = key("which line of a bank is replaced")


class Icm(Section):
    """The path to the tables behind the caches (interconnect context memory)."""

    outstanding: int = key("fetches of all caches that may be in flight at once", 1, 1024)
    latency: Latency = key("of a fetch, besides the memory that holds the table")
    victims: int = key("changed lines that may wait for their write-back", 1, 1024)
    cache: IcmCache | None = optional("behind the caches of all tables, if there is one")


class Tables(Section):
    """Entries of the tables that have no cache of their own."""

    eqpc: Size = key("extended queue pair context")
    rdb: Size = key("one read or atomic accepted by a responder")
    srqc: Size = key("shared receive queue context")
    eqc: Size = key("event queue context")
    mgm: Size = key("multicast group member list")


Entry = Annotated[int, SIZE, Field(ge=1, le=2**16)]


class Cache(Section):
    """A set-associative cache of a table that lives in the adapter's or the host's memory."""

    entries: Count = key("entries that the cache holds")
    entry: Entry = key("size of one entry")
    line: Entry = key("what is fetched at once: one entry, or several neighbours")
    ways: Count = key("associativity, in lines; divides the number of lines")
    policy: Policy = key("which line of a set is replaced")
    outstanding: int = key("fetches of this cache that may be in flight at once", 1, 1024)
    location: Literal["mode", "adapter", "host"] = key("of the table; mode: by firmware_mode")

    @property
    def lines(self) -> int:
        return self.entries * self.entry // self.line

    @model_validator(mode="after")
    def _geometry(self) -> Cache:
        if self.line % self.entry:
            found = f"a line of {self.line} B with entries of {self.entry} B"
            raise Clash(found, f"multiples of {self.entry} B", other="line")
        if self.entries * self.entry % self.line:
            found = f"{self.entries} entries, which do not fill lines of {self.line} B"
            raise Clash(found, f"multiples of {self.line // self.entry}", other="entries")
        if self.lines % self.ways:
            divisors = [str(n) for n in range(1, self.lines + 1) if self.lines % n == 0]
            what = "entries" if self.line == self.entry else "lines"
            found = f"{self.ways} ways, which do not divide {self.lines} {what}"
            raise Clash(found, one_of(divisors), other="ways")
        return self


class TranslationCache(Cache):
    """The cache of translations."""

    reach: Bytes | None = optional(
        "longest region of one look-up; in a longer one each translation takes two", 4096, 2**50
    )


class Limits(Section):
    """What the adapter refuses to exceed."""

    max_qp: Count = key("queue pairs")
    max_inline: Bytes = key("payload inside a work request", 0, 2**16)
    max_wr: Count = key("work requests of a queue")
    max_sge: Count = key("pieces of memory of a work request", default=30)
    max_cqe: Count = key("entries of a completion queue", default=4194303)
    max_mtu: Size = key("payload of an InfiniBand packet, or IP packet of a frame")
    atomics: bool = key("fetch-and-add and compare-and-swap are offered")
    dc: bool = key("the dynamically connected transport is offered", default=False)


_Segment = Annotated[int, SIZE, Field(ge=0, le=256)]


class WqeCache(Section):
    """Work queue entries of requests in flight, which a response else fetches again."""

    entries: Count = key("entries of all queue pairs together")
    policy: Policy = key("which entry is replaced")
    service: Latency = key("of a receiving unit by a response that waited for it", default=0)


class Wqe(Section):
    """Work queue entries, by default as rdma-core's mthca/wqe.h, mlx4dv.h and mlx5dv.h agree."""

    stride: Annotated[Literal[16, 32, 64, 128, 256, 512, 1024], SIZE] = key(
        "distance of two entries"
    )
    packed: bool | None = optional("a send takes the strides it needs, not as many as the longest")
    control: _Segment | None = optional("control segment of a send")
    remote_address: _Segment | None = optional("remote address segment")
    data: _Segment | None = optional("segment that points to data")
    atomic: _Segment | None = optional("segment of the operands")
    inline_header: _Segment | None = optional("header of inline data")
    datagram: _Segment | None = optional("address vector of a datagram")
    fetch: int = key("most send queue entries that one read fetches", 1, 256, default=1)
    ahead: int = key("send queue entries fetched before their turn", 0, 256, default=0)
    cache: WqeCache | None = optional("of entries in flight, if it is known")


class Umr(Section):
    """Registration of memory by work requests (user-mode memory registration)."""

    segments: Size = key("of such a work request besides its control segment and the list of pages")
    inline: Bytes = key("longest list of pages that the work request holds itself", 0, 1024)
    service: Latency = key("of a registration, besides fetching a longer list; no data moves")


class Cqe(Section):
    """Completion queue entries."""

    size: Annotated[Literal[16, 32, 64, 128], SIZE] = key("size of one entry")
    inline: Bytes | None = optional("longest received data that the entry itself holds", 0, 64)

    @model_validator(mode="after")
    def _has_room(self) -> Cqe:
        if self.inline and self.inline > self.size // 2:
            found = f"inline data of {self.inline} B in entries of {self.size} B"
            raise FaultError(self.inline, f"up to half of an entry, {self.size // 2} B", text=found)
        return self


class BlueFlame(Section):
    """Registers that take a work request that is posted alone (rdma-core, mlx4/qp.c, mlx5/qp.c)."""

    buffer: Bytes = key("longest work request that it takes", 64, 4096, multiple_of=64)
    takes: Literal["inline", "any"] = key("requests with their data inline, or any that fit")


class Doorbell(Section):
    """The register that software writes to announce work."""

    latency: Latency = key("doorbell received to queue pair scheduled")
    blueflame: BlueFlame | None = optional("of adapters that take work requests themselves")


class Scheduler(Section):
    """The round robin over queue pairs with work."""

    queues: int = key("schedule queues; a queue pair belongs to one by its number", 1, 65536)
    burst: Size = key("what a queue pair sends before another has its turn")


class Services(Section):
    """Occupancy of a processing unit by a request, by its operation, beside that of its packets."""

    write: Latency = key("of an RDMA write")
    send: Latency = key("of a send")
    read: Latency = key("of an RDMA read")
    atomic: Latency = key("of a fetch-and-add or compare-and-swap")


_Units = Annotated[int, Field(ge=1, le=1024)]


class Send(Section):
    """The transmit pipeline."""

    units: _Units = key("processing units, each at work on another queue pair", default=1)
    wqe_service: Latency = key("occupancy of a unit per work request")
    services: Services | None = optional("likewise by operation, instead of wqe_service")
    packet_service: Latency = key(
        "occupancy of a unit per packet; if order is queue_pair, per first packet of a message"
    )
    latency: Latency = key("delay of a packet through the pipeline")
    window: Size | None = optional("data of a queue pair that are read at once")
    store_bandwidth: Bandwidth | None = optional(
        "of the data of a packet into the port's buffer once all are here, if that is a step"
    )
    flow_control: Bytes = key(
        "flow-control packets behind a packet that is as long as link.credit_update",
        0,
        4096,
        default=0,
    )
    prefetch: int = key("packets that a port translates before earlier ones are read", 0, 4096)
    port_buffer: Size = key("data staged for each port, in slots of a packet if order is port")


_EIGHT: Final = re.compile(r"[0-9]{1,9}(,[0-9]{1,9}){7}")
_FIRST: Final = "0,0,0,0,0,0,0,0"
_CABLE: Final = 7000
LONGEST_FRAME: Final = 9216
"""Bytes that mlx5 lets a buffer fall below the point where it pauses, before it lets go on."""
CELL: Final = 128
"""Bytes in which it reckons."""


class BufferPart(NamedTuple):
    """A part of a receive buffer: its bytes, the priorities that use it, and when it pauses them.

    ``priorities`` has a bit for each. They are paused above ``xoff`` bytes, and go on at ``xon``.
    """

    size: int
    priorities: int
    xoff: int

    @property
    def xon(self) -> int:
        return self.xoff - LONGEST_FRAME


def _numbers(text: str) -> list[int]:
    return [int(one) for one in text.split(",")]


class Receive(Section):
    """The receive pipeline."""

    units: _Units = key("processing units that share the packets", default=1)
    packet_service: Latency = key(
        "occupancy of a unit per packet; of several units, per first packet of a message"
    )
    latency: Latency | None = optional("delay of a packet, if it is not that of the way out")
    buffer: Size = key("link receive buffer of each port")
    buffer_size: str | None = optional(
        "bytes of up to eight parts of that, as mlnx_qos --buffer_size takes them; none: one part"
    )
    prio2buffer: str | None = optional(
        "part for each priority, as mlnx_qos --prio2buffer takes them; none: the first for all"
    )
    cable_len: CableLength | None = optional(
        "length for which each part keeps headroom where pauses are on, as mlnx_qos --cable_len "
        "sets it; none: 7 m, as mlx5 assumes"
    )

    @model_validator(mode="after")
    def _has_parts(self) -> Receive:
        for name in ("buffer_size", "prio2buffer"):
            text = getattr(self, name)
            if text is not None and not _EIGHT.fullmatch(text):
                allowed = f"eight whole numbers with commas between them, such as {_FIRST}"
                raise FaultError(self, allowed, text=f"{name} {text}")
        sizes, parts = self._sizes, _numbers(self.prio2buffer or _FIRST)
        if sum(sizes) > self.buffer:
            allowed = f"no more than receive.buffer, {format_size(self.buffer)}, together"
            raise FaultError(self, allowed, text=f"buffer_size {self.buffer_size}")
        if not all(part < len(sizes) and sizes[part] for part in parts):
            found = f"prio2buffer {self.prio2buffer or _FIRST}"
            allowed = f"parts that have room by buffer_size {self.buffer_size or self.buffer}"
            raise FaultError(self, allowed, text=found)
        return self

    @property
    def _sizes(self) -> list[int]:
        return _numbers(self.buffer_size) if self.buffer_size else [self.buffer]

    def parts(self, link: EthernetLink, mtu: int) -> list[BufferPart]:
        """The parts that priorities use, with the thresholds that mlx5's driver gives them.

        Source: Linux, drivers/net/ethernet/mellanox/mlx5/core/en/port_buffer.c.
        """
        metres = (_CABLE if self.cable_len is None else self.cable_len) // 1000
        headroom = (301 + 216 * metres // 100) * max(link.gigabits, 40) + 272 * mtu // 100
        uses: dict[int, int] = {}
        for priority, part in enumerate(_numbers(self.prio2buffer or _FIRST)):
            uses[part] = uses.get(part, 0) | 1 << priority
        sizes = [(self._sizes[part], mask) for part, mask in uses.items()]
        return [BufferPart(size, mask, size - headroom) for size, mask in sizes]


class Completion(Section):
    """The writer of completion queue entries."""

    latency: Latency = key("last packet or acknowledgement accepted to entry handed to the bus")
    service: Latency = key("occupancy of the writer per entry", default=0)


class ReceiveQueue(Section):
    """The consumer of receive work requests."""

    latency: Latency = key("time to consume a receive work request, beyond fetching it")
    ahead: int = key("receive queue entries fetched before they are used", 0, 256, default=0)


class Atomics(Section):
    """The unit that executes atomics, of adapters that work on several at a time."""

    outstanding: int = key("atomics between the reading of their word and its writing", 1, 1024)
    service: Latency = key("occupancy of the unit per atomic")
    lock: Bytes = key("bytes locked together while a word of them changes", 8, 4096, multiple_of=8)


class Responder(Section):
    """The server of RDMA reads and atomics."""

    latency: Latency = key("request accepted to first access of host memory")
    services: Services | None = optional("of a receiving unit per request, beside its packets")
    read_interval: Latency = key("between two reads of a queue pair that begin", default=0)
    outstanding: int = key("requests accepted at once per queue pair", 1, 128)
    atomics: Atomics | None = optional("without it one atomic is executed at a time")


class Requester(Section):
    """The initiator of RDMA reads and atomics."""

    outstanding: int = key("requests outstanding at once per queue pair", 1, 128)


class Ack(Section):
    """When and how fast requests are acknowledged."""

    interval: int = key("packets between two acknowledgement requests inside a message", 1, 65536)
    latency: Latency = key("request accepted to acknowledgement sent")
    service: Latency = key("of a receiving unit by a packet that asks for it", default=0)


_Step = Annotated[Picoseconds, Field(ge=1, le=10**14)]
_Percent = Annotated[int, Field(ge=1, le=1000)]


class AdaptiveSteps(Section):
    """Times from one transmission of a request to the next, while retransmission is adaptive."""

    step1: _Step = key("to the first retransmission")
    step2: _Step = key("from there to the second")
    step3: _Step = key("to the third")
    step4: _Step = key("to the fourth")
    step5: _Step = key("to the fifth")
    step6: _Step = key("to the sixth")
    step7: _Step = key("to the seventh")
    step8: _Step = key("to the eighth")
    step9: _Step = key("to the ninth")
    step10: _Step = key("to the tenth")

    @property
    def steps(self) -> tuple[int, ...]:
        """All of them in ps, the first one first."""
        return tuple(getattr(self, name) for name in type(self).model_fields)


class RoceTimer(Section):
    """How firmware runs the retry timer over Ethernet, in shares of the local ACK timeout."""

    floor: int = key("smallest exponent of the local ACK timeout that firmware takes", 0, 31)
    interval: _Percent = key("from one regular timeout to the next, in % of that")
    last: _Percent = key("to the end of a request whose retry_cnt is 0, in % of that")
    first_without_floor: _Percent = key("to the first timeout without the floor, in %")
    interval_without_floor: _Percent = key("from one timeout to the next without it, in %")
    adaptive: AdaptiveSteps


class RoceAccl(Section):
    """The register ROCE_ACCL, by its fields: how RoCE deals with networks that lose packets.

    Source: NVIDIA, "Adaptive Retransmission: Parameters Control", whose sample shows adaptive
    retransmission and slow restart enabled, and selective repeat not forced. Whether adapters agree
    on that unforced, and which do, is not published.
    """

    roce_adp_retrans_en: bool = key("adaptive retransmission before regular timeouts")
    roce_slow_restart_en: bool = key(
        "slow restart after a retransmission, which is taken for a notice of congestion (CNP)"
    )
    roce_slow_restart_idle_en: bool = key("slow restart after a pause; of no effect here")
    roce_tx_window_en: bool = key("a window of packets in flight; of no effect here")
    min_ack_timeout_limit_disabled: bool = key("short local ACK timeouts are taken as they are")
    adaptive_routing_forced_en: bool = key("packets out of order are expected; of no effect here")
    selective_repeat_forced_en: bool = key(
        "only packets that are missing are sent again, alike at both ends"
    )
    timer: RoceTimer


class Counters(Section):
    """Which counters of errors a driver shows, and which of them do not count."""

    driver: Literal["mlx4", "mlx5"] = key("whose names they bear")
    flushes: bool = key("req_cqe_error and req_cqe_flush_error count requests that are flushed")
    responder_errors: bool = key("errors that a responder finds are counted at its own end")


FirmwareMode = Literal["tavor", "mem", "memfree"]


class Device(Description):
    """A device on a bus."""

    stack: Annotated[str, Refers("stacks")] = key(
        "the verbs library of its time, for testbeds that name none", default="rdma-core"
    )
    mpi_stack: Annotated[str, Refers("stacks")] = key(
        "likewise of MPI programs", default="openmpi-ucx"
    )
    ports: int = key("network ports", 1, 8)
    bus: Bus


class Adapter(Device):
    """An RDMA adapter."""

    port: Port | None = optional("the links that each port takes")
    firmware_mode: FirmwareMode | None = optional("tables in host memory (memfree) or its own")
    protocol: Protocol = key("what it speaks over its links")
    order: Literal["port", "queue_pair"] = key(
        "packets that wait behind one that waits: all of its port, or of its queue pair",
        default="port",
    )
    doorbell: Doorbell
    scheduler: Scheduler
    send: Send
    receive: Receive
    completion: Completion
    receive_queue: ReceiveQueue
    responder: Responder
    requester: Requester
    ack: Ack
    memory: LocalMemory = key("of adapters that have some", default=NO_MEMORY)
    icm: Icm
    sqpc: Cache = key("contexts of send queues")
    rqpc: Cache = key("contexts of receive queues")
    cqc: Cache = key("contexts of completion queues")
    rdb: Cache | None = optional(
        "what responders keep of accepted reads and atomics, if in a table of its own"
    )
    mpt: Cache = key("memory protection table")
    mtt: TranslationCache = key("memory translation table")
    recovery: Literal["go_back_n", "selective_repeat"] = key(
        "sent again after a loss: all from the lost packet on, or that packet; alike at both ends",
        default="go_back_n",
    )
    queues: Literal["mpt", "mtt"] = key(
        "where the look-up of a queue's pages begins: protection, or translation by its context",
        default="mpt",
    )
    tables: Tables | None = optional("of adapters of the mthca family")
    limits: Limits
    wqe: Wqe
    cqe: Cqe
    umr: Umr | None = optional("of adapters that register memory by work requests")
    roce_accl: RoceAccl | None = optional("of adapters that have this register")
    roce_cc: RoceCc | None = optional("of adapters that control congestion over Ethernet")
    counters: Counters | None = optional("of errors, if the driver shows some")

    @model_validator(mode="after")
    def _has_modes(self) -> Adapter:
        by_mode = [name for name, table in self.caches.items() if table.location == "mode"]
        if by_mode and self.firmware_mode is None:
            found = f"no firmware_mode, by which the location of {', '.join(by_mode)} goes"
            raise Clash(found, "", "firmware_mode", *(f"{name}.location" for name in by_mode))
        return self

    @property
    def caches(self) -> dict[str, Cache]:
        names = ("sqpc", "rqpc", "cqc", "mpt", "mtt", "rdb")
        return {name: table for name in names if (table := getattr(self, name)) is not None}

    @property
    def local_memory_size(self) -> int:
        """Bytes of the adapter's own memory that are in use: none in MemFree mode."""
        return 0 if self.firmware_mode == "memfree" else self.memory.size

    def in_host(self, table: Cache) -> bool:
        by_mode = "host" if self.firmware_mode == "memfree" else "adapter"
        return (by_mode if table.location == "mode" else table.location) == "host"


class DmaEngine(Section):
    """An engine for bulk operations, and commands that reach the bus past it."""

    operations: int = key("bulk operations that software keeps in flight", 1, 65536)
    operation_limit: Bytes = key("longest bulk operation", 1, 2**30)
    latency: Latency = key("of a bulk operation, enqueued to completion seen by software")
    read_interval: Latency = key("between two bulk reads that begin")
    read_bandwidth: Bandwidth = key("at which the engine works on bulk reads, one after the other")
    write_interval: Latency = key("between two bulk writes that begin")
    store_bandwidth: Bandwidth = key("of the data of one read into the device's memory")
    command_latency: Latency = key("of a command in the device, issued to data seen by software")
    command_limit: Bytes = key("longest access by a command", 1, 4096)


class DmaDevice(Device):
    """A device that moves data over its bus for its own software: no RDMA adapter."""

    dma: DmaEngine

    @model_validator(mode="before")
    @classmethod
    def _is_no_adapter(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        if beside := values.keys() & Adapter.model_fields.keys() - cls.model_fields.keys():
            found = f"dma beside {', '.join(sorted(beside))}"
            raise FaultError(beside, "with bus and ports alone", text=found)
        return values
