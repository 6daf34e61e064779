"""Which cable goes where, and which way a packet takes from switch to switch."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hcasim.catalog.link import Link
from hcasim.catalog.network.topologies import Switch


@dataclass(frozen=True, slots=True)
class Way:
    """One cable from a switch to another.

    Attributes:
        port: of the switch that it leaves.
        neighbour: the switch at its other end.
        far_port: where it arrives there.
        link: the cable.
        trunk: its name, if it has one.
    """

    port: int
    neighbour: int
    far_port: int
    link: Link
    trunk: str


class Wiring:
    """Switches, the adapter ports on them, and the trunks between them.

    Build it with :meth:`add_switch`, :meth:`attach` and :meth:`trunk`. Routes are then found for
    each destination when somebody asks; nothing is kept for those that nobody asks for.

    Attributes:
        names: of the switches.
        models: of the switches.
        ways: cables to other switches, by switch.
        places: switch and port of each adapter port, in the order of their LIDs, which begin at 1.
        tables: for routes that are given: by switch, the trunks towards each node.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.models: list[Switch] = []
        self.ways: list[list[Way]] = []
        self.used: list[int] = []
        self.places: list[tuple[int, int]] = []
        self.tables: list[Mapping[int, list[Way]]] | None = None
        self._nodes: list[tuple[int, int]] = []
        self._divisors: list[int] = []
        self._distances: dict[int, list[int]] = {}

    def add_switch(self, name: str, model: Switch, divisor: int = 1) -> int:
        """Add a switch and return its number.

        Parameters:
            name: of the switch.
            model: what it is.
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
            self._nodes.append((node, port))

    def trunk(self, a: int, b: int, link: Link, cables: int = 1, name: str = "") -> None:
        """Connect two switches."""
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
        node, rank = self._nodes[lid - 1]
        if self.tables is not None:
            ways = self.tables[switch][node]
        else:
            distance = self.distances(home)
            ways = [way for way in self.ways[switch] if distance[way.neighbour] < distance[switch]]
        return ways[(node + rank) // self._divisors[switch] % len(ways)]

    def route(self, source: int, lid: int) -> list[int]:
        """Return the switches on the way to a LID, from the one at a source.

        Raises:
            ValueError: if given routes go round in a circle.
        """
        path = [source]
        while isinstance(way := self.out(path[-1], lid), Way):
            path.append(way.neighbour)
            if len(path) > len(self.names):
                raise ValueError(" - ".join(self.names[switch] for switch in path[-4:]))
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

    def faults(self) -> Iterator[str]:
        """Say which switches have too few ports, and which cannot be reached."""
        for name, model, used in zip(self.names, self.models, self.used, strict=True):
            if used > model.ports:
                yield (
                    f"switch.ports: found {model.ports}; allowed: from {used}, for the adapter "
                    f"ports and trunks on {name}"
                )
                return
        if self.names:
            apart = [self.names[s] for s, far in enumerate(self.distances(0)) if far < 0]
            if apart:
                yield (
                    f"network: found no way from {self.names[0]} to {', '.join(apart)}; "
                    "allowed: trunks that connect all switches"
                )
            elif self.tables is not None:
                yield from self._circles()

    def _circles(self) -> Iterator[str]:
        for lid, (node, rank) in enumerate(self._nodes, start=1):
            for switch in range(len(self.names)) if rank == 0 else ():
                try:
                    self.route(switch, lid)
                except ValueError as error:
                    yield (
                        f"network.switches: found routes to node {node} that go round in a circle "
                        f"({error}); allowed: routes that arrive"
                    )
                    return
