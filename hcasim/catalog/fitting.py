"""How parts fit: links to the ports at their ends, and adapters to the slots of their hosts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from pydantic import BaseModel

from hcasim.catalog.link import (
    NO_CODE,
    RATES,
    USUAL_CODES,
    EthernetLink,
    InfinibandLink,
    Link,
    PortLink,
    rate_order,
)
from hcasim.catalog.loader import load
from hcasim.catalog.model_file import inside
from hcasim.catalog.network.topologies import Switch
from hcasim.catalog.part import Part
from hcasim.catalog.protocol import LINK_OF
from hcasim.catalog.provenance import Parameter, Value
from hcasim.catalog.resolved import Machine
from hcasim.ground.errors import one_of

_Found: TypeAlias = tuple[type[BaseModel], dict[str, Any], list[Parameter[Value]]]
_MODELS: Mapping[str, type[BaseModel]] = {"infiniband": InfinibandLink, "ethernet": EthernetLink}


def carried_kind(link: Link | PortLink, switches: Iterable[Part]) -> str:
    """The kind of a testbed's links; "port" where only the adapter tells it."""
    if not isinstance(link, PortLink):
        return link.kind
    kinds = _common_kinds(switches)
    return link.carries or (kinds.pop() if len(kinds) == 1 else link.kind)


def link_of_port(
    testbed: str,
    adapter: Part,
    switches: Sequence[Part],
    given: Mapping[str, Any],
    known: Iterable[Parameter[Value]],
) -> _Found | str:
    """Return class, values and parameters of an adapter's link, or what is wrong.

    Parameters:
        testbed: its id.
        adapter: what it speaks tells the kind of the link.
        switches: none of which takes a faster link than its ports do.
        given: values of the testbed's section `link`.
        known: parameters of that.
    """
    protocol, own = adapter.protocol, {one.path: one for one in known}
    start = f"{adapter.name}.port"
    rates = {one.path: one for one in inside(adapter.parameters.values(), start)}
    if protocol is None:
        words = "a device without ports, whose link carries nothing"
        kind = given.get("carries") or min(_common_kinds(switches), default="ethernet")
        slowest: dict[str, Value] = {"gigabits": 1, "speed": "SDR", "width": 1}
        rates = {k: Parameter(k, v, str(v), "", "assumed", words) for k, v in slowest.items()}
    else:
        kind = LINK_OF[protocol]
    wanted = given.get("carries") or kind
    missing = [key for key in RATES[wanted] if key not in rates]
    if missing:
        why = "takes the fastest link of its ports"
        if wanted != kind:
            why = f"has links of kind {wanted}"
        return (
            f"{start}.{missing[0]}: missing in {adapter.values['id']}, which speaks {protocol}; "
            f"allowed: a value, because {testbed} {why}"
        )
    if wanted != kind:
        return (
            f"{testbed}: {adapter.name}.protocol: found {protocol}; "
            f"allowed: a protocol of links of kind {wanted}"
        )
    found = [rates[key] for key in RATES[kind]]
    for switch in switches:
        limit, name = switch.values.get("port"), switch.values["id"]
        if kind not in _kinds(limit):
            return f"{testbed}: link.kind: {_other_kind(kind, name, limit)}"
        for place, one in enumerate(found):
            if limit and rate_order(limit[one.path]) < rate_order(one.value):
                lower = switch.parameters[f"{switch.name}.port.{one.path}"]
                words = f"the ports of {name} allow no more: {one.text} ({one.source})"
                found[place] = replace(lower, path=one.path, source=words)
    usual = USUAL_CODES.get(found[0].value, NO_CODE)
    found += [own[key] for key in _MODELS[kind].model_fields if key in own]
    fec = {"code": usual.code, "decoding": given["decoding"]}
    values = {"kind": kind, **{one.path: one.value for one in found}, "fec": fec}
    code = Parameter("fec.code", usual.code, usual.code, "", usual.evidence, usual.source)
    found += [code, replace(own["decoding"], path="fec.decoding")]
    return _MODELS[kind], values, found


