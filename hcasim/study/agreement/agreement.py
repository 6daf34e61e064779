"""Whether the model gives what was measured or published, and how far both are apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from hcasim.calibrate.gathering import gather
from hcasim.calibrate.objective import Objective, Run, runner
from hcasim.calibrate.request import find_base, is_mpi, mismatches, software
from hcasim.catalog import Machine
from hcasim.ground.errors import name_fault, refuse
from hcasim.ground.quantities import QUANTITIES, result, title
from hcasim.ground.text import brief, plain, plain_table
from hcasim.papers.claim import TOLERANCES
from hcasim.papers.verdict import Number, relative_error
from hcasim.runs.benchmark import run_benchmark
from hcasim.runs.curve import Curve
from hcasim.runs.document import Form, Head
from hcasim.runs.executor import Progress
from hcasim.runs.experiment import Experiment
from hcasim.runs.store import usual_store
from hcasim.runs.table import Table
from hcasim.study.agreement.published import Published, opened, read_published
from hcasim.traces import LOOPBACK, Trace
from hcasim.workloads import find_workload, unknown_workload
from hcasim.workloads.options import AXES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*", re.ASCII)


class Compared(Form):
    """A published or measured number beside the simulated one."""

    point: str
    published: float
    published_to: float | None = Field(None, description="the other end of a range")
    simulated: float
    unit: str
    error: float = Field(description="relative and signed")
    allowed: float = Field(description="largest absolute relative error")
    agrees: bool

    @classmethod
    def of(
        cls, point: str, published: Number, simulated: float, unit: str, allowed: float
    ) -> Compared:
        """Compare a number, or a range, with the simulated one; what is no number never agrees."""
        low, *high = published if isinstance(published, tuple) else (published,)
        error = relative_error(simulated, published)
        return cls(
            point=point,
            published=low,
            **({"published_to": high[0]} if high else {}),
            simulated=simulated,
            unit=unit,
            error=error,
            allowed=allowed,
            agrees=abs(error) <= allowed,
        )

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends of the published range; the number twice if it is none."""
        high = self.published if self.published_to is None else self.published_to
        return self.published, high

    @property
    def cells(self) -> tuple[str, ...]:
        """The line of a table."""
        published = " to ".join(f"{one:.6g}" for one in dict.fromkeys(self.ends))
        error = f"{100 * self.error:+.1f} %{'' if self.agrees else ' !'}"
        return (
            self.point,
            f"{published} {self.unit}".strip(),
            f"{self.simulated:.6g} {self.unit}".strip(),
            error.ljust(len(error) + 2 * self.agrees),
            f"{100 * self.allowed:g} %",
        )


class CheckDocument(Head):
    """What `hcasim check --json` prints."""

    schema_: Literal["hcasim-check"] = Field(alias="schema")
    title: str
    agrees: bool
    points: tuple[Compared, ...]
    notes: tuple[str, ...] = Field(description="what was left out, and what else to know")


