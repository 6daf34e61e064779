"""A device on a bus that is no RDMA adapter."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from hcasim.catalog.adapter.description import Adapter
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
from hcasim.catalog.adapter.queues import Cqe, Limits, Wqe
from hcasim.catalog.adapter.tables import (
    Cache,
    Icm,
    TranslationCache,
)
from hcasim.catalog.description import Description
from hcasim.catalog.protocol import Protocol

OF_DEVICES = ("ports", "bus", "dma")
"""Keys of a device that is no RDMA adapter, beside those of all descriptions."""


_ABSENT: Any = None


class Device(Adapter):
    """A device that moves data over its bus for its own software: no RDMA adapter.

    It has what its bus and its DMA engine need, and nothing of an adapter beside.
    """

    protocol: Protocol = Field(default=_ABSENT, exclude=True)
    order: Literal["port", "queue_pair"] = Field(default=_ABSENT, exclude=True)
    doorbell: Doorbell = Field(default=_ABSENT, exclude=True)
    scheduler: Scheduler = Field(default=_ABSENT, exclude=True)
    send: Send = Field(default=_ABSENT, exclude=True)
    receive: Receive = Field(default=_ABSENT, exclude=True)
    completion: Completion = Field(default=_ABSENT, exclude=True)
    receive_queue: ReceiveQueue = Field(default=_ABSENT, exclude=True)
    responder: Responder = Field(default=_ABSENT, exclude=True)
    requester: Requester = Field(default=_ABSENT, exclude=True)
    ack: Ack = Field(default=_ABSENT, exclude=True)
    icm: Icm = Field(default=_ABSENT, exclude=True)
    sqpc: Cache = Field(default=_ABSENT, exclude=True)
    rqpc: Cache = Field(default=_ABSENT, exclude=True)
    cqc: Cache = Field(default=_ABSENT, exclude=True)
    mpt: Cache = Field(default=_ABSENT, exclude=True)
    mtt: TranslationCache = Field(default=_ABSENT, exclude=True)
    limits: Limits = Field(default=_ABSENT, exclude=True)
    wqe: Wqe = Field(default=_ABSENT, exclude=True)
    cqe: Cqe = Field(default=_ABSENT, exclude=True)

    @model_validator(mode="after")
    def _has_modes(self) -> Device:
        foreign = self.model_fields_set - Description.model_fields.keys() - {*OF_DEVICES}
        if foreign:
            raise ValueError(
                f"found dma beside {', '.join(sorted(foreign))}; allowed: with bus and ports alone"
            )
        return self

    @property
    def caches(self) -> dict[str, Cache]:
        """None."""
        return {}
