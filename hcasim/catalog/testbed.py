"""A testbed: which parts an experiment was run on, and how they were connected."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hcasim.catalog.description import Description, Name, Names, Section
from hcasim.catalog.units import DELAY, LENGTH, SIZE

Mtu = Annotated[Literal[256, 512, 1024, 2048, 4096], SIZE]


class Link(Section):
    """The InfiniBand links between adapters and switches."""

    speed: Literal["SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR"] = Field(
        description="lane rate, by its InfiniBand name"
    )
    width: Literal[1, 4, 8, 12] = Field(description="lanes")
    cable_length: Annotated[int, LENGTH, Field(ge=0, le=10**8)] = Field(
        description="length of each cable"
    )
    propagation: Annotated[int, DELAY, Field(ge=3335, le=10**5)] = Field(
        description="delay of the cable; light in vacuum takes 3.336 ns/m"
    )
    credit_update: Annotated[int, SIZE, Field(ge=1, le=2**20)] = Field(
        description="receive buffer freed between two flow-control packets"
    )


class Testbed(Description):
    """An installation on which an experiment was run."""

    __test__ = False

    paper: Name = Field(description="where the experiment was published")
    nodes: Annotated[int, Field(ge=2, le=65536)] = Field(description="hosts with an adapter")
    host: Name
    adapters: Names = Field(min_length=1, description="adapters that were measured")
    default_adapter: Name
    switch: Name
    stack: Name
    mtu: Mtu = Field(description="largest InfiniBand payload of a packet")
    link: Link
