"""Links and ports: the fastest that all ports take, and which are more than a switch takes."""

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
from hcasim.catalog.machine import Machine
from hcasim.catalog.part import Part
from hcasim.catalog.protocol import LINK_OF
from hcasim.catalog.provenance import Parameter, Value
from hcasim.catalog.switch import Switch
from hcasim.ground.errors import one_of

_Found: TypeAlias = tuple[type[BaseModel], dict[str, Any], list[Parameter[Value]]]
_MODELS: Mapping[str, type[BaseModel]] = {"infiniband": InfinibandLink, "ethernet": EthernetLink}


def carried_kind(link: Link | PortLink, switches: Iterable[Part]) -> str:
    """The kind of a testbed's links; "port" where only the adapter tells it.

    Parameters:
        link: of the testbed.
        switches: between its nodes.
    """
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
        given: values of the testbed's section.
        known: its parameters.
    """
    own = {one.path: one for one in known}
    protocol, port = adapter.protocol, adapter.values.get("port", {})
    start = f"{adapter.name}.port."
    rates = {path: one for path, one in adapter.parameters.items() if path.startswith(start)}
    if protocol is None:
        words = "a device without ports, whose link carries nothing"
        kind = given.get("carries") or min(_common_kinds(switches), default="ethernet")
        port = {"gigabits": 1, "speed": "SDR", "width": 1}
        rates = {
            start + key: Parameter(key, value, str(value), "", "assumed", words)
            for key, value in port.items()
        }
    else:
        kind = LINK_OF[protocol]
    wanted = given.get("carries") or kind
    missing = [key for key in RATES[wanted] if key not in port]
    if missing:
        why = (
            f"has links of kind {wanted}"
            if wanted != kind
            else "takes the fastest link of its ports"
        )
        return (
            f"{start}{missing[0]}: missing in {adapter.values['id']}, which speaks {protocol}; "
            f"allowed: a value, because {testbed} {why}"
        )
    if wanted != kind:
        return (
            f"{testbed}: {adapter.name}.protocol: found {protocol}; "
            f"allowed: a protocol of links of kind {wanted}"
        )
    chosen = {key: port[key] for key in RATES[kind]}
    found = [replace(rates[start + key], path=key) for key in chosen]
    for switch in switches:
        limit = switch.values.get("port")
        if kind not in _kinds(limit):
            return f"{testbed}: link.kind: {_other_kind(kind, switch.values['id'], limit)}"
        for place, (key, rate) in enumerate(chosen.items()):
            if limit and rate_order(limit[key]) < rate_order(rate):
                lower, old = switch.parameters[f"{switch.name}.port.{key}"], found[place]
                words = (
                    f"the ports of {switch.values['id']} allow no more: {old.text} ({old.source})"
                )
                chosen[key], found[place] = limit[key], replace(lower, path=key, source=words)
    usual = USUAL_CODES.get(chosen[RATES[kind][0]], NO_CODE)
    kept = {key: given[key] for key in ("cable_length", "propagation", "credit_update")}
    if kind == "ethernet":
        del kept["credit_update"]
    fec = {"code": usual.code, "decoding": given["decoding"]}
    found += [own[key] for key in kept]
    code = Parameter("fec.code", usual.code, usual.code, "", usual.evidence, usual.source)
    found += [code, replace(own["decoding"], path="fec.decoding")]
    return _MODELS[kind], {"kind": kind, **chosen, **kept, "fec": fec}, found


def overtaxed(machine: Machine) -> Iterator[str]:
    """Say which links no port of a switch at their ends can be.

    A rate that a setting gives is a what-if, and may be any.
    """
    wiring, first = machine.wiring, 0
    for group in machine.groups if machine.switches else ():
        places = wiring.places[first : first + group.count * group.adapter.ports]
        first += len(places)
        name = "link" if group.name == "nodes" else f"{group.name}.link"
        used = {switch for switch, _ in places}
        yield from _beyond(
            name, group.link, [wiring.models[one] for one in used], machine.overrides
        )
    ends: dict[str, tuple[Link, list[Switch]]] = {}
    for here, ways in zip(wiring.models, wiring.ways, strict=True):
        for way in ways:
            ends.setdefault(way.trunk, (way.link, []))[1].append(here)
    for name, (trunk, models) in ends.items():
        place = f"network.trunks.{name}" if name else "trunk"
        yield from _beyond(place, trunk, models, machine.overrides)


def _beyond(
    place: str, link: Link, models: Iterable[Switch], settings: Mapping[str, str]
) -> Iterator[str]:
    section = place.rpartition(".")[2]
    for switch in {one.id: one for one in models}.values():
        if switch.port is None:
            continue
        port = switch.port.model_dump(exclude_none=True)
        if link.kind not in _kinds(port):
            yield f"{place}.kind: {_other_kind(link.kind, switch.id, port)}"
            continue
        for key in RATES[link.kind]:
            rate, whose = getattr(link, key), (place, section, "link", "trunk")
            if rate_order(rate) > rate_order(port[key]) and settings.keys().isdisjoint(
                f"{one}.{key}" for one in whose
            ):
                yield (
                    f"{place}.{key}: found {rate}; allowed: up to {port[key]}, "
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
