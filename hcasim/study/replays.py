"""Replaying scenarios: from a published figure to its simulated curves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product
from time import perf_counter
from typing import TYPE_CHECKING, Any

from hcasim.catalog import CatalogError, nearest, one_of, resolve
from hcasim.study.axis import AXES
from hcasim.study.curve import Curve, html_table, table
from hcasim.study.experiment import Scenario, Series
from hcasim.study.points import Job, Progress, run_jobs, with_swept
from hcasim.study.quantities import FIELDS, derivable, result
from hcasim.study.scenario import load_scenario, references
from hcasim.study.settings import build_options, find_faults, find_workload, unknown_workload

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from hcasim.workloads import Point

_SHARED = ("window", "threshold", "warmup", "iters", "pattern", "page_size", "depth")
_NETPIPE = ("completion", "invalidate", "verb")
_OWN = ("memory", "buffers", "mode", "ports", "processes", "op", *_NETPIPE)


@dataclass(frozen=True)
class Replay:
    """A scenario with its simulated curves.

    Parameters:
        scenario: what was replayed.
        curves: by the name of the series.
        overrides: what-if settings, if any; then the curves are no replay of the paper.
        wall_seconds: time that the simulation took.
    """

    scenario: Scenario
    curves: Mapping[str, Curve]
    overrides: Mapping[str, str]
    wall_seconds: float

    def __getitem__(self, series: str) -> Curve:
        """Return the curve of a series."""
        return self.curves[series]

    def to_pandas(self) -> pd.DataFrame:
        """Return all curves as one table with a row per series and point; needs pandas."""
        return table(list(self.curves.values()))

    def plot(self) -> Figure:
        """Draw the figure in the paper's axes, with the published values marked."""
        from hcasim.study.plots import draw

        return draw(self)

    @property
    def title(self) -> str:
        """What is shown, with the what-if settings."""
        what_if = ", ".join(f"{path} = {text}" for path, text in self.overrides.items())
        return f"{self.scenario.title} ({what_if})" if what_if else self.scenario.title

    def _repr_html_(self) -> str:
        scenario = self.scenario
        return f"<p>{escape(f'{scenario.place}: {self.title}')}</p>" + html_table(
            list(self.curves.values()), scenario.axes.field
        )


@dataclass(frozen=True)
class _Line:
    """One series of a scenario, ready to run."""

    name: str
    series: Series
    axis: str
    field: str
    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class Plan:
    """A scenario, ready to run.

    Parameters:
        scenario: what to replay.
        lines: its series with their points.
        overrides: what-if settings.
    """

    scenario: Scenario
    lines: tuple[_Line, ...]
    overrides: Mapping[str, str]

    @property
    def jobs(self) -> list[Job]:
        """All points."""
        return [job for line in self.lines for job in line.jobs]

    def collect(self, points: Mapping[Job, Point], wall_seconds: float) -> Replay:
        """Build the curves from the results of the points."""
        curves = {line.name: _curve(line, points) for line in self.lines}
        return Replay(self.scenario, curves, self.overrides, wall_seconds)


