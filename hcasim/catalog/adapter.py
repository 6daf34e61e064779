"""An RDMA adapter, its tables, engines and ports; and devices that have a DMA engine alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from hcasim.catalog.buses import Bus
from hcasim.catalog.congestion import RoceCc
from hcasim.catalog.link import Port, Protocol
from hcasim.catalog.receive import Receive
from hcasim.catalog.retransmission import RoceAccl
from hcasim.catalog.section import (
    SETTING,
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
from hcasim.ground.units import SIZE, Bytes


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


class Counters(Section):
    """Which counters of errors a driver shows, and which of them do not count."""

    driver: Literal["mlx4", "mlx5"] = key("whose names they bear")
    flushes: bool = key("req_cqe_error and req_cqe_flush_error count requests that are flushed")
    responder_errors: bool = key("errors that a responder finds are counted at its own end")


FirmwareMode = Annotated[Literal["tavor", "mem", "memfree"], SETTING]


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
