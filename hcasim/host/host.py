"""A host: processors and memory, to which buses attach."""

from __future__ import annotations

from hcasim.catalog import Host as Description
from hcasim.engine import Rate, Simulator
from hcasim.host.cache import ProcessorCache
from hcasim.host.chipset import Chipset
from hcasim.host.copying import Copies
from hcasim.host.core import Core
from hcasim.host.memory import Memory


class Host:
    """The machine around the adapter, built from its description.

    Attributes:
        cores: one for each processor, the first ones in the first socket.
        caches: one for each socket.
        memory: shared by all buses and cores.
    """

    def __init__(self, sim: Simulator, description: Description, name: str) -> None:
        self.sim = sim
        self.name = name
        self.description = description
        self.memory = Memory(sim, description, name)
        self.caches = [ProcessorCache(description.cache) for _ in range(description.sockets)]
        self._copies = Copies(sim)
        cache = description.cache
        rates = Rate.from_bandwidth(cache.hit_bandwidth), Rate.from_bandwidth(cache.miss_bandwidth)
        self.cores = [
            Core(
                sim,
                f"{name}.cpu{number}",
                number * description.sockets // description.cpus,
                self.memory,
                self.caches,
                self._copies,
                rates,
            )
            for number in range(description.cpus)
        ]

    def attach(self, socket: int = 0) -> Chipset:
        """What a bus at this socket leads to."""
        return Chipset(self.sim, self.description, socket, self.memory, self.caches, self._copies)
