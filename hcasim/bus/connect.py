"""Builds the bus that a description names."""

from __future__ import annotations

from hcasim.bus.base import Bus
from hcasim.bus.pcie import PcieBus
from hcasim.bus.pcix import PcixBus
from hcasim.catalog import Adapter, Host, PcieDevice
from hcasim.engine import Simulator


def connect(sim: Simulator, adapter: Adapter, host: Host, name: str) -> Bus:
    """The bus between ``adapter`` and ``host``.

    Args:
        name: prefix of the names of its resources.
    """
    if isinstance(adapter.bus, PcieDevice):
        return PcieBus(sim, adapter.bus, host, name)
    return PcixBus(sim, adapter.bus, host, name)
