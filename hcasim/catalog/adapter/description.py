"""An RDMA adapter, of all its parts."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from hcasim.catalog.adapter.device import Device
from hcasim.catalog.adapter.engines import (
    Ack,
    Completion,
    Doorbell,
    Receive,
    ReceiveQueue,
    Requester,
    Responder,
    Scheduler,
    Send,
)
from hcasim.catalog.adapter.queues import Cqe, Limits, Umr, Wqe
from hcasim.catalog.adapter.tables import (
    NO_MEMORY,
    Cache,
    Icm,
    LocalMemory,
    Tables,
    TranslationCache,
)
from hcasim.catalog.protocol import Port, Protocol

FirmwareMode = Literal["tavor", "mem", "memfree"]


class Adapter(Device):
    """An RDMA adapter."""

    port: Port | None = Field(default=None, description="the links that each port takes")
    firmware_mode: FirmwareMode | None = Field(
        default=None,
        description="tavor or mem: tables in the adapter's memory; memfree: in the host's",
    )
    protocol: Protocol = Field(description="what it speaks over its links")
    order: Literal["port", "queue_pair"] = Field(
        default="port",
        description="what keeps its order: all packets of a port and direction, so that one that "
        "has to wait holds up the others, or those of each queue pair",
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
    memory: LocalMemory = Field(default=NO_MEMORY, description="of adapters that have some")
    icm: Icm
    sqpc: Cache = Field(description="contexts of send queues")
    rqpc: Cache = Field(description="contexts of receive queues")
    cqc: Cache = Field(description="contexts of completion queues")
    mpt: Cache = Field(description="memory protection table")
    mtt: TranslationCache = Field(description="memory translation table")
    tables: Tables | None = Field(default=None, description="of adapters of the mthca family")
    limits: Limits
    wqe: Wqe
    cqe: Cqe
    umr: Umr | None = Field(
        default=None, description="of adapters that register memory by work requests"
    )

    @model_validator(mode="after")
    def _has_modes(self) -> Adapter:
        by_mode = [name for name, table in self.caches.items() if table.location == "mode"]
        if by_mode and self.firmware_mode is None:
            raise ValueError(
                f"found no firmware_mode, by which the location of {', '.join(by_mode)} goes"
            )
        return self

    @property
    def caches(self) -> dict[str, Cache]:
        """The caches by name."""
        return {
            "sqpc": self.sqpc,
            "rqpc": self.rqpc,
            "cqc": self.cqc,
            "mpt": self.mpt,
            "mtt": self.mtt,
        }

    @property
    def local_memory_size(self) -> int:
        """Bytes of the adapter's own memory that are in use: none in MemFree mode."""
        return 0 if self.firmware_mode == "memfree" else self.memory.size

    def in_host(self, table: Cache) -> bool:
        """Whether a table lives in host memory."""
        if table.location == "mode":
            return self.firmware_mode == "memfree"
        return table.location == "host"