def overtaxed(machine: Machine) -> Iterator[str]:
    """Say which links no port of a switch at their ends can be.

    A rate that a setting gives is a what-if, and may be any.
    """
    wiring, first = machine.wiring, 0
    ends: dict[str, tuple[Link, list[Switch]]] = {}
    for group in machine.groups if machine.switches else ():
        places = wiring.places[first : first + group.count * group.adapter.ports]
        first += len(places)
        name = "link" if group.name == "nodes" else f"{group.name}.link"
        ends[name] = group.link, [wiring.models[one] for one in {switch for switch, _ in places}]
    for here, ways in zip(wiring.models, wiring.ways, strict=True):
        for way in ways:
            name = f"network.trunks.{way.trunk}" if way.trunk else "trunk"
            ends.setdefault(name, (way.link, []))[1].append(here)
    for name, (link, models) in ends.items():
        whose = (name, name.rpartition(".")[2], "link", "trunk")
        for switch in {one.id: one for one in models}.values():
            if switch.port is None:
                continue
            port = switch.port.model_dump(exclude_none=True)
            if link.kind not in _kinds(port):
                yield f"{name}.kind: {_other_kind(link.kind, switch.id, port)}"
                continue
            for key in RATES[link.kind]:
                rate, most = getattr(link, key), port[key]
                free = not machine.overrides.keys().isdisjoint(f"{one}.{key}" for one in whose)
                if rate_order(rate) > rate_order(most) and not free:
                    yield (
                        f"{name}.{key}: found {rate}; allowed: up to {most}, "
                        f"as the ports of {switch.id} take"
                    )


def _common_kinds(switches: Iterable[Part]) -> set[str]:
    """The kinds of links that all switches take."""
    return set(RATES).intersection(*(_kinds(switch.values.get("port")) for switch in switches))


def _kinds(port: Mapping[str, Any] | None) -> set[str]:
    """The kinds of links that the ports of a switch take."""
    return {kind for kind, keys in RATES.items() if port is None or keys[0] in port}


def _other_kind(kind: str, switch: str, port: Mapping[str, Any] | None) -> str:
    return (
        f"found {kind}; allowed: {one_of(sorted(_kinds(port)))}, which the ports of {switch} take"
    )


STAND_IN = "generic"
"""The host whose slots stand in."""


def plug(adapter: Part, host: Part, names: tuple[str, str] | None) -> list[str]:
    """Give a host the slot that an adapter's bus needs, if it has none.

    Parameters:
        names: ids of host and adapter where the testbed says that they belong together, and so
            nothing stands in; None for a what-if.

    Returns:
        A fault for each section that is missing.
    """
    kinds = [bus["kind"] for _, bus in _buses(adapter)]
    # Bridges pass on what a root port returns; the host's own bridge has no bus behind it.
    needed = ["root_port"] * ("pcie" in kinds) + ["pcix_bridge"] * (kinds[-1] == "pcix")
    missing = [name for name in needed if name not in host.values]
    if names is not None:
        return [
            f"host: found {names[0]}, which has no {name}, and the bus of {names[1]} needs one; "
            f"allowed: a host with a table [{name}]"
            for name in missing
        ]
    for name in missing:
        words = f"no {name} in this host; that of {STAND_IN}"
        host.take_section(name, load(STAND_IN, "hosts"), words)
    return []


def train(adapter: Part, host: Part, settings: Mapping[str, str]) -> None:
    """Let the link of an adapter's slot be as wide and quick as both of its ends are.

    No completion of the host is longer than the payloads of the link; what settings say holds.
    """
    slot = host.values.get("slot")
    *_, (path, bus) = _buses(adapter)
    if slot is None or bus["kind"] != "pcie":
        return

    def lower(part: Part, path: str, value: Value, why: str) -> None:
        if settings.keys().isdisjoint((f"{part.name}.{path}", f"{part.kind}.{path}")):
            part.lower(path, value, f"{why} allows no more")

    for key in ("generation", "lanes", "max_payload"):
        if bus[key] > slot[key]:
            lower(adapter, f"{path}.{key}", slot[key], f"the slot of {host.values['id']}")
    *_, (path, bus) = _buses(adapter)
    port, payload = host.values.get("root_port"), bus["max_payload"]
    if port is not None and port["completion"] > payload:
        why = f"the payload of {adapter.values['id']} there"
        lower(host, "root_port.completion", payload, why)


def _buses(adapter: Part) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The buses from an adapter to its slot, each with its path."""
    path, bus = "bus", adapter.values["bus"]
    yield path, bus
    while bus.get("bridge"):
        path, bus = f"{path}.bridge.bus", bus["bridge"]["bus"]
        yield path, bus
