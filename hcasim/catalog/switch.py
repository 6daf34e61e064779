"""A switch."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hcasim.catalog.description import Description, Latency, Size
from hcasim.catalog.protocol import Port

Arbitration = Literal["round_robin", "oldest_first"]
"""Names of the classes in `hcasim.fabric.arbitration`."""


class Switch(Description):
    """A cut-through switch."""

    ports: Annotated[int, Field(ge=2, le=4096)] = Field(description="external ports")
    latency: Latency = Field(description="first byte in to first byte out, without contention")
    buffer: Size = Field(description="receive buffer of each port")
    arbitration: Arbitration = Field(
        default="round_robin", description="which input goes next at an output"
    )
    port: Port | None = Field(
        default=None, description="links that its ports take; without it, all that there are"
    )
