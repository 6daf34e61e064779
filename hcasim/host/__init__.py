"""The machine around the adapter: processors and memory behind the chipset."""

from hcasim.host.cpu import Core
from hcasim.host.memory import HostMemory

__all__ = ["Core", "HostMemory"]
