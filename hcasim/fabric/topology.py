"""Adapter ports, switches and the links between them, with a route for every destination."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from hcasim.catalog import Link
from hcasim.catalog import Switch as SwitchDescription
from hcasim.engine import Simulator
from hcasim.fabric.link import ReceiveBuffer, Receiver, Transmitter, connect_ports
from hcasim.fabric.switch import Switch


class EndPort(Receiver, Protocol):
    """A port of an adapter."""

    lid: int
    transmitter: Transmitter
    buffer_bytes: int
    buffer: ReceiveBuffer | None


class Fabric:
    """A graph of adapter ports and switches.

    Build it with :meth:`add_switch`, :meth:`attach` and :meth:`join`, then call :meth:`route`.

    Args:
        link: description of every link.
    """

    def __init__(self, sim: Simulator, link: Link) -> None:
        self.sim = sim
        self.link = link
        self.switches: list[Switch] = []
        self._ends: list[EndPort] = []
        self._place: dict[int, tuple[Switch, int]] = {}
        self._trunks: dict[Switch, list[tuple[int, Switch]]] = {}
        self._used: dict[Switch, int] = {}

    def add_switch(self, description: SwitchDescription, name: str = "") -> Switch:
        """Add a switch."""
        switch = Switch(self.sim, description, self.link, name or f"switch{len(self.switches)}")
        self.switches.append(switch)
        self._trunks[switch] = []
        self._used[switch] = 0
        return switch

    def attach(self, end: EndPort, switch: Switch) -> None:
        """Connect an adapter port to the next free port of a switch."""
        port = self._take_port(switch)
        connect_ports(
            end.transmitter,
            end,
            end.buffer_bytes,
            switch.outputs[port],
            switch.inputs[port],
            switch.buffer_bytes,
        )
        end.buffer = ReceiveBuffer(switch.outputs[port], end.transmitter)
        switch.inputs[port].buffer = ReceiveBuffer(end.transmitter, switch.outputs[port])
        self._place[end.lid] = (switch, port)
        self._ends.append(end)

    def join(self, a: EndPort, b: EndPort) -> None:
        """Connect two adapter ports back to back."""
        connect_ports(a.transmitter, a, a.buffer_bytes, b.transmitter, b, b.buffer_bytes)
        a.buffer = ReceiveBuffer(b.transmitter, a.transmitter)
        b.buffer = ReceiveBuffer(a.transmitter, b.transmitter)

    def trunk(self, a: Switch, b: Switch) -> None:
        """Connect two switches with one link."""
        port_a, port_b = self._take_port(a), self._take_port(b)
        connect_ports(
            a.outputs[port_a],
            a.inputs[port_a],
            a.buffer_bytes,
            b.outputs[port_b],
            b.inputs[port_b],
            b.buffer_bytes,
        )
        a.inputs[port_a].buffer = ReceiveBuffer(b.outputs[port_b], a.outputs[port_a])
        b.inputs[port_b].buffer = ReceiveBuffer(a.outputs[port_a], b.outputs[port_b])
        self._trunks[a].append((port_a, b))
        self._trunks[b].append((port_b, a))

    def route(self) -> None:
        """Fill every switch's table with shortest paths, parallel trunks shared by LID."""
        for lid, (home, port) in self._place.items():
            distance = {home: 0}
            queue = deque([home])
            while queue:
                switch = queue.popleft()
                for _, neighbour in self._trunks[switch]:
                    if neighbour not in distance:
                        distance[neighbour] = distance[switch] + 1
                        queue.append(neighbour)
            for switch in distance:
                if switch is home:
                    switch.routes[lid] = port
                    continue
                closer = [
                    out
                    for out, neighbour in self._trunks[switch]
                    if distance[neighbour] < distance[switch]
                ]
                switch.routes[lid] = closer[lid % len(closer)]

    def transmitters(self) -> list[Transmitter]:
        """Every direction of every link of the switches."""
        return [output for switch in self.switches for output in switch.outputs]

    def _take_port(self, switch: Switch) -> int:
        port = self._used[switch]
        if port >= len(switch.outputs):
            raise ValueError(f"{switch.name} has {len(switch.outputs)} ports and all are in use")
        self._used[switch] = port + 1
        return port
