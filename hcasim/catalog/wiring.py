"""Which cable of a network goes where, and which way a packet takes from switch to switch."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from hcasim.catalog.link import Link
from hcasim.catalog.testbed import (
    BackToBack,
    Dragonfly,
    Explicit,
    FatTree,
    Network,
    OneSwitch,
    Ring,
    Switch,
    Tree,
)
from hcasim.ground.errors import CatalogError, Fault, FaultError, nearest, one_of, refuse

Groups = Sequence[tuple[str, int, int]]
"""Name, number of nodes and ports of each node's adapter, group by group."""
_SELECTION = re.compile(r"\s*([\w.-]+)\s*(?:\[\s*(\d+)\s*(:\s*(\d+)\s*)?\]\s*)?")


@dataclass(frozen=True, slots=True)
class Way:
    """One cable from a port of a switch to a port of its neighbour; its trunk may have a name."""

    port: int
    neighbour: int
    far_port: int
    link: Link
    trunk: str


class Wiring:
    """Switches, the adapter ports on them, and the trunks between them.

    Attributes:
        names: of the switches, as their models.
        ways: cables to other switches, by switch.
        used: ports with a cable, by switch.
        places: switch and port of each adapter port, in the order of their LIDs, which begin at 1.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.models: list[Switch] = []
        self.ways: list[list[Way]] = []
        self.used: list[int] = []
        self.places: list[tuple[int, int]] = []
        self._numbers: list[int] = []
        self._divisors: list[int] = []
        self._distances: dict[int, list[int]] = {}

    def add_switch(self, name: str, model: Switch, divisor: int = 1) -> int:
        """Add a switch and return its number.

        Parameters:
            divisor: what the number of a destination is divided by before its remainder chooses
                between equal ways, so that the levels of a tree choose by different digits of it.
        """
        self.names.append(name)
        self.models.append(model)
        self.ways.append([])
        self.used.append(0)
        self._divisors.append(divisor)
        return len(self.names) - 1

    def attach(self, node: int, ports: int, switch: int) -> None:
        """Connect the adapter ports of a node, which come in order, to the next of a switch."""
        for port in range(ports):
            self.places.append((switch, self._take(switch)))
            self._numbers.append(node + port)

    def trunk(self, a: int, b: int, link: Link, cables: int = 1, name: str = "") -> None:
        for _ in range(cables):
            here, there = self._take(a), self._take(b)
            self.ways[a].append(Way(here, b, there, link, name))
            self.ways[b].append(Way(there, a, here, link, name))

    def _take(self, switch: int) -> int:
        self.used[switch] += 1
        return self.used[switch] - 1

    def out(self, switch: int, lid: int) -> Way | int:
        """Return the way from a switch towards a LID, or the port that it is on.

        Of several shortest ways the remainder of the destination's number chooses one (d-mod-k).
        """
        home, port = self.places[lid - 1]
        if switch == home:
            return port
        ways = self.shortest(switch, lid)
        return ways[self._numbers[lid - 1] // self._divisors[switch] % len(ways)]

    def shortest(self, switch: int, lid: int) -> list[Way]:
        """Return all shortest ways from a switch towards a LID; none from the one that it is on."""
        distance = self.distances(self.places[lid - 1][0])
        return [way for way in self.ways[switch] if distance[way.neighbour] < distance[switch]]

    def route(self, source: int, lid: int) -> list[int]:
        path = [source]
        while isinstance(way := self.out(path[-1], lid), Way):
            path.append(way.neighbour)
        return path

    def distances(self, home: int) -> list[int]:
        """Return the number of trunks from each switch to one; -1 where none leads there."""
        if home not in self._distances:
            distance = [-1] * len(self.names)
            distance[home] = 0
            queue = deque([home])
            while queue:
                switch = queue.popleft()
                for way in self.ways[switch]:
                    if distance[way.neighbour] < 0:
                        distance[way.neighbour] = distance[switch] + 1
                        queue.append(way.neighbour)
            self._distances[home] = distance
        return self._distances[home]

    def faults(self) -> Iterator[Fault]:
        """Say which switches have too few ports, and which cannot be reached."""
        for name, model, used in zip(self.names, self.models, self.used, strict=True):
            if used > model.ports:
                allowed = f"from {used}, for the adapter ports and trunks on {name}"
                yield Fault("switch.ports", model.ports, allowed)
                return
        far = self.distances(0) if self.names else []
        if apart := [name for name, away in zip(self.names, far, strict=True) if away < 0]:
            found = f"no way from {self.names[0]} to {', '.join(apart)}"
            yield Fault("network", apart, "trunks that connect all switches", text=found)


def wire(
    network: Network, nodes: Groups, switches: Mapping[str, Switch], trunks: Mapping[str, Link]
) -> Wiring:
    """Connect the nodes of a machine.

    Parameters:
        switches: the model of each named switch; under "" that of all others.
        trunks: the cables of each named trunk; under "" those of all others.

    Raises:
        CatalogError: each fault of what the network names, or that it has no room.
    """
    wiring = Wiring()
    ports = [each for _, count, each in nodes for _ in range(count)]
    match network:
        case BackToBack():
            pass
        case Explicit():
            _wire_named(wiring, network, nodes, switches, trunks)
        case OneSwitch():
            _fill(wiring, ports, [wiring.add_switch("switch0", switches[""])], sum(ports))
        case Ring():
            chain = [wiring.add_switch(f"switch{n}", switches[""]) for n in range(network.switches)]
            each = -(-len(ports) // len(chain))
            for node, count in enumerate(ports):
                wiring.attach(node, count, chain[node // each])
            for a in chain:
                wiring.trunk(a, (a + 1) % len(chain), trunks[""], network.parallel or 1)
        case Dragonfly():
            _dragonfly(wiring, network, ports, switches[""], trunks[""])
        case _:
            _tree(wiring, network, ports, switches[""], trunks[""])
    return wiring


def _fill(wiring: Wiring, ports: Sequence[int], switches: Sequence[int], room: int) -> None:
    """Put node after node on switch after switch; all ports of a node are on the same one."""
    place, free = 0, room
    for node, count in enumerate(ports):
        if count > free:
            place, free = place + 1, room
        if place >= len(switches) or count > free:
            found = f"{len(ports)} nodes with {sum(ports)} adapter ports"
            many = len(switches)
            allowed = f"up to {many * room} ports, {room} on each of {many} switches"
            raise CatalogError([Fault("nodes", ports, allowed, text=found)])
        wiring.attach(node, count, switches[place])
        free -= count


def _tree(
    wiring: Wiring, network: FatTree | Tree, ports: Sequence[int], model: Switch, link: Link
) -> None:
    shape = network.shape
    room = shape[0][0]
    per_leaf = max(1, room // max(ports)) if ports else 1
    leaves = prod(children for children, _, _ in shape[1:])
    below = leaves // shape[-1][0] if len(shape) > 1 else 1
    subtrees = min(leaves // below, -(-len(ports) // (per_leaf * below)))
    heads = [prod(c for c, _, _ in shape[level:-1]) * subtrees for level in range(1, len(shape))]
    levels: list[list[int]] = []
    copies = divisor = 1
    for level, (count, (_, parents, cables)) in enumerate(zip([*heads, 1], shape, strict=True), 1):
        copies, divisor = copies * parents, divisor * parents * cables
        names = [f"level{level}.switch{place}" for place in range(count * copies)]
        levels.append([wiring.add_switch(name, model, divisor) for name in names])
    _fill(wiring, ports, levels[0], room)
    copies = 1
    for lower, upper, (children, parents, cables) in zip(
        levels, levels[1:], shape[1:], strict=False
    ):
        for place, switch in enumerate(lower):
            head, copy = divmod(place, copies)
            for parent in [*range(parents)] * cables:
                above = (head // children * parents + parent) * copies + copy
                wiring.trunk(switch, upper[above], link)
        copies *= parents


def _dragonfly(
    wiring: Wiring, network: Dragonfly, ports: Sequence[int], model: Switch, link: Link
) -> None:
    size, far = network.switches, network.trunks
    groups = size * far + 1
    switches = [
        [wiring.add_switch(f"group{group}.switch{n}", model) for n in range(size)]
        for group in range(groups)
    ]
    _fill(wiring, ports, [switch for group in switches for switch in group], network.ports)
    for number, group in enumerate(switches):
        for place, switch in enumerate(group):
            for other in group[place + 1 :]:
                wiring.trunk(switch, other, link)
        for other_number in range(number + 1, groups):
            here = (other_number - number - 1) // far
            there = (number - other_number - 1) % groups // far
            wiring.trunk(group[here], switches[other_number][there], link)


def _wire_named(
    wiring: Wiring,
    network: Explicit,
    nodes: Groups,
    switches: Mapping[str, Switch],
    trunks: Mapping[str, Link],
) -> None:
    faults: list[Fault] = []
    numbers = {
        name: wiring.add_switch(name, switches.get(name) or switches[""])
        for name in network.switches
    }
    homes: dict[int, str] = {}
    for name, switch in network.switches.items():
        for text in switch.nodes:
            where = f"network.switches.{name}.nodes"
            try:
                chosen = select(nodes, text)
            except FaultError as error:
                faults.append(error.fault.at(where))
                continue
            if taken := [homes[node] for node in chosen if node in homes]:
                words = f"{text!r}, which is on {taken[0]} already"
                faults.append(Fault(where, text, "", text=words))
            homes |= {node: name for node in chosen if node not in homes}
    ports = [(f"{name}[{n}]", each) for name, count, each in nodes for n in range(count)]
    for node, (label, each) in enumerate(ports):
        if node in homes:
            wiring.attach(node, each, numbers[homes[node]])
        elif not faults:
            allowed = "each node on one of them"
            faults.append(Fault("network.switches", label, allowed, text=f"{label} on no switch"))
    for name, trunk in network.trunks.items():
        unknown = [end for end in trunk.between if end not in numbers]
        place, allowed = f"network.trunks.{name}.between", one_of(list(numbers))
        faults += [Fault(place, end, allowed, nearest(end, numbers)) for end in unknown]
        if not unknown:
            a, b = (numbers[end] for end in trunk.between)
            wiring.trunk(a, b, trunks.get(name) or trunks[""], trunk.parallel or 1, name)
    refuse(*faults)


def select(nodes: Groups, text: str) -> range:
    """Return the numbers of the nodes that words such as "compute", "compute[3]" and "a[0:8]" name.

    Nodes are counted from 0 in their group; FaultError if there are no such.
    """
    match = _SELECTION.fullmatch(text)
    names = [name for name, _, _ in nodes]
    if match is None or match[1] not in names:
        found = text if match is None else match[1]
        allowed = f"{one_of(names)}, such as {names[0]}[0] or {names[0]}[0:2]"
        raise FaultError(text, allowed, nearest(found, names))
    place = names.index(match[1])
    first, count = sum(size for _, size, _ in nodes[:place]), nodes[place][1]
    low = int(match[2] or 0)
    high = count if match[2] is None else int(match[4]) if match[3] else low + 1
    if not low < high <= count:
        raise FaultError(text, f"nodes 0 to {count - 1} of {match[1]}")
    return range(first + low, first + high)
