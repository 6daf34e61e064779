"""One run of a benchmark: its nodes, its programs and what it measures."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from linecache import getline
from pathlib import Path
from types import GeneratorType
from typing import Any, Final

from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Event, Simulator
from hcasim.ground.errors import CatalogError, display
from hcasim.verbs import Context
from hcasim.workloads.explain import Utilisation, explained
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result
from hcasim.workloads.roles import clients_and_server

Nodes = Callable[[Machine, Options], list[int]]
Steps = Generator[Event, Any, Any]
_HOUSE: Final = Path(__file__).parents[1]


def _translated(machine: Machine, enabled: bool) -> Machine:
    """A machine in whose hosts the IOMMUs that there are translate for devices, or none does."""
    groups = []
    for group in machine.groups:
        unit = group.host.iommu
        if unit is not None:
            unit = unit.model_copy(update={"enabled": enabled})
        host = group.host.model_copy(update={"iommu": unit})
        groups.append(group.model_copy(update={"host": host}))
    return machine.model_copy(update={"groups": tuple(groups)})


@dataclass
class Run:
    """One point of a benchmark that is being measured, on the nodes that `choose` returns.

    How busy everything is counts from the start on, unless `usage` is marked later.

    Attributes:
        sized: names of the options that say how large it is, as far as it has them.
    """

    name: str
    sim: Simulator
    machine: Machine
    options: Options
    choose: Nodes = clients_and_server
    sized: tuple[str, ...] = ("size", "qps")

    def __post_init__(self) -> None:
        self.usage = Utilisation(self.sim)
        if self.options.iommu != "host":
            self.machine = _translated(self.machine, self.options.iommu == "on")

    @cached_property
    def cluster(self) -> Cluster:
        """The nodes that take part, in the order of their roles."""
        return Cluster(self.sim, self.machine, self.choose(self.machine, self.options))

    @property
    def is_built(self) -> bool:
        """Whether it is its own cluster that was measured."""
        return "cluster" in vars(self)

    @cached_property
    def contexts(self) -> list[Context]:
        """The adapter of each node, opened by a process on the first of its processors."""
        return [Context(self.sim, node) for node in self.cluster.nodes]

    def together(self, *, seconds: float = 1.0, **programs: Steps) -> None:
        """Run the programs of some processes, by name, until all have ended.

        Parameters:
            seconds: of simulated time that they may take.

        Raises:
            CatalogError: none can go on, or they take longer; it says where each waits.
        """
        running = {name: self.sim.process(one) for name, one in programs.items()}
        over: list[int] = []
        self.sim.call_after(round(seconds * 1e12), _give_up, over)
        with suppress(_OutOfTime):
            if self.sim.reach(self.sim.all_of(running.values())):
                over.append(1)
                return
        told = [
            f"{name} {'has ended' if running[name].triggered else f'waits at {waits_at(one)}'}"
            for name, one in programs.items()
        ]
        if fault := self.sim.unrun.fault():
            told.append(fault)
        stuck = "no process can go on" if self.sim.over else f"no end within {seconds:g} s"
        raise CatalogError([f"{self.name}: {stuck}: {'; '.join(told)}"])

    def result(
        self,
        row: dict[str, Any],
        breakdown: Callable[[], dict[str, Any]] | None = None,
        *,
        sized: tuple[str, ...] = ("size", "qps"),
        counters: dict[str, int] | None = None,
    ) -> Result:
        """Return what was measured, with what the cluster has counted, unless that is given.

        A breakdown says where the time went, or else what was busy. Columns
        of the options that sized the run stand before the others.
        """
        row = {name: getattr(self.options, name) for name in sized} | row
        counters = self.cluster.counters() if counters is None else counters
        explain = breakdown or self.usage.report
        return Result(row, counters, explained(self.sim, self.options, explain))


class _OutOfTime(Exception):
    """Programs have taken as long as they may."""


def _give_up(over: list[int]) -> None:
    if not over:
        raise _OutOfTime


def waits_at(steps: object) -> str:
    """The line of a program's own that a process waits in, and what stands there."""
    found = ""
    while isinstance(steps, GeneratorType) and (frame := steps.gi_frame) is not None:
        file, line = frame.f_code.co_filename, frame.f_lineno
        if not Path(file).is_relative_to(_HOUSE):
            found = f"{display(Path(file))}:{line}: {getline(file, line).strip()}"
        steps = steps.gi_yieldfrom
    return found or "its begin"
