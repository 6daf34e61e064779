"""Every node is reached by every other on a shortest way, and equal ways share the nodes."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import CatalogError, InfinibandLink, Switch, Way, Wiring
from hcasim.catalog.testbed import (
    Dragonfly,
    Explicit,
    FatTree,
    NamedSwitch,
    Network,
    OneSwitch,
    Ring,
    Tree,
    Trunk,
)
from hcasim.catalog.wiring import wire
from hcasim.fabric.multicast import Groups

LINK = InfinibandLink(speed="SDR", width=4, cable_length=5000, propagation=5000, credit_update=1024)
SWITCH = Switch(id="invented", title="Invented", ports=4096, latency=1, buffer=16384)


def wired(network: Network, nodes: int, ports: int = 1) -> Wiring:
    groups = [("nodes", nodes, ports)]
    wiring = wire(network, groups, {"": SWITCH}, {"": LINK})
    assert list(wiring.faults()) == []
    return wiring


@st.composite
def trees(draw: st.DrawFn) -> tuple[Tree, int]:
    """An XGFT, perhaps with several cables between two switches, and what it has room for."""
    levels = draw(st.integers(1, 3))
    numbers = st.lists(st.integers(1, 4), min_size=levels, max_size=levels)
    children, parents, parallel = draw(numbers), draw(numbers), draw(numbers)
    room = 1
    for count in children:
        room *= count
    tree = Tree(
        switch="x",
        children=", ".join(map(str, children)),
        parents=", ".join(map(str, [1, *parents[1:]])),
        parallel=", ".join(map(str, [1, *parallel[1:]])),
    )
    return tree, room


@st.composite
def graphs(draw: st.DrawFn) -> Explicit:
    """Switches with a node on each, connected by a tree and further trunks at will."""
    count = draw(st.integers(1, 7))
    ends = [(n, draw(st.integers(0, n - 1))) for n in range(1, count)]
    more = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    ends += [(a, b) for a, b in draw(st.lists(more, max_size=6)) if a != b]
    return Explicit(
        switch="x",
        switches={f"s{n}": NamedSwitch(nodes=(f"nodes[{n}]",)) for n in range(count)},
        trunks={
            f"t{n}": Trunk(between=(f"s{a}", f"s{b}"), parallel=draw(st.integers(1, 3)))
            for n, (a, b) in enumerate(ends)
        },
    )


@st.composite
def networks(draw: st.DrawFn) -> tuple[Network, int]:
    """Any network, and how many nodes are in it."""
    kind = draw(st.sampled_from(["tree", "ring", "graph", "dragonfly", "fat tree", "switch"]))
    if kind == "tree":
        tree, room = draw(trees())
        return tree, draw(st.integers(1, room))
    if kind == "ring":
        ring = Ring(switch="x", switches=draw(st.integers(3, 9)), parallel=draw(st.integers(1, 3)))
        return ring, draw(st.integers(1, 20))
    if kind == "graph":
        graph = draw(graphs())
        return graph, len(graph.switches)
    if kind == "dragonfly":
        p, a, h = (draw(st.integers(1, 3)) for _ in range(3))
        fly = Dragonfly(switch="x", ports=p, switches=a, trunks=h)
        return fly, draw(st.integers(1, p * a * (a * h + 1)))
    if kind == "fat tree":
        arity, levels = draw(st.integers(1, 4)), draw(st.integers(1, 3))
        taper = draw(st.sampled_from([n for n in range(1, arity + 1) if arity % n == 0]))
        fat = FatTree(switch="x", levels=levels, arity=arity, oversubscription=taper)
        return fat, draw(st.integers(1, arity**levels))
    return OneSwitch(switch="x"), draw(st.integers(1, 20))


def lengths(wiring: Wiring, source: int) -> dict[int, int]:
    """Trunks from a switch to each other, found by spreading out from it over the cables."""
    found, edge = {source: 0}, {source}
    while edge:
        near = {way.neighbour for switch in edge for way in wiring.ways[switch]} - found.keys()
        found |= dict.fromkeys(near, max(found.values()) + 1)
        edge = near
    return found


@given(case=networks())
def test_every_pair_of_nodes_is_joined_by_a_shortest_way(case: tuple[Network, int]) -> None:
    wiring = wired(*case)
    assert len(wiring.places) == case[1]
    for source, _ in wiring.places:
        far = lengths(wiring, source)
        for lid, (home, port) in enumerate(wiring.places, start=1):
            path = wiring.route(source, lid)
            assert (path[0], path[-1]) == (source, home)
            assert len(path) - 1 == far[home]
            assert len(set(path)) == len(path)
            assert wiring.out(home, lid) == port


@given(case=networks())
def test_each_port_has_one_cable_and_both_ends_know_it(case: tuple[Network, int]) -> None:
    wiring = wired(*case)
    used = Counter(wiring.places)
    for switch, ways in enumerate(wiring.ways):
        for way in ways:
            used[switch, way.port] += 1
            (back,) = (one for one in wiring.ways[way.neighbour] if one.port == way.far_port)
            assert (back.neighbour, back.far_port, back.link) == (switch, way.port, way.link)
    assert set(used.values()) <= {1}
    assert Counter(switch for switch, _ in used) == Counter(
        {number: count for number, count in enumerate(wiring.used) if count}
    )


@given(case=trees())
def test_the_ways_up_a_full_tree_share_the_nodes_evenly(case: tuple[Tree, int]) -> None:
    tree, room = case
    wiring = wired(tree, room)
    levels = [int(name.split(".")[0].removeprefix("level")) for name in wiring.names]
    for switch, ways in enumerate(wiring.ways):
        up = [way for way in ways if levels[way.neighbour] > levels[switch]]
        if not up:
            continue
        used: Counter[int] = Counter({way.port: 0 for way in up})
        for lid in range(1, room + 1):
            way = wiring.out(switch, lid)
            if isinstance(way, Way) and way.port in used:
                used[way.port] += 1
        assert max(used.values()) - min(used.values()) <= 2 * _stride(tree, levels[switch])


def _stride(tree: Tree, level: int) -> int:
    """Nodes in a row whose numbers choose the same way up from a level."""
    stride = 1
    for _, parents, cables in tree.shape[:level]:
        stride *= parents * cables
    return stride


@pytest.mark.parametrize("oversubscription", [1, 2, 4])
def test_each_trunk_of_a_full_fat_tree_carries_as_many_pairs(oversubscription: int) -> None:
    wiring = wired(FatTree(switch="x", levels=3, arity=4, oversubscription=oversubscription), 64)
    used = Counter(
        {(switch, way.neighbour): 0 for switch, ways in enumerate(wiring.ways) for way in ways}
    )
    for source in range(64):
        for lid in range(1, 65):
            for here, there in pairwise(wiring.route(wiring.places[source][0], lid)):
                used[here, there] += 1
    level = [name.split(".")[0] for name in wiring.names]
    for lower, upper in (("level1", "level2"), ("level2", "level3")):
        for a, b in ((lower, upper), (upper, lower)):
            counts = {n for (x, y), n in used.items() if (level[x], level[y]) == (a, b)}
            assert len(counts) == 1, (a, b)
    leaves = [ways for ways, name in zip(wiring.ways, level, strict=True) if name == "level1"]
    assert {len(ways) for ways in leaves} == {4 // oversubscription}


@given(case=networks(), ports=st.integers(1, 2))
def test_the_ports_of_a_node_are_on_one_switch(case: tuple[Network, int], ports: int) -> None:
    network, nodes = case
    try:
        wiring = wired(network, nodes, ports)
    except CatalogError:
        with pytest.raises(CatalogError, match="adapter ports; allowed: up to"):
            wired(network, nodes, ports)
        return
    assert len(wiring.places) == nodes * ports
    homes = [switch for switch, _ in wiring.places]
    assert all(len(set(homes[n : n + ports])) == 1 for n in range(0, len(homes), ports))


@given(net=networks(), data=st.data())
def test_a_multicast_comes_once_to_each_member_but_its_sender(
    net: tuple[Network, int], data: st.DataObject
) -> None:
    network, nodes = net
    wiring = wired(network, nodes)
    lids = st.integers(1, nodes)
    sender, members = data.draw(lids), data.draw(st.sets(lids, min_size=1))
    groups = Groups(wiring)
    for lid in members | {sender}:
        groups.join(0xC000, lid)
    if sender not in members:
        groups.leave(0xC000, sender)
    ends = {place: lid for lid, place in enumerate(wiring.places, 1)}
    cables = [{way.port: way for way in ways} for ways in wiring.ways]
    reached: list[int] = []
    visited: list[int] = []
    packets = [wiring.places[sender - 1]]
    while packets:
        switch, came_from = packets.pop()
        visited.append(switch)
        assert len(visited) <= len(wiring.names)
        for port in groups.outputs(switch, 0xC000):
            if port == came_from:
                continue
            if (way := cables[switch].get(port)) is not None:
                packets.append((way.neighbour, way.far_port))
            else:
                reached.append(ends[switch, port])
    assert sorted(reached) == sorted(members - {sender})
    assert len(set(visited)) == len(visited)
