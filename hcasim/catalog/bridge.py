"""Bridges between buses, and the paths through them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hcasim.catalog.description import Latency, Section, Size
from hcasim.ground.units import SIZE

Burst = Annotated[int, SIZE, Field(ge=128, le=4096, multiple_of=128)]


class Bridge(Section):
    """What every bridge has."""

    latency: Latency = Field(description="added each way")
    buffer: Size = Field(description="writes that it holds on their way to memory")


class PcixBridge(Bridge):
    """The bridge that carries a PCI-X bus behind the chipset."""

    completion_burst: Burst = Field(
        description="longest split completion that the bridge returns in one burst"
    )
    streaming: bool = Field(
        description="bursts run on over boundaries of 128 B; false: each ends at the next"
    )

    @property
    def burst(self) -> int:
        """Longest split completion in bytes, as the bridge is set."""
        return self.completion_burst if self.streaming else DISCONNECT


DISCONNECT = 128
"""Allowable disconnect boundary in bytes (PCI-X Addendum 1.0b, 2.2)."""
