"""Builds the way from an adapter to memory that the descriptions name, bus by bus."""

from __future__ import annotations

from hcasim.bus.base import Bus
from hcasim.bus.bridge import Bridge, BusBehind
from hcasim.bus.direct import DirectBus
from hcasim.bus.pcie import PcieBus
from hcasim.bus.pcie_link import FarEnd
from hcasim.bus.pcix import PcixBus
from hcasim.catalog import DirectDevice, PcieDevice
from hcasim.catalog.buses import Bus as Device
from hcasim.host import Host
from hcasim.host.upstream import Upstream


def connect(host: Host, device: Device, name: str, socket: int = 0) -> Bus:
    """The bus that a device is on, with all bridges and buses between it and a socket of a host."""
    if isinstance(device, DirectDevice):
        return DirectBus(host.sim, name)
    sim, offers, bridge = host.sim, host.description, device.bridge
    upstream: Upstream
    if bridge is not None:
        bus = connect(host, bridge.bus, f"{name}.bridge.bus", socket)
        behind = BusBehind(sim, bus, bridge.burst, bridge.reads)
        upstream = Bridge(sim, f"{name}.bridge", bridge, behind)
    else:
        if isinstance(device, PcieDevice):
            port, lanes, relaxed = offers.root_port, device.lanes, device.relaxed_ordering
            upstream = host.attach(socket, port, lanes=lanes, relaxed=relaxed)
        else:
            upstream = host.attach(socket)
        if offers.io_bridge is not None:
            upstream = Bridge(sim, f"{name}.io_bridge", offers.io_bridge, upstream)
    if isinstance(device, PcieDevice):
        port = offers.root_port
        assert port is not None, f"{offers.id} has no root port"
        far = FarEnd.of_root_port(port) if bridge is None else FarEnd.of_bridge(bridge, port)
        return PcieBus(sim, device, far, upstream, name)
    if bridge is not None:
        return PcixBus(sim, device, bridge.burst, upstream, name)
    slot = offers.pcix_bridge
    assert slot is not None, f"{offers.id} has no bridge to PCI-X"
    upstream = Bridge(sim, f"{name}.pcix_bridge", slot, upstream)
    return PcixBus(sim, device, slot.burst, upstream, name, slot.other)
