"""How parts fit: links and ports, adapters and slots, and values that cannot work together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from pydantic import BaseModel

from hcasim.catalog.adapter import Adapter
from hcasim.catalog.buses import PcieDevice
from hcasim.catalog.fields import leaf_paths
from hcasim.catalog.link import (
    LINK_OF,
    NO_CODE,
    RATES,
    USUAL_CODES,
    EthernetLink,
    Fec,
    InfinibandLink,
    IwarpProtocol,
    Link,
    Port,
    PortLink,
    rate_order,
)
from hcasim.catalog.loader import load
from hcasim.catalog.model_file import inside
from hcasim.catalog.part import Part
from hcasim.catalog.receive import CELL, LONGEST_FRAME
from hcasim.catalog.resolved import Machine, NodeGroup
from hcasim.catalog.section import Parameter, Value
from hcasim.catalog.testbed import BackToBack, Switch
from hcasim.ground.errors import CatalogError, Fault, one_of
from hcasim.ground.units import format_size

HEADROOM = 128
"""Bytes that a packet may have beyond the MTU: all headers and checks of either link fit."""
STAND_IN = "generic"
"""The host whose slots stand in."""
_MODELS: Mapping[str, type[BaseModel]] = {"infiniband": InfinibandLink, "ethernet": EthernetLink}
_SLOWEST: Mapping[str, Value] = {"gigabits": 1, "speed": "SDR", "width": 1}


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
) -> tuple[type[BaseModel], dict[str, Any], list[Parameter[Value]]] | str:
    """Return class, values and parameters of an adapter's link, or what is wrong.

    Parameters:
        testbed: its id.
        adapter: what it speaks tells the kind of the link.
        switches: none of which takes a faster link than its ports do.
        given: values of the testbed's section `link`; known are its parameters.
    """
    protocol, own = adapter.protocol, {one.path: one for one in known}
    rates = {one.path: one for one in inside(adapter.parameters.values(), "port")}
    if protocol is None:
        words = "a device without ports, whose link carries nothing"
        kind = given.get("carries") or min(_common_kinds(switches), default="ethernet")
        leaves = leaf_paths(Port)
        rates = {k: leaves[k].parameter(k, v, "assumed", words) for k, v in _SLOWEST.items()}
    else:
        kind = LINK_OF[protocol]
    wanted = given.get("carries") or kind
    if missing := [key for key in RATES[wanted] if key not in rates]:
        why = "takes the fastest link of its ports"
        if wanted != kind:
            why = f"has links of kind {wanted}"
        said = f"missing in {adapter.values['id']}, which speaks {protocol}"
        allowed = f"a value, because {testbed} {why}"
        return Fault(f"{adapter.name}.port.{missing[0]}", None, allowed, said=said)
    if wanted != kind:
        allowed = f"a protocol of links of kind {wanted}"
        return _fault(f"{testbed}: {adapter.name}.protocol", protocol, allowed)
    found = [rates[key] for key in RATES[kind]]
    before = [one.value for one in found]
    for switch in switches:
        limit, name = switch.values.get("port"), switch.values["id"]
        if kind not in _kinds(limit):
            return _other_kind(f"{testbed}: link", kind, name, limit)
        for place, one in enumerate(found):
            if limit and rate_order(limit[one.path]) < rate_order(one.value):
                lower = switch.parameters[f"port.{one.path}"]
                words = f"the ports of {name} allow no more: {one.text} ({one.source})"
                found[place] = replace(lower, path=one.path, source=words)
        if before[1:] == [2] and limit and found[0].value != before[0] and limit["width"] >= 4:
            # A port of two fast lanes has four of the next lower rate.
            words = f"a port of two lanes of {before[0]} has four of {found[0].text}"
            found[1] = found[1].changed(4, "4", words)
    code, evidence, source = USUAL_CODES.get(found[0].value, NO_CODE)
    found += [own[key] for key in _MODELS[kind].model_fields if key in own]
    fec = {"code": code, "decoding": given["decoding"]}
    values = {"kind": kind, **{one.path: one.value for one in found}, "fec": fec}
    found.append(leaf_paths(Fec)["code"].parameter("fec.code", code, evidence, source))
    return _MODELS[kind], values, [*found, own["decoding"].at("fec.decoding")]


def _common_kinds(switches: Iterable[Part]) -> set[str]:
    return set(RATES).intersection(*(_kinds(switch.values.get("port")) for switch in switches))


def _kinds(port: Mapping[str, Any] | None) -> set[str]:
    return {kind for kind, keys in RATES.items() if port is None or keys[0] in port}


def _other_kind(link: str, kind: str, switch: str, port: Mapping[str, Any] | None) -> Fault:
    allowed = f"{one_of(sorted(_kinds(port)))}, which the ports of {switch} take"
    return _fault(f"{link}.kind", kind, allowed)


def plug(adapter: Part, host: Part, names: tuple[str, str] | None) -> list[str]:
    """Give a host the slot that an adapter's bus needs, if it has none.

    Where `names` of host and adapter say that the testbed has them together, nothing stands in,
    and what is missing is a fault.
    """
    kinds = [bus["kind"] for _, bus in _buses(adapter)]
    # Bridges pass on what a root port returns; the host's own bridge has no bus behind it.
    needed = ["root_port"] * ("pcie" in kinds) + ["pcix_bridge"] * (kinds[-1] == "pcix")
    missing = [name for name in needed if name not in host.values]
    if names is not None:
        lacks = "{}, which has no {}, and the bus of {} needs one"
        return [
            _fault("host", lacks.format(names[0], name, names[1]), f"a host with a table [{name}]")
            for name in missing
        ]
    for name in missing:
        words = f"no {name} in this host; that of {STAND_IN}"
        host.take_section(name, load(STAND_IN, "hosts"), words)
    return []


def train(adapter: Part, host: Part, settings: Mapping[str, str]) -> Iterator[str]:
    """Let the link of an adapter's slot be as wide and quick as both of its ends are.

    No completion of the host is longer than the payloads of the link, unless settings say so. Yield
    a line for each setting of an end that is beyond what the other end allows.
    """
    slot = host.values.get("slot")
    *_, (path, bus) = _buses(adapter)
    if slot is None or bus["kind"] != "pcie":
        return

    for key in ("generation", "lanes", "max_payload"):
        card, box, name = f"{path}.{key}", f"slot.{key}", host.values["id"]
        if bus[key] > slot[key]:
            why = f"the slot of {name} allows no more"
            yield from _beyond(adapter, card, settings, host.parameters[box], why)
            adapter.lower(card, slot[key], why)
        elif bus[key] < slot[key]:
            why = f"the bus of {adapter.values['id']} allows no more"
            yield from _beyond(host, box, settings, adapter.parameters[card], why)
    port, completion = host.values.get("root_port"), "root_port.completion"
    if port and port["completion"] > bus["max_payload"] and not host.asked(settings, completion):
        why = f"the payload of {adapter.values['id']} there allows no more"
        host.lower(completion, bus["max_payload"], why)


def negotiate(adapter: Part, link: Part, settings: Mapping[str, str]) -> Iterator[str]:
    """Let a link be as wide and quick as its adapter's port is, unless settings say its rate.

    Yield a line for each setting of the port that is beyond the link.
    """
    port, name = adapter.values.get("port") or {}, adapter.values["id"]
    keys = [key for key in RATES[link.values["kind"]] if key in port]
    own = {key: rate_order(port[key]) - rate_order(link.values[key]) for key in keys}
    whose = "the link"
    # A port of two fast lanes has four of a lower rate.
    if port.get("width") == 2 and own.get("speed", 0) > 0:
        own.pop("width")
        whose += f", which has {link.parameters['width'].text} lanes,"
    for key, more in own.items():
        if more < 0 and not link.asked(settings, key):
            link.lower(key, port[key], f"the port of {name} allows no more")
            if key != "width" and "fec" in link.values:
                code, _, why = USUAL_CODES.get(port[key], NO_CODE)
                link.lower("fec.code", code, why)
        elif more > 0:
            limit = link.parameters[key]
            yield from _beyond(adapter, f"port.{key}", settings, limit, f"{whose} allows no more")


def _beyond(
    part: Part, key: str, settings: Mapping[str, str], limit: Parameter[Value], why: str
) -> Iterator[str]:
    """Say of settings beyond a limit as what they count; the part itself may have less."""
    for path in part.asked(settings, key):
        yield f"--set {path}={settings[path]} counts as {limit.text}: {why}."


def _buses(adapter: Part) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The buses from an adapter to its slot, each with its path."""
    path, bus = "bus", adapter.values["bus"]
    yield path, bus
    while bus.get("bridge"):
        path, bus = f"{path}.bridge.bus", bus["bridge"]["bus"]
        yield path, bus


