"""The device's side of PCI Express and PCI-X, and bridges on the card."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hcasim.catalog.bridge import Bridge, Burst
from hcasim.catalog.description import PLAIN, Latency, Section
from hcasim.ground.units import FREQUENCY, SIZE

_Payload = Annotated[Literal[128, 256, 512, 1024, 2048, 4096], SIZE]


class PcieDevice(Section):
    """The adapter's side of a PCI Express link (PCI Express Base Specification 1.0a to 5.0)."""

    kind: Annotated[Literal["pcie"], PLAIN] = "pcie"
    generation: Literal[1, 2, 3, 4, 5] = Field(description="lane rate, by generation")
    lanes: Literal[1, 2, 4, 8, 12, 16] = Field(description="width of the link")
    max_payload: _Payload = Field(description="longest write or completion payload (MPS)")
    max_read_request: _Payload = Field(description="longest read request (MRRS)")
    read_tags: Annotated[int, Field(ge=1, le=1024)] = Field(
        description="read requests that may be outstanding"
    )
    address_bits: Literal[32, 64] = Field(description="address width of requests to memory")
    dllp_tlps_per_ack: Annotated[int, Field(ge=1, le=1024)] = Field(
        description="packets acknowledged by one Ack DLLP"
    )
    dllp_tlps_per_update: Annotated[int, Field(ge=1, le=1024)] = Field(
        description="packets covered by one UpdateFC DLLP"
    )
    packet_gap: Latency = Field(
        default=0, description="that the device leaves behind each packet it sends"
    )
    relaxed_ordering: bool = Field(
        default=False, description="its writes need not become visible in order"
    )
    bridge: CardBridge | None = Field(default=None, description="what this bus leads to")

    @property
    def longest_read(self) -> int:
        """Bytes of the longest read request."""
        return self.max_read_request


class PcixDevice(Section):
    """The adapter's side of a PCI-X bus (PCI-X Addendum 1.0b)."""

    kind: Annotated[Literal["pcix"], PLAIN] = "pcix"
    width_bits: Literal[32, 64] = Field(description="data width")
    clock: Annotated[int, FREQUENCY, Field(ge=10**6, le=133_333_334)] = Field(
        description="bus clock"
    )
    mmrbc: Annotated[Literal[512, 1024, 2048, 4096], SIZE] = Field(
        description="maximum memory read byte count of one request"
    )
    outstanding_splits: Literal[1, 2, 3, 4, 8, 12, 16, 32] = Field(
        description="split transactions that may be outstanding"
    )
    write_burst: Annotated[int, SIZE, Field(ge=128, le=4096, multiple_of=128)] = Field(
        description="longest burst of one memory write"
    )
    bridge: CardBridge | None = Field(default=None, description="what this bus leads to")

    @property
    def longest_read(self) -> int:
        """Bytes of the longest read request."""
        return self.mmrbc


Bus = Annotated[PcieDevice | PcixDevice, Field(discriminator="kind")]


class CardBridge(Bridge):
    """A bridge on the card: from the bus before it to another, which is nearer to the host."""

    completion_burst: Burst = Field(
        description="what it reads at a time, and returns to the bus before it in one burst"
    )
    reads: Annotated[int, Field(ge=1, le=1024)] = Field(
        description="reads that may be outstanding on the bus behind it"
    )
    bus: Bus = Field(description="the bus behind it, towards the host")


for _model in (PcieDevice, PcixDevice, CardBridge):
    _model.model_rebuild()
