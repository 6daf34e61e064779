"""Values that are each legal and cannot work together."""

from __future__ import annotations

from collections.abc import Iterator

from hcasim.catalog.adapter import Adapter
from hcasim.catalog.buses import PcieDevice
from hcasim.catalog.fitting import overtaxed
from hcasim.catalog.link import InfinibandLink, Link
from hcasim.catalog.network.topologies import BackToBack
from hcasim.catalog.protocol import LINK_OF, IwarpProtocol
from hcasim.catalog.resolved import Machine, NodeGroup
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
        faults.append(_fault("adapter.protocol", " and ".join(spoken), "one for all nodes"))
    links = [*(group.link for group in machine.groups), *machine.trunks.values()]
    for name, switch in machine.switches.items():
        path = f"{name}.switch.buffer".lstrip(".")
        faults += _too_small(path, switch.buffer, machine.mtu, links)
    if isinstance(machine.network, BackToBack) and machine.nodes != 2:
        faults.append(_fault("nodes.count", machine.nodes, "2, back to back"))
    try:
        faults += [*machine.wiring.faults(), *overtaxed(machine)]
    except ValueError as error:
        faults += str(error).splitlines()
    return faults


def _fault(path: str, found: object, allowed: str) -> str:
    return f"{path}: found {found}; allowed: {allowed}"


def _too_small(path: str, size: int, mtu: int, links: list[Link]) -> Iterator[str]:
    """Say that a receive buffer holds no packet of some links, and no credit update beside it."""
    credits = [link.credit_update for link in links if isinstance(link, InfinibandLink)]
    update = max(credits, default=0)
    if size < mtu + HEADROOM + update:
        beside = f" beside link.credit_update, {format_size(update)}" if credits else ""
        need = f"from {format_size(mtu + HEADROOM + update)}"
        yield _fault(path, format_size(size), f"{need}, to hold a packet of MTU {mtu}{beside}")


def _of_nodes(group: NodeGroup, mtu: int) -> Iterator[str]:
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
    yield from _too_small("adapter.receive.buffer", adapter.receive.buffer, mtu, [link])
    local = [name for name, table in adapter.caches.items() if not adapter.in_host(table)]
    if local and not adapter.local_memory_size:
        by_mode = all(adapter.caches[name].location == "mode" for name in local)
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