def contradictions(machine: Machine) -> Iterator[Fault]:
    """Yield a fault for each pair of values that could not work together."""
    lanes = 1 if machine.qos is None else machine.qos.max_vls
    for group in machine.groups:
        alone = len(machine.groups) == 1 and group.name == "nodes"
        found = _of_nodes(group, machine.mtu, lanes), _without_headroom(machine, group)
        for fault in chain(*found, _without_telemetry(machine, group)):
            yield fault if alone else fault.at(f"{group.name}.{fault.place}")
    cards = [group.adapter for group in machine.groups]
    spoken = list(dict.fromkeys(one.protocol.kind for one in cards if isinstance(one, Adapter)))
    if len(spoken) > 1:
        yield _fault("adapter.protocol", " and ".join(spoken), "one for all nodes")
    links = [*(group.link for group in machine.groups), *machine.trunks.values()]
    for name, switch in machine.switches.items():
        path = f"{name}.switch".lstrip(".")
        yield from _too_small(f"{path}.buffer", switch.buffer, machine.mtu, links, lanes)
        if (memory := switch.memory) is not None and memory.pauses:
            yield from _too_small(f"{path}.memory.headroom", memory.headroom, machine.mtu, links)
        for section in ("qos", "congestion_control"):
            found, first = getattr(switch, section), getattr(machine, section)
            if found is not None and isinstance(machine.link, EthernetLink):
                yield _fault(f"{path}.{section}", "links of Ethernet", "links of InfiniBand")
            if found != first:
                yield _fault(f"{path}.{section}", "switches that differ", "one for all switches")
    if isinstance(machine.network, BackToBack) and machine.nodes != 2:
        yield _fault("nodes.count", machine.nodes, "2, back to back; more with --switch ID")
    try:
        yield from machine.wiring.faults()
        yield from _overtaxed(machine)
    except CatalogError as error:
        yield from error.faults


