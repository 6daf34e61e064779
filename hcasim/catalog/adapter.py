"""An RDMA adapter, its engines and its ports; and devices that have a DMA engine alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from hcasim.catalog.adapter_tables import (
    NO_MEMORY,
    Cache,
    Cqe,
    Icm,
    Limits,
    LocalMemory,
    Tables,
    TranslationCache,
    Umr,
    Wqe,
)
from hcasim.catalog.buses import Bus
from hcasim.catalog.protocol import Port, Protocol
from hcasim.catalog.section import (
    Bandwidth,
    Clash,
    Description,
    Latency,
    Refers,
    Section,
    Size,
    key,
    optional,
)
from hcasim.ground.errors import FaultError
from hcasim.ground.units import Bytes


class BlueFlame(Section):
    """Registers that take a work request that is posted alone (rdma-core, mlx4/qp.c, mlx5/qp.c)."""

    buffer: Bytes = key("longest work request that it takes", 64, 4096, multiple_of=64)
    takes: Literal["inline", "any"] = key(
        "inline: only requests with their data; any: all that fit"
    )


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
    packet_service: Latency = key("occupancy of a unit per packet")
    unit_bandwidth: Bandwidth | None = optional("data through one unit while a packet occupies it")
    latency: Latency = key("delay of a packet through the pipeline")
    read_interval: Latency = key("between two read requests for the data of one packet", default=0)
    rest: Latency = key("end of a message to the next of its queue pair", default=0)
    gap: Latency = key("time that a port rests between two packets", default=0)
    prefetch: int = key(
        "packets translated ahead while others wait to be read, if ports keep the order", 0, 4096
    )
    port_buffer: Size = key(
        "data staged for each port; slots of a full packet if ports keep the order"
    )


class Receive(Section):
    """The receive pipeline."""

    units: _Units = key("processing units that share the packets", default=1)
    packet_service: Latency = key("occupancy of a unit per packet")
    latency: Latency = key("delay of a packet through the pipeline")
    buffer: Size = key("link receive buffer of each port")


class Completion(Section):
    """The writer of completion queue entries."""

    latency: Latency = key("last packet or acknowledgement accepted to entry handed to the bus")
    service: Latency = key("occupancy of the writer per entry", default=0)


class ReceiveQueue(Section):
    """The consumer of receive work requests."""

    latency: Latency = key("time to consume a receive work request, beyond fetching it")
    ahead: int = key(
        "receive queue entries on the chip before messages take them", 0, 256, default=0
    )


class Atomics(Section):
    """The unit that executes atomics, of adapters that work on several at a time."""

    outstanding: int = key("atomics between the reading of their word and its writing", 1, 1024)
    service: Latency = key("occupancy of the unit per atomic")
    lock: Bytes = key("bytes locked together while a word of them changes", 8, 4096, multiple_of=8)


class Responder(Section):
    """The server of RDMA reads and atomics."""

    latency: Latency = key("request accepted to first access of host memory")
    services: Services | None = optional("of a receiving unit per request, beside its packets")
    outstanding: int = key("requests accepted at once per queue pair", 1, 128)
    rest: Latency = key("end of a response to the next of its queue pair", default=0)
    atomics: Atomics | None = optional("without it one atomic is executed at a time")


class Requester(Section):
    """The initiator of RDMA reads and atomics."""

    outstanding: int = key("requests outstanding at once per queue pair", 1, 128)


class Ack(Section):
    """When and how fast requests are acknowledged."""

    interval: int = key("packets between two acknowledgement requests inside a message", 1, 65536)
    latency: Latency = key("request accepted to acknowledgement sent")


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
    firmware_mode: FirmwareMode | None = optional(
        "tavor, mem: tables in its own memory; memfree: in the host's"
    )
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
    mpt: Cache = key("memory protection table")
    mtt: TranslationCache = key("memory translation table")
    tables: Tables | None = optional("of adapters of the mthca family")
    limits: Limits
    wqe: Wqe
    cqe: Cqe
    umr: Umr | None = optional("of adapters that register memory by work requests")

    @model_validator(mode="after")
    def _has_modes(self) -> Adapter:
        by_mode = [name for name, table in self.caches.items() if table.location == "mode"]
        if by_mode and self.firmware_mode is None:
            found = f"no firmware_mode, by which the location of {', '.join(by_mode)} goes"
            raise Clash(found, "", "firmware_mode", *(f"{name}.location" for name in by_mode))
        return self

    @property
    def caches(self) -> dict[str, Cache]:
        return {name: getattr(self, name) for name in ("sqpc", "rqpc", "cqc", "mpt", "mtt")}

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
