"""Whether a trace was taken on the machine that is described."""

from __future__ import annotations

from collections.abc import Iterator

from hcasim.catalog import Adapter, InfinibandLink, Machine, PcieDevice
from hcasim.catalog.link import LANES
from hcasim.traces import TRANSPORTS, Header

SLACK = 0.07
"""Drivers round lane rates: 25 for 25.78125, 50 for 53.125."""


def mismatches(header: Header, machine: Machine) -> Iterator[str]:
    """Say what a trace tells of its adapter that is not so on a machine.

    Parameters:
        header: of the trace; what it does not tell is not compared.
        machine: the base of a fit.

    Yields:
        A line for each: what the trace has, what the machine has, and what would change it.
    """
    device, adapter = header.device, machine.adapter
    if header.tool.name == "hcasim" and device.name not in ("", adapter.id):
        yield f"adapter: found {device.name}; {machine.id} has {adapter.id} here; see --adapter"
    speaks = TRANSPORTS[adapter.protocol.kind] if isinstance(adapter, Adapter) else "no RDMA"
    if device.transport and device.transport != speaks:
        yield f"transport: found {device.transport}; {adapter.id} speaks {speaks}"
    layer, kind = header.port.layer, machine.link.kind
    if layer and layer != kind:
        yield f"link: found {layer}; that of {machine.id} is {kind}"
    else:
        yield from _rates(header, machine)
    yield from _slots(header, machine)


def _rates(header: Header, machine: Machine) -> Iterator[str]:
    width, speed, link = header.port.width, header.port.speed, machine.link
    if isinstance(link, InfinibandLink):
        if width is not None and width != link.width:
            yield _other("link.width", f"{width} lanes", machine.id, link.width, width)
        rate = float(LANES[link.speed].gigabits)
        if speed is not None and abs(speed / rate - 1) > SLACK:
            near = min(LANES, key=lambda name: abs(LANES[name].gigabits - speed))
            own = f"{link.speed}, which is {rate:g}"
            yield _other("link.speed", f"{speed:g} Gbit/s a lane", machine.id, own, near)
    elif speed is not None:
        total = speed * (width or 1)
        if abs(total / link.gigabits - 1) > SLACK:
            told = f"found {total:g} Gbit/s; {machine.id} has {link.gigabits}"
            yield f"link.gigabits: {told}; see --set link.gigabits"


def _slots(header: Header, machine: Machine) -> Iterator[str]:
    pci, bus, name = header.pci, machine.adapter.bus, machine.adapter.id
    if pci is None:
        return
    if not isinstance(bus, PcieDevice):
        if pci.generation is not None:
            yield f"bus: found PCI Express; {name} has {bus.kind}; see --set adapter.bus.kind=pcie"
        return
    for key in ("generation", "lanes", "max_payload", "max_read_request"):
        value, own = getattr(pci, key), getattr(bus, key)
        if value is not None and value != own:
            yield _other(f"adapter.bus.{key}", value, name, own, value)


def _other(key: str, found: object, owner: str, own: object, wanted: object) -> str:
    return f"{key}: found {found}; {owner} has {own}; see --set {key}={wanted}"