@dataclass(frozen=True, repr=False)
class Agreement(Table):
    """A measured or published curve beside the simulated one.

    Parameters:
        title: what was compared.
        axis: what tells the points apart.
        points: each point.
        places: the curve that each is on, and its place on the axis of a figure.
        known: what the numbers are: "published" or "measured".
        notes: what was left out, and what else to know of the measurement.
    """

    title: str
    axis: str
    points: Sequence[Compared]
    places: Sequence[tuple[str, int]] = ()
    known: str = "published"
    notes: tuple[str, ...] = ()

    axes = ("point",)

    def __repr__(self) -> str:
        return brief(self, self.title, points=len(self.points), missed=len(self.missed))

    @property
    def missed(self) -> list[Compared]:
        """The points that do not agree."""
        return [one for one in self.points if not one.agrees]

    @property
    def heading(self) -> str:
        """The title with how many points agree, or are missed."""
        missed, every = len(self.missed), len(self.points)
        found = f"{missed} of {every} points missed (!)" if missed else f"{every} points agree"
        return f"{self.title}: {found}"

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A mapping for each point; errors are relative."""
        return [one.to_dict() for one in self.points]

    def lines(self) -> list[tuple[str, ...]]:
        """Return the titles of the columns, and the cells of each point as text."""
        head = (self.axis, self.known, "simulated", "error", "allowed")
        return [head, *(one.cells for one in self.points)]

    def __str__(self) -> str:
        head, *lines = self.lines()
        return plain_table(self.heading, head, lines, right=head)

    to_text = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON, in the form of the schema `check`."""
        return CheckDocument(
            **CheckDocument.head(),
            title=self.title,
            agrees=not self.missed,
            points=tuple(self.points),
            notes=self.notes,
        ).to_dict()

    def plot(self) -> Figure:
        """Draw each curve, as it is known and as it is simulated."""
        from hcasim.runs.drawing import mark_axis, new_figure
        from hcasim.runs.drawing import plain as unmarked

        curves: dict[tuple[str, str], list[tuple[int, Compared]]] = {}
        for one, (curve, x) in zip(self.points, self.places, strict=True):
            curves.setdefault((curve, one.unit), []).append((x, one))
        figure = new_figure(width=6.4 * len(curves))
        panels = figure.subplots(1, len(curves), squeeze=False)[0]
        for panel, ((name, unit), placed) in zip(panels, curves.items(), strict=True):
            xs = [x for x, _ in placed]
            points = [one for _, one in placed]
            middles = [sum(one.ends) / 2 for one in points]
            reach = [abs(one.ends[1] - one.ends[0]) / 2 for one in points]
            panel.errorbar(xs, middles, yerr=reach, fmt="o", color="black", label=self.known)
            panel.plot(xs, [one.simulated for one in points], marker=".", label="simulated")
            panel.set_title(unmarked(name), fontsize=10)
            panel.set_ylabel(unmarked(unit))
            panel.set_ylim(bottom=0)
            option = next((one for one in AXES.values() if one.title == self.axis), AXES["size"])
            mark_axis(panel, option, xs)
            panel.set_xlabel(option.title)
            panel.legend(fontsize=8)
            panel.grid(alpha=0.3)
        figure.suptitle(unmarked(self.title), fontsize=10)
        return figure


class Disagreement(AssertionError):
    """The model misses a published curve; its text is the table of both."""


def checked(found: Agreement) -> Agreement:
    """Return an agreement; raise a Disagreement if one of its points is missed."""
    if found.missed:
        raise Disagreement(str(found))
    return found


def share(within: object, field: str) -> float:
    """Return the relative error that is allowed.

    Parameters:
        within: text such as "5 %", a number below 1, or None for the usual tolerance of claims.
        field: the key of a row that is compared.

    Raises:
        CatalogError: it is neither, or there is no usual one.
    """
    allowed = "a number from 0 to below 1 such as 0.05, or text such as '5 %'"
    if within is None:
        named = (name for name, one in QUANTITIES.items() if one.field == field)
        usual = TOLERANCES.get(next(named, ""))
        refuse("" if usual else f"within: missing; {field} has no usual tolerance; give {allowed}")
        return usual or 0.0
    found: Any = plain(within)
    if isinstance(found, str) and (match := _PERCENT.fullmatch(found)):
        found = float(match[1]) / 100
    fits = isinstance(found, int | float) and not isinstance(found, bool) and 0 <= found < 1
    refuse("" if fits else f"within: found {within!r}; allowed: {allowed}")
    return float(found)