def _without_headroom(machine: Machine, group: NodeGroup) -> Iterator[Fault]:
    """Say that a part of a receive buffer holds no packet, or none before it has to pause."""
    adapter, link = group.adapter, group.link
    pauses = any(one.memory and one.memory.pauses for one in machine.switches.values())
    if machine.shares_memory and isinstance(adapter, Adapter) and isinstance(link, EthernetLink):
        name = "buffer_size" if adapter.receive.buffer_size else "buffer"
        for part in adapter.receive.parts(link, machine.mtu):
            if not pauses:
                yield from _too_small(f"adapter.receive.{name}", part.size, machine.mtu, [link])
                continue
            need = part.size - part.xon + CELL
            if part.size < need:
                allowed = f"from {format_size(need)}, for the switch pauses: headroom for the link "
                allowed += f"and adapter.receive.cable_len, and a frame of {LONGEST_FRAME} B"
                yield _fault(f"adapter.receive.{name}", format_size(part.size), allowed)


def _without_telemetry(machine: Machine, group: NodeGroup) -> Iterator[Fault]:
    adapter, switches = group.adapter, machine.switches.values()
    if isinstance(adapter, Adapter) and isinstance(group.link, EthernetLink):
        writes = any(one.memory and one.memory.telemetry for one in switches)
        if adapter.roce_cc and adapter.roce_cc.algorithm == "hpcc" and not writes:
            allowed = "with switch.memory.telemetry, which no switch here has, or another algorithm"
            yield _fault("adapter.roce_cc.algorithm", "hpcc", allowed)


def _fault(path: str, found: object, allowed: str) -> Fault:
    return Fault(path, found, allowed, text=str(found))


