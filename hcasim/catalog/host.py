"""A host: processors, memory and the chipset between them and the adapter."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hcasim.catalog.bridge import Bridge, PcixBridge
from hcasim.catalog.description import Bandwidth, Description, Latency, Section
from hcasim.ground.units import OPERATIONS, SIZE


class Memory(Section):
    """Main memory as a bus sees it."""

    read_latency: Latency = Field(description="read at the root port to first data leaving it")
    write_latency: Latency = Field(
        description="last byte at the root port to visible for a polling processor"
    )
    bandwidth: Bandwidth = Field(
        description="sustained by all channels of a memory controller together"
    )
    partial_write: Latency = Field(
        default=0,
        description="longer until a write of a part of a line is visible, whose rest is read",
    )


class ProcessorCache(Section):
    """The last-level cache of each socket, and how fast a core copies."""

    size: Annotated[int, SIZE, Field(ge=4096, le=2**40)] = Field(description="of one socket")
    hit_bandwidth: Bandwidth = Field(description="copied with both ends in the cache")
    miss_bandwidth: Bandwidth = Field(description="copied with neither end in the cache")
    ddio: Annotated[int, SIZE, Field(ge=0, le=2**40)] = Field(
        description="part of it that writes of devices may fill; 0: they go to memory"
    )
    read_latency: Latency | None = Field(
        default=None,
        description="instead of memory's, of a device's read that the cache answers; "
        "without it memory answers all",
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
    completion_boundary: Annotated[Literal[64, 128] | None, SIZE] = Field(
        default=None,
        description="where a completion may end (RCB); without it at multiples of its payload only",
    )
    read_interval: Latency = Field(default=0, description="between two read requests that it takes")
    write_hold: Latency | None = Field(
        default=None,
        description="arrival of a write to its room being free again; "
        "without it when memory or cache has taken the data",
    )
    reads_wait: bool = Field(
        default=False,
        description="a read waits until the writes before it are visible; otherwise memory may "
        "answer it before",
    )
    ordered_writes: Annotated[int, Field(ge=1, le=65536)] | None = Field(
        default=None,
        description="lines of 64 bytes that are on their way to be visible at once, of writes "
        "that are not relaxed; without it any number",
    )


class Iommu(Section):
    """Translates the addresses of devices, by page, and keeps what it used last."""

    enabled: bool = Field(description="devices use it")
    entries: Annotated[int, Field(ge=1, le=2**20)] = Field(
        description="pages that it holds; what was used longest ago leaves"
    )
    page: Annotated[int, SIZE, Field(ge=4096, le=2**30, multiple_of=4096)] = Field(
        description="size of a page"
    )
    walk_latency: Latency = Field(description="of a look-up that misses")
    walk_interval: Latency = Field(description="between the beginnings of two of those")


class Slot(Section):
    """The adapter's slot; its link trains to what both ends can (PCI Express 1.0a, 4.2.4)."""

    generation: Literal[1, 2, 3, 4, 5] = Field(description="fastest lane rate, by generation")
    lanes: Literal[1, 2, 4, 8, 12, 16] = Field(description="lanes that are wired")
    max_payload: Annotated[Literal[128, 256, 512, 1024, 2048, 4096], SIZE] = Field(
        description="longest write or completion payload that the root port supports"
    )


Operations = Annotated[int, OPERATIONS, Field(ge=10**6, le=10**13)]
_Tensor = Annotated[int, OPERATIONS, Field(ge=10**6, le=10**18)]


class Computing(Section):
    """How fast one processor runs the kernels of the NAS benchmarks, as these count operations.

    All processors of a node are busy meanwhile, so that it is less than that of one alone. Neural
    networks are computed by accelerators.
    """

    nas_is: Operations | None = Field(default=None, description="IS, keys ranked")
    nas_ft: Operations | None = Field(default=None, description="FT, in floating point")
    nas_mg: Operations | None = Field(default=None, description="MG, in floating point")
    nas_lu: Operations | None = Field(default=None, description="LU, in floating point")
    nas_cg: Operations | None = Field(default=None, description="CG, in floating point")
    tensor: _Tensor | None = Field(
        default=None,
        description="neural networks, in floating point, by the accelerators of one process",
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
    slot: Slot | None = Field(
        default=None, description="of hosts whose slot may be less than an adapter can use"
    )
    root_port: RootPort | None = Field(default=None, description="of hosts with PCI Express")
    iommu: Iommu | None = Field(default=None, description="of hosts with one")
    pcix_bridge: PcixBridge | None = Field(default=None, description="of hosts with PCI-X")
    computing: Computing | None = Field(
        default=None, description="of hosts whose speed of computing matters"
    )
    io_bridge: Bridge | None = Field(
        default=None, description="a further bridge, between all I/O and the memory controller"
    )
