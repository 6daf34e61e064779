"""Replaying scenarios: from a published figure to its simulated curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from os import PathLike, fspath
from time import perf_counter
from typing import TYPE_CHECKING, Any

from hcasim.catalog import Machine
from hcasim.ground.errors import flag_fault, name_fault, refuse, settings_fault
from hcasim.ground.quantities import result
from hcasim.ground.text import brief
from hcasim.papers.document import RunDocument, RunsDocument
from hcasim.papers.loader import load_scenario
from hcasim.papers.plan import Line, Plan, plan, plan_all
from hcasim.papers.scenario import Scenario
from hcasim.runs.curve import Curve, beside, measured_with, side_by_side, table
from hcasim.runs.executor import Progress, on_scheduler, run_points
from hcasim.runs.notes import all_notes
from hcasim.runs.point import Point
from hcasim.runs.profile import profile_of
from hcasim.runs.store import usual_store
from hcasim.runs.table import Table
from hcasim.workloads.cost import Cost

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from hcasim.papers.figure import Mark
    from hcasim.workloads import Result


@dataclass(frozen=True, repr=False)
class Replay(Table):
    """A scenario with its simulated curves.

    Parameters:
        scenario: what was replayed.
        curves: by the name of the series.
        overrides: what-if settings, if any; then the curves are no replay of the paper.
        wall_seconds: time that the simulation took, or None to leave that out.
        costs: what simulating each of its points cost; empty unless it was asked for.
        machines: on which each series was simulated, by its name.
        notes: what the results leave out that a reader may expect.
    """

    scenario: Scenario
    curves: Mapping[str, Curve]
    overrides: Mapping[str, str]
    wall_seconds: float | None
    costs: Mapping[Point, Cost] = field(default_factory=dict)
    machines: Mapping[str, Machine] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return brief(self, self.scenario.id, series=len(self.curves))

    def __getitem__(self, series: str) -> Curve:
        """Return the curve of a series."""
        return self.curves[series]

    def to_dict(self) -> dict[str, Any]:
        """Return the curves for JSON, in the form of the schema `run`."""
        took = self.wall_seconds
        cost = profile_of(self.costs.values(), timing=took is not None)
        return RunDocument(
            **RunDocument.head(),
            scenario=self.scenario.id,
            title=self.scenario.title,
            testbed=self.scenario.testbed,
            workload=self.scenario.workload,
            overrides=self.overrides,
            series=[{**curve.named, "rows": curve.rows} for curve in self.curves.values()],
            **({"notes": self.notes} if self.notes else {}),
            **({"profile": cost} if cost else {}),
            **({} if took is None else {"wall_seconds": round(took, 3)}),
        ).to_dict()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each series and point, with all that tells how it was measured."""
        return [
            {"scenario": self.scenario.id, **record}
            for curve in self.curves.values()
            for record in curve.records
        ]

    @property
    def axes(self) -> tuple[str, ...]:
        """The x axis of the figure."""
        return (self.scenario.options.axis.name,)

    def to_pandas(self) -> pd.DataFrame:
        """Return all curves as one table with a row per series and point; needs pandas."""
        return table(list(self.curves.values()))

    def lines(self) -> list[tuple[str, ...]]:
        """Return the curves side by side, after their titles."""
        head, rows = beside(list(self.curves.values()), self.scenario.axes.field)
        return [head, *rows]

    def plot(self) -> Figure:
        """Draw the figure in the paper's axes, with the published values marked."""
        from hcasim.papers.figure import draw

        return draw(self.scenario, self.curves, self.title, self.marks())

    def marks(self) -> list[Mark]:
        """Return the published numbers that a figure shows: none beside a what-if."""
        from hcasim.papers.figure import published_marks

        return [] if self.overrides else published_marks(self.scenario, self.curves)

    @property
    def title(self) -> str:
        """What is shown, with the what-if settings."""
        what_if = ", ".join(f"{path} = {text}" for path, text in self.overrides.items())
        return f"{self.scenario.title} ({what_if})" if what_if else self.scenario.title

    def to_html(self) -> str:
        """Return the curves side by side as HTML, as notebooks show them."""
        scenario = self.scenario
        return f"<p>{escape(f'{scenario.place}: {self.title}')}</p>" + side_by_side(
            list(self.curves.values()), scenario.axes.field
        )


