"""What a study asks about: numbers of a benchmark, or claims and curves of a scenario."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from hcasim.catalog import CatalogError, Machine
from hcasim.catalog.loader import each_file_once
from hcasim.catalog.section import CHOSEN, SET
from hcasim.ground.errors import Fault, is_one, one_of, refuse
from hcasim.ground.quantities import QUANTITIES, title
from hcasim.papers.claim import Claim, references
from hcasim.papers.loader import load_scenario
from hcasim.papers.plan import Line, plan
from hcasim.papers.replay import measured
from hcasim.papers.roles import Standing
from hcasim.papers.scenario import Scenario
from hcasim.papers.verdict import judge, room
from hcasim.runs.experiment import Experiment
from hcasim.runs.machine import each_machine_once
from hcasim.runs.point import Point
from hcasim.study.sensitivity.factor import Factor, settings_of
from hcasim.workloads import find_workload
from hcasim.workloads.options import AXES, varying

if TYPE_CHECKING:
    from hcasim.workloads import Result

TINY = 1e-12
"""The change of a result of which only counters change."""
Settings = Callable[[Machine], Mapping[str, str]]
"""What-if settings of a machine."""
Run = Callable[[Iterable[Point]], "dict[Point, Result]"]
"""Simulates points."""


class Asked(NamedTuple):
    """A number that a study asks about: a claim with what it states, or what is measured where."""

    name: str
    unit: str
    statement: str = ""


class Reading(NamedTuple):
    """The number that one machine gives, and whether it meets the claim, if there is one.

    Parameters:
        room: relative change of what was measured from which on the verdict may change.
    """

    value: float
    holds: bool | None = None
    room: float = 0.0


class Case(NamedTuple):
    """The points to simulate on one machine, and what reads the outputs from their results.

    Parameters:
        probes: places of the first, the middle and the last point of each curve.
    """

    points: Sequence[Point]
    read: Callable[[Mapping[Point, Result]], list[Reading]]
    probes: Collection[int] = ()


class BenchmarkSubject:
    """A benchmark, with arguments of `hcasim.bench`: one quantity of each of its points."""

    def __init__(self, workload: str, quantity: str | None, given: Mapping[str, Any]) -> None:
        self._asked = Experiment.of(workload, **given)
        points = self._asked.benchmark()
        self._field = field_of(workload, quantity)
        machine = points[0].machine
        self.machines = (machine,)
        self.title = f"{points[0].workload} on {machine.id}, {machine.adapter.id}"
        axes = [one.name for one in varying([vars(one.options) for one in points])]
        names = names_of(points, self._field, axes)
        self.outputs = tuple(Asked(name, unit_of(self._field)) for name in names)

    def case(self, settings: Settings) -> Case:
        """Return what to simulate with settings, which come before those of the user.

        Raises:
            CatalogError: a machine cannot be so.
        """
        points = self._asked.with_(overrides=settings(self.machines[0])).benchmark()
        return Case(points, lambda found: [Reading(found[one].row[self._field]) for one in points])


class ScenarioSubject:
    """The claims of a scenario, at some values of its x axis or all, with what-if settings."""

    def __init__(
        self,
        scenario: Scenario,
        x: Any = None,
        overrides: Mapping[str, Any] | None = None,
        only: Container[str] | None = None,
    ) -> None:
        self._own, self._x, self._overrides = scenario, x, dict(overrides or {})
        self._scenarios = {scenario.id: scenario}
        asked = (one for one in scenario.claims if only is None or one.id in only)
        self._claims = [one for one in asked if self._is_read(one)]
        wanted = [name for claim in self._claims for name, *_ in references(claim)]
        refuse("" if wanted else f"{scenario.id}: found no claim that these sizes tell of")
        with each_machine_once():
            self._lines = {
                name: self._line(name, self._overrides)
                for name in dict.fromkeys(map(scenario.qualified, wanted))
            }
        # Points that no claim reads say nothing.
        self._read_at = defaultdict[str, set[int]](set)
        for claim in self._claims:
            for measure in claim.measures:
                for side in chain.from_iterable(scenario.readings(measure, self._lines)):
                    for line in side[0]:
                        self._read_at[line.scenario.qualified(line.name)].update(side[1])
        self.machines = tuple(one.jobs[0].machine for one in self._lines.values())
        # What a series itself sets, or has not, is not varied in it.
        self._varied = {
            name: {
                known.path
                for known in one.jobs[0].machine.parameters
                if known.source not in (SET, CHOSEN) or known.path in self._overrides
            }
            for name, one in self._lines.items()
        }
        self.title = f"{scenario.id}: {scenario.title}"
        # Orders and ratios have no unit.
        self.outputs = tuple(
            Asked(one.id, "" if one.kind in ("ordering", "ratio") else one.unit, one.statement)
            for one in self._claims
        )

    def _is_read(self, claim: Claim) -> bool:
        """Whether the chosen values of x hold those at which a claim reads a curve."""
        if self._x is None:
            return True
        chosen = self._own.options.axis.read(self._x)
        return all(at is None or at in chosen for _, _, at in references(claim))

    def _line(self, name: str, overrides: Mapping[str, Any]) -> Line:
        identifier, _, series = name.partition(":")
        if identifier not in self._scenarios:
            self._scenarios[identifier] = load_scenario(identifier)
        scenario = self._scenarios[identifier]
        x = self._x if scenario is self._own else None
        return plan(scenario, series=series, x=x, overrides=overrides).lines[0]

    def case(self, settings: Settings) -> Case:
        """Return what to simulate with settings of the machine of each series.

        Raises:
            CatalogError: a machine cannot be so.
        """
        with each_machine_once():
            lines = {}
            for name, one in self._lines.items():
                found = settings(one.jobs[0].machine).items()
                own = {path: text for path, text in found if path in self._varied[name]}
                line = self._line(name, {**self._overrides, **own})
                lines[name] = line.at(self._read_at[name])
        points: list[Point] = []
        probes = set[int]()
        for line in filter(lambda one: one.needed, lines.values()):
            first, last = len(points), len(points) + len(line.needed) - 1
            probes |= {first, (first + last) // 2, last}
            points += line.needed
        return Case(points, lambda found: self._read(lines, found), probes)

    def _read(self, lines: Mapping[str, Line], found: Mapping[Point, Result]) -> list[Reading]:
        curves = {name: measured(line, found) for name, line in lines.items()}
        readings = []
        for claim in self._claims:
            try:
                verdict = judge(claim, self._own, curves, Standing("predicted", claim.id))
            except ValueError as error:
                hint = "allowed: values of the figure that both have, or none"
                raise CatalogError([f"size: {error} of those given; {hint}"]) from None
            assert verdict.simulated is not None
            held = verdict.status == "pass"
            left = room(claim, verdict.simulated, self._own, curves)
            readings.append(Reading(verdict.simulated, held, left))
        return readings


Subject = BenchmarkSubject | ScenarioSubject
"""What a study asks about: its title, its outputs, and the machines they are measured on."""


class Evaluator:
    """Gives what a subject becomes at values of factors, all that is asked at once in parallel.

    Attributes:
        simulated: different points that were needed.
    """

    def __init__(self, subject: Subject, factors: Mapping[str, Factor], run: Run) -> None:
        self.simulated = 0
        self._subject, self._factors, self._run = subject, factors, run

    def fault(self, path: str, value: int) -> str:
        """Say why no machine can have a value; empty if one can."""
        try:
            self._case({path: value})
        except CatalogError as error:
            return error.faults[0]
        return ""

    def __call__(self, every: Sequence[Mapping[str, int]]) -> list[list[Reading]]:
        """Return the readings of each output at each of some values."""
        with each_file_once():
            cases = [self._case(values) for values in every]
        found = self._run(dict.fromkeys(job for one in cases for job in one.points))
        self.simulated += len(found)
        return [one.read(found) for one in cases]

    def moving(self, every: Sequence[Mapping[str, int]], everywhere: bool = True) -> list[float]:
        """Return the largest relative change of a result for each of some values, at all points or
        only at the probes of curves: 0 if not even a counter changes, infinity if no machine can
        have the values together."""
        with each_file_once():
            base, *cases = (self._possible(values) for values in ({}, *every))
        assert base is not None
        chosen = range(len(base.points)) if everywhere else sorted(base.probes)
        asked = [[one.points[place] for place in chosen] for one in (base, *filter(None, cases))]
        found = self._run(dict.fromkeys(point for points in asked for point in points))
        usual = [found[point] for point in asked[0]]
        return [
            inf
            if one is None
            else max(
                _change(base.points[place].workload, before, found[one.points[place]])
                for place, before in zip(chosen, usual, strict=True)
            )
            for one in cases
        ]

    def _possible(self, values: Mapping[str, int]) -> Case | None:
        try:
            return self._case(values)
        except CatalogError:
            return None

    def _case(self, values: Mapping[str, int]) -> Case:
        return self._subject.case(lambda machine: settings_of(machine, values, self._factors))


def _change(workload: str, before: Result, after: Result) -> float:
    known = find_workload(workload)
    assert known is not None
    pairs = [(before.row[name], after.row[name]) for name in known.fields if name in after.row]
    least = TINY * ((before.row, before.counters) != (after.row, after.counters))
    return max([least, *(abs(new / old - 1) if old else inf for old, new in pairs if new != old)])


def field_of(workload: str, quantity: str | None) -> str:
    """Return what a study reads of the rows of a workload: its first quantity if none is named.

    Raises:
        CatalogError: it has no such quantity.
    """
    known = find_workload(workload)
    fields = known.fields if known else ()
    if quantity is not None and not is_one(quantity, fields):
        refuse(Fault("quantity", quantity, one_of(fields)))
    return quantity or fields[0]


def names_of(points: Sequence[Point], field: str, axes: Sequence[str]) -> list[str]:
    """Return what a field of each point is called, such as "latency_us at Size 8"."""
    shown = [AXES[name] for name in axes or ("size",)]
    return [
        f"{field} at "
        + ", ".join(f"{one.title} {one.label(getattr(point.options, one.name))}" for one in shown)
        for point in points
    ]


def unit_of(field: str) -> str:
    """Return the unit of a key of a row."""
    known = {one.field: one.unit for one in QUANTITIES.values()}
    return known.get(field, title(field).partition("(")[2].rstrip(")"))
