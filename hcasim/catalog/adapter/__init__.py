"""An RDMA adapter: its bus interface, its engines, its queues, and its tables with their caches."""

from hcasim.catalog.adapter.bus import CardBridge, PcieDevice, PcixDevice
from hcasim.catalog.adapter.description import Adapter, FirmwareMode
from hcasim.catalog.adapter.device import Device
from hcasim.catalog.adapter.engines import Atomics, BlueFlame, Send, Services
from hcasim.catalog.adapter.queues import Cqe, Umr, Wqe, WqeCache
from hcasim.catalog.adapter.tables import Cache, IcmCache, LocalMemory

__all__ = [
    "Adapter",
    "Atomics",
    "BlueFlame",
    "Cache",
    "CardBridge",
    "Cqe",
    "Device",
    "FirmwareMode",
    "IcmCache",
    "LocalMemory",
    "PcieDevice",
    "PcixDevice",
    "Send",
    "Services",
    "Umr",
    "Wqe",
    "WqeCache",
]
