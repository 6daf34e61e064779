"""A host: processors, memory and the chipset between them and the adapter."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hcasim.catalog.bridge import Bridge, PcixBridge
from hcasim.catalog.description import Description, Latency, Section
from hcasim.ground.units import RATE, SIZE


class Memory(Section):
    """Main memory as the root port sees it."""

    read_latency: Latency = Field(description="read at the root port to first data leaving it")
    write_latency: Latency = Field(
        description="last byte at the root port to visible for a polling processor"
    )
    bandwidth: Annotated[int, RATE, Field(ge=10**6, le=10**13)] = Field(
        description="sustained by all memory channels together"
    )


class Chipset(Section):
    """The way from the processors to all buses."""

    mmio_latency: Latency = Field(description="processor's store to leaving the chipset")


class RootPort(Section):
    """The end of a PCI Express link in the root complex."""

    completion: Annotated[Literal[64, 128, 256, 512, 1024, 2048, 4096], SIZE] = Field(
        description="payload of one read completion"
    )
    short_read: Annotated[int, SIZE, Field(ge=0, le=4096)] = Field(
        description="longest read answered ahead of longer ones that came before; 0: in order"
    )
    posted_header_credits: Annotated[int, Field(ge=1, le=127)] = Field(
        description="posted requests that the root port can hold"
    )
    posted_data_credits: Annotated[int, Field(ge=8, le=2047)] = Field(
        description="posted data that the root port can hold, in units of 16 bytes"
    )
    nonposted_header_credits: Annotated[int, Field(ge=1, le=127)] = Field(
        description="non-posted requests that the root port can hold"
    )


class Host(Description):
    """A host."""

    cpus: Annotated[int, Field(ge=1, le=4096)] = Field(description="processors")
    memory: Memory
    chipset: Chipset
    root_port: RootPort | None = Field(default=None, description="of hosts with PCI Express")
    pcix_bridge: PcixBridge | None = Field(default=None, description="of hosts with PCI-X")
    io_bridge: Bridge | None = Field(
        default=None, description="a further bridge, between all I/O and the memory controller"
    )