def _overtaxed(machine: Machine) -> Iterator[Fault]:
    """Say which links no port of a switch at their ends can be, but for rates that are set."""
    wiring, places = machine.wiring, iter(machine.wiring.places)
    ends: dict[tuple[str, str], tuple[Link, Switch]] = {}
    for group in machine.groups:
        name = "link" if group.name == "nodes" else f"{group.name}.link"
        for number, _ in islice(places, group.count * group.adapter.ports):
            switch = wiring.models[number]
            ends[name, switch.id] = group.link, switch
    for switch, ways in zip(wiring.models, wiring.ways, strict=True):
        for way in ways:
            name = f"network.trunks.{way.trunk}" if way.trunk else "trunk"
            ends[name, switch.id] = way.link, switch
    for (name, _), (link, switch) in ends.items():
        if switch.port is None:
            continue
        port = switch.port.model_dump(exclude_none=True)
        if link.kind not in _kinds(port):
            yield _other_kind(name, link.kind, switch.id, port)
            continue
        whose = (name, name.rpartition(".")[2], "link", "trunk")
        for key in RATES[link.kind]:
            rate, most = getattr(link, key), port[key]
            free = not machine.overrides.keys().isdisjoint(f"{one}.{key}" for one in whose)
            if rate_order(rate) > rate_order(most) and not free:
                allowed = f"up to {most}, as the ports of {switch.id} take"
                yield _fault(f"{name}.{key}", rate, allowed)


def _too_small(
    path: str, size: int, mtu: int, links: list[Link], lanes: int = 1
) -> Iterator[Fault]:
    """Say that a receive buffer holds no packet of some links, and no credit update beside it.

    It has so much for each of some lanes.
    """
    credits = [link.credit_update for link in links if isinstance(link, InfinibandLink)]
    need = lanes * (mtu + HEADROOM + max(credits, default=0))
    if size < need:
        beside = f" beside link.credit_update, {format_size(max(credits))}" if credits else ""
        each = f" for each of {lanes} lanes" if lanes > 1 else ""
        allowed = f"from {format_size(need)}, to hold a packet of MTU {mtu}{beside}{each}"
        yield _fault(path, format_size(size), allowed)


def _of_nodes(group: NodeGroup, mtu: int, lanes: int) -> Iterator[Fault]:
    adapter, bus, port = group.adapter, group.adapter.bus, group.host.root_port
    if isinstance(bus, PcieDevice) and port is not None:
        payload = f"adapter.bus.max_payload, {format_size(bus.max_payload)}"
        if port.completion > bus.max_payload:
            found = format_size(port.completion)
            yield _fault("host.root_port.completion", found, f"up to {payload}")
        if 16 * port.posted_data_credits < bus.max_payload:
            allowed = f"from {bus.max_payload // 16}, to hold one write of {payload}"
            path = "host.root_port.posted_data_credits"
            yield _fault(path, port.posted_data_credits, allowed)
    if group.stack.cycles is not None and group.host.core is None:
        allowed = f"a table [core], because the work of {group.stack.id} is in cycles"
        yield _fault("host", f"{group.host.id}, which has no clock", allowed)
    if not isinstance(adapter, Adapter):
        return
    protocol, link = adapter.protocol, group.link
    if LINK_OF[protocol.kind] != link.kind:
        speaks = [kind for kind, carrier in LINK_OF.items() if carrier == link.kind]
        needs = f"which needs {LINK_OF[protocol.kind]} links, on a link of kind {link.kind}"
        allowed = f"an adapter that speaks {one_of(speaks)}"
        yield _fault("adapter.protocol", f"{protocol.kind}, {needs}", allowed)
    if isinstance(protocol, IwarpProtocol) and adapter.limits.atomics:
        allowed = "false, because iWARP has no atomic operations (RFC 5040)"
        yield _fault("adapter.limits.atomics", "true", allowed)
    yield from _too_small("adapter.receive.buffer", adapter.receive.buffer, mtu, [link], lanes)
    local = {name: table for name, table in adapter.caches.items() if not adapter.in_host(table)}
    if local and not adapter.local_memory_size:
        by_mode = all(table.location == "mode" for table in local.values())
        mode = adapter.firmware_mode
        unused = f"of which firmware mode {mode} can use none" if mode else "which has none"
        size = f"(adapter.memory.size is {format_size(adapter.memory.size)})"
        yield _fault(
            ", ".join(f"adapter.{name}.location" for name in local),
            f"in the adapter's memory, {unused} {size}",
            "'host'" + (", or firmware mode memfree" if by_mode else ""),
        )
    if mtu > adapter.limits.max_mtu:
        allowed = f"up to adapter.limits.max_mtu, {format_size(adapter.limits.max_mtu)}"
        yield _fault("mtu", format_size(mtu), allowed)