def check(
    published: object,
    testbed: str | PathLike[str] | Machine,
    workload: str | None = None,
    *,
    within: str | float | None = None,
    over: str = "size",
    quantity: str = "",
    unit: str = "",
    folder: Path = Path(),
    jobs: int | None = None,
    progress: Progress | None = None,
    cache: bool = True,
    **settings: Any,
) -> Agreement:
    """Simulate what was measured or published, and compare both at each of its points.

    Parameters:
        published: numbers, or ranges as (low, high), by the x axis, such as {8: 3.8, "1K": 6};
            a table of pandas or a .csv file, whose columns are named as in rows, such as
            "size" and "latency_us"; a trace, its file, or a file that perftest, OSU, IMB or
            NetPIPE printed.
        testbed: id or file of the machine.
        workload: the benchmark, such as "write_lat"; without it each point of a trace runs with
            the workload and the options that the trace tells.
        within: the relative error that is allowed, such as "5 %" or 0.05; without it the usual
            tolerance of claims.
        over: the name of the x axis, such as "qps".
        quantity: what is compared, such as "latency", if that is not clear.
        unit: of `published`, such as "MiB/s", if it is not that of a row.
        folder: from which files that are measured are seen.
        jobs, progress, cache: as of `hcasim.bench`.
        settings: of `hcasim.bench`; beside a trace adapter, host, stack, mtu, switch and
            overrides, and allow_mismatch=True if it was taken on another adapter or link.

    Raises:
        CatalogError: every fault of the request.
    """
    data = opened(published, folder)
    store = usual_store() if cache else None
    if workload is None:
        lone = ("adapter", "host", "stack", "switch", "mtu", "overrides", "allow_mismatch")
        refuse(
            *(
                f"{name}: found beside a trace without workload; allowed: {', '.join(lone)}"
                for name in settings
                if name not in lone
            ),
            ""
            if isinstance(data, Trace)
            else "workload: missing; a curve that is no trace does not tell it",
            name_fault("testbed", testbed),
        )
        assert isinstance(data, Trace)
        mismatch = settings.pop("allow_mismatch", False)
        asked = Experiment.of("", testbed, **settings)
        run = runner(jobs=jobs, progress=progress, store=store)
        return _repeated(data, asked, within, mismatch, run)
    known = find_workload(workload)
    refuse("" if known else unknown_workload(workload))
    assert known is not None
    refuse("" if over in AXES else f"over: found {over!r}; allowed: {', '.join(AXES)}")
    read = read_published(data, known.name, over, known.fields, quantity, unit)
    allowed = share(within, read.field)
    asked = Experiment.of(workload, testbed, **{**settings, over: list(read.values)})
    found = run_benchmark(asked.benchmark(), jobs=jobs, progress=progress, store=store)
    return compared(found.curve, read, allowed, over)


def _repeated(
    trace: Trace, asked: Experiment, within: str | float | None, mismatch: bool, run: Run
) -> Agreement:
    """Simulate each point of a trace as it was measured."""
    base, machine = find_base(asked, any(map(is_mpi, trace.points)))
    if not mismatch and (differ := [*mismatches(trace.header, machine)]):
        hint = "the trace was taken on another machine; see also allow_mismatch=True"
        refuse(*differ, hint)
    gathered = gather({"published": trace}, base, machine)
    if not gathered.observations:
        refuse("published: no point of the trace can be simulated", *gathered.notes)
    notes = [*gathered.notes, *(one for one in trace.header.notes if one == LOOPBACK)]
    if device := software(trace.header):
        notes.append(f"{device} is software; the model is one of adapters")
    simulated = Objective(gathered.observations, (), run).simulated([{}])[0].tolist()
    points = [
        Compared.of(one.id, float(one.published), value, one.unit, share(within, one.field))
        for one, value in zip(gathered.observations, simulated, strict=True)
    ]
    places = [(one.curve, one.size) for one in gathered.observations]
    named = f"{trace.header.tool.name} on {machine.id}, {machine.adapter.id}"
    return Agreement(named, "point", points, places, "measured", tuple(notes))


def compared(curve: Curve, published: Published, allowed: float, over: str = "") -> Agreement:
    """Put both beside each other at each published x."""
    axis = AXES[over or curve.axis]
    rows: dict[int, Mapping[str, Any]] = {}
    faults = []
    for row in curve.rows:
        x = row[axis.name]
        if x in rows:
            faults.append(f"found: has {axis.name} {axis.label(x)} twice; allowed: one curve")
        rows[x] = row
    missing = [axis.label(x) for x in published.values if x not in rows]
    if missing:
        faults.append(f"published: has {axis.name} {', '.join(missing)}, which was not simulated")
    refuse(*faults)
    where = ", ".join(str(curve.settings[one]) for one in ("testbed", "adapter"))
    points = []
    for x, value in published.values.items():
        simulated = published.factor * result(rows[x], published.field)
        points.append(Compared.of(axis.label(x), value, simulated, published.unit, allowed))
    what = title(published.field).partition(" (")[0].lower()
    places = [("", x) for x in published.values]
    return Agreement(f"{curve.name} on {where}, {what}", axis.title, points, places)
