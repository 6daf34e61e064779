"""Builds the nodes of a machine and connects them."""

from __future__ import annotations

from hcasim.bus import connect
from hcasim.catalog import Machine
from hcasim.engine import Simulator
from hcasim.fabric import Fabric
from hcasim.hca import HostChannelAdapter
from hcasim.host import Core

PAGE = 4096


class Node:
    """One host with its adapter.

    Attributes:
        cores: one for each processor.
    """

    def __init__(self, sim: Simulator, machine: Machine, index: int) -> None:
        self.name = f"node{index}"
        self.machine = machine
        self.bus = connect(sim, machine.adapter.bus, machine.host, f"{self.name}.bus")
        self.adapter = HostChannelAdapter(
            sim,
            f"{self.name}.hca",
            machine.adapter,
            self.bus,
            machine.link,
            machine.mtu,
            1 + index * machine.adapter.ports,
        )
        self.cores = [Core(sim, f"{self.name}.cpu{number}") for number in range(machine.host.cpus)]
        self._next_address = PAGE

    def allocate(self, length: int, page_size: int = PAGE) -> int:
        """Address of ``length`` fresh bytes of memory, aligned to a page of ``page_size`` bytes."""
        address = -(-self._next_address // page_size) * page_size
        self._next_address = address + -(-max(length, 1) // PAGE) * PAGE
        return address


class Cluster:
    """Nodes joined by the machine's switch, or two nodes back to back if it has none.

    Args:
        machine: a resolved machine.
        nodes: how many of its nodes to build; all of them by default.

    Raises:
        ValueError: if the machine has fewer nodes, or has no switch and the nodes are not two.
    """

    def __init__(self, sim: Simulator, machine: Machine, nodes: int | None = None) -> None:
        count = machine.nodes if nodes is None else nodes
        if count > machine.nodes:
            raise ValueError(f"{machine.id} has {machine.nodes} nodes, not {count}")
        self.sim = sim
        self.machine = machine
        self.nodes = [Node(sim, machine, index) for index in range(count)]
        self.fabric = Fabric(sim, machine.link)
        ports = [node.adapter.ports for node in self.nodes]
        if machine.switch is None:
            if count != 2:
                raise ValueError(f"only two nodes can be joined without a switch, not {count}")
            for a, b in zip(*ports, strict=True):
                self.fabric.join(a, b)
            return
        switch = self.fabric.add_switch(machine.switch)
        for node_ports in ports:
            for port in node_ports:
                self.fabric.attach(port, switch)
        self.fabric.route()

    def busy_ps(self) -> dict[str, int]:
        """Time in ps that each serial resource was in use so far, by name."""
        found: dict[str, int] = {}
        for node in self.nodes:
            found |= node.adapter.busy_ps()
            found |= {core.name: core.busy_ps for core in node.cores}
        return found | {t.name: t.busy_ps for t in self.fabric.transmitters()}

    def waiting_ps(self) -> dict[str, int]:
        """Time in ps that work waited for each pool of credits so far, by name."""
        found: dict[str, int] = {}
        for node in self.nodes:
            found |= node.adapter.waiting_ps()
        return found

    def counters(self) -> dict[str, int]:
        """The counters of all adapters and buses, added up by name."""
        total: dict[str, int] = {}
        for node in self.nodes:
            for name, count in node.adapter.counters().items():
                total[name] = total.get(name, 0) + count
        return total
