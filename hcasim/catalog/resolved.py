"""The resolved machine: everything that a simulation needs to know, frozen."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

from pydantic import SerializeAsAny

from hcasim.catalog.adapter import Adapter, Device, FirmwareMode
from hcasim.catalog.host import Host
from hcasim.catalog.link import Link
from hcasim.catalog.plausible import Doubts
from hcasim.catalog.section import Parameter, Section, Value
from hcasim.catalog.stack import Stack
from hcasim.catalog.subnet import CongestionControl, Qos
from hcasim.catalog.testbed import Network, Switch
from hcasim.catalog.wiring import Wiring, wire
from hcasim.ground.text import brief, html_table

_WORDS = {"id", "title", "notes", "references", "stack", "mpi_stack"}


class NodeGroup(Section):
    """Nodes that are alike, each with an adapter, or another device in its place."""

    name: str
    count: int
    host: Host
    adapter: SerializeAsAny[Device]
    stack: Stack
    link: Link

    @property
    def hca(self) -> Adapter:
        """The RDMA adapter in each of them; ValueError if it is another device."""
        if not isinstance(self.adapter, Adapter):
            raise ValueError(f"{self.adapter.id} is no RDMA adapter")
        return self.adapter

    @property
    def firmware_mode(self) -> FirmwareMode | None:
        """Of the adapter, if it has modes."""
        return self.adapter.firmware_mode if isinstance(self.adapter, Adapter) else None


class Machine(Section):
    """A testbed with its adapters, resolved.

    Parameters:
        groups: the nodes, which are numbered group by group.
        switches: the model of each switch that has a name; under "" that of all others.
        trunks: the link of each trunk that has a name; under "" that of all others.
        mtu: largest payload of an InfiniBand packet, or IP packet of an Ethernet frame, in bytes.
        overrides: what-if settings, as they were given.
        unused: a line for each of them that has no effect, because a link has a narrower end.
        parameters: each value with its provenance.
    """

    id: str
    title: str
    groups: tuple[NodeGroup, ...]
    network: Network
    switches: dict[str, Switch]
    trunks: dict[str, Link]
    mtu: int
    overrides: dict[str, str]
    unused: tuple[str, ...] = ()
    parameters: tuple[Parameter[Value], ...]

    def __repr__(self) -> str:
        own = {"overrides": self.overrides} if self.overrides else {}
        return brief(self, self.id, adapter=self.adapter.id, nodes=self.nodes, **own)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        rows = ((one.path, one.text, one.evidence, one.source) for one in self.parameters)
        return html_table(("path", "value", "evidence", "source"), rows, f"{self.id}: {self.title}")

    @property
    def nodes(self) -> int:
        """Hosts with an adapter."""
        return sum(group.count for group in self.groups)

    @property
    def adapter(self) -> Device:
        """The adapter, or other device, of the first group."""
        return self.groups[0].adapter

    @property
    def hca(self) -> Adapter:
        """The RDMA adapter of the first group; ValueError if it has another device."""
        return self.groups[0].hca

    @property
    def host(self) -> Host:
        """The host of the first group."""
        return self.groups[0].host

    @property
    def stack(self) -> Stack:
        """The software of the first group."""
        return self.groups[0].stack

    @property
    def parts(self) -> tuple[str, str, str, str]:
        """The ids of the testbed, and of adapter, host and software of the first group."""
        return (self.id, self.adapter.id, self.host.id, self.stack.id)

    @property
    def link(self) -> Link:
        """The links of the first group."""
        return self.groups[0].link

    @property
    def switch(self) -> Switch | None:
        """The first model of a switch, or None if two hosts are connected back to back."""
        return next(iter(self.switches.values()), None)

    @property
    def switch_id(self) -> str | bool:
        """The id of its first model of a switch; False if two hosts are connected back to back."""
        return self.switch.id if self.switch is not None else False

    @property
    def choices(self) -> dict[str, int | str | bool]:
        """MTU, switch, host and software, as results name them."""
        parts = {"host": self.host.id, "stack": self.stack.id}
        return {"mtu": self.mtu, "switch": self.switch_id, **parts}

    @property
    def loses(self) -> bool:
        """Whether its links may lose or corrupt packets, or its switches drop, mark or pause."""
        links = (*(group.link for group in self.groups), *self.trunks.values())
        marks = self.shares_memory or self.congestion_control is not None
        return marks or any(link.loss or link.corruption for link in links)

    @property
    def never_repeats(self) -> bool:
        """Whether no iteration is like another, for losses or a device with its own rhythm."""
        hosts = (group.host for group in self.groups)
        bridges = [one.pcix_bridge for one in hosts if one.pcix_bridge is not None]
        return self.loses or any(one.other is not None for one in bridges)

    @property
    def reorders(self) -> bool:
        """Whether packets of a flow may take different ways."""
        return self.switch is not None and self.switch.routing in ("adaptive", "spray")

    @property
    def qos(self) -> Qos | None:
        """The virtual lanes of its subnet, if there is more than one."""
        switch = self.switch
        return None if switch is None else switch.qos

    @property
    def congestion_control(self) -> CongestionControl | None:
        """That of InfiniBand, if it is on."""
        switch = self.switch
        return None if switch is None else switch.congestion_control

    @property
    def shares_memory(self) -> bool:
        """Whether the ports of its switches share a memory for packets."""
        return any(one.memory is not None for one in self.switches.values())

    def bare(self) -> Machine:
        """Return it without where values come from, which is most of what it holds."""
        return self.model_copy(update={"parameters": ()})

    def place(self, node: int) -> tuple[NodeGroup, int]:
        """The group of a node, counted from 0, and the LID of the first port of its adapter."""
        first, lid = 0, 1
        for group in self.groups:
            if node < first + group.count:
                return group, lid + (node - first) * group.adapter.ports
            first, lid = first + group.count, lid + group.count * group.adapter.ports
        raise ValueError(f"{self.id} has {first} nodes and none of number {node}")

    @property
    def sizes(self) -> list[tuple[str, int, int]]:
        """Name, number of nodes and ports of each node's adapter, group by group."""
        return [(group.name, group.count, group.adapter.ports) for group in self.groups]

    @cached_property
    def wiring(self) -> Wiring:
        """Which cable goes where."""
        return wire(self.network, self.sizes, self.switches, self.trunks)

    @cached_property
    def digest(self) -> str:
        """Hexadecimal digest of all values: equal machines have equal digests in any process."""
        exclude: dict[str, Any] = dict.fromkeys(
            ("id", "title", "overrides", "unused", "parameters"), True
        ) | {
            "groups": {"__all__": dict.fromkeys(("adapter", "host", "stack"), _WORDS)},
            "switches": dict.fromkeys(self.switches, _WORDS),
        }
        return hashlib.sha256(self.model_dump_json(exclude=exclude).encode()).hexdigest()

    @cached_property
    def doubts(self) -> Doubts:
        """The values that nobody has published."""
        return Doubts(self.parameters)

    def __copy__(self) -> Machine:
        """Leave out what is derived: a copy may be changed."""
        copy = super().__copy__()
        for name in ("wiring", "digest", "doubts"):
            copy.__dict__.pop(name, None)
        return copy

    def __hash__(self) -> int:
        return hash(self.digest)
