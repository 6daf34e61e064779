"""Planning scenarios: which points of which machines a published figure needs."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from types import MappingProxyType
from typing import Any

from hcasim.catalog import CatalogError, nearest, one_of
from hcasim.catalog.part import as_texts
from hcasim.ground.errors import refuse
from hcasim.ground.quantities import QUANTITIES, derivable
from hcasim.papers.claim import references
from hcasim.papers.loader import every_scenario, is_shipped
from hcasim.papers.scenario import Scenario, Series
from hcasim.runs.experiment import Experiment
from hcasim.runs.machine import each_machine_once
from hcasim.runs.point import Point
from hcasim.workloads import find_workload, unknown_workload
from hcasim.workloads.options import AXES


@dataclass(frozen=True)
class Line:
    """One series of a scenario, ready to run.

    Parameters:
        jobs: its points, in the order of the axis.
        over: for each of them the point that it is an overhead over, if it is one.
        again: all of them for each further run that it is the mean of.
    """

    scenario: Scenario
    name: str
    jobs: tuple[Point, ...]
    over: tuple[Point, ...] = ()
    again: tuple[tuple[Point, ...], ...] = ()

    @property
    def series(self) -> Series:
        """What the authors measured."""
        return self.scenario.series[self.name]

    @property
    def axis(self) -> str:
        """What varies along it."""
        return self.scenario.options.axis.name

    @property
    def field(self) -> str:
        """What is plotted."""
        return self.scenario.axes.field

    @property
    def needed(self) -> tuple[Point, ...]:
        """All points that are simulated for it."""
        return sum(self.again, self.jobs + self.over)

    @property
    def overrides(self) -> dict[str, str]:
        """What is set of its machine, by path, as far as that is the same in all runs."""
        first, *others = (points[0].machine.overrides for points in (self.jobs, *self.again))
        return {p: text for p, text in first.items() if all(one[p] == text for one in others)}

    @property
    def x(self) -> tuple[int, ...]:
        """The values of what varies along it."""
        return tuple(getattr(job.options, self.axis) for job in self.jobs)

    def at(self, x: Container[int]) -> Line:
        """Return it at some values of what varies along it."""
        kept = [one in x for one in self.x]
        jobs, over, *again = (
            tuple(compress(points, kept)) for points in (self.jobs, self.over, *self.again)
        )
        return replace(self, jobs=jobs, over=over, again=tuple(again))


@dataclass(frozen=True)
class Plan:
    """A scenario, ready to run: its series, and what-if settings."""

    scenario: Scenario
    lines: tuple[Line, ...]
    overrides: Mapping[str, str]

    @property
    def jobs(self) -> list[Point]:
        """All points."""
        return [job for line in self.lines for job in line.needed]

    def only(self, names: Container[str]) -> Plan:
        """Return it with some of its series, which are named as "liu2004/fig06:pcie"."""
        lines = (one for one in self.lines if self.scenario.qualified(one.name) in names)
        return replace(self, lines=tuple(lines))


@each_machine_once()
def plan_all(
    scenarios: Iterable[Scenario],
    overrides: Mapping[str, Any] | None = None,
    needed: Callable[[Scenario], bool] = lambda _: True,
    choices: Mapping[str, Any] = MappingProxyType({}),
    whole: bool = False,
) -> list[Plan]:
    """Plan scenarios; machines that they share are resolved once.

    Parameters:
        scenarios: what to plan.
        overrides: what-if settings by path; they must suit every adapter.
        needed: which scenarios must have no fault; faulty others are left out.
        choices: of the machine by name, instead of the series' own.
        whole: with the series that only claims read.

    Raises:
        CatalogError: every fault of those that are needed.
    """
    plans: list[Plan] = []
    faults: list[str] = []
    for scenario in scenarios:
        try:
            series = scenario.series if whole else None
            plans.append(plan(scenario, series=series, overrides=overrides, choices=choices))
        except CatalogError as error:
            faults += error.faults if needed(scenario) else ()
    refuse(*faults)
    return plans


def plan_papers(first: Iterable[Scenario] = ()) -> list[Plan]:
    """Plan some scenarios, and behind them all others of the catalogue.

    A faulty one of the user's own that is not among the first is left out.
    """
    first = list(first)
    named = {one.id for one in first}
    return plan_all(
        every_scenario(first),
        needed=lambda one: one.id in named or is_shipped(one.id),
        whole=True,
    )


def plan(
    scenario: Scenario,
    *,
    series: str | Iterable[str] | None = None,
    sizes: str | Sequence[int] | None = None,
    x: str | Sequence[int] | None = None,
    overrides: Mapping[str, Any] | None = None,
    choices: Mapping[str, Any] = MappingProxyType({}),
) -> Plan:
    """Resolve what a scenario needs; the parameters are those of `plan_all` and of `replay`.

    Raises:
        CatalogError: every fault of the scenario and of the request.
    """
    settings = as_texts(overrides)
    known = list(scenario.series)
    usual = scenario.published
    asked: Any = [series] if isinstance(series, str) else usual if series is None else series
    names = list(asked) if isinstance(asked, Iterable) else []
    if not names or not all(isinstance(name, str) for name in names):
        refuse(f"series: found {series!r}; allowed: some of {one_of(known)}")
    faults = [
        f"series: {scenario.id} has no {name!r}; allowed: {one_of(known)}{nearest(name, known)}"
        for name in names
        if name not in known
    ]
    given = _given(scenario, sizes, x, faults)
    faults += _not_measured(scenario)
    lines = []
    for name in (one for one in names if one in known):
        workload, beside = scenario.workload_of(name), scenario.series[name].over
        try:
            runs = [{**as_texts(one), **settings} for one in scenario.series[name].runs]
            jobs, *again = (_points(scenario, name, workload, given, run, choices) for run in runs)
            found = beside and _points(scenario, name, beside, given, runs[0], choices)
            lines.append(Line(scenario, name, jobs, found or (), tuple(again)))
        except CatalogError as error:
            faults += error.faults
    refuse(*faults)
    return Plan(scenario, tuple(lines), settings)


def _not_measured(scenario: Scenario) -> Iterator[str]:
    """Faults of axes, series and claims about what the workloads do not measure."""
    plotted = scenario.axes.field
    for name, series in scenario.series.items():
        result = series.result or plotted
        where = "axes.field" if series.result is None else f"series.{name}.result"
        needed = [(f"series.{name}.over", result, series.over or "")]
        needed += [(where, result, scenario.workload_of(name))]
        for number, claim in enumerate(scenario.claims, start=1):
            field = QUANTITIES[claim.quantity].field
            read = name in (one for one, *_ in references(claim))
            counted = series.counters and claim.quantity == "counter"
            if read and not counted and (series.result is None or field != plotted):
                needed.append((f"claims[{number}].quantity", field, scenario.workload_of(name)))
        for place, field, workload in needed:
            found = find_workload(workload)
            if found is not None and field not in derivable(found.fields):
                measures = f"{found.name} measures {one_of(found.fields)}"
                yield f"{scenario.id}: {place}: needs {field}; {measures}"


def _given(
    scenario: Scenario,
    sizes: str | Sequence[int] | None,
    x: str | Sequence[int] | None,
    faults: list[str],
) -> dict[str, tuple[int, ...]]:
    """Read what is asked for instead of the values of the figure."""
    axis = scenario.options.axis
    found: dict[str, tuple[int, ...]] = {}
    for name, option, values in (("sizes", AXES["size"], sizes), ("x", axis, x)):
        if values is not None:
            try:
                found[option.name] = option.read(values)
            except ValueError as error:
                faults += [f"{name}: {line}" for line in str(error).splitlines()]
    if axis.name != "size" and len(found.get("size", ())) > 1:
        faults.append(f"sizes: found several; allowed: one, beside {axis.name} on the x axis")
    if axis.name == "size" and sizes is not None and x is not None:
        faults.append("x: found with sizes, which are the x axis; leave one out")
    return found


def _points(
    scenario: Scenario,
    name: str,
    wanted: str,
    given: Mapping[str, tuple[int, ...]],
    overrides: Mapping[str, str],
    choices: Mapping[str, Any],
) -> tuple[Point, ...]:
    """Return the points of a benchmark as a series measures them."""
    series = scenario.series[name]
    workload = find_workload(wanted)
    if workload is None:
        raise CatalogError([f"{scenario.id}: {unknown_workload(wanted)}"])
    # What a series is about holds whatever else is set.
    overrides = {**overrides, **(series.overrides or {})}
    chosen = {**scenario.options.chosen, **given, **series.chosen}
    if wanted == series.over:
        chosen = {name: one for name, one in chosen.items() if name in workload.options}
    asked = Experiment.of(
        wanted,
        scenario.testbed_of(name),
        adapter=series.adapter,
        firmware_mode=series.firmware_mode,
        stack=series.stack,
        mtu=None if "mtu" in overrides else scenario.options.mtu,
        overrides=overrides,
    ).with_(**choices)
    machine = asked.machine()
    try:
        return tuple(Experiment(wanted, machine, chosen).benchmark())
    except CatalogError as error:
        where = f"{scenario.id}: series.{name}"
        raise CatalogError([f"{where}: {fault}" for fault in error.faults]) from None
