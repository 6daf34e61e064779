"""I/O buses between the adapter and the host, behind one interface."""

from hcasim.bus.base import Bus, Storage
from hcasim.bus.connect import connect
from hcasim.bus.pcie import PcieBus
from hcasim.bus.pcix import PcixBus

__all__ = ["Bus", "PcieBus", "PcixBus", "Storage", "connect"]
