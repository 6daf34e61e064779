"""A host: processors and memory, to which buses attach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from hcasim.catalog import Host as Description
from hcasim.catalog.host import RootPort
from hcasim.engine import Simulator
from hcasim.host.chipset import Chipset
from hcasim.host.core import Core
from hcasim.host.iommu import Iommu
from hcasim.host.memory import Memory
from hcasim.host.root_complex import RootComplex, says_more


class Cores(Sequence[Core]):
    """The processors of a host; each is made when somebody has to do with it."""

    def __init__(self, sim: Simulator, description: Description, name: str, memory: Memory) -> None:
        self._sim = sim
        self._description = description
        self._name = name
        self._memory = memory
        self._made: dict[int, Core] = {}

    def __len__(self) -> int:
        return self._description.cpus

    @overload
    def __getitem__(self, number: int) -> Core: ...

    @overload
    def __getitem__(self, number: slice) -> list[Core]: ...

    def __getitem__(self, number: int | slice) -> Core | list[Core]:
        places = range(len(self))[number]
        return [self[one] for one in places] if isinstance(places, range) else self._core(places)

    def _core(self, number: int) -> Core:
        found = self._made.get(number)
        if found is None:
            name = f"{self._name}.cpu{number}"
            found = Core(self._sim, name, self._description, number, self._memory)
            self._made[number] = found
        return found


class Host:
    """The machine around the adapter, built from its description.

    Attributes:
        memory: shared by all buses and cores.
        iommu: that translates the addresses of devices; None if none does.
        cores: one for each processor, the first ones in the first socket.
    """

    def __init__(self, sim: Simulator, description: Description, name: str) -> None:
        self.sim = sim
        self.name = name
        self.description = description
        self.memory = Memory(sim, description, name)
        units = description.iommu
        self.iommu = Iommu(sim, units, f"{name}.iommu_walks") if units and units.enabled else None
        self.cores = Cores(sim, description, name, self.memory)

    def attach(
        self, socket: int = 0, port: RootPort | None = None, *, relaxed: bool = False
    ) -> Chipset:
        """What a bus at this socket leads to.

        Args:
            port: the end of a PCI Express link.
            relaxed: whether the device's writes may become visible in any order.
        """
        if port is None or not (self.iommu or says_more(self.description, port)):
            return Chipset(self.sim, self.description, socket, self.memory)
        return RootComplex(
            self.sim,
            self.description,
            socket,
            self.memory,
            port,
            self.iommu,
            relaxed,
            f"{self.name}.root_port",
        )
