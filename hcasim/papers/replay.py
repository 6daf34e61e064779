"""Replaying scenarios: from a published figure to its simulated curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from os import PathLike, fspath
from statistics import fmean
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from hcasim.catalog import Machine, one_of
from hcasim.ground.errors import flag_fault, name_fault, refuse, settings_fault
from hcasim.ground.quantities import band_fields, ends, result
from hcasim.ground.text import brief
from hcasim.papers.loader import load_scenario
from hcasim.papers.plan import Line, Plan, plan
from hcasim.papers.scenario import Scenario
from hcasim.runs.curve import Curve, beside, measured_with, side_by_side
from hcasim.runs.document import Head, Notes, Profile, Rows, Seconds, Setup
from hcasim.runs.executor import Progress, on_scheduler, run_points
from hcasim.runs.point import Point, all_notes
from hcasim.runs.store import usual_store
from hcasim.runs.table import Table
from hcasim.workloads.result import Cost, profile_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hcasim.papers.figure import Mark
    from hcasim.workloads import Result


class Simulated(Setup):
    """How a series of a scenario was simulated."""

    name: str = Field(description="of the series")
    label: str = Field(description="its name in the legend")


class SimulatedRows(Simulated):
    """A series of a scenario with what was simulated."""

    rows: Rows


class RunDocument(Head):
    """What `hcasim run --json` prints of a scenario."""

    schema_: Literal["hcasim-run"] = Field(alias="schema")
    scenario: str = Field(description="its id")
    title: str
    testbed: str = Field(description="of all series that name none")
    workload: str = Field(description="of all series that name none")
    overrides: dict[str, str] = Field(description="what-if settings by path")
    series: tuple[SimulatedRows, ...]
    notes: Notes = ()
    profile: Profile | None = Field(default=None, description="only if it was asked for")
    wall_seconds: Seconds = None


class RunsDocument(Head):
    """What `hcasim run --json` prints of several scenarios."""

    schema_: Literal["hcasim-runs"] = Field(alias="schema")
    scenarios: tuple[RunDocument, ...]


@dataclass(frozen=True, repr=False)
class Replay(Table):
    """A scenario with its simulated curves.

    Parameters:
        plan: what was simulated; with what-if settings it is no replay of the paper.
        curves: by the name of the series.
        wall_seconds: time that the simulation took, or None to leave that out.
        costs: what simulating each of its points cost; empty unless it was asked for.
    """

    plan: Plan
    curves: Mapping[str, Curve]
    wall_seconds: float | None
    costs: Mapping[Point, Cost] = field(default_factory=dict)

    def __repr__(self) -> str:
        return brief(self, self.scenario.id, series=len(self.curves))

    def __getitem__(self, series: str) -> Curve:
        """Return the curve of a series."""
        return self.curves[series]

    @property
    def scenario(self) -> Scenario:
        """What was replayed."""
        return self.plan.scenario

    @property
    def overrides(self) -> Mapping[str, str]:
        """What-if settings by path."""
        return self.plan.overrides

    @property
    def machines(self) -> dict[str, Machine]:
        """On which each series was simulated, by its name."""
        return {line.name: line.jobs[0].machine for line in self.plan.lines}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the results leave out that a reader may expect."""
        return all_notes(self.plan.jobs)

    def to_dict(self) -> dict[str, Any]:
        """Return the curves for JSON, in the form of the schema `run`."""
        return RunDocument(
            **RunDocument.head(),
            scenario=self.scenario.id,
            title=self.scenario.title,
            testbed=self.scenario.testbed,
            workload=self.scenario.workload,
            overrides=self.overrides,
            series=[curve.to_dict() for curve in self.curves.values()],
            **({"notes": self.notes} if self.notes else {}),
            **spent(self.wall_seconds, self.costs),
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
        return self.scenario.title + (f" ({what_if})" if what_if else "")

    def to_html(self) -> str:
        """Return the curves side by side as HTML, as notebooks show them."""
        heading = escape(f"{self.scenario.place}: {self.title}")
        values = side_by_side(list(self.curves.values()), self.scenario.axes.field)
        return f"<p>{heading}</p>{values}"


@dataclass(frozen=True)
class Replays(Table):
    """Several scenarios with their curves."""

    replays: tuple[Replay, ...]
    title = "Published figures, simulated"
    axes = ("scenario", "series")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each series and point of each scenario."""
        return [row for one in self.replays for row in one.rows]

    def to_dict(self) -> dict[str, Any]:
        """Return the curves for JSON, in the form of the schema `runs`."""
        every = [one.to_dict() for one in self.replays]
        return RunsDocument(**RunsDocument.head(), scenarios=every).to_dict()


def replay(
    scenario: str | PathLike[str] | Scenario,
    *,
    series: str | Sequence[str] | None = None,
    sizes: str | Sequence[int] | None = None,
    x: str | Sequence[int] | None = None,
    testbed: str | PathLike[str] | None = None,
    adapter: str | PathLike[str] | None = None,
    host: str | PathLike[str] | None = None,
    stack: str | PathLike[str] | None = None,
    firmware_mode: str | None = None,
    mtu: str | int | None = None,
    switch: str | bool | None = None,
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
        series: only these series, or this one; without it those that were published.
        sizes: other message sizes than the figure's, in bytes or as text such as "4..1M".
        x: other values of what the figure varies: message sizes, queue pairs or percentages of
            reuse, such as "1..512" for queue pairs.
        testbed: id or file of another one than the authors had.
        adapter: id or file of one that all series have instead of their own.
        host, stack, firmware_mode, mtu, switch: of all series, as `hcasim.bench` takes them.
        overrides: what-if settings by path, such as {"adapter.bus.lanes": 1}; they must suit
            the adapter of each chosen series.
        jobs, scheduler, progress, cache, profile: as of `hcasim.bench`.

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
    own = ("host", "stack", "firmware_mode", "mtu", "switch")
    every = zip(own, (host, stack, firmware_mode, mtu, switch), strict=True)
    choices = {name: one for name, one in every if one is not None}
    scenario = scenario.moved(testbed, adapter, choices)
    chosen = plan(scenario, series=series, sizes=sizes, x=x, overrides=overrides, choices=choices)
    with on_scheduler(scheduler):
        return replay_all([chosen], jobs, progress, cache, profile)[0]


def replay_all(
    plans: Sequence[Plan],
    jobs: int | None = None,
    progress: Progress | None = None,
    cache: bool = True,
    profile: bool = False,
) -> list[Replay]:
    """Simulate what is planned, each point once; the parameters are those of `replay`."""
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
            one,
            {line.name: measured(line, points) for line in one.lines},
            elapsed,
            {job: cost for job in one.jobs if (cost := points[job].cost) is not None},
        )
        for one in plans
    ]


def spent(seconds: float | None, costs: Mapping[Point, Cost]) -> dict[str, Any]:
    """Return what simulating cost, for a document: nothing of what is not known."""
    cost = profile_of(costs.values(), timing=seconds is not None)
    took = {} if seconds is None else {"wall_seconds": round(seconds, 3)}
    return took | ({"profile": cost} if cost else {})


def measured(line: Line, points: Mapping[Point, Result]) -> Curve:
    """Return the curve of a line from the results of its points."""
    settings, own = measured_with(line.jobs)
    rows = []
    field = line.series.result or line.field
    for number, job in enumerate(line.jobs):
        runs = [job, *(seed[number] for seed in line.again)]
        row = _mean([_row(line, one, points[one]) for one in runs])
        value, known = result(row, field), ends(row, field)
        if line.over:
            value = 100 * (value / result(points[line.over[number]].row, field) - 1)
            known = None
        told = zip(band_fields(line.field), known, strict=True) if known else ()
        rows.append({**row, line.field: value, **dict(told)})
    return Curve(
        name=line.name,
        label=line.series.label,
        rows=tuple(rows),
        settings=settings,
        group=line.series.group,
        axis=line.axis,
        points=own,
        overrides=line.overrides,
    )


def _row(line: Line, job: Point, found: Result) -> Mapping[str, Any]:
    """Return the row of a point, with what was counted if the series says what."""
    row, series = job.row(found, [line.axis]), line.series
    if not series.counters:
        return row
    known = found.counters
    unknown = [name for name in (*series.counters, *(series.per or ())) if name not in known]
    where = f"{line.scenario.id}: series.{line.name}.counters: found"
    refuse(*(f"{where} {name!r}; allowed: {one_of([*known])}" for name in unknown))
    count = sum(known[name] for name in series.counters)
    per = sum(known[name] for name in series.per) if series.per else 1
    refuse("" if per else f"{where} nothing of {one_of(series.per or ())}; allowed: at least one")
    return {**row, "count": count / per}


def _mean(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return what several rows hold in the mean, and the first where they are no numbers."""
    found = dict(rows[0])
    for name, one in found.items():
        values = [row[name] for row in rows]
        if isinstance(one, int | float) and len({*values}) > 1:
            found[name] = fmean(values)
    return found
