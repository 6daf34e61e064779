"""From the section `network` of a testbed to its wiring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from hcasim.catalog.link import Link
from hcasim.catalog.network.explicit import wire_named
from hcasim.catalog.network.topologies import (
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
from hcasim.catalog.network.wiring import Wiring


def wire(
    network: Network,
    nodes: Sequence[tuple[str, int, int]],
    switches: Mapping[str, Switch],
    trunks: Mapping[str, Link],
) -> Wiring:
    """Connect the nodes of a machine.

    Parameters:
        network: how.
        nodes: name, number of nodes and ports of each node's adapter, group by group.
        switches: the model of each named switch; under "" that of all others.
        trunks: the cables of each named trunk; under "" those of all others.

    Raises:
        ValueError: a line for each fault of what the network names, or if it has no room.
    """
    wiring = Wiring()
    ports = [each for _, count, each in nodes for _ in range(count)]
    if isinstance(network, BackToBack):
        return wiring
    if isinstance(network, Explicit):
        wire_named(wiring, network, nodes, switches, trunks)
        return wiring
    model = switches[""]
    if isinstance(network, OneSwitch):
        _fill(wiring, ports, [wiring.add_switch("switch0", model)], sum(ports))
        return wiring
    link = trunks[""]
    if isinstance(network, Ring):
        chain = [wiring.add_switch(f"switch{n}", model) for n in range(network.switches)]
        each = -(-len(ports) // len(chain))
        for node, count in enumerate(ports):
            wiring.attach(node, count, chain[node // each])
        for a in chain:
            wiring.trunk(a, (a + 1) % len(chain), link, network.parallel or 1)
    elif isinstance(network, Dragonfly):
        _dragonfly(wiring, network, ports, model, link)
    else:
        _tree(wiring, network, ports, model, link)
    return wiring


def _fill(wiring: Wiring, ports: Sequence[int], switches: Sequence[int], room: int) -> None:
    """Put node after node on switch after switch; all ports of a node are on the same one."""
    place, free = 0, room
    for node, count in enumerate(ports):
        if count > free:
            place, free = place + 1, room
        if place >= len(switches) or count > free:
            raise ValueError(
                f"nodes: found {len(ports)} nodes with {sum(ports)} adapter ports; allowed: up to "
                f"{len(switches) * room} ports, {room} on each of {len(switches)} switches"
            )
        wiring.attach(node, count, switches[place])
        free -= count


def _tree(
    wiring: Wiring, network: FatTree | Tree, ports: Sequence[int], model: Switch, link: Link
) -> None:
    """Build as many of the subtrees below the topmost switches as the nodes need."""
    shape = network.shape
    room = shape[0][0]
    per_leaf = max(1, room // max(ports)) if ports else 1
    leaves = prod(children for children, _, _ in shape[1:])
    below = leaves // shape[-1][0] if len(shape) > 1 else 1
    subtrees = min(leaves // below, -(-len(ports) // (per_leaf * below)))
    heads = [prod(c for c, _, _ in shape[level:-1]) * subtrees for level in range(1, len(shape))]
    heads.append(1)
    levels: list[list[int]] = []
    copies = divisor = 1
    for number, (heads_here, (_, parents, cables)) in enumerate(zip(heads, shape, strict=True)):
        copies, divisor = copies * parents, divisor * parents * cables
        levels.append(
            [
                wiring.add_switch(f"level{number + 1}.switch{place}", model, divisor)
                for place in range(heads_here * copies)
            ]
        )
    _fill(wiring, ports, levels[0], room)
    copies = 1
    for lower, upper, (children, parents, cables) in zip(
        levels, levels[1:], shape[1:], strict=False
    ):
        for place, switch in enumerate(lower):
            head, copy = divmod(place, copies)
            for _ in range(cables):
                for parent in range(parents):
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
