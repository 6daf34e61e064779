"""The parts of a machine, gathered from the files that its testbed names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from hcasim.catalog.cabling import carried_kind, link_of_port
from hcasim.catalog.fields import keys_of
from hcasim.catalog.folders import list_ids
from hcasim.catalog.link import PortLink
from hcasim.catalog.loader import Loaded, load, renamed
from hcasim.catalog.network import BackToBack, Explicit, Network, OneSwitch
from hcasim.catalog.overrides import choose_protocol, replace_bus, take_ports
from hcasim.catalog.part import Part, kind_of
from hcasim.catalog.provenance import Parameter, Value
from hcasim.catalog.slots import plug
from hcasim.catalog.testbed import Nodes, Testbed
from hcasim.ground.errors import CatalogError, one_of

_FOLDERS = {"adapter": "adapters", "host": "hosts", "switch": "switches", "stack": "stacks"}


def starts_of(groups: Iterable[str]) -> dict[str, str]:
    """Return what begins the paths of each group of nodes: nothing if there is only one."""
    names = list(groups)
    return {name: "" if names == ["nodes"] else f"{name}." for name in names}


def models_of(network: Network) -> dict[str, str]:
    """Return the model of each switch by its name; under "" if all are of the same."""
    if isinstance(network, BackToBack):
        return {}
    if not isinstance(network, Explicit):
        return {"": network.switch}
    models = {name: one.switch or network.switch for name, one in network.switches.items()}
    return {"": network.switch} if set(models.values()) == {network.switch} else models


def gather(
    bed: Loaded,
    groups: Mapping[str, Nodes],
    network: Network,
    adapter: str | None,
    host: str | None,
    stacks: Mapping[str, str],
    settings: Mapping[str, str],
    faults: list[str],
) -> dict[str, Part]:
    """Return the parts of a machine by the beginning of their paths; add what is wrong to faults.

    Parameters:
        bed: the testbed.
        groups: its nodes.
        network: how they are connected.
        adapter: an adapter instead of the usual one of each group.
        host: a host instead of that of each group.
        stacks: of each group.
        settings: of which those are used that give an adapter the bus of another.
    """
    testbed, starts = bed.model, starts_of(groups)
    assert isinstance(testbed, Testbed)
    measured = [one for group in groups.values() for one in group.adapters]
    wanted = {
        f"{starts[name]}adapter": group.adapter if adapter is None else adapter
        for name, group in groups.items()
    }
    wanted |= {f"{starts[name]}host": host or group.host for name, group in groups.items()}
    wanted |= {(f"{name}." if name else "") + "switch": m for name, m in models_of(network).items()}
    wanted |= {f"{start}link": name for name, start in starts.items()}
    wanted |= {f"{starts[name]}stack": stack for name, stack in stacks.items()}
    parts: dict[str, Part] = {}
    # Links are what switches take, and adapters speak what their links are.
    order = ("switch", "adapter", "host", "link", "stack")
    for name, identifier in sorted(wanted.items(), key=lambda one: order.index(kind_of(one[0]))):
        switches = [part for part in parts.values() if kind_of(part.name) == "switch"]
        if kind_of(name) == "link":
            card = parts.get(name.removesuffix("link") + "adapter")
            link = _link(bed, name, f"nodes.{identifier}.link", card, switches, faults)
            if link is not None:
                parts[name] = link
            continue
        try:
            loaded = load(identifier, _FOLDERS[kind_of(name)])
        except CatalogError as error:
            faults += [fault for fault in error.faults if fault not in faults]
        else:
            values, below = dict(loaded.values), loaded.below(name)
            made = Part(name, type(loaded.model), values, below, loaded=loaded)
            if kind_of(name) == "adapter":
                kind = carried_kind(testbed.link, switches)
                faults += choose_protocol(made, settings, kind)
            if kind_of(name) in ("adapter", "switch"):
                take_ports(made, settings)
            parts[name] = made
    parts = {name: parts[name] for name in wanted if name in parts}
    switches = [part for part in parts.values() if kind_of(part.name) == "switch"]
    if not isinstance(network, BackToBack | OneSwitch):
        card = parts.get(f"{starts[next(iter(groups))]}adapter")
        between = _link(bed, "trunk", "trunk", card, switches, faults)
        if between is not None:
            parts["trunk"] = between
        inside = _below(bed.parameters, "network")
        values = {**bed.values["network"], "switch": network.switch}
        parts["network"] = _part("network", type(network), values, inside)
    for name, group in groups.items():
        part, box = (parts.get(starts[name] + kind) for kind in ("adapter", "host"))
        if part is None:
            continue
        if group.ports is not None:
            faults += _cable(bed, part, name, group.ports)
        buses = [path for path in settings if path in part.bus_paths]
        for path in buses:
            known = [*dict.fromkeys((*measured, *list_ids("adapters")))]
            fault = replace_bus(part, settings[path], known)
            if fault:
                faults.append(f"--set {path}: {fault}")
        if box is not None:
            identifier = wanted[part.name]
            together = identifier in group.adapters and host is None and not buses
            faults += plug(part, box, (group.host, identifier) if together else None)
    return parts


def _cable(bed: Loaded, adapter: Part, group: str, ports: int) -> list[str]:
    """Leave an adapter the ports that have a cable."""
    path = "nodes.ports" if group == "nodes" else f"nodes.{group}.ports"
    full, has = f"{adapter.name}.ports", adapter.values["ports"]
    if ports > has:
        return [f"{bed.model.id}: {path}: found {ports}; allowed: up to {has}, as the adapter has"]
    (given,) = (one for one in bed.parameters if one.path == path)
    adapter.values["ports"], adapter.parameters[full] = ports, replace(given, path=full)
    return []


def trunks_of(network: Network, link: BaseModel, testbed: str) -> dict[str, Any]:
    """Return the link of each trunk that has its own, and under "" that of the others.

    Raises:
        CatalogError: a trunk has what links of its kind have not.
    """
    if isinstance(network, BackToBack | OneSwitch):
        return {}
    found: dict[str, Any] = {"": link}
    if isinstance(network, Explicit):
        known, faults = keys_of(type(link)), []
        for name, trunk in network.trunks.items():
            own = trunk.model_dump(exclude_none=True, exclude={"between", "parallel"})
            faults += [
                _foreign(testbed, f"network.trunks.{name}", key, known)
                for key in own
                if key not in known
            ]
            found[name] = link.model_copy(update=own)
        if faults:
            raise CatalogError(faults)
    return found


def _below(parameters: Iterable[Parameter[Value]], path: str) -> list[Parameter[Value]]:
    start = f"{path}."
    return [
        replace(one, path=one.path.removeprefix(start))
        for one in parameters
        if one.path.startswith(start)
    ]


def _part(
    name: str,
    model: type[BaseModel],
    values: Mapping[str, Any],
    parameters: Iterable[Parameter[Value]],
) -> Part:
    return Part(name, model, dict(values), renamed(parameters, name))


def _link(
    bed: Loaded,
    name: str,
    place: str,
    adapter: Part | None,
    switches: list[Part],
    faults: list[str],
) -> Part | None:
    """The links of a testbed as some differ from the others by what is at ``place``."""
    testbed = bed.model
    assert isinstance(testbed, Testbed)
    place = place.replace("nodes.nodes.", "nodes.")
    model: type[BaseModel] = type(testbed.link)
    values, parameters = bed.values["link"], _below(bed.parameters, "link")
    if isinstance(testbed.link, PortLink):
        found = None
        if adapter is not None:
            found = link_of_port(testbed.id, adapter, switches, values, parameters)
        if found is None or isinstance(found, str):
            faults += [] if found is None or found in faults else [found]
            return None
        model, values, parameters = found
    part = _part(name, model, values, parameters)
    known = keys_of(part.model)
    for one in _below(bed.parameters, place):
        if one.path not in known:
            faults.append(_foreign(testbed.id, place, one.path, known))
            continue
        part.values[one.path] = one.value
        part.parameters[f"{name}.{one.path}"] = replace(one, path=f"{name}.{one.path}")
        part.own.add(one.path)
    return part


def _foreign(testbed: str, place: str, key: str, known: Mapping[str, object]) -> str:
    allowed = one_of([name for name in known if name != "kind"])
    return f"{testbed}: {place}.{key}: found on a link of another kind; allowed: {allowed}"
