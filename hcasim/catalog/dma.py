"""A device whose DMA engine moves data for its own software, without RDMA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, model_validator

from hcasim.catalog.adapter import Adapter, Device
from hcasim.catalog.description import Bandwidth, Latency, Section
from hcasim.ground.units import SIZE


class DmaEngine(Section):
    """An engine for bulk operations, and commands that reach the bus past it."""

    operations: Annotated[int, Field(ge=1, le=65536)] = Field(
        description="bulk operations that software keeps in flight"
    )
    operation_limit: Annotated[int, SIZE, Field(ge=1, le=2**30)] = Field(
        description="longest bulk operation"
    )
    latency: Latency = Field(
        description="of a bulk operation in the device, enqueued to completion seen by software"
    )
    read_interval: Latency = Field(description="between two bulk reads that begin")
    read_bandwidth: Bandwidth = Field(
        description="at which the engine works on bulk reads, one after the other"
    )
    write_interval: Latency = Field(description="between two bulk writes that begin")
    store_bandwidth: Bandwidth = Field(
        description="at which the data of one read enter the device's memory, request by request"
    )
    command_latency: Latency = Field(
        description="of a command in the device, issued to data seen by software"
    )
    command_limit: Annotated[int, SIZE, Field(ge=1, le=4096)] = Field(
        description="longest access by a command"
    )


class DmaDevice(Device):
    """A device that moves data over its bus for its own software: no RDMA adapter."""

    dma: DmaEngine

    @model_validator(mode="before")
    @classmethod
    def _is_no_adapter(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        beside = values.keys() & Adapter.model_fields.keys() - cls.model_fields.keys()
        if beside:
            raise ValueError(
                f"found dma beside {', '.join(sorted(beside))}; allowed: with bus and ports alone"
            )
        return values
