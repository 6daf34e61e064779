"""Points of a sweep on samples of its machines, for bands around what it measures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hcasim.catalog import CatalogError, Machine
from hcasim.runs.launch import Launch
from hcasim.runs.point import Point
from hcasim.study.sweep.plan import Planned, Planner
from hcasim.study.sweep.table import Sweep
from hcasim.study.sweep.trial import Trial
from hcasim.study.uncertainty.bands import banded
from hcasim.study.uncertainty.draws import Draws, draw
from hcasim.workloads.result import Result

_WHOLE = (
    "uncertainty: found with a machine of Python, whose values cannot be drawn; "
    "allowed: a testbed by id or file"
)


@dataclass
class Samples:
    """The points that bands are made of.

    Parameters:
        planner: of the sweep.
        planned: its points.
        count: samples of each machine.

    Attributes:
        trials: of each point those of its samples.

    Raises:
        CatalogError: a machine whose values cannot be drawn, or too few samples can be machines.
    """

    planner: Planner
    planned: Sequence[Planned]
    count: int
    draws: Draws = field(init=False)
    trials: list[list[Trial]] = field(init=False)

    def __post_init__(self) -> None:
        # A benchmark that measures many sizes by itself has several points of one combination.
        groups: dict[int, list[Planned]] = {}
        for one in self.planned:
            groups.setdefault(id(one.made), []).append(one)
        if any(isinstance(one.made.get("testbed"), Machine) for one in self.planned):
            raise CatalogError([_WHOLE])
        first: dict[tuple[str, ...], Planned] = {}
        for one in self.planned:
            first.setdefault(one.point.machine.parts, one)
        self.draws = draw(
            [(one.point.machine, self._building(one)) for one in first.values()], self.count
        )
        built = self.draws.built(
            [(group[0].point.machine, self._building(group[0])) for group in groups.values()]
        )
        self.trials = [
            [Trial(point) for point in samples]
            for every in zip(*built, strict=True)
            for samples in zip(*every, strict=True)
        ]

    def _building(self, one: Planned) -> Callable[[Mapping[str, str]], list[Point | Launch]]:
        return lambda settings: self.planner.again(one, settings)

    @property
    def all(self) -> Iterable[Trial]:
        """All that is to be simulated for the bands."""
        return (trial for one in self.trials for trial in one)

    def around(self, table: Sweep, found: Mapping[Any, Result]) -> Sweep:
        """Return the table of the sweep with bands around what was measured."""
        rows = [
            banded(row, [found[trial].row for trial in trials])
            for row, trials in zip(table.rows, self.trials, strict=True)
        ]
        samples = len(self.trials[0])
        return replace(table, rows=tuple(rows), drawn=tuple(self.draws.factors), samples=samples)
