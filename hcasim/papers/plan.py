"""Planning scenarios: which points of which machines a published figure needs."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from hcasim.catalog import CatalogError, as_texts, nearest, one_of
from hcasim.ground.quantities import QUANTITIES, derivable
from hcasim.papers.loader import every_scenario, is_shipped, references
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
        name: of the series.
        series: what the authors measured.
        axis: what varies along it.
        field: what is plotted.
        jobs: its points, in the order of the axis.
        over: for each of them the point of the benchmark that the series is an overhead over, if
            it is one.
    """

    name: str
    series: Series
    axis: str
    field: str
    jobs: tuple[Point, ...]
    over: tuple[Point, ...] = ()

    @property
    def needed(self) -> tuple[Point, ...]:
        """All points that are simulated for it."""
        return self.jobs + self.over

    @property
    def x(self) -> tuple[int, ...]:
        """What varies along it."""
        return tuple(getattr(job.options, self.axis) for job in self.jobs)


@dataclass(frozen=True)
class Plan:
    """A scenario, ready to run.

    Parameters:
        scenario: what to replay.
        lines: its series with their points.
        overrides: what-if settings.
    """

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
    scenarios: Iterable[Scenario], overrides: Mapping[str, Any] | None = None
) -> list[Plan]:
    """Plan scenarios; machines that they share are resolved once."""
    plans: list[Plan] = []
    faults: list[str] = []
    for scenario in scenarios:
        try:
            plans.append(plan(scenario, overrides=overrides))
        except CatalogError as error:
            faults += error.faults
    if faults:
        raise CatalogError(dict.fromkeys(faults))
    return plans


@each_machine_once()
def plan_papers(first: Iterable[Scenario] = ()) -> list[Plan]:
    """Plan some scenarios, and behind them all others of the catalogue.

    A faulty one of the user's own that is not among the first is left out.
    """
    first = list(first)
    named, every = {one.id for one in first}, every_scenario(first)
    own = [one for one in every if not (one.id in named or is_shipped(one.id))]
    plans = plan_all(one for one in every if one not in own)
    for one in own:
        with suppress(CatalogError):
            plans.append(plan(one))
    return plans


def plan(
    scenario: Scenario,
    *,
    series: str | Iterable[str] | None = None,
    sizes: str | Sequence[int] | None = None,
    x: str | Sequence[int] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Plan:
    """Resolve what a scenario needs; the parameters are those of `replay`.

    Raises:
        CatalogError: every fault of the scenario and of the request.
    """
    settings = as_texts(overrides)
    names = _chosen(scenario, series)
    faults = [
        f"series: {scenario.id} has no {name!r}; "
        f"allowed: {one_of(list(scenario.series))}{nearest(name, scenario.series)}"
        for name in names
        if name not in scenario.series
    ]
    swept = _swept(scenario, sizes, x, faults)
    faults += _not_measured(scenario)
    lines = []
    for name in (name for name in names if name in scenario.series):
        try:
            lines.append(_line(scenario, name, swept, settings))
        except CatalogError as error:
            faults += error.faults
    if faults:
        raise CatalogError(dict.fromkeys(faults))
    return Plan(scenario, tuple(lines), settings)


def _chosen(scenario: Scenario, series: object) -> list[str]:
    if series is None:
        return list(scenario.series)
    names = [series] if isinstance(series, str) else series
    names = list(names) if isinstance(names, Iterable) else []
    if not names or not all(isinstance(name, str) for name in names):
        allowed = f"some of {one_of(list(scenario.series))}"
        raise CatalogError([f"series: found {series!r}; allowed: {allowed}"])
    return names


def _not_measured(scenario: Scenario) -> Iterator[str]:
    """Faults of axes, series and claims about what the workloads do not measure."""
    plotted = scenario.axes.field
    for name, series in scenario.series.items():
        workload = find_workload(scenario.workload_of(name))
        if workload is None:
            continue
        where = "axes.field" if series.result is None else f"series.{name}.result"
        result = series.result or plotted
        over = None if series.over is None else find_workload(series.over)
        if over is not None and result not in derivable(over.fields):
            yield (
                f"{scenario.id}: series.{name}.over: needs {result}; "
                f"{over.name} measures {one_of(over.fields)}"
            )
        wanted = {where: result} | {
            f"claims[{number}].quantity": QUANTITIES[claim.quantity].field
            for number, claim in enumerate(scenario.claims, start=1)
            if name in (one for one, *_ in references(claim))
            and (series.result is None or QUANTITIES[claim.quantity].field != plotted)
        }
        measured = derivable(workload.fields)
        for place, field in wanted.items():
            if field not in measured:
                yield (
                    f"{scenario.id}: {place}: needs {field}; "
                    f"{workload.name} measures {one_of(workload.fields)}"
                )


def _swept(
    scenario: Scenario,
    sizes: str | Sequence[int] | None,
    x: str | Sequence[int] | None,
    faults: list[str],
) -> dict[str, tuple[int, ...]]:
    """The values of the x axis, and the one size, number of queue pairs and reuse beside it."""
    axis, points = scenario.options.axis, scenario.options.points
    swept: dict[str, tuple[int, ...]] = {
        name: (value,) for name, value in scenario.options.fixed().items()
    }
    if points is not None:
        swept[axis.name] = points
    wanted = {"sizes": (AXES["size"], sizes), "x": (axis, x)}
    for name, (one, given) in wanted.items():
        if given is not None:
            try:
                swept[one.name] = one.read(given)
            except ValueError as error:
                faults += [f"{name}: {line}" for line in str(error).splitlines()]
    if axis.name != "size" and len(swept.get("size", ())) > 1:
        faults.append(f"sizes: found several; allowed: one, beside {axis.name} on the x axis")
    if axis.name == "size" and sizes is not None and x is not None:
        faults.append("x: found with sizes, which are the x axis; leave one out")
    return swept


def _line(
    scenario: Scenario,
    name: str,
    swept: Mapping[str, tuple[int, ...]],
    overrides: Mapping[str, str],
) -> Line:
    series = scenario.series[name]
    jobs = _jobs(scenario, name, scenario.workload_of(name), swept, overrides)
    over = series.over
    beside = () if over is None else _jobs(scenario, name, over, swept, overrides)
    return Line(name, series, scenario.options.axis.name, scenario.axes.field, jobs, beside)


def _jobs(
    scenario: Scenario,
    name: str,
    wanted: str,
    swept: Mapping[str, tuple[int, ...]],
    overrides: Mapping[str, str],
) -> tuple[Point, ...]:
    """Return the points of a benchmark as a series measures them."""
    series = scenario.series[name]
    workload = find_workload(wanted)
    if workload is None:
        raise CatalogError([f"{scenario.id}: {unknown_workload(wanted)}"])
    overrides = {**series.overrides, **overrides}
    chosen = {**scenario.options.chosen, **swept, **series.chosen}
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
        **chosen,
    )
    machine = asked.machine()
    try:
        return tuple(replace(asked, testbed=machine, settings=chosen, overrides={}).benchmark())
    except CatalogError as error:
        where = f"{scenario.id}: series.{name}"
        raise CatalogError([f"{where}: {fault}" for fault in error.faults]) from None
