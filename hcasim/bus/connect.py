"""Builds the way from an adapter to memory that the descriptions name, bus by bus."""

from __future__ import annotations

from hcasim.bus.base import Bus
from hcasim.bus.bridge import Bridge, BusBehind
from hcasim.bus.pcie import PcieBus
from hcasim.bus.pcie_link import FarEnd
from hcasim.bus.pcix import PcixBus
from hcasim.bus.upstream import MemoryController, Upstream
from hcasim.catalog import Host, PcieDevice, PcixDevice
from hcasim.engine import Simulator


def connect(sim: Simulator, device: PcieDevice | PcixDevice, host: Host, name: str) -> Bus:
    """The bus that a device is on, with all that is between it and memory.

    Args:
        device: the device's side of the bus; the bus may lead to a bridge and another bus.
        name: prefix of the names of its resources.
    """
    bridge = device.bridge
    if bridge is not None:
        bus = connect(sim, bridge.bus, host, f"{name}.bridge.bus")
        behind = BusBehind(sim, bus, bridge.completion_burst, bridge.reads)
        upstream: Upstream = Bridge(sim, f"{name}.bridge", bridge, behind)
    else:
        upstream = MemoryController(sim, host, name)
        if host.io_bridge is not None:
            upstream = Bridge(sim, f"{name}.io_bridge", host.io_bridge, upstream)
    if isinstance(device, PcieDevice):
        port = host.root_port
        assert port is not None, f"{host.id} has no root port"
        far = FarEnd.of_root_port(port) if bridge is None else FarEnd.of_bridge(bridge, port)
        return PcieBus(sim, device, far, upstream, name)
    if bridge is not None:
        return PcixBus(sim, device, bridge.completion_burst, upstream, name)
    of_host = host.pcix_bridge
    assert of_host is not None, f"{host.id} has no PCI-X"
    upstream = Bridge(sim, f"{name}.pcix_bridge", of_host, upstream)
    return PcixBus(sim, device, of_host.burst, upstream, name)
