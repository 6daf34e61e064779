"""A host: processors and memory, to which buses attach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from hcasim.catalog import Host as Description
from hcasim.catalog.host import RootPort
from hcasim.engine import Simulator
from hcasim.host.chipset import Chipset
from hcasim.host.core import Core
from hcasim.host.memory import Memory
from hcasim.host.root_complex import Iommu, RootComplex, says_more


class Clocked(Protocol):
    """What takes a core so many cycles."""

    def run_at(self, clock: int) -> None:
        """Learn the clock in Hz."""


class Cores:
    """The processors of a host; each is made when somebody has to do with it."""

    def __init__(self, sim: Simulator, description: Description, name: str, memory: Memory) -> None:
        self._sim = sim
        self._description = description
        self._name = name
        self._memory = memory
        self._made: dict[int, Core] = {}
        self._busy: dict[int, set[str]] = {}
        self._work: dict[int, list[Clocked]] = {}

    def __len__(self) -> int:
        return self._description.cpus

    def __getitem__(self, number: int) -> Core:
        number = range(len(self))[number]
        if number not in self._made:
            name = f"{self._name}.cpu{number}"
            self._made[number] = Core(self._sim, name, self._description, number, self._memory)
        return self._made[number]

    def __iter__(self) -> Iterator[Core]:
        return map(self.__getitem__, range(len(self)))

    def take(self, core: Core, work: Clocked) -> None:
        """Have a core do some work, which the clock of all on its socket depends on."""
        busy = self._busy.setdefault(core.socket, set())
        busy.add(core.name)
        every = self._work.setdefault(core.socket, [])
        every.append(work)
        if self._description.core is not None:
            clock = self._description.core.clock(len(busy))
            for one in every:
                one.run_at(clock)


class Host:
    """The machine around the adapter: memory, perhaps an IOMMU, and cores, socket by socket."""

    def __init__(self, sim: Simulator, description: Description, name: str) -> None:
        self.sim = sim
        self.name = name
        self.description = description
        self.memory = Memory(sim, description, name)
        unit = description.iommu
        self.iommu = None
        if unit is not None and unit.enabled:
            self.iommu = Iommu(sim, unit, description.memory, f"{name}.iommu_walks")
        self.cores = Cores(sim, description, name, self.memory)

    @property
    def full(self) -> bool:
        """Whether the part of the cache that writes of the adapter fill has no room left."""
        return self.memory.caches[self.description.adapter_socket].full_of_written

    def hold(self, address: int, size: int) -> None:
        """Have what the adapter wrote long ago in that part, if there is room."""
        self.memory.caches[self.description.adapter_socket].hold_written(address, size)

    def attach(
        self,
        socket: int = 0,
        port: RootPort | None = None,
        *,
        lanes: int = 4,
        relaxed: bool = False,
    ) -> Chipset:
        """What a bus at this socket leads to; that of PCI Express has a root port."""
        if port is None or not (self.iommu or says_more(self.description, port)):
            return Chipset(self.sim, self.description, socket, self.memory)
        return RootComplex(
            self.sim,
            self.description,
            socket,
            self.memory,
            port,
            self.iommu,
            lanes,
            relaxed,
            f"{self.name}.root_port",
        )
