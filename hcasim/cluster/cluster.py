"""Builds the nodes of a machine and connects them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from hcasim.bus import connect
from hcasim.catalog import EthernetLink, Machine
from hcasim.engine import FastForward, Simulator, collect_seldom
from hcasim.fabric import Fabric
from hcasim.hca import HostChannelAdapter
from hcasim.host import Host
from hcasim.host.memory import SOCKET_BITS, WRITTEN

PAGE: Final = 4096


class Node:
    """One host with its adapter.

    Attributes:
        index: its number among the nodes of the machine.
        group: what it is.
        host: processors and memory.
        cores: one for each processor.
    """

    def __init__(self, sim: Simulator, machine: Machine, index: int) -> None:
        group, lid = machine.place(index)
        self.name = f"node{index}"
        self.index = index
        self.machine = machine
        self.group = group
        self.host = Host(sim, group.host, self.name)
        self.cores = self.host.cores
        self.bus = connect(self.host, group.hca.bus, f"{self.name}.bus", group.host.adapter_socket)
        self.adapter = HostChannelAdapter(
            sim,
            f"{self.name}.hca",
            group.hca,
            self.bus,
            group.link,
            machine.mtu,
            lid,
            pausable=machine.shares_memory,
            qos=machine.qos,
            subnet=machine.congestion_control,
        )
        self._next_address = {0: PAGE}

    def allocate(
        self, length: int, page_size: int = PAGE, socket: int = 0, *, written: bool = False
    ) -> int:
        """Address of ``length`` fresh bytes of memory, aligned to a page of ``page_size`` bytes.

        The adapter is attached to the socket that the host says. The memory of a GPU is that of one
        socket more. What a processor has just written comes from its cache, if the host has caches
        for devices.

        Raises:
            ValueError: if there is no such socket.
        """
        if not 0 <= socket < self.host.memory.homes:
            raise ValueError(f"{self.name} has no socket {socket}")
        place = socket << SOCKET_BITS
        if written and self.group.host.memory.dram_latency:
            place |= WRITTEN
        free = self._next_address.get(place, place)
        address = -(-free // page_size) * page_size
        self._next_address[place] = address + -(-max(length, 1) // PAGE) * PAGE
        return address


class Cluster:
    """Nodes joined by the machine's network, or one or two nodes back to back if it has none.

    Until its simulator has run for the first time Python looks for garbage less often.

    Args:
        machine: a resolved machine.
        nodes: which of its nodes to build, or how many of the first; all of them by default.

    Raises:
        ValueError: if the machine has fewer nodes.
    """

    def __init__(
        self, sim: Simulator, machine: Machine, nodes: int | Sequence[int] | None = None
    ) -> None:
        wanted = machine.nodes if nodes is None else nodes
        chosen = range(wanted) if isinstance(wanted, int) else wanted
        if len(chosen) > machine.nodes:
            raise ValueError(f"{machine.id} has {machine.nodes} nodes, not {len(chosen)}")
        self.sim = sim
        collect_seldom()
        if not sim.exact:
            sim.forward = FastForward(sim)
        self.machine = machine
        self.nodes = [Node(sim, machine, index) for index in chosen]
        for watcher in sim.watchers:
            watcher.built(self)
        self.fabric = Fabric(sim, machine.wiring)
        if sim.profile is not None:
            sim.profile.sent.append(self.packets_sent)
        if machine.switch is None:
            # One alone has no cable, and what its processes send each other needs none.
            if len(chosen) == 2:
                a, b = self.nodes
                for one, other in zip(a.adapter.ports, b.adapter.ports, strict=False):
                    self.fabric.join(one, other)
            return
        for node in self.nodes:
            link, receive = node.group.link, node.group.hca.receive
            parts = receive.parts(link, machine.mtu) if isinstance(link, EthernetLink) else ()
            for port in node.adapter.ports:
                self.fabric.attach(port, link, parts)

    def packets_sent(self) -> int:
        """Packets that all adapters have sent so far, those without data included."""
        ports = [port for node in self.nodes for port in node.adapter.ports]
        return sum([port.transmitter.packets for port in ports])

    def counters(self) -> dict[str, int]:
        """The counters of all adapters and buses, added up by name.

        Where links lose packets, what they have lost and corrupted is among them, and how often the
        timers of requests have expired, whatever drivers call that. Of switches with a shared
        memory it is what they and adapters have discarded and they have marked, and how often each
        has paused the other.
        """
        total = Counter[str]()
        for node in self.nodes:
            total.update(node.adapter.counters())
        if lossy := self.fabric.lossy:
            total["lost_packets"] = sum([way.dropped for way in lossy])
            total["corrupted_packets"] = sum([way.corrupted for way in lossy])
            total["timeouts"] = sum([node.adapter.overdue.timeouts for node in self.nodes])
        if memories := [one.memory for one in self.fabric.switches if one.memory is not None]:
            total["switch_discards"] = sum([one.dropped for one in memories])
            total["switch_marks"] = sum([one.marked for one in memories])
            total["pause_frames"] = sum([one.pauses for one in memories])
            total["rx_discards_phy"] = sum([one.discarded for one in self.fabric.port_buffers])
            total["adapter_pause_frames"] = sum([one.frames for one in self.fabric.port_buffers])
            for one in self.fabric.port_buffers:
                total.update(one.pauses())
        if watched := [output for one in self.fabric.switches for output in one.watched]:
            total["pfcwd_storms"] = sum([output.storms for output in watched])
            total["pfcwd_drops"] = sum([output.discarded for output in watched])
        if markings := [one for switch in self.fabric.switches for one in switch.markings]:
            total["switch_marks"] = sum([one.marked for one in markings])
        return dict(total)
