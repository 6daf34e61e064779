"""Two machines, or two results, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from hcasim.catalog import CatalogError, Parameter, Value
from hcasim.catalog.provenance import Evidence
from hcasim.ground.errors import flag_fault, refuse, settings_fault
from hcasim.ground.quantities import band_fields
from hcasim.ground.text import brief, html_table
from hcasim.runs.document import Form, Head
from hcasim.runs.executor import Progress, on_scheduler, run_points
from hcasim.runs.experiment import Experiment
from hcasim.runs.machine import each_machine_once
from hcasim.runs.store import usual_store
from hcasim.runs.table import Table
from hcasim.study.bands import band, banded, draw, samples_fault
from hcasim.study.comparison.files import ALLOWED, is_result, read_result
from hcasim.study.comparison.sides import (
    Difference,
    Given,
    Key,
    Side,
    differences,
    parts,
    requested,
)
from hcasim.study.sensitivity.subject import Run
from hcasim.workloads import find_workload, unknown_workload
from hcasim.workloads.options import AXES, varying

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ComparedPart(Form):
    """What the machines are made of, where that differs."""

    name: str
    a: str
    b: str


class ComparedValue(Form):
    """What one machine has for a parameter."""

    value: Value = Field(description="in base units")
    text: str
    evidence: Evidence
    source: str


class ComparedParameter(Form):
    """A parameter that differs; a machine that has none of the name has null."""

    path: str
    unit: str
    a: ComparedValue | None
    b: ComparedValue | None


class ComparedPoint(Form):
    """What both measured at a point, by quantity; empty where a side has no such point."""

    at: dict[str, int] = Field(description="size and what else varies")
    a: dict[str, float]
    b: dict[str, float]
    ratio: dict[str, float | None] = Field(description="b over a")
    bands: dict[str, tuple[float, float]] = Field(
        description="5 and 95 % quantiles of the ratio over samples that both sides have alike"
    )
    beyond: dict[str, bool] = Field(
        description="whether the sides differ by more than bands allow, if there are any"
    )


class CompareDocument(Head):
    """Two machines or results side by side."""

    schema_: Literal["hcasim-compare"] = Field(alias="schema")
    workload: str = Field(description="empty if nothing was measured")
    parts: tuple[ComparedPart, ...]
    differences: tuple[ComparedParameter, ...]
    points: tuple[ComparedPoint, ...]
    drawn: tuple[str, ...] = Field(description="paths of what was drawn at random for bands")
    samples: int = Field(description="how many machines of each side bands are made of")


@dataclass(frozen=True)
class Pair:
    """What both sides give at one point.

    Parameters:
        at: where, such as {"size": 8}.
        a: what the first side measured; empty where it has no such point.
        b: the same of the second.
        bands: of the ratio of each quantity, the 5 and 95 % quantiles over samples, if both were
            measured on the same.
    """

    at: Mapping[str, int]
    a: Mapping[str, float]
    b: Mapping[str, float]
    bands: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def ratio(self, field: str) -> float | None:
        """Return B's quantity over A's; None where either is missing or A's is 0."""
        a, b = self.a.get(field), self.b.get(field)
        return b / a if a and b is not None else None

    def is_beyond(self, field: str) -> bool | None:
        """Whether the sides differ by more than bands allow; None without bands.

        On the same samples the ratio is 1 outside its band; otherwise both bands lie apart.
        """
        if field in self.bands:
            least, most = self.bands[field]
            return not least <= 1 <= most
        low, high = band_fields(field)
        if not all(name in side for name in (low, high) for side in (self.a, self.b)):
            return None
        return self.a[high] < self.b[low] or self.b[high] < self.a[low]


