"""Two machines, or two results, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from hcasim.catalog import CatalogError
from hcasim.ground.errors import flag_fault, refuse, settings_fault
from hcasim.ground.quantities import BOUND_BY, RESTS_ON, band_fields
from hcasim.ground.text import brief, html_table
from hcasim.runs.certainty import GUESSED
from hcasim.runs.document import Form, Head
from hcasim.runs.executor import Progress, on_scheduler, run_points
from hcasim.runs.experiment import Experiment
from hcasim.runs.machine import each_machine_once
from hcasim.runs.store import usual_store
from hcasim.runs.table import Table
from hcasim.study.bands import band, banded, draw, samples_fault
from hcasim.study.comparison.sides import Difference, Given, Side, differences, parts, read_sides
from hcasim.study.sensitivity.subject import Run
from hcasim.workloads import find_workload, unknown_workload
from hcasim.workloads.options import AXES, varying

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Key = tuple[tuple[str, int], ...]
"""What varies from row to row of any benchmark, such as their size, by name."""


class ComparedPart(Form):
    """What the machines are made of, where that differs."""

    name: str
    a: str
    b: str


class Binding(Form):
    """What binds a side at a point."""

    bound_by: str = Field(description="resource or stage; empty if that is not known")
    evidence: str = Field(description="of what is known worst of it")


class Pair(Form):
    """What both sides give at a point, by quantity; empty where a side has no such point."""

    at: dict[str, int] = Field(description="size and what else varies")
    a: dict[str, float]
    b: dict[str, float]
    ratio: dict[str, float | None] = Field(description="b over a")
    bands: dict[str, tuple[float, float]] = Field(
        description="5 and 95 % quantiles of the ratio over samples that both sides have alike"
    )
    beyond: dict[str, bool] = Field(
        description="whether the sides differ by more than bands allow, if there are any; not "
        "said where bands of their own overlap and the same binds both"
    )
    rests_on: dict[Literal["a", "b"], Binding] = Field(
        default={}, description="what binds each side, if that was looked at"
    )

    @property
    def differ(self) -> bool:
        """Whether what binds one side has been measured or published, and of the other not."""
        known = {one.evidence not in GUESSED for one in self.rests_on.values()}
        return len(known) > 1


def _is_beyond(
    name: str,
    a: Mapping[str, Any],
    b: Mapping[str, Any],
    bands: Mapping[str, tuple[float, float]],
) -> bool | None:
    """Whether the sides differ by more than bands allow; None without bands.

    On the same samples the ratio is 1 outside its band; otherwise both bands lie apart. If they
    do not and the same binds both, they say nothing: what is not known of it moves both.
    """
    if name in bands:
        return not bands[name][0] <= 1 <= bands[name][1]
    low, high = band_fields(name)
    if not all(end in side for end in (low, high) for side in (a, b)):
        return None
    if a[high] < b[low] or b[high] < a[low]:
        return True
    return None if a.get(BOUND_BY, "") == b.get(BOUND_BY) != "" else False


class CompareDocument(Head):
    """Two machines or results side by side."""

    schema_: Literal["hcasim-compare"] = Field(alias="schema")
    workload: str = Field(description="empty if nothing was measured")
    parts: tuple[ComparedPart, ...]
    differences: tuple[Difference, ...]
    points: tuple[Pair, ...]
    drawn: tuple[str, ...] = Field(description="paths of what was drawn at random for bands")
    samples: int = Field(description="how many machines of each side bands are made of")


@dataclass(frozen=True, repr=False)
class Comparison(Table):
    """Two sides and what differs.

    Parameters:
        a, b: the sides.
        bands: those of the ratios at points of both; empty without samples of both.
        drawn: paths of what was drawn at random for bands.
        samples: how many machines bands are made of, of each side.
    """

    a: Side
    b: Side
    bands: Mapping[Key, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    drawn: tuple[str, ...] = ()
    samples: int = 0

    def __repr__(self) -> str:
        names = (one.machine.id if one.machine else one.tool for one in (self.a, self.b))
        return brief(self, *names, differences=len(self.differences))

    @property
    def differences(self) -> list[Difference]:
        """The parameters that differ."""
        return differences(self.a.machine, self.b.machine)

    @property
    def parts(self) -> dict[str, tuple[str, str]]:
        """What the machines are made of, where that differs."""
        return parts(self.a.machine, self.b.machine)

    @property
    def labels(self) -> tuple[str, str]:
        """Names of the two sides, by what tells them apart."""
        words = [[pair[side] for pair in self.parts.values() if pair[side]] for side in (0, 1)]
        if self.a.tool or self.b.tool:
            # A measurement is told from a machine by its tool.
            words = [
                [one.machine.id, one.machine.adapter.id] if one.machine else [one.tool]
                for one in (self.a, self.b)
            ]
        a, b = (f"{n}: {', '.join(own)}" if own else n for n, own in zip("AB", words, strict=True))
        return a, b

    @property
    def title(self) -> str:
        """What was measured, and on what."""
        return f"{self.a.workload or 'machines'}: {' and '.join(self.labels)}"

    @property
    def measured(self) -> tuple[str, ...]:
        """What both have measured."""
        found = find_workload(self.a.workload)
        ours, theirs = ({name for row in one.rows for name in row} for one in (self.a, self.b))
        return tuple(one for one in (found.fields if found else ()) if one in ours & theirs)

    @property
    def axes(self) -> tuple[str, ...]:
        """What varies."""
        rows = [*self.a.rows, *self.b.rows]
        found = [one.name for one in varying(rows)] if len(rows) > 1 else []
        return tuple(found or [name for name in AXES if rows and name in rows[0]][:1])

    def keyed(self, side: Side) -> dict[Key, Mapping[str, Any]]:
        """Return the rows of a side by what varies, or tells them from those of the other."""
        shared = [
            name
            for name in AXES
            if name in self.axes or all(name in row for row in (*self.a.rows, *self.b.rows))
        ]
        return {tuple((n, row[n]) for n in shared if n in row): row for row in side.rows}

    @property
    def pairs(self) -> list[Pair]:
        """Both sides, point by point."""
        sides = self.keyed(self.a), self.keyed(self.b)
        names = [part for name in self.measured for part in (name, *band_fields(name))]
        found = []
        for key in {**sides[0], **sides[1]}:
            at = {name: value for name, value in key if name in self.axes}
            ours, theirs = (side.get(key, {}) for side in sides)
            rows = (ours, theirs)
            a, b = ({n: float(row[n]) for n in names if n in row} for row in rows)
            ratio = {n: b[n] / a[n] if a.get(n) and n in b else None for n in self.measured}
            bands = self.bands.get(key, {})
            told = {n: _is_beyond(n, ours, theirs, bands) for n in self.measured}
            beyond = {n: one for n, one in told.items() if one is not None}
            pair = Pair(at=at, a=a, b=b, ratio=ratio, bands=bands, beyond=beyond)
            rests = {
                side: Binding(**{name: str(row[name]) for name in RESTS_ON})
                for side, row in (("a", ours), ("b", theirs))
                if all(name in row for name in RESTS_ON)
            }
            found.append(pair.model_copy(update={"rests_on": rests}) if rests else pair)
        return found

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Each point as a flat row: where, each quantity of A and of B, and their ratio."""
        rows = []
        for one in self.pairs:
            row: dict[str, Any] = dict(one.at)
            for name, ratio in one.ratio.items():
                told = {name: ratio}
                ends = band_fields(name)
                if any(end in side for end in ends for side in (one.a, one.b)):
                    told |= zip(ends, one.bands.get(name, (None, None)), strict=True)
                for part, of in told.items():
                    row |= {f"{part}_a": one.a.get(part), f"{part}_b": one.b.get(part)}
                    row[f"{part}_ratio"] = of
                if name in one.beyond:
                    row[f"{name}_beyond"] = one.beyond[name]
            for side, binding in one.rests_on.items():
                row |= {f"{n}_{side}": told for n, told in binding.to_dict().items()}
            rows.append(row)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON, in the form of the schema `compare`."""
        return CompareDocument(
            **CompareDocument.head(),
            workload=self.a.workload,
            parts=tuple(ComparedPart(name=n, a=a, b=b) for n, (a, b) in self.parts.items()),
            differences=tuple(self.differences),
            points=tuple(self.pairs),
            drawn=self.drawn,
            samples=self.samples,
        ).to_dict()

    def plot(self) -> Figure:
        """Draw both curves over what varies.

        Raises:
            CatalogError: nothing was measured.
        """
        from hcasim.runs.drawing import draw_lines

        if not self.measured:
            raise CatalogError(["plot: found machines without a benchmark; allowed: with one"])
        labels = [" ".join(one.split()) for one in self.labels]
        lines = dict(zip(labels, (self.a.rows, self.b.rows), strict=True))
        return draw_lines(self.a.workload, self.measured, lines, AXES[self.axes[0]])

    @property
    def fields(self) -> tuple[str, ...]:
        """Each quantity of A and of B, and their ratio."""
        return tuple(f"{name}_{side}" for name in self.measured for side in ("a", "b", "ratio"))

    def to_html(self) -> str:
        """Return the parameters that differ as a table of HTML, as notebooks show it."""
        if self.a.tool or self.b.tool:
            return super().to_html()
        rows = [(one.path, *one.texts) for one in self.differences]
        return html_table(("parameter", *self.labels), rows, "Differences")


def compare(
    a: Given,
    b: Given,
    workload: str | None = None,
    *,
    with_a: Mapping[str, Any] | None = None,
    with_b: Mapping[str, Any] | None = None,
    uncertainty: int | None = None,
    jobs: int | None = None,
    scheduler: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    cache: bool = True,
    **settings: Any,
) -> Comparison:
    """Compare two machines, as in `compare("liu2004", "liu2004", with_b={"adapter": "mt23108"})`.

    Parameters:
        a: a testbed by id or file, a machine, what `hcasim.bench` returned, a JSON file that
            `hcasim bench` or `run` has written, or a measurement: a trace or what perftest, OSU,
            IMB or NetPIPE printed. "FILE#NAME" is one of several series or measured workloads.
        b: the same.
        workload: the benchmark to run on both; without it, or with results, none is run.
        with_a: settings of the first side only, by name or by path of --set.
        with_b: settings of the second side only.
        uncertainty: also the 5 and 95 % quantiles of what is measured and of the ratio, over so
            many samples of what nobody has published, the same on both sides; see `hcasim.sweep`.
        jobs, scheduler, progress, cache: as of `hcasim.bench`.
        settings: of both sides: arguments of `hcasim.bench`.

    Raises:
        CatalogError: every fault of the request.
    """
    refuse(
        flag_fault("cache", cache),
        *(settings_fault(one) for one in (with_a, with_b)),
        samples_fault(uncertainty),
    )
    unknown = workload is not None and find_workload(workload) is None
    faults = [unknown_workload(workload)] if unknown else []
    asked = read_sides(
        (a, b), "" if workload is None else workload, settings, (with_a, with_b), faults
    )
    if asked and all(isinstance(one, Side) for one in asked):
        faults += [
            f"{name}: found with two results, which were measured as they are; leave it out"
            for name, one in settings.items()
            if one not in (None, False, {})
        ]
    if settings.get("explain"):
        faults.append("explain: found with compare; allowed: with why, which explains both sides")
    if uncertainty and (workload is None or any(isinstance(one, Side) for one in asked)):
        faults.append("uncertainty: found without two testbeds and a workload; allowed: with them")
    refuse(*faults)
    store = usual_store() if cache else None
    run = partial(run_points, workers=jobs, progress=progress, store=store)
    with each_machine_once(), on_scheduler(scheduler):
        found = Comparison(*_measured(asked, workload, run))
        machines = [one for one in asked if isinstance(one, Experiment)]
        return _banded(found, machines, uncertainty, run) if uncertainty else found


def _places(side: Side) -> dict[str, Any]:
    """Return where a result was measured: the sizes and what else varies, and its options."""
    known = find_workload(side.workload)
    at = {
        name: list(dict.fromkeys(row[name] for row in side.rows))
        for name in AXES
        if known and name in known.options and all(name in row for row in side.rows)
    }
    return {**at, **side.options}


def _measured(asked: list[Experiment | Side], workload: str | None, run: Run) -> tuple[Side, Side]:
    """Return both sides as results; what was measured of one says what to measure of the other."""
    sides = {n: one for n, one in enumerate(asked) if isinstance(one, Side)}
    given = next((one for one in sides.values() if one.workload), Side(None))
    name = workload or given.workload
    points = {}
    faults: list[str] = []
    for number, one in enumerate(asked):
        if isinstance(one, Side):
            continue
        try:
            if not name:
                sides[number] = Side(one.machine())
                continue
            missing = {n: at for n, at in _places(given).items() if n not in one.settings}
            points[number] = replace(one, workload=name).with_(**missing).benchmark()
        except CatalogError as error:
            faults += error.faults
    refuse(*faults)
    found = run(dict.fromkeys(point for every in points.values() for point in every))
    for number, every in points.items():
        axes = [one.name for one in varying([vars(point.options) for point in every])]
        rows = tuple(point.row(found[point], axes) for point in every)
        sides[number] = Side(every[0].machine, name, rows)
    return sides[0], sides[1]


def _banded(plain: Comparison, asked: Sequence[Experiment], count: int, run: Run) -> Comparison:
    """Return a comparison with bands around what both have measured, and around the ratios."""
    drawn = draw(asked, count)
    found = run(point for one in drawn.points for own in one for point in own)
    # Of each side by place the rows of all samples, which both sides have in the same order.
    samples = [
        [[found[point].row for point in every] for every in zip(*own, strict=True)]
        for own in zip(*drawn.points, strict=True)
    ]
    a, b = (
        replace(side, rows=tuple(map(banded, side.rows, own)))
        for side, own in zip((plain.a, plain.b), samples, strict=True)
    )
    ours, theirs = (
        dict(zip(plain.keyed(side), own, strict=True))
        for side, own in zip((plain.a, plain.b), samples, strict=True)
    )
    bands: dict[Key, dict[str, tuple[float, float]]] = {}
    for pair, key in zip(plain.pairs, ours, strict=False):
        for name, base in pair.ratio.items():
            both = zip(ours[key], theirs.get(key, ()), strict=False)
            ratios = [other[name] / one[name] for one, other in both if one[name]]
            if base is not None and len(ratios) > 1:
                bands.setdefault(key, {})[name] = band(ratios, base)
    return Comparison(a, b, bands, tuple(drawn.factors), samples=len(drawn.points))
