"""A testbed: which parts an experiment was run on, and how they were connected."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator

from hcasim.catalog.description import Description, Name, Refers
from hcasim.catalog.link import Link, mtu_fault
from hcasim.ground.units import SIZE, format_size

AdapterName = Annotated[str, Refers("adapters")]
HostName = Annotated[str, Refers("hosts")]
SwitchName = Annotated[str, Refers("switches")]
StackName = Annotated[str, Refers("stacks")]


class Testbed(Description):
    """An installation on which an experiment was run."""

    __test__ = False

    paper: Name = Field(description="where the experiment was published")
    nodes: Annotated[int, Field(ge=2, le=65536)] = Field(description="hosts with an adapter")
    host: HostName
    adapters: Annotated[tuple[str, ...], Refers("adapters")] = Field(
        min_length=1, description="adapters that were measured"
    )
    default_adapter: AdapterName
    switch: SwitchName
    stack: StackName
    link: Link = Field(description="each link between an adapter and a switch")
    # The kind of link tells what is allowed; a second pair of limits here would hide it.
    mtu: Annotated[int, SIZE, Field(ge=0, le=2**31)] = Field(
        description="largest payload of an InfiniBand packet, or IP packet of an Ethernet frame"
    )

    @field_validator("mtu")
    @classmethod
    def _suits_the_link(cls, mtu: int, info: ValidationInfo) -> int:
        link = info.data.get("link")
        fault = None if link is None else mtu_fault(link.kind, mtu, format_size(mtu))
        if fault is not None:
            raise ValueError(fault)
        return mtu
