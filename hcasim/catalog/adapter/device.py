"""What all have that sits in a slot of a host."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hcasim.catalog.adapter.bus import Bus
from hcasim.catalog.description import Description


class Device(Description):
    """A device on a bus."""

    ports: Annotated[int, Field(ge=1, le=8)] = Field(description="network ports")
    bus: Bus
