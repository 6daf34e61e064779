"""Adapter ports, switches and the links between them, as far as packets reach them."""

from __future__ import annotations

from collections.abc import Sequence

from hcasim.catalog import Link, Way, Wiring
from hcasim.catalog.receive import BufferPart
from hcasim.engine import Simulator
from hcasim.fabric.flow_control import connect_ports
from hcasim.fabric.link import Receiver, Transmitter
from hcasim.fabric.loss import LossyWay, RandomLosses, lose
from hcasim.fabric.multicast import Groups
from hcasim.fabric.port_buffer import PortBuffer
from hcasim.fabric.priorities import PriorityTransmitter
from hcasim.fabric.switch import MemoryInput, Switch


class EndPort(Receiver):
    """A port of an adapter; ``groups`` are those of its subnet.

    It overruns if who sends to it does not know the room in its buffer.
    """

    overruns = False

    groups: Groups
    lid: int
    transmitter: Transmitter
    buffer_bytes: int


class Fabric:
    """The part of a network that somebody uses.

    A switch is built when the first adapter port on it is attached or the first packet is sent to
    it, and finds the output for a destination when the first packet for it comes.

    Attributes:
        lossy: the directions of links that lose or corrupt packets.
        port_buffers: of adapters, behind switches that do not know the room in them.
    """

    def __init__(self, sim: Simulator, wiring: Wiring) -> None:
        self.sim = sim
        self.wiring = wiring
        self.groups = Groups(wiring)
        self.lossy: list[LossyWay] = []
        self.port_buffers: list[PortBuffer] = []
        self._switches: dict[int, Switch] = {}

    @property
    def switches(self) -> list[Switch]:
        return [self._switches[number] for number in sorted(self._switches)]

    def attach(self, end: EndPort, link: Link, parts: Sequence[BufferPart] = ()) -> None:
        """Join an adapter's port and a switch; a shared memory there needs the buffer's parts."""
        number, port = self.wiring.places[end.lid - 1]
        switch = self.switch(number)
        output = switch.add_port(port, link, to_adapter=True)
        far, room = switch.inputs[port], switch.buffer_bytes
        self._link(end.transmitter, end, end.buffer_bytes, output, far, room)
        if switch.memory is not None:
            assert isinstance(output, PriorityTransmitter)
            reaction = switch.memory.reaction if switch.memory.pauses_senders else None
            end.overruns = True
            back = end.transmitter
            what = "discards" if reaction is None else "receive_buffer"
            name = f"{back.name.removesuffix('.link')}.{what}"
            self.port_buffers.append(PortBuffer(name, output, end, back, parts, reaction))
        self._enter(end)

    def join(self, a: EndPort, b: EndPort) -> None:
        self._link(a.transmitter, a, a.buffer_bytes, b.transmitter, b, b.buffer_bytes)
        self._enter(a)
        self._enter(b)

    def _link(
        self,
        a: Transmitter,
        a_end: Receiver,
        a_room: int,
        b: Transmitter,
        b_end: Receiver,
        b_room: int,
    ) -> None:
        """Make a link of two transmitters, as `connect_ports` does, that loses what it is to."""
        connect_ports(a, a_end, a_room, b, b_end, b_room)
        for way, end in ((a, b_end), (b, a_end)):
            if isinstance(end, MemoryInput):
                assert isinstance(way, PriorityTransmitter), f"{way.name} cannot pause"
                end.comes_from(way)
            kind = way.medium
            if kind.loss or kind.corruption:
                drops, corrupts = kind.loss / 10**9, kind.corruption / 10**9
                losses = RandomLosses(drops, corrupts, kind.seed, way.name)
                self.lossy.append(lose(way, losses))

    def _enter(self, end: EndPort) -> None:
        end.groups = self.groups
        for credits in end.transmitter.pools:
            self.sim.resources.keeps_waiting(credits.name, credits)

    def switch(self, number: int) -> Switch:
        found = self._switches.get(number)
        if found is None:
            wiring = self.wiring
            name, model = wiring.names[number], wiring.models[number]
            found = self._switches[number] = Switch(self.sim, model, name, number, self)
        return found

    def output(self, switch: Switch, lid: int) -> int:
        if not 1 <= lid <= len(self.wiring.places):
            return -1
        way = self.wiring.out(switch.number, lid)
        if not isinstance(way, Way):
            if switch.outputs[way] is None:
                raise ValueError(f"no node with LID {lid} was built")
            return way
        if switch.outputs[way.port] is None:
            self._connect(switch, way)
        return way.port

    def equal(self, switch: Switch, lid: int) -> list[int]:
        if not 1 <= lid <= len(self.wiring.places):
            return []
        ways = self.wiring.shortest(switch.number, lid)
        for way in ways:
            if switch.outputs[way.port] is None:
                self._connect(switch, way)
        return [way.port for way in ways]

    def outputs(self, switch: Switch, mlid: int) -> list[int]:
        ports = self.groups.outputs(switch.number, mlid)
        for way in self.wiring.ways[switch.number]:
            if way.port in ports and switch.outputs[way.port] is None:
                self._connect(switch, way)
        return ports

    def _connect(self, near: Switch, way: Way) -> None:
        far = self.switch(way.neighbour)
        there, back = near.add_port(way.port, way.link), far.add_port(way.far_port, way.link)
        near_input, far_input = near.inputs[way.port], far.inputs[way.far_port]
        self._link(there, near_input, near.buffer_bytes, back, far_input, far.buffer_bytes)

    def transmitters(self) -> list[Transmitter]:
        return [
            output for switch in self.switches for output in switch.outputs if output is not None
        ]
