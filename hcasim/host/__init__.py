"""The machine around the adapter: processors with their caches, memory, and the chipset."""

from hcasim.host.chipset import Chipset
from hcasim.host.core import Core
from hcasim.host.host import Host

__all__ = ["Chipset", "Core", "Host"]
