"""A testbed: which parts an experiment was run on, and how they were connected."""

from __future__ import annotations

from typing import Annotated

from pydantic import ValidationInfo, field_validator

from hcasim.catalog.link import AnyLink, LinkChanges, PortLink, mtu_fault
from hcasim.catalog.network.topologies import Network
from hcasim.catalog.section import PLAIN, Description, Refers, Section, key, optional
from hcasim.ground.errors import FaultError, nearest, one_of
from hcasim.ground.units import Bytes, format_size

AdapterName = Annotated[str, Refers("adapters")]
HostName = Annotated[str, Refers("hosts")]
StackName = Annotated[str, Refers("stacks")]


class Nodes(Section):
    """A group of nodes that are alike."""

    count: int = key("hosts with an adapter", 1, 65536)
    host: HostName
    stack: StackName = key("verbs library, if not that of the adapter's time", default="")
    adapters: Annotated[tuple[str, ...], Refers("adapters")] = key("measured there", min_length=1)
    default_adapter: AdapterName = key("of them, if not the first", default="")
    mpi_stack: Annotated[str, Refers("stacks")] = key(
        "the stack of MPI programs, if another", default=""
    )
    ports: int | None = optional("ports of each adapter with a cable, if not all", 1, 256)
    link: LinkChanges | None = optional("where their links differ")

    @field_validator("default_adapter")
    @classmethod
    def _is_one_of_them(cls, default: str, info: ValidationInfo) -> str:
        adapters = info.data.get("adapters", (default,))
        if default not in adapters:
            raise FaultError(default, one_of(adapters), nearest(default, adapters))
        return default

    @property
    def adapter(self) -> str:
        return self.default_adapter or self.adapters[0]


class Testbed(Description):
    """An installation on which experiments are run."""

    __test__ = False

    paper: Annotated[str, PLAIN] = key("where an experiment on it was published", default="")
    nodes: dict[str, Nodes] = key("all nodes, or several groups by name")
    network: Network = key("how they are connected")
    link: AnyLink = key("each link between an adapter and a switch")
    trunk: LinkChanges | None = optional("where links of switches differ")
    # The kind of link tells what is allowed; a second pair of limits here would hide it.
    mtu: Bytes = key(
        "largest payload of an InfiniBand packet, or IP packet in an Ethernet frame", 0, 2**31
    )

    @field_validator("mtu")
    @classmethod
    def _suits_the_link(cls, mtu: int, info: ValidationInfo) -> int:
        link = info.data.get("link")
        kind = "infiniband" if isinstance(link, PortLink) else getattr(link, "kind", None)
        if kind is not None and (fault := mtu_fault(mtu, format_size(mtu), kind)):
            raise FaultError(mtu, fault.allowed, text=format_size(mtu))
        return mtu
