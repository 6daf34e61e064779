"""A host: processors, memory and the chipset between them and the adapter."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hcasim.catalog.bridge import Bridge, PcixBridge
from hcasim.catalog.description import Description, Latency, Section
from hcasim.ground.units import RATE, SIZE

Bandwidth = Annotated[int, RATE, Field(ge=10**6, le=10**13)]


class Memory(Section):
    """Main memory as a bus sees it."""

    read_latency: Latency = Field(description="read at the root port to first data leaving it")
    write_latency: Latency = Field(
        description="last byte at the root port to visible for a polling processor"
    )
    bandwidth: Bandwidth = Field(
        description="sustained by all channels of a memory controller together"
    )


class ProcessorCache(Section):
    """The last-level cache of each socket, and how fast a core copies."""

    size: Annotated[int, SIZE, Field(ge=4096, le=2**40)] = Field(description="of one socket")
    hit_bandwidth: Bandwidth = Field(description="copied with both ends in the cache")
    miss_bandwidth: Bandwidth = Field(description="copied with neither end in the cache")
    ddio: Annotated[int, SIZE, Field(ge=0, le=2**40)] = Field(
        description="part of it that writes of devices may fill; 0: they go to memory"
    )


class Interconnect(Section):
    """What joins sockets that have a memory controller each."""

    latency: Latency = Field(description="each way")
    bandwidth: Bandwidth = Field(description="of what leaves a socket")


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
    sockets: Annotated[int, Field(ge=1, le=64)] = Field(
        description="among which the processors are shared out evenly"
    )
    cache: ProcessorCache
    memory: Memory
    interconnect: Interconnect | None = Field(
        default=None, description="of hosts with a memory controller in each socket"
    )
    chipset: Chipset
    root_port: RootPort | None = Field(default=None, description="of hosts with PCI Express")
    pcix_bridge: PcixBridge | None = Field(default=None, description="of hosts with PCI-X")
    io_bridge: Bridge | None = Field(
        default=None, description="a further bridge, between all I/O and the memory controller"
    )
