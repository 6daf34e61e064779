"""A host: processors, memory and the chipset between them and the adapter."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from hcasim.catalog.buses import Bridge, PcixBridge
from hcasim.catalog.section import Bandwidth, Clash, Description, Latency, Section, key, optional
from hcasim.ground.units import OPERATIONS, SIZE, Bytes, Hertz

_BIN = 10**8
"""Step of the clock in Hz (Intel support article 000056901, Available Bins of Turbo Boost)."""
_FEW = 2
"""Cores of a socket that may have the highest clock at once."""


class Core(Section):
    """One core, for stacks whose work is in cycles."""

    frequency: Annotated[Hertz, Field(ge=10**8, le=10**10)] = key("clock while few cores are busy")
    all_busy: Annotated[Hertz, Field(ge=10**8, le=10**10)] | None = optional(
        "clock while all cores of a socket are busy, if it is less"
    )
    fence: Latency = key("until a doorbell has left the core: locks and further doorbells wait")
    line: Latency = key("reading a line that a device or another core has just written")

    def clock(self, busy: int) -> int:
        """Return the clock in Hz while so many cores of a socket are busy.

        Two have the highest. Each further one takes a bin from all of them, down to what all have:
        5/5/5/5/5/6/7/8 are the bins of an Intel Xeon E5-2650 v2, of all its cores to one.
        """
        if self.all_busy is None:
            return self.frequency
        left = self.frequency - max(0, busy - _FEW) * _BIN
        return min(self.frequency, max(self.all_busy, left))


class Memory(Section):
    """Main memory as a bus sees it."""

    read_latency: Latency = key("read at the root port to first data leaving it")
    write_latency: Latency = key("last byte at the root port to visible for a polling processor")
    dram_latency: Latency = key(
        "part of read_latency that a read saves which the last-level cache answers, and a write "
        "takes longer that displaces there what a device wrote",
        default=0,
    )
    bandwidth: Bandwidth = key("sustained by all channels of a memory controller together")
    partial_write: Latency = key(
        "added to a write of a part of a line, to read the rest", default=0
    )


class ProcessorCache(Section):
    """The last-level cache of each socket, and how fast a core copies."""

    size: Bytes = key("of one socket", 4096, 2**40)
    hit_bandwidth: Bandwidth = key("copied with both ends in the cache")
    miss_bandwidth: Bandwidth = key("copied with neither end in the cache")
    ddio: Bytes = key("part of it that writes of devices may fill; 0: they go to memory", 0, 2**40)


class Interconnect(Section):
    """What joins sockets that have a memory controller each."""

    latency: Latency = key("each way")
    bandwidth: Bandwidth = key("of what leaves a socket")


class Chipset(Section):
    """The way from the processors to all buses."""

    mmio_latency: Latency = key("processor's store to leaving the chipset")


class RootPort(Section):
    """The end of a PCI Express link in the root complex."""

    completion: Annotated[Literal[64, 128, 256, 512, 1024, 2048, 4096], SIZE] = key(
        "payload of one read completion"
    )
    short_read: Bytes = key("longest read answered ahead of longer ones before it", 0, 4096)
    posted_header_credits: int = key("posted requests that the root port can hold", 1, 127)
    posted_data_credits: int = key("posted data that it can hold, in units of 16 B", 8, 2047)
    nonposted_header_credits: int = key("non-posted requests that the root port can hold", 1, 127)
    completion_boundary: Annotated[Literal[64, 128] | None, SIZE] = optional(
        "where a completion may end (RCB), beside its payload's multiples"
    )
    outstanding_lines: int | None = optional(
        "lines of 64 B, read and written, under way for each four lanes of the link", 4, 65536
    )
    outstanding_reads: int | None = optional("reads that memory answers at a time", 1, 65536)
    reads_wait: bool = key("a read waits until the writes before it are visible", default=False)
    ordered_writes: int | None = optional(
        "64 B lines of unrelaxed writes becoming visible at once", 1, 65536
    )


class Iommu(Section):
    """Translates the addresses of devices, by page, and keeps what it used last."""

    enabled: bool = key("devices use it")
    entries: int = key("pages that it holds; what was used longest ago leaves", 1, 2**20)
    page: Bytes = key("size of a page", 4096, 2**30, multiple_of=4096)
    walks: int = key(
        "look-ups that miss at a time, each a read of a line of the page tables", 1, 1024
    )


class Gpu(Section):
    """The memory of a GPU that the adapter reads and writes directly, as a peer on the bus."""

    read_latency: Latency = key("of a device's read, as memory.read_latency")
    read_bandwidth: Bandwidth = key("of reads by devices")
    write_bandwidth: Bandwidth = key("of writes by devices")


class Slot(Section):
    """The adapter's slot; its link trains to what both ends can (PCI Express 1.0a, 4.2.4)."""

    generation: Literal[1, 2, 3, 4, 5] = key("fastest lane rate, by generation")
    lanes: Literal[1, 2, 4, 8, 12, 16] = key("lanes that are wired")
    max_payload: Annotated[Literal[128, 256, 512, 1024, 2048, 4096], SIZE] = key(
        "longest payload that it supports"
    )


Operations = Annotated[int, OPERATIONS, Field(ge=10**6, le=10**13)]
_Tensor = Annotated[int, OPERATIONS, Field(ge=10**6, le=10**18)]


class Computing(Section):
    """How fast one processor runs the kernels of the NAS benchmarks, as these count operations.

    All processors of a node are busy meanwhile, so that it is less than that of one alone. Neural
    networks are computed by accelerators.
    """

    nas_is: Operations | None = optional("IS, keys ranked")
    nas_ft: Operations | None = optional("FT, in floating point")
    nas_mg: Operations | None = optional("MG, in floating point")
    nas_lu: Operations | None = optional("LU, in floating point")
    nas_cg: Operations | None = optional("CG, in floating point")
    tensor: _Tensor | None = optional("neural networks, by the accelerators of one process")


class Host(Description):
    """A host."""

    cpus: int = key("processors", 1, 4096)
    sockets: int = key("among which the processors are shared out evenly", 1, 64)
    adapter_socket: int = key(
        "socket that adapters are attached to; memory is that of socket 0", 0, 63, default=0
    )
    core: Core | None = optional("of hosts on which stacks run whose work is in cycles")
    cache: ProcessorCache
    memory: Memory
    interconnect: Interconnect | None = optional("of hosts with several memory controllers")
    chipset: Chipset
    slot: Slot | None = optional("of hosts whose slot may be less than an adapter can use")
    root_port: RootPort | None = optional("of hosts with PCI Express")
    iommu: Iommu | None = optional("of hosts with one")
    gpu: Gpu | None = optional("of hosts with one whose memory devices use")
    pcix_bridge: PcixBridge | None = optional("of hosts with PCI-X")
    computing: Computing | None = optional("of hosts whose speed of computing matters")
    io_bridge: Bridge | None = optional("a bridge between all I/O and the memory controller")

    @model_validator(mode="after")
    def _attached(self) -> Host:
        most = self.sockets - 1 if self.interconnect is not None else 0
        if self.adapter_socket > most:
            what = f"{self.sockets} sockets" if most else "one memory controller for all sockets"
            found = f"adapter_socket = {self.adapter_socket} with {what}"
            raise Clash(found, f"0 to {most}" if most else "0", other="adapter_socket")
        return self
