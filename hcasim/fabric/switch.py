"""A switch with a buffer at each input, or one for all, and an arbiter at each output."""

from __future__ import annotations

from typing import Final, Protocol

from hcasim.catalog import Link
from hcasim.catalog import Switch as SwitchDescription
from hcasim.catalog.classes import PRIORITIES
from hcasim.engine import Probe, Simulator
from hcasim.fabric.arbitration import ARBITRATIONS
from hcasim.fabric.flow_control import ENDLESS
from hcasim.fabric.lanes import ONE_LANE, LaneTransmitter, Marking
from hcasim.fabric.link import Receiver, Transmitter
from hcasim.fabric.memory import Arriving, InputShare, Lane, Memory, OutputQueue
from hcasim.fabric.multicast import MULTICAST_LIDS
from hcasim.fabric.packet import NOBODY, Holder, Packet, SharedRoom
from hcasim.fabric.priorities import (
    Classes,
    PriorityTransmitter,
    Unpaused,
    WatchedTransmitter,
    priority,
)
from hcasim.fabric.routing import ROUTINGS
from hcasim.fabric.telemetry import WritingLane

_FIRST_GROUP: Final = MULTICAST_LIDS.start


class Routes(Protocol):
    """What knows the outputs of switches."""

    def output(self, switch: Switch, lid: int) -> int:
        """The output of a switch towards a destination; -1 if there is none."""

    def equal(self, switch: Switch, lid: int) -> list[int]:
        """The outputs of a switch towards one on another, by all ways that are equally short."""

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
        output = output or self._switch.choose(packet)
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
        output.send(self._port, packet, self._leaves(output, packet, head_at, tail_at), room)

    def _leaves(self, output: Transmitter, packet: Packet, head_at: int, tail_at: int) -> int:
        """When the first byte of a packet may leave by an output, in ps."""
        switch = self._switch
        start = tail_at
        if not switch.stores:
            # The output may not run dry when it is faster than the input.
            start -= output.serialisation(packet)
            if head_at > start:
                start = head_at
        start += switch.latency_ps
        probe = switch.probe
        if probe.listeners:
            probe.event("link", packet.operation, packet, head_at)
            probe.event("switch", packet.operation, packet, start, start - switch.latency_ps)
        return start

    def _drop(self, packet: Packet, at_ps: int) -> None:
        """Lose a packet to a LID that no port has, or to a group without members."""
        self.buffer.free(packet, at_ps)
        if packet.sender is not None:
            packet.sender.lost(packet)


class MemoryInput(SwitchInput):
    """An input whose packets take room of the memory that all ports share."""

    def __init__(self, switch: Switch, port: int, memory: Memory) -> None:
        super().__init__(switch, port)
        self._memory = memory
        self._sender: PriorityTransmitter | None = None
        self._shares: dict[int, InputShare] = {}
        self._lanes: dict[Transmitter, list[Lane | None]] = {}

    def comes_from(self, sender: PriorityTransmitter) -> None:
        """Learn who sends what comes in here, to be paused: its packets wait for no credits."""
        self._sender = sender
        self.buffer = NOBODY

    def _forward(
        self, output: Transmitter, packet: Packet, head_at: int, tail_at: int, room: Holder
    ) -> None:
        one = priority(packet)
        lanes = self._lanes.get(output)
        lane = (lanes[one] if lanes is not None else None) or self._add_lane(output, one)
        ready_at = self._leaves(output, packet, head_at, tail_at)
        lane.queue.coming += packet.size
        takes_room_at = self._memory.takes_room(head_at, tail_at)
        self._switch.sim.schedule(takes_room_at, Arriving(lane, packet, ready_at))

    def _add_lane(self, output: Transmitter, one: int) -> Lane:
        switch, back = self._switch, self._switch.outputs[self._port]
        assert isinstance(back, PriorityTransmitter)
        assert self._sender is not None
        share = self._shares.get(one)
        if share is None:
            share = self._shares[one] = InputShare(self._sender, back, one)
        queue = switch.queues.get((output, one))
        if queue is None:
            queue = switch.queues[output, one] = OutputQueue()
            switch.waiting.setdefault(output, []).append(queue)
        kind = WritingLane if self._memory.writes else Lane
        lane = kind(self._memory, share, queue, self._port, output)
        self._lanes.setdefault(output, [None] * PRIORITIES)[one] = lane
        return lane


