"""Multicast groups of a subnet, and the trees on which switches replicate packets for them."""

from __future__ import annotations

from typing import Final

from hcasim.catalog import Way, Wiring

MULTICAST_LIDS: Final = range(0xC000, 0xFFFF)
"""LIDs of multicast groups (InfiniBand Architecture Specification volume 1, 4.1.3)."""


class Groups:
    """Which ports are members of each group, by LIDs, and what leads to them.

    Each group has one tree of the shortest ways to a root, the switch that is least far from all
    members (OpenSM, osm_mcast_mgr.c), so packets cannot go in circles. What comes from a switch
    that is not on it goes towards the root until it meets the tree.
    """

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._members: dict[int, set[int]] = {}
        self._trees: dict[int, Tree] = {}

    def join(self, mlid: int, lid: int) -> None:
        self._members.setdefault(mlid, set()).add(lid)
        self._trees.pop(mlid, None)

    def leave(self, mlid: int, lid: int) -> None:
        self._members[mlid].discard(lid)
        self._trees.pop(mlid, None)

    def outputs(self, switch: int, mlid: int) -> list[int]:
        """Ports of a switch that belong to the tree of a group, or the one that leads to it."""
        members = self._members.get(mlid)
        if not members:
            return []
        tree = self._trees.get(mlid)
        if tree is None:
            tree = self._trees[mlid] = Tree(self._wiring, sorted(members))
        return tree.ports.get(switch) or [tree.parent(switch).port]


class Tree:
    """The tree of a group: of each switch on it the ports that belong to it."""

    def __init__(self, wiring: Wiring, members: list[int]) -> None:
        self._wiring = wiring
        self.ports: dict[int, list[int]] = {}
        homes = [wiring.places[lid - 1][0] for lid in members]
        far = [wiring.distances(home) for home in homes]
        totals = [sum([way[switch] for way in far]) for switch in range(len(wiring.names))]
        self._root = totals.index(min(totals))
        for lid in members:
            switch, port = wiring.places[lid - 1]
            self._add(switch, port)
            while switch != self._root:
                way = self.parent(switch)
                self._add(switch, way.port)
                self._add(way.neighbour, way.far_port)
                switch = way.neighbour
        for ports in self.ports.values():
            ports.sort()

    def _add(self, switch: int, port: int) -> None:
        ports = self.ports.setdefault(switch, [])
        if port not in ports:
            ports.append(port)

    def parent(self, switch: int) -> Way:
        """The first of the shortest ways from a switch to the root."""
        distance = self._wiring.distances(self._root)
        for way in self._wiring.ways[switch]:
            if distance[way.neighbour] < distance[switch]:
                return way
        raise AssertionError(f"switch {switch} does not reach the root")
