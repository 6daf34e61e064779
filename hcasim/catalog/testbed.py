"""A testbed: which parts an experiment was run on, and how they were connected."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator

from hcasim.catalog.description import PLAIN, Description, Refers, Section
from hcasim.catalog.link import AnyLink, LinkChanges, PortLink, mtu_fault
from hcasim.catalog.network import Network
from hcasim.ground.errors import nearest, one_of
from hcasim.ground.units import SIZE, format_size

AdapterName = Annotated[str, Refers("adapters")]
HostName = Annotated[str, Refers("hosts")]
StackName = Annotated[str, Refers("stacks")]


class Nodes(Section):
    """A group of nodes that are alike."""

    count: Annotated[int, Field(ge=1, le=65536)] = Field(description="hosts with an adapter")
    host: HostName
    stack: StackName
    adapters: Annotated[tuple[str, ...], Refers("adapters")] = Field(
        min_length=1, description="adapters that were measured"
    )
    default_adapter: AdapterName = Field(default="", description="of them, if not the first")
    mpi_stack: Annotated[str, Refers("stacks")] = Field(
        default="", description="the stack of MPI programs, if another"
    )
    ports: Annotated[int | None, Field(ge=1, le=256)] = Field(
        default=None, description="ports of each adapter that have a cable, if not all have"
    )
    link: LinkChanges | None = Field(default=None, description="where their links differ")

    @field_validator("default_adapter")
    @classmethod
    def _is_one_of_them(cls, default: str, info: ValidationInfo) -> str:
        adapters = info.data.get("adapters", (default,))
        if default not in adapters:
            close = nearest(default, adapters)
            raise ValueError(f"found {default!r}; allowed: {one_of(adapters)}{close}")
        return default

    @property
    def adapter(self) -> str:
        """The adapter unless another is chosen."""
        return self.default_adapter or self.adapters[0]


class Testbed(Description):
    """An installation on which experiments are run."""

    __test__ = False

    paper: Annotated[str, PLAIN] = Field(
        default="", description="where an experiment on it was published"
    )
    nodes: dict[str, Nodes] = Field(description="all nodes, or several groups by name")
    network: Network = Field(description="how they are connected")
    link: AnyLink = Field(description="each link between an adapter and a switch")
    trunk: LinkChanges | None = Field(default=None, description="where links of switches differ")
    # The kind of link tells what is allowed; a second pair of limits here would hide it.
    mtu: Annotated[int, SIZE, Field(ge=0, le=2**31)] = Field(
        description="largest payload of an InfiniBand packet, or IP packet of an Ethernet frame; "
        "on links of kind port as far as the adapter takes it"
    )

    @field_validator("mtu")
    @classmethod
    def _suits_the_link(cls, mtu: int, info: ValidationInfo) -> int:
        link = info.data.get("link")
        kind = "infiniband" if isinstance(link, PortLink) else getattr(link, "kind", None)
        fault = None if kind is None else mtu_fault(mtu, format_size(mtu), kind)
        if fault is not None:
            raise ValueError(fault)
        return mtu