class Switch:
    """Forwards packets to where their destination is; at each output the inputs compete.

    Attributes:
        markings: of outputs that mark packets of InfiniBand.
        memory: what its ports share, if they do.
        queues: in that memory, by output and priority; ``waiting`` has those of each output.
        outputs: by port; None where nothing is connected. Those ``watched`` have a watchdog.
        routes: outputs by LID, which the network tells when they are first needed; without those
            to choose among.
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
        self.buffer_bytes = description.buffer if description.memory is None else ENDLESS
        self.stores = description.forwarding == "store_and_forward"
        self.outputs: list[Transmitter | None] = [None] * description.ports
        self.queues: dict[tuple[Transmitter, int], OutputQueue] = {}
        self.waiting: dict[Transmitter, list[OutputQueue]] = {}
        self.watched: list[WatchedTransmitter] = []
        self.memory: Memory | None = None
        self._described = description.memory
        self.inputs: list[SwitchInput]
        ports = range(description.ports)
        if description.memory is None:
            self.inputs = [SwitchInput(self, port) for port in ports]
        else:
            self.memory = memory = Memory(sim, description.memory, name, len(ports))
            self.inputs = [MemoryInput(self, port, memory) for port in ports]
            # What is random, or depends on how full a memory is, does not repeat itself.
            sim.forward = None
        self.routes: dict[int, Transmitter] = {}
        self._network = network
        self._by_age = description.arbitration == "oldest_first"
        self._ways: dict[int, list[Transmitter]] = {}
        self._routing = None
        if description.routing != "destination":
            seed = description.routing_seed
            self._routing = ROUTINGS[description.routing](
                sim, f"{seed} {name}" if seed else name, description.flowlet, self._load
            )
        self._arbitration = ARBITRATIONS[description.arbitration]
        self.markings: list[Marking] = []
        self._qos = description.qos or ONE_LANE
        self._control = description.congestion_control
        self._laned = description.qos is not None or self._control is not None
        if self._laned:
            sim.forward = None

    def add_port(self, port: int, link: Link, to_adapter: bool = False) -> Transmitter:
        name = f"{self.name}.port{port + 1}"
        output: Transmitter
        described = self._described
        if self._laned:
            output = self._with_lanes(name, link, to_adapter)
        elif described is None:
            output = Transmitter(self.sim, name, link, self._arbitration())
        else:
            order = Unpaused(0, self._by_age)
            if described.classes is not None:
                order = Classes(described.classes)
            if described.watchdog is None:
                output = PriorityTransmitter(self.sim, name, link, order=order)
            else:
                output = WatchedTransmitter(self.sim, name, link, described.watchdog, order)
                self.watched.append(output)
        self.outputs[port] = output
        self.sim.resources.serves(output.name, output)
        return output

    def choose(self, packet: Packet) -> Transmitter | None:
        """The output for a packet whose destination has none yet, or several; None without any."""
        lid, routing = packet.route.lid, self._routing
        if routing is not None:
            ways = self._ways.get(lid)
            if ways is None:
                found = [self.outputs[port] for port in self._network.equal(self, lid)]
                ways = self._ways[lid] = [output for output in found if output is not None]
            if len(ways) > 1:
                return routing.choose(ways, packet)
        return self.find(lid)

    def _load(self, output: Transmitter) -> int:
        """Bytes that are to leave by an output."""
        if self.memory is None:
            return output.backlog()
        return sum([queue.length + queue.coming for queue in self.waiting.get(output, ())])

    def _with_lanes(self, name: str, link: Link, to_adapter: bool) -> Transmitter:
        marking = None
        if self._control is not None:
            room = self.buffer_bytes // self._qos.max_vls
            marking = Marking(Probe(self.sim, name), self._control, name, room, to_adapter)
            self.markings.append(marking)
        return LaneTransmitter(self.sim, name, link, self._qos, self._arbitration, marking=marking)

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