@dataclass(frozen=True, repr=False)
class Comparison(Table):
    """Two sides and what differs.

    Parameters:
        a: the first side.
        b: the second side.
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
        return brief(self, self.a.machine.id, self.b.machine.id, differences=len(self.differences))

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
        told = self.parts
        if not told:
            return "A", "B"
        words = [[pair[side] for pair in told.values() if pair[side]] for side in (0, 1)]
        return f"A: {', '.join(words[0])}", f"B: {', '.join(words[1])}"

    @property
    def title(self) -> str:
        """What was measured, and on what."""
        return f"{self.a.workload or 'machines'}: {' and '.join(self.labels)}"

    @property
    def measured(self) -> tuple[str, ...]:
        """What both have measured."""
        if not (self.a.rows and self.b.rows):
            return ()
        found = find_workload(self.a.workload)
        about = found.fields if found is not None else ()
        return tuple(name for name in about if name in self.a.rows[0] and name in self.b.rows[0])

    @property
    def axes(self) -> tuple[str, ...]:
        """What varies."""
        rows = [*self.a.rows, *self.b.rows]
        found = [one.name for one in varying(rows)] if len(rows) > 1 else []
        return tuple(found or [name for name in AXES if rows and name in rows[0]][:1])

    @property
    def pairs(self) -> list[Pair]:
        """Both sides, point by point."""
        sides = self.a.keyed, self.b.keyed
        found = []
        names = [part for name in self.measured for part in (name, *band_fields(name))]
        for key in {**sides[0], **sides[1]}:
            at = {name: value for name, value in key if name in self.axes}
            rows = (side.get(key, {}) for side in sides)
            a, b = ({n: float(row[n]) for n in names if n in row} for row in rows)
            found.append(Pair(at, a, b, self.bands.get(key, {})))
        return found

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Each point as a flat row: where, each quantity of A and of B, and their ratio."""
        return [self._row(one) for one in self.pairs]

    def _row(self, one: Pair) -> dict[str, Any]:
        row: dict[str, Any] = dict(one.at)
        for name in self.measured:
            row[f"{name}_a"], row[f"{name}_b"] = one.a.get(name), one.b.get(name)
            row[f"{name}_ratio"] = one.ratio(name)
            if (beyond := one.is_beyond(name)) is not None:
                ratios = one.bands.get(name, (None, None))
                for end, ratio in zip(band_fields(name), ratios, strict=True):
                    row |= {f"{end}_a": one.a.get(end), f"{end}_b": one.b.get(end)}
                    row[f"{end}_ratio"] = ratio
                row[f"{name}_beyond"] = beyond
        return row

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON, in the form of the schema `compare`."""
        return CompareDocument(
            **CompareDocument.head(),
            workload=self.a.workload,
            parts=tuple(ComparedPart(name=n, a=a, b=b) for n, (a, b) in self.parts.items()),
            differences=tuple(map(_parameter, self.differences)),
            points=tuple(self._point(one) for one in self.pairs),
            drawn=self.drawn,
            samples=self.samples,
        ).to_dict()

    def _point(self, one: Pair) -> ComparedPoint:
        beyond = {name: one.is_beyond(name) for name in self.measured}
        return ComparedPoint(
            **{name: dict(part) for name, part in vars(one).items()},
            ratio={name: one.ratio(name) for name in self.measured},
            beyond={name: told for name, told in beyond.items() if told is not None},
        )

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
        rows = [(one.path, *one.texts) for one in self.differences]
        return html_table(("parameter", *self.labels), rows, "Differences")


def _parameter(one: Difference) -> ComparedParameter:
    unit = next(side.unit for side in (one.a, one.b) if side is not None)
    return ComparedParameter(path=one.path, unit=unit, a=_value(one.a), b=_value(one.b))


def _value(one: Parameter[Value] | None) -> ComparedValue | None:
    if one is None:
        return None
    return ComparedValue(value=one.value, text=one.text, evidence=one.evidence, source=one.origin)


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
        a: a testbed by id or file, a machine, what `hcasim.bench` returned, or a JSON file that
            `hcasim bench`, `run` or `sweep` has written: "FILE#NAME" is one of several series,
            "FILE#COLUMN=VALUE,..." one of several machines.
        b: the same.
        workload: the benchmark to run on both; without it, or with results, none is run.
        with_a: settings of the first side only, by name or by path of --set.
        with_b: settings of the second side only.
        uncertainty: also the 5 and 95 % quantiles of what is measured and of the ratio, over so
            many samples of what nobody has published, the same on both sides; see `hcasim.sweep`.
        jobs: processes to use; all processors without it.
        scheduler: address or file of a Dask scheduler whose workers simulate, in place of `jobs`.
        progress: is told how many points are done.
        cache: take what earlier runs have simulated with this code, and keep what is new.
        settings: of both sides: arguments of `hcasim.bench`.

    Raises:
        CatalogError: every fault of the request.
    """
    refuse(
        flag_fault("cache", cache),
        *(settings_fault(one) for one in (with_a, with_b)),
        samples_fault(uncertainty),
    )
    asked: list[Experiment | Side] = []
    faults: list[str] = []
    if workload is not None and find_workload(workload) is None:
        faults.append(unknown_workload(workload))
    for label, given, own in (("a", a, with_a or {}), ("b", b, with_b or {})):
        try:
            if is_result(given):
                if workload is not None or own:
                    faults.append(f"{label}: found a result beside settings; allowed: {ALLOWED}")
                asked.append(read_result(given))
            else:
                asked.append(requested(given, workload or "", settings, own, label))
        except CatalogError as error:
            faults += error.faults
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
    if faults:
        raise CatalogError(dict.fromkeys(faults))
    run = partial(
        run_points, workers=jobs, progress=progress, store=usual_store() if cache else None
    )
    with each_machine_once(), on_scheduler(scheduler):
        found = Comparison(*_measured(asked, workload, run))
        if not uncertainty:
            return found
        return _banded(
            found, [one for one in asked if isinstance(one, Experiment)], uncertainty, run
        )


