"""Networks whose file names each switch, what is on it, and perhaps the routes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hcasim.catalog.link import Link
from hcasim.catalog.network.topologies import Explicit, Switch
from hcasim.catalog.network.wiring import Way, Wiring
from hcasim.ground.errors import nearest, one_of

_SELECTION = re.compile(r"\s*([\w.-]+)\s*(?:\[\s*(\d+)\s*(:\s*(\d+)\s*)?\]\s*)?")


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
