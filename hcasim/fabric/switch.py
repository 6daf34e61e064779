"""A cut-through switch with a buffer at each input and an arbiter at each output."""

from __future__ import annotations

from functools import partial

from hcasim.catalog import Link
from hcasim.catalog import Switch as SwitchDescription
from hcasim.engine import Probe, Simulator
from hcasim.fabric.link import ReceiveBuffer, Transmitter
from hcasim.fabric.packet import Packet


class SwitchInput:
    """One input port: it looks the destination up and hands the packet to the output's arbiter."""

    def __init__(self, switch: Switch, port: int) -> None:
        self._switch = switch
        self._port = port
        self.buffer: ReceiveBuffer | None = None

    def receive(self, packet: Packet, head_at: int, tail_at: int) -> None:
        """Forward a packet ``latency`` after its first byte at the earliest."""
        switch = self._switch
        output = switch.outputs[switch.routes[packet.lid]]
        # The output may not run dry when it is faster than the input.
        start = max(head_at, tail_at - output.serialisation(packet)) + switch.latency_ps
        probe = switch.probe
        if probe.listeners:
            probe.event("link", packet.operation, packet, head_at)
            probe.event("switch", packet.operation, packet, start)
        buffer = self.buffer
        assert buffer is not None
        output.send(self._port, packet, start, partial(buffer.free, packet))


class Switch:
    """Forwards packets by destination LID; each output serves the inputs round robin.

    Args:
        description: ports, latency in ps, buffer in bytes per port.
        link: the links on its ports.

    Attributes:
        routes: output port for each LID.
    """

    def __init__(
        self, sim: Simulator, description: SwitchDescription, link: Link, name: str
    ) -> None:
        self.sim = sim
        self.name = name
        self.probe = Probe(sim, name)
        self.latency_ps = description.latency
        self.buffer_bytes = description.buffer
        self.outputs = [
            Transmitter(sim, f"{name}.port{port + 1}", link, description.ports)
            for port in range(description.ports)
        ]
        self.inputs = [SwitchInput(self, port) for port in range(description.ports)]
        self.routes: dict[int, int] = {}