@dataclass(frozen=True)
class Replays(Table):
    """Several scenarios with their curves.

    Parameters:
        replays: each of them.
    """

    replays: tuple[Replay, ...]
    title = "Published figures, simulated"
    axes = ("scenario", "series")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each series and point of each scenario."""
        return [row for one in self.replays for row in one.rows]

    def to_dict(self) -> dict[str, Any]:
        """Return the curves for JSON, in the form of the schema `runs`."""
        return RunsDocument(
            **RunsDocument.head(), scenarios=[one.to_dict() for one in self.replays]
        ).to_dict()


def replay(
    scenario: str | PathLike[str] | Scenario,
    *,
    series: str | Sequence[str] | None = None,
    sizes: str | Sequence[int] | None = None,
    x: str | Sequence[int] | None = None,
    testbed: str | PathLike[str] | None = None,
    adapter: str | PathLike[str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    scheduler: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    cache: bool = True,
    profile: bool = False,
) -> Replay:
    """Replay a published figure.

    Parameters:
        scenario: an id such as "liu2004/fig03", or the path of a file.
        series: only these series, or this one.
        sizes: other message sizes than the figure's, in bytes or as text such as "4..1M".
        x: other values of what the figure varies: message sizes, queue pairs or percentages of
            reuse, such as "1..512" for queue pairs.
        testbed: id or file of another one than the authors had.
        adapter: id or file of one that all series have instead of their own.
        overrides: what-if settings by path, such as {"adapter.bus.lanes": 1}; they must suit
            the adapter of each chosen series.
        jobs: processes to use; all processors without it.
        scheduler: address or file of a Dask scheduler whose workers simulate, in place of `jobs`.
        progress: is told how many points are done.
        cache: take what earlier runs have simulated with this code, and keep what is new.
        profile: also measure what simulating costs; then all is simulated, and nothing kept.

    Returns:
        The simulated curves.

    Raises:
        CatalogError: every fault of the scenario and of the request.
    """
    refuse(
        "" if isinstance(scenario, Scenario) else name_fault("scenario", scenario),
        "" if testbed is None else name_fault("testbed", testbed),
        "" if adapter is None else name_fault("adapter", adapter),
        settings_fault(overrides),
        flag_fault("cache", cache),
        flag_fault("profile", profile),
    )
    if not isinstance(scenario, Scenario):
        scenario = load_scenario(fspath(scenario))
    scenario = scenario.moved(testbed, adapter)
    chosen = plan(scenario, series=series, sizes=sizes, x=x, overrides=overrides)
    with on_scheduler(scheduler):
        return run_plans([chosen], jobs, progress, cache, profile)[0]


def replay_all(
    scenarios: Iterable[Scenario],
    *,
    overrides: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    cache: bool = True,
    profile: bool = False,
) -> list[Replay]:
    """Replay several scenarios; points that they share are simulated once.

    Parameters:
        scenarios: what to replay.
        overrides: what-if settings by path; they must suit every adapter.
        jobs: processes to use; all processors without it.
        progress: is told how many points are done.
        cache: take what earlier runs have simulated with this code, and keep what is new.
        profile: also measure what simulating costs; then all is simulated, and nothing kept.

    Raises:
        CatalogError: every fault of the scenarios.
    """
    return run_plans(plan_all(scenarios, overrides), jobs, progress, cache, profile)


def run_plans(
    plans: Sequence[Plan],
    jobs: int | None,
    progress: Progress | None,
    cache: bool,
    profile: bool = False,
) -> list[Replay]:
    """Simulate what is planned; points that plans share are simulated once."""
    started = perf_counter()
    points = run_points(
        (job for one in plans for job in one.jobs),
        workers=jobs,
        progress=progress,
        store=usual_store() if cache else None,
        profile=profile,
    )
    elapsed = perf_counter() - started
    return [
        Replay(
            one.scenario,
            {line.name: measured(line, points) for line in one.lines},
            one.overrides,
            elapsed,
            {job: cost for job in one.jobs if (cost := points[job].cost) is not None},
            {line.name: line.jobs[0].machine for line in one.lines},
            all_notes(one.jobs),
        )
        for one in plans
    ]


def measured(line: Line, points: Mapping[Point, Result]) -> Curve:
    """Return the curve of a line from the results of its points."""
    settings, own = measured_with(line.jobs)
    if line.series.chipset_flag is not None:
        settings["chipset_flag"] = line.series.chipset_flag
    rows = []
    field = line.series.result or line.field
    for number, job in enumerate(line.jobs):
        row = job.row(points[job], [line.axis])
        value = result(row, field)
        if line.over:
            value = 100 * (value / result(points[line.over[number]].row, field) - 1)
        rows.append({**row, line.field: value})
    return Curve(
        line.name,
        line.series.label,
        tuple(rows),
        settings,
        line.series.group,
        line.axis,
        own,
        line.jobs[0].machine.overrides,
    )