def _places(side: Side, workload: str) -> dict[str, list[int]]:
    """Return where a result was measured: the sizes and what else varies."""
    known = find_workload(workload)
    names = [name for name in AXES if known and name in known.options]
    return {
        name: list(dict.fromkeys(row[name] for row in side.rows))
        for name in names
        if side.rows and all(name in row for row in side.rows)
    }


def _measured(asked: list[Experiment | Side], workload: str | None, run: Run) -> tuple[Side, Side]:
    """Return both sides as results; what was measured of one says what to measure of the other."""
    faults: dict[str, None] = {}
    points = {}
    sides: dict[int, Side] = {n: one for n, one in enumerate(asked) if isinstance(one, Side)}
    workload = workload or next((one.workload for one in sides.values() if one.workload), None)
    at = _places(next(iter(sides.values())), workload) if sides and workload else {}
    for number, one in enumerate(asked):
        if isinstance(one, Side):
            continue
        try:
            if workload is None:
                sides[number] = Side(one.machine())
            else:
                missing = {name: every for name, every in at.items() if name not in one.options}
                points[number] = replace(one, workload=workload).with_(**missing).benchmark()
        except CatalogError as error:
            faults |= dict.fromkeys(error.faults)
    if faults:
        raise CatalogError(faults)
    if points and workload is not None:
        wanted = dict.fromkeys(point for every in points.values() for point in every)
        found = run(wanted)
        for number, every in points.items():
            axes = [one.name for one in varying([vars(point.options) for point in every])]
            rows = tuple(point.row(found[point], axes) for point in every)
            sides[number] = Side(every[0].machine, workload, rows)
    return sides[0], sides[1]


def _banded(plain: Comparison, asked: Sequence[Experiment], count: int, run: Run) -> Comparison:
    """Return a comparison with bands around what both have measured, and around the ratios."""
    drawn = draw(asked, count)
    found = run(point for one in drawn.points for own in one for point in own)
    # Of each side by place the rows of all samples, which both sides have in the same order.
    rows = [
        [[found[point].row for point in every] for every in zip(*own, strict=True)]
        for own in zip(*drawn.points, strict=True)
    ]
    a, b = (
        replace(side, rows=tuple(map(banded, side.rows, own)))
        for side, own in zip((plain.a, plain.b), rows, strict=True)
    )
    ours, theirs = (
        dict(zip(a.keyed, rows[0], strict=True)),
        dict(zip(b.keyed, rows[1], strict=True)),
    )
    bands: dict[Key, dict[str, tuple[float, float]]] = {}
    for pair, key in zip(plain.pairs, ours, strict=False):
        for name in plain.measured:
            both = zip(ours[key], theirs.get(key, ()), strict=False)
            ratios = [other[name] / one[name] for one, other in both if one[name]]
            base = pair.ratio(name)
            if base is not None and len(ratios) > 1:
                bands.setdefault(key, {})[name] = band(ratios, base)
    return Comparison(a, b, bands, tuple(drawn.factors), samples=len(drawn.points))