def replay(
    scenario: str | Scenario,
    *,
    series: Sequence[str] | None = None,
    sizes: str | Sequence[int] | None = None,
    x: str | Sequence[int] | None = None,
    overrides: Mapping[str, str] | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Replay:
    """Replay a published figure.

    Parameters:
        scenario: an id such as "liu2004/fig03".
        series: only these series.
        sizes: other message sizes than the figure's, in bytes or as text such as "4..1M".
        x: other values of what the figure varies: message sizes, queue pairs or percentages of
            reuse, such as "1..512" for queue pairs.
        overrides: what-if settings by path, such as {"adapter.bus.lanes": "1"}; they must suit
            the adapter of each chosen series.
        jobs: processes to use; all processors without it.
        progress: is told how many points are done.

    Returns:
        The simulated curves.

    Raises:
        CatalogError: every fault of the scenario and of the request.
    """
    started = perf_counter()
    if isinstance(scenario, str):
        scenario = load_scenario(scenario)
    chosen = plan(scenario, series=series, sizes=sizes, x=x, overrides=overrides)
    points = run_jobs(chosen.jobs, workers=jobs, progress=progress)
    return chosen.collect(points, perf_counter() - started)


def replay_all(
    scenarios: Iterable[Scenario],
    *,
    overrides: Mapping[str, str] | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Replay]:
    """Replay several scenarios; points that they share are simulated once.

    Parameters:
        scenarios: what to replay.
        overrides: what-if settings by path; they must suit every adapter.
        jobs: processes to use; all processors without it.
        progress: is told how many points are done.

    Raises:
        CatalogError: every fault of the scenarios.
    """
    started = perf_counter()
    plans = plan_all(((scenario, None) for scenario in scenarios), overrides)
    points = run_jobs((job for one in plans for job in one.jobs), workers=jobs, progress=progress)
    elapsed = perf_counter() - started
    return [one.collect(points, elapsed) for one in plans]


def plan_all(
    wanted: Iterable[tuple[Scenario, Iterable[str] | None]],
    overrides: Mapping[str, str] | None = None,
) -> list[Plan]:
    """Plan scenarios, each with the series that are wanted of it, or all if that is None."""
    plans: list[Plan] = []
    faults: list[str] = []
    for scenario, series in wanted:
        try:
            plans.append(plan(scenario, series=series, overrides=overrides))
        except CatalogError as error:
            faults += error.faults
    if faults:
        raise CatalogError(dict.fromkeys(faults))
    return plans


def plan(
    scenario: Scenario,
    *,
    series: Iterable[str] | None = None,
    sizes: str | Sequence[int] | None = None,
    x: str | Sequence[int] | None = None,
    overrides: Mapping[str, str] | None = None,
) -> Plan:
    """Resolve what a scenario needs; the parameters are those of `replay`.

    Raises:
        CatalogError: every fault of the scenario and of the request.
    """
    names = list(scenario.series) if series is None else list(series)
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
            lines.append(_line(scenario, name, swept, overrides or {}))
        except CatalogError as error:
            faults += error.faults
    if faults:
        raise CatalogError(dict.fromkeys(faults))
    return Plan(scenario, tuple(lines), dict(overrides or {}))


def _not_measured(scenario: Scenario) -> Iterator[str]:
    """Faults of axes, series and claims about what the workloads do not measure."""
    plotted = scenario.axes.field
    for name, series in scenario.series.items():
        workload = find_workload(scenario.workload_of(name))
        if workload is None:
            continue
        where = "axes.field" if series.result is None else f"series.{name}.result"
        wanted = {where: series.result or plotted} | {
            f"claims[{number}].quantity": FIELDS[claim.quantity]
            for number, claim in enumerate(scenario.claims, start=1)
            if name in (one for one, _ in references(claim))
            and (series.result is None or FIELDS[claim.quantity] != plotted)
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
                swept[one.name] = one.values(given)
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
) -> _Line:
    series = scenario.series[name]
    wanted = scenario.workload_of(name)
    workload = find_workload(wanted)
    if workload is None:
        raise CatalogError([f"{scenario.id}: {unknown_workload(wanted)}"])
    machine = resolve(
        scenario.testbed_of(name),
        adapter=series.adapter,
        overrides={**series.overrides, **overrides},
        mtu=scenario.options.mtu,
        firmware_mode=series.firmware_mode,
    )
    values = dict(swept)
    if series.qps is not None:
        values["qps"] = (series.qps,)
    given = _given(scenario, series)
    faults = find_faults(workload, machine, values, given)
    if faults:
        raise CatalogError([f"{scenario.id}: series.{name}: {fault}" for fault in faults])
    jobs = (
        Job(
            workload.name,
            machine,
            build_options(workload, {**given, **dict(zip(values, point, strict=True))}),
        )
        for point in product(*values.values())
    )
    return _Line(name, series, scenario.options.axis.name, scenario.axes.field, tuple(jobs))


def _given(scenario: Scenario, series: Series) -> dict[str, Any]:
    shared = {name: getattr(scenario.options, name) for name in _SHARED}
    own = {name: getattr(series, name) for name in _OWN}
    return {name: value for name, value in {**shared, **own}.items() if value is not None}


def _curve(line: _Line, points: Mapping[Job, Point]) -> Curve:
    job = line.jobs[0]
    settings = {
        "testbed": job.machine.id,
        "adapter": job.machine.adapter.id,
        "firmware_mode": job.machine.adapter.firmware_mode,
        "workload": job.workload,
        "mode": job.options.mode,
        "ports": job.options.ports,
        "processes": job.options.processes,
    }
    for name in ("chipset_flag", "memory", "buffers", "op", *_NETPIPE):
        if getattr(line.series, name) is not None:
            settings[name] = getattr(line.series, name)
    rows = []
    for job in line.jobs:
        row = with_swept(points[job].row, job, [line.axis])
        rows.append({**row, line.field: result(row, line.series.result or line.field)})
    return Curve(line.name, line.series.label, tuple(rows), settings, line.series.group, line.axis)
