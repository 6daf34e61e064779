"""A host: processors and memory, to which buses attach."""

from __future__ import annotations

from hcasim.catalog import Host as Description
from hcasim.engine import Simulator
from hcasim.host.chipset import Chipset
from hcasim.host.core import Core
from hcasim.host.memory import Memory


class Host:
    """The machine around the adapter, built from its description.

    Attributes:
        memory: shared by all buses and cores.
        cores: one for each processor, the first ones in the first socket.
    """

    def __init__(self, sim: Simulator, description: Description, name: str) -> None:
        self.sim = sim
        self.description = description
        self.memory = Memory(sim, description, name)
        self.cores = [
            Core(sim, f"{name}.cpu{number}", description, number, self.memory)
            for number in range(description.cpus)
        ]

    def attach(self, socket: int = 0) -> Chipset:
        """What a bus at this socket leads to."""
        return Chipset(self.sim, self.description, socket, self.memory)
