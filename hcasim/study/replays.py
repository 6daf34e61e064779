"""Replaying scenarios: from a published figure to its simulated curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from time import perf_counter
from typing import TYPE_CHECKING, Any

from hcasim.catalog import CatalogError, nearest, one_of, resolve
from hcasim.study.curve import Curve, html_table, table
from hcasim.study.points import Job, Progress, run_jobs
from hcasim.study.scenario import Scenario, Series, load_scenario
from hcasim.study.settings import build_options, find_faults, find_workload, unknown_workload
from hcasim.study.sizes import parse_sizes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from hcasim.workloads import Point

_SHARED = ("window", "threshold", "warmup", "iters", "qps")
_OWN = ("mode", "ports", "processes", "op")


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
        """Return all curves as one table with a row per series and size; needs pandas."""
        return table(list(self.curves.values()))

    def plot(self) -> Figure:
        """Draw the figure in the paper's axes, with the published values marked."""
        from hcasim.study.plots import draw

        return draw(self)

    def _repr_html_(self) -> str:
        scenario = self.scenario
        what_if = ", ".join(f"{path} = {text}" for path, text in self.overrides.items())
        title = f"{scenario.paper}, Figure {scenario.figure}: {scenario.title}"
        if what_if:
            title += f" ({what_if})"
        return f"<p>{escape(title)}</p>" + html_table(
            list(self.curves.values()), scenario.axes.field
        )


@dataclass(frozen=True)
class _Line:
    """One series of a scenario, ready to run."""

    name: str
    series: Series
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
    overrides: Mapping[str, str] | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Replay:
    """Replay a published figure.

    Parameters:
        scenario: an id such as "liu2004/fig03".
        series: only these series.
        sizes: other message sizes than the figure's, in bytes or as text such as "4..1M".
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
    chosen = plan(scenario, series=series, sizes=sizes, overrides=overrides)
    points = run_jobs(chosen.jobs, workers=jobs, progress=progress)
    return chosen.collect(points, perf_counter() - started)


def replay_all(
    scenarios: Iterable[Scenario], *, jobs: int | None = None, progress: Progress | None = None
) -> list[Replay]:
    """Replay several scenarios; points that they share are simulated once.

    Parameters:
        scenarios: what to replay.
        jobs: processes to use; all processors without it.
        progress: is told how many points are done.

    Raises:
        CatalogError: every fault of the scenarios.
    """
    started = perf_counter()
    plans = plan_all((scenario, None) for scenario in scenarios)
    points = run_jobs((job for one in plans for job in one.jobs), workers=jobs, progress=progress)
    elapsed = perf_counter() - started
    return [one.collect(points, elapsed) for one in plans]


def plan_all(wanted: Iterable[tuple[Scenario, Iterable[str] | None]]) -> list[Plan]:
    """Plan scenarios, each with the series that are wanted of it, or all if that is None."""
    plans: list[Plan] = []
    faults: list[str] = []
    for scenario, series in wanted:
        try:
            plans.append(plan(scenario, series=series))
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
    try:
        chosen = _sizes(scenario, sizes)
    except ValueError as error:
        faults += [f"sizes: {line}" for line in str(error).splitlines()]
        chosen = scenario.options.sizes
    lines = []
    for name in (name for name in names if name in scenario.series):
        try:
            lines.append(_line(scenario, name, chosen, overrides or {}))
        except CatalogError as error:
            faults += error.faults
    if faults:
        raise CatalogError(dict.fromkeys(faults))
    return Plan(scenario, tuple(lines), dict(overrides or {}))


def _sizes(scenario: Scenario, sizes: str | Sequence[int] | None) -> tuple[int, ...]:
    if sizes is None:
        return scenario.options.sizes
    return parse_sizes(sizes) if isinstance(sizes, str) else tuple(sizes)


def _line(
    scenario: Scenario, name: str, sizes: tuple[int, ...], overrides: Mapping[str, str]
) -> _Line:
    series = scenario.series[name]
    workload = find_workload(scenario.workload)
    if workload is None:
        raise CatalogError([f"{scenario.id}: {unknown_workload(scenario.workload)}"])
    machine = resolve(
        scenario.testbed,
        adapter=series.adapter,
        overrides=overrides,
        mtu=scenario.options.mtu,
    )
    given = _given(scenario, series)
    faults = find_faults(workload, machine, sizes, given)
    if faults:
        raise CatalogError([f"{scenario.id}: series.{name}: {fault}" for fault in faults])
    jobs = (Job(workload.name, machine, build_options(workload, size, given)) for size in sizes)
    return _Line(name, series, tuple(jobs))


def _given(scenario: Scenario, series: Series) -> dict[str, Any]:
    shared = {name: getattr(scenario.options, name) for name in _SHARED}
    own = {name: getattr(series, name) for name in _OWN}
    return {name: value for name, value in {**shared, **own}.items() if value is not None}


def _curve(line: _Line, points: Mapping[Job, Point]) -> Curve:
    job = line.jobs[0]
    settings = {
        "adapter": job.machine.adapter.id,
        "workload": job.workload,
        "mode": job.options.mode,
        "ports": job.options.ports,
        "processes": job.options.processes,
    }
    if line.series.op is not None:
        settings["op"] = line.series.op
    rows = tuple(points[job].row for job in line.jobs)
    return Curve(line.name, line.series.label, rows, settings, line.series.group)
