"""From the section `network` of a testbed to its wiring."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod

from hcasim.catalog.link import Link
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
from hcasim.catalog.network.wiring import Way, Wiring
from hcasim.ground.errors import nearest, one_of

_SELECTION = re.compile(r"\s*([\w.-]+)\s*(?:\[\s*(\d+)\s*(:\s*(\d+)\s*)?\]\s*)?")


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


def select(nodes: Sequence[tuple[str, int, int]], text: str) -> range:
    """Return the numbers of the nodes that words such as "compute", "compute[3]" and "a[0:8]" name.

    Parameters:
        nodes: name, number of nodes and ports of each node's adapter, group by group.
        text: a group, one of its nodes counted from 0, or those from one up to before another.

    Raises:
        ValueError: no such group or nodes.
    """
    match = _SELECTION.fullmatch(text)
    names = [name for name, _, _ in nodes]
    if match is None or match[1] not in names:
        found = text if match is None else match[1]
        raise ValueError(
            f"found {text!r}; allowed: {one_of(names)}, such as {names[0]}[0] or {names[0]}[0:2]"
            f"{nearest(found, names)}"
        )
    place = names.index(match[1])
    first, count = sum(size for _, size, _ in nodes[:place]), nodes[place][1]
    low = int(match[2] or 0)
    high = count if match[2] is None else int(match[4]) if match[3] else low + 1
    if not low < high <= count:
        raise ValueError(f"found {text!r}; allowed: nodes 0 to {count - 1} of {match[1]}")
    return range(first + low, first + high)


def wire_named(
    wiring: Wiring,
    network: Explicit,
    nodes: Sequence[tuple[str, int, int]],
    switches: Mapping[str, Switch],
    trunks: Mapping[str, Link],
) -> None:
    """Fill a wiring; raise ValueError with a line for each fault."""
    faults: list[str] = []
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
            except ValueError as error:
                faults.append(f"{where}: {error}")
                continue
            for node in chosen:
                if node in homes:
                    faults.append(f"{where}: found {text!r}, which is on {homes[node]} already")
                    break
                homes[node] = name
    ports = [(f"{name}[{n}]", each) for name, count, each in nodes for n in range(count)]
    for node, (label, each) in enumerate(ports):
        if node in homes:
            wiring.attach(node, each, numbers[homes[node]])
        elif not faults:
            faults.append(
                f"network.switches: found {label} on no switch; allowed: each node on one of them"
            )
    for name, trunk in network.trunks.items():
        unknown = [end for end in trunk.between if end not in numbers]
        for end in unknown:
            hint = nearest(end, numbers)
            faults.append(
                f"network.trunks.{name}.between: found {end!r}; "
                f"allowed: {one_of(list(numbers))}{hint}"
            )
        if not unknown:
            a, b = (numbers[end] for end in trunk.between)
            wiring.trunk(a, b, trunks.get(name) or trunks[""], trunk.parallel or 1, name)
    if any(switch.routes for switch in network.switches.values()) and not faults:
        wiring.tables = [
            _table(wiring, number, network.switches[name].routes, nodes, homes, faults)
            for name, number in numbers.items()
        ]
    if faults:
        raise ValueError("\n".join(faults))


def _table(
    wiring: Wiring,
    switch: int,
    routes: Sequence[str],
    nodes: Sequence[tuple[str, int, int]],
    homes: Mapping[int, str],
    faults: list[str],
) -> dict[int, list[Way]]:
    """Return the ways from a switch to each node that is not on it."""
    name, ways = wiring.names[switch], wiring.ways[switch]
    where = f"network.switches.{name}.routes"
    table: dict[int, list[Way]] = {}
    for route in routes:
        text, arrow, towards = (word.strip() for word in route.partition("->"))
        fitting = [way for way in ways if towards in (wiring.names[way.neighbour], way.trunk)]
        if not arrow or not fitting:
            known = {wiring.names[way.neighbour]: None for way in ways} | {
                way.trunk: None for way in ways
            }
            faults.append(
                f"{where}: found {route!r}; allowed: 'nodes -> next', where next is "
                f"{one_of(list(known))}{nearest(towards, known)}"
            )
            continue
        try:
            chosen = range(len(homes)) if text == "*" else select(nodes, text)
        except ValueError as error:
            faults.append(f"{where}: {error}")
            continue
        for node in chosen:
            table.setdefault(node, fitting)
    missing = [node for node, home in homes.items() if home != name and node not in table]
    if missing and not faults:
        labels = [f"{group}[{n}]" for group, count, _ in nodes for n in range(count)]
        faults.append(
            f"{where}: found none to {labels[min(missing)]}; "
            "allowed: routes to all nodes of other switches, such as '* -> neighbour'"
        )
    return table
