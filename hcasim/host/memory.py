"""Main memory: a bandwidth that all share."""

from __future__ import annotations

from hcasim.catalog import Host
from hcasim.engine import Rate, SerialServer, Simulator


class HostMemory:
    """Memory behind the memory controller.

    Args:
        host: description of the machine; bandwidth in B/s.
    """

    def __init__(self, sim: Simulator, host: Host, name: str) -> None:
        self.controller = SerialServer(sim, f"{name}.memory")
        self._rate = Rate.from_bandwidth(host.memory.bandwidth)

    def transfer(self, size_bytes: int) -> int:
        """Move ``size_bytes`` over the memory channels; return the time in ps of the last byte."""
        return self.controller.reserve(self._rate.time(size_bytes))
