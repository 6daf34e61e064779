"""The device's side of PCI Express and PCI-X, and the bridges on cards and in hosts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hcasim.catalog.section import PLAIN, SETTING, Bandwidth, Latency, Section, Size, key, optional
from hcasim.ground.units import SIZE, Bytes, Hertz

Flag = Annotated[bool, SETTING]
Burst = Annotated[int, SIZE, Field(ge=128, le=4096, multiple_of=128)]


class Bridge(Section):
    """What every bridge has."""

    latency: Latency = key("added each way")
    buffer: Size = key("writes that it holds on their way to memory")


class OtherDevice(Section):
    """Another device on a bus, which writes all the while."""

    rate: Bandwidth = key("of its writes")
    burst: Burst = key("of one of its writes", default=512)


class PcixBridge(Bridge):
    """The bridge that carries a PCI-X bus behind the chipset."""

    completion_burst: Burst = key("longest split completion that the bridge returns in one burst")
    streaming: Flag = key("bursts run on over boundaries of 128 B; false: each ends at the next")
    other: OtherDevice | None = optional("another device on the bus")

    @property
    def burst(self) -> int:
        """Longest split completion in bytes, as the bridge is set."""
        return self.completion_burst if self.streaming else DISCONNECT


DISCONNECT = 128
"""Allowable disconnect boundary in bytes (PCI-X Addendum 1.0b, 2.2)."""

_Payload = Annotated[Literal[128, 256, 512, 1024, 2048, 4096], SIZE, SETTING]
Mmrbc = Annotated[Literal[512, 1024, 2048, 4096], SIZE, SETTING]


class PcieDevice(Section):
    """The adapter's side of a PCI Express link (PCI Express Base Specification 1.0a to 5.0)."""

    kind: Annotated[Literal["pcie"], PLAIN] = "pcie"
    generation: Literal[1, 2, 3, 4, 5] = key("lane rate, by generation")
    lanes: Literal[1, 2, 4, 8, 12, 16] = key("width of the link")
    max_payload: _Payload = key("longest write or completion payload (MPS)")
    max_read_request: _Payload = key("longest read request (MRRS)")
    read_tags: int = key("read requests that may be outstanding", 1, 1024)
    address_bits: Literal[32, 64] = key("address width of requests to memory")
    dllp_tlps_per_ack: int = key("packets acknowledged by one Ack DLLP", 1, 1024)
    dllp_tlps_per_update: int = key("packets covered by one UpdateFC DLLP", 1, 1024)
    packet_gap: Latency = key("that the device leaves behind each packet it sends", default=0)
    relaxed_ordering: Flag = key("its writes need not become visible in order", default=False)
    bridge: CardBridge | None = optional("what this bus leads to")

    @property
    def longest_read(self) -> int:
        return self.max_read_request


class PcixDevice(Section):
    """The adapter's side of a PCI-X bus (PCI-X Addendum 1.0b)."""

    kind: Annotated[Literal["pcix"], PLAIN] = "pcix"
    width_bits: Literal[32, 64] = key("data width")
    clock: Hertz = key("bus clock; of PCI-X 266 that of its data", 10**6, 266_666_667)
    mmrbc: Mmrbc = key("longest memory read request")
    outstanding_splits: Literal[1, 2, 3, 4, 8, 12, 16, 32] = key(
        "outstanding split transactions; as many as the bus allows if nothing is said", default=32
    )
    write_burst: Bytes = key("longest burst of one memory write", 128, 4096, multiple_of=128)
    bridge: CardBridge | None = optional("what this bus leads to")

    @property
    def longest_read(self) -> int:
        return self.mmrbc


class DirectDevice(Section):
    """A way to memory that takes no time, past the memory and caches of the host."""

    kind: Annotated[Literal["direct"], PLAIN] = "direct"
    bridge: None = None

    @property
    def longest_read(self) -> int:
        return 4096


Bus = Annotated[PcieDevice | PcixDevice | DirectDevice, Field(discriminator="kind")]


class CardBridge(Bridge):
    """A bridge on the card: from the bus before it to another, which is nearer to the host."""

    completion_burst: Burst | None = optional(
        "what it reads at a time and returns in one burst, if it is not the longest read"
    )
    reads: int = key("reads that may be outstanding on the bus behind it", 1, 1024)
    bus: Bus = key("the bus behind it, towards the host")

    @property
    def burst(self) -> int:
        """Bytes that it reads at a time and returns in one burst."""
        return self.bus.longest_read if self.completion_burst is None else self.completion_burst


for _model in (PcieDevice, PcixDevice, CardBridge):
    _model.model_rebuild()
