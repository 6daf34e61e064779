"""Values that are each legal and cannot work together."""

from __future__ import annotations

from hcasim.catalog.adapter import Adapter, PcieDevice
from hcasim.catalog.cabling import overtaxed
from hcasim.catalog.link import InfinibandLink, Link
from hcasim.catalog.machine import Machine, NodeGroup
from hcasim.catalog.network import BackToBack
from hcasim.catalog.protocol import LINK_OF, IwarpProtocol
from hcasim.ground.errors import one_of
from hcasim.ground.units import format_size

HEADROOM = 128
"""Bytes that a packet may have beyond the MTU: all headers and checks of either link fit."""


def contradictions(machine: Machine) -> list[str]:
    """Return a line for each pair of values that could not work together."""
    faults: list[str] = []
    alone = len(machine.groups) == 1
    for group in machine.groups:
        start = "" if alone and group.name == "nodes" else f"{group.name}."
        faults += [start + fault for fault in _of_nodes(group, machine.mtu)]
    cards = [group.adapter for group in machine.groups]
    spoken = list(dict.fromkeys(one.protocol.kind for one in cards if isinstance(one, Adapter)))
    if len(spoken) > 1:
        faults.append(f"adapter.protocol: found {' and '.join(spoken)}; allowed: one for all nodes")
    links = [*(group.link for group in machine.groups), *machine.trunks.values()]
    need, beside = max(_needed(link, machine.mtu) for link in links)
    for name, switch in machine.switches.items():
        if switch.buffer < need:
            path = f"{name}.switch.buffer".lstrip(".")
            faults.append(_too_small(path, switch.buffer, need, machine.mtu, beside))
    if isinstance(machine.network, BackToBack) and machine.nodes != 2:
        faults.append(f"nodes.count: found {machine.nodes}; allowed: 2, back to back")
    try:
        faults += [*machine.wiring.faults(), *overtaxed(machine)]
    except ValueError as error:
        faults += str(error).splitlines()
    return faults


def _needed(link: Link, mtu: int) -> tuple[int, str]:
    """Bytes that a receive buffer holds at least, and what beside a packet that includes."""
    if isinstance(link, InfinibandLink):
        beside = f" beside link.credit_update, {format_size(link.credit_update)}"
        return mtu + HEADROOM + link.credit_update, beside
    return mtu + HEADROOM, ""


def _too_small(path: str, size: int, need: int, mtu: int, beside: str) -> str:
    return (
        f"{path}: found {format_size(size)}; allowed: from {format_size(need)}, to hold a "
        f"packet of MTU {mtu}{beside}"
    )


def _of_nodes(group: NodeGroup, mtu: int) -> list[str]:
    faults: list[str] = []
    adapter, host = group.adapter, group.host
    bus = adapter.bus
    if isinstance(bus, PcieDevice) and host.root_port is not None:
        port = host.root_port
        if port.completion > bus.max_payload:
            faults.append(
                f"host.root_port.completion: found {format_size(port.completion)}; allowed: "
                f"up to adapter.bus.max_payload, {format_size(bus.max_payload)}"
            )
        if 16 * port.posted_data_credits < bus.max_payload:
            faults.append(
                f"host.root_port.posted_data_credits: found {port.posted_data_credits}; "
                f"allowed: from {bus.max_payload // 16}, to hold one write of "
                f"adapter.bus.max_payload, {format_size(bus.max_payload)}"
            )
    if not isinstance(adapter, Adapter):
        return faults
    protocol, link = adapter.protocol, group.link
    if LINK_OF[protocol.kind] != link.kind:
        speaks = [kind for kind, carrier in LINK_OF.items() if carrier == link.kind]
        faults.append(
            f"adapter.protocol: found {protocol.kind}, which needs {LINK_OF[protocol.kind]} links, "
            f"on a link of kind {link.kind}; allowed: an adapter that speaks {one_of(speaks)}"
        )
    if isinstance(protocol, IwarpProtocol) and adapter.limits.atomics:
        faults.append(
            "adapter.limits.atomics: found true; allowed: false, because iWARP has no atomic "
            "operations (RFC 5040)"
        )
    need, beside = _needed(link, mtu)
    if adapter.receive.buffer < need:
        path = "adapter.receive.buffer"
        faults.append(_too_small(path, adapter.receive.buffer, need, mtu, beside))
    local = [name for name, table in adapter.caches.items() if not adapter.in_host(table)]
    if local and not adapter.local_memory_size:
        paths = ", ".join(f"adapter.{name}.location" for name in local)
        by_mode = all(adapter.caches[name].location == "mode" for name in local)
        mode = adapter.firmware_mode
        unused = f"of which firmware mode {mode} can use none" if mode else "which has none"
        faults.append(
            f"{paths}: found in the adapter's memory, {unused} (adapter.memory.size is "
            f"{format_size(adapter.memory.size)}); allowed: 'host'"
            + (", or firmware mode memfree" if by_mode else "")
        )
    if mtu > adapter.limits.max_mtu:
        faults.append(
            f"mtu: found {format_size(mtu)}; allowed: up to adapter.limits.max_mtu, "
            f"{format_size(adapter.limits.max_mtu)}"
        )
    return faults
