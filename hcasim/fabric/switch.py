"""A cut-through switch with a buffer at each input and an arbiter at each output."""

from __future__ import annotations

from typing import Final, Protocol

from hcasim.catalog import Link
from hcasim.catalog import Switch as SwitchDescription
from hcasim.engine import Probe, Simulator
from hcasim.fabric.arbitration import ARBITRATIONS
from hcasim.fabric.link import Receiver, Transmitter
from hcasim.fabric.multicast import MULTICAST_LIDS
from hcasim.fabric.packet import Holder, Packet, SharedRoom

_FIRST_GROUP: Final = MULTICAST_LIDS.start


class Routes(Protocol):
    """What knows the outputs of switches."""

    def output(self, switch: Switch, lid: int) -> int:
        """The output of a switch towards a destination; -1 if there is none."""

    def outputs(self, switch: Switch, mlid: int) -> list[int]:
        """The outputs of a switch towards the members of a multicast group."""


class SwitchInput(Receiver):
    """One input port: it looks the destination up and hands the packet to the output's arbiter."""

    def __init__(self, switch: Switch, port: int) -> None:
        self._switch = switch
        self._port = port

    def receive(self, packet: Packet, head_at: int, tail_at: int) -> None:
        lid = packet.route.lid
        output = self._switch.routes.get(lid)
        if output is None and lid >= _FIRST_GROUP:
            self._replicate(packet, head_at, tail_at)
            return
        output = output or self._switch.find(lid)
        if output is None:
            self._drop(packet, tail_at)
        else:
            self._forward(output, packet, head_at, tail_at, self.buffer)

    def _replicate(self, packet: Packet, head_at: int, tail_at: int) -> None:
        """Send a copy to each output of the group's tree but the one that it comes from."""
        outputs = self._switch.spread(packet.route.lid, self._port)
        if not outputs:
            self._drop(packet, tail_at)
            return
        room = SharedRoom(self.buffer, packet, len(outputs))
        for output in outputs:
            self._forward(output, packet.copy(packet.qpn), head_at, tail_at, room)

    def _forward(
        self, output: Transmitter, packet: Packet, head_at: int, tail_at: int, room: Holder
    ) -> None:
        switch = self._switch
        # The output may not run dry when it is faster than the input.
        start = tail_at - output.serialisation(packet)
        if head_at > start:
            start = head_at
        start += switch.latency_ps
        probe = switch.probe
        if probe.listeners:
            probe.event("link", packet.operation, packet, head_at)
            probe.event("switch", packet.operation, packet, start, start - switch.latency_ps)
        output.send(self._port, packet, start, room)

    def _drop(self, packet: Packet, at_ps: int) -> None:
        """Lose a packet to a LID that no port has, or to a group without members."""
        self.buffer.free(packet, at_ps)
        if packet.sender is not None:
            packet.sender.lost(packet)


class Switch:
    """Forwards packets by destination LID; at each output the inputs compete.

    Attributes:
        outputs: by port; None where nothing is connected.
        routes: outputs by LID, which the network tells when they are first needed.
    """

    def __init__(
        self,
        sim: Simulator,
        description: SwitchDescription,
        name: str,
        number: int,
        network: Routes,
    ) -> None:
        self.sim = sim
        self.name = name
        self.probe = Probe(sim, name)
        self.number = number
        self.latency_ps = description.latency
        self.buffer_bytes = description.buffer
        self.outputs: list[Transmitter | None] = [None] * description.ports
        self.inputs = [SwitchInput(self, port) for port in range(description.ports)]
        self.routes: dict[int, Transmitter] = {}
        self._network = network
        self._arbitration = ARBITRATIONS[description.arbitration]

    def add_port(self, port: int, link: Link) -> Transmitter:
        output = Transmitter(self.sim, f"{self.name}.port{port + 1}", link, self._arbitration())
        self.outputs[port] = output
        self.sim.resources.serves(output.name, output)
        return output

    def find(self, lid: int) -> Transmitter | None:
        """The output towards a destination; None if there is none."""
        port = self._network.output(self, lid)
        output = self.outputs[port] if port >= 0 else None
        if output is not None:
            self.routes[lid] = output
        return output

    def spread(self, mlid: int, source: int) -> list[Transmitter]:
        """The outputs to the members of a multicast group, but for the port it comes from."""
        found = []
        for port in self._network.outputs(self, mlid):
            if port != source and (output := self.outputs[port]) is not None:
                found.append(output)
        return found
