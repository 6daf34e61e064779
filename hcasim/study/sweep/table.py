"""The table of a sweep: a row for each point, a column for each setting and result; and its figure:
panels side by side, with a line for each combination of what else varies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from hcasim.catalog import CatalogError
from hcasim.ground.errors import nearest, one_of, refuse
from hcasim.ground.quantities import band_fields, title
from hcasim.ground.text import brief
from hcasim.runs.curve import PARTS, measured_with
from hcasim.runs.document import Form, Head, Notes, Rows
from hcasim.runs.drawing import axis_title, draw_line, is_number, mark_axis, new_figure, plain
from hcasim.runs.machine import losses_told
from hcasim.runs.point import Point, all_notes
from hcasim.runs.program import Launch
from hcasim.runs.table import Table, cell
from hcasim.study.sweep.plan import Planned
from hcasim.study.sweep.values import column_of, column_unit, number_of
from hcasim.workloads.options import OPTIONS
from hcasim.workloads.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hcasim.workloads.registry import Listen

ERROR = "error"
"""Key of the row of a point that was refused."""
Row = Mapping[str, Any]
PANELS = 36
"""Most panels of a figure."""
_LINES = 20
"""Lines of a panel up to which a legend names them."""
_WIDE = 16
"""Times the smallest value from which on an axis is logarithmic."""


class SweepDocument(Head, Form):
    """The table of a sweep."""

    schema_: Literal["hcasim-sweep"] = Field(alias="schema")
    axes: tuple[str, ...] = Field(description="columns of what varies")
    fields: tuple[str, ...] = Field(description="columns of what was measured")
    rows: Rows
    notes: Notes = ()
    drawn: tuple[str, ...] = Field(
        description="paths of what was drawn at random for bands; empty without bands"
    )
    samples: int = Field(description="how many machines the bands of a point are made of")


@dataclass(frozen=True, repr=False)
class Sweep(Table):
    """What a sweep has measured.

    Parameters:
        axes: columns of what varies.
        rows: a mapping for each point: what varies, all other settings, what was measured, and
            `error` where the simulator has refused a point. The last word of a column says its
            unit; a path of --set has it, too, as in `host.memory.read_latency_ns`.
        drawn: paths of what was drawn at random for bands; empty without bands.
        samples: how many machines the bands of a point are made of.
        notes: what the results leave out that a reader may expect.
    """

    axes: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    drawn: tuple[str, ...] = ()
    samples: int = 0
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        return brief(self, points=len(self.rows), axes=self.axes, fields=self.fields)

    @property
    def title(self) -> str:
        """How many points there are."""
        return f"{len(self.rows)} point{'s' * (len(self.rows) != 1)}"

    @property
    def refused(self) -> int:
        """How many points the simulator has refused."""
        return sum(1 for row in self.rows if ERROR in row)

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON, in the form of the schema `sweep`."""
        return SweepDocument(
            **SweepDocument.head(),
            axes=self.axes,
            fields=self.fields,
            # An adapter without several firmware modes has none.
            rows=tuple({k: one for k, one in row.items() if one is not None} for row in self.rows),
            **({"notes": self.notes} if self.notes else {}),
            drawn=self.drawn,
            samples=self.samples,
        ).to_dict()

    def plot(
        self,
        x: str | None = None,
        y: str | None = None,
        series: str | None = None,
        columns: str | None = None,
        rows: str | None = None,
    ) -> Figure:
        """Draw it; what is not said is chosen by what varies.

        Parameters:
            x: column that lines run over; the size of messages, or numbers with most values.
            y: column of what was measured; the first without it.
            series: column with a line for each value.
            columns: column with a column of panels for each value.
            rows: column with a row of panels for each value.

        Raises:
            CatalogError: a column that is none, or nothing to draw.
        """
        chosen = {"x": x, "y": y, "series": series, "columns": columns, "rows": rows}
        return _draw(self, chosen)

    def lines(self) -> list[tuple[str, ...]]:
        """Return the names of the columns, and the cells of each point as text."""
        names = (*self.axes, *self.shown, *([ERROR] if self.refused else []))
        return [names, *(tuple(cell(row.get(n), n) for n in names) for row in self.rows)]


def make_table(axes: Sequence[str], planned: Sequence[Planned], results: Sequence[Result]) -> Sweep:
    """Return the table of points and their results, which are in the same order."""
    rows = []
    units: dict[str, str] = {}
    points = [point for _, own in planned for point in own]
    for point, result in zip(points, results, strict=True):
        same, _ = measured_with([point])
        every = {**{name: same[name] for name in PARTS[3:]}, **same}
        known = {parameter.path: parameter for parameter in point.machine.parameters}
        for path, text in point.machine.overrides.items():
            parameter = known.get(path)
            unit = units.setdefault(path, parameter.unit if parameter else "")
            value = number_of(text if parameter is None else parameter.value, unit)
            every[column_of(path, unit)] = value
        columns = (column_of(axis, units.get(axis, "")) for axis in axes)
        first = {name: every[name] for name in columns if name in every}
        row = point.with_ends(result) if isinstance(point, Point) else result.row
        rows.append({**first, **every, **row})
    # Some benchmarks measure many sizes by themselves.
    every_axis = [*axes, "size"] if len(points) > len(planned) else axes
    named = dict.fromkeys(column_of(axis, units.get(axis, "")) for axis in every_axis)
    counted = Counter[str]()
    for result in results:
        counted.update(result.counters)
    again = any(not isinstance(one, Point) or one.sends_again for one in points)
    as_sent = any(isinstance(one, Point) and one.counts_lost for one in points)
    how = {"again": again, "counted": as_sent}
    how["reorders"] = any(isinstance(one, Point) and one.machine.reorders for one in points)
    lost = losses_told("all points together", counted, **how)
    notes = (*all_notes(points), *lost)
    return Sweep(tuple(named), tuple(rows), notes=notes)


@dataclass(frozen=True)
class Trial:
    """A point whose refusal is a result; otherwise it is what the point is."""

    point: Point | Launch

    @property
    def weight(self) -> float:
        return self.point.weight

    @property
    def key(self) -> str:
        return f"trial {self.point.key}"

    @property
    def reads(self) -> bool:
        return self.point.reads

    @property
    def title(self) -> str:
        return self.point.title

    def bare(self) -> Trial:
        return Trial(self.point.bare())

    def run(self, listen: Listen | None = None, profile: bool = False) -> Result:
        """Simulate it in this process; the row of what is refused says why."""
        try:
            return self.point.run(listen, profile)
        except CatalogError as error:
            return Result({ERROR: "; ".join(error.faults)})


def _draw(table: Sweep, chosen: Mapping[str, str | None]) -> Figure:
    """Draw a table as `Sweep.plot` says; rows without the result that is shown are left out."""
    axes, places = table.axes, _placed(table, chosen)
    x, y = places["x"], places["y"]
    shown = [row for row in table.rows if row.get(y) is not None and x in row]
    refuse("" if shown else f"plot: found no point that has {y or 'a result'} over {x}")
    columns, rows, series = (places.get(name) for name in ("columns", "rows", "series"))
    across, down = _values(shown, columns), _values(shown, rows)
    panels_found = f"plot: found {len(across)} x {len(down)} panels"
    many = len(across) * len(down) > PANELS
    refuse(f"{panels_found}; allowed: at most {PANELS} in all" if many else "")
    others = [*([series] if series else []), *(n for n in axes if n not in places.values())]
    labels = list(dict.fromkeys(_label(row, others) for row in shown))
    figure = new_figure(max(6.4, 3.2 * len(across) + 1.6))
    figure.set_figheight(max(4.4, 2.6 * len(down) + 0.8))
    panels = figure.subplots(len(down), len(across), squeeze=False, sharex=True, sharey=True)
    for one_down, line in zip(down, panels, strict=True):
        for one_across, panel in zip(across, line, strict=True):
            where = [(columns, one_across), (rows, one_down)]
            said = [(name, value) for name, value in where if name is not None]
            inside = [row for row in shown if all(row.get(n) == value for n, value in said)]
            _panel(panel, x, y, inside, others, labels)
            panel.set_title("\n".join(plain(f"{n} = {value}") for n, value in said), fontsize=8)
    every = [row[x] for row in shown]
    for panel in panels.flat:
        _mark(panel, x, every)
    panels[0, 0].set_ylim(
        bottom=0, top=1.05 * max(1e-9, *(row.get(band_fields(y)[1], row[y]) for row in shown))
    )
    path, unit = column_unit(x)
    figure.supxlabel(f"{plain(path)} ({unit})" if unit else axis_title(x), fontsize=9)
    figure.supylabel(plain(title(y)), fontsize=9)
    if 1 < len(labels) <= _LINES:
        lines = {line.get_label(): line for panel in panels.flat for line in panel.get_lines()}
        named = [plain(label) for label in labels if plain(label) in lines]
        handles = [lines[label] for label in named]
        figure.legend(handles, named, loc="outside right upper", fontsize=7)
    return figure


def _placed(table: Sweep, chosen: Mapping[str, str | None]) -> dict[str, str]:
    """Return which column is shown where."""
    axes, fields, faults = table.axes, table.fields, []
    given = {n: one for n, one in chosen.items() if one is not None}
    for name, column in given.items():
        allowed = fields if name == "y" else axes
        if column not in allowed:
            said = f"{one_of(allowed) or 'nothing varies'}{nearest(column, allowed)}"
            faults.append(f"{name}: found {column!r}; allowed: {said}")
        other = next(n for n, one in given.items() if one == column)
        if other != name:
            faults.append(f"{name}: found {column}, as in {other}; allowed: another")
    refuse(
        *faults,
        "" if axes else "plot: nothing varies; allowed: a setting with several values",
        "" if fields else "plot: nothing was measured",
    )
    free = [name for name in axes if name not in given.values()]
    if "x" not in given:
        refuse("" if free else f"x: found none left of {one_of(axes)}")
        # What has most values, and numbers before words.
        numbers = [name for name in free if all(map(is_number, _values(table.rows, name)))]
        longest = max(numbers or free, key=lambda name: len(_values(table.rows, name)))
        given["x"] = "size" if "size" in free else longest
        free.remove(given["x"])
    left = [name for name in ("series", "columns", "rows") if name not in given]
    return {"y": fields[0], **given, **dict(zip(left, free, strict=False))}


def _values(rows: Iterable[Row], name: str | None) -> list[Any]:
    return [None] if name is None else list(dict.fromkeys(row.get(name) for row in rows))


def _label(row: Row, names: Iterable[str]) -> str:
    return ", ".join(f"{name} = {row[name]}" for name in names if name in row)


def _panel(
    panel: Axes, x: str, y: str, rows: Sequence[Row], others: Sequence[str], labels: Sequence[str]
) -> None:
    lines: dict[str, list[Row]] = {}
    for row in rows:
        lines.setdefault(_label(row, others), []).append(row)
    low, high = band_fields(y)
    for label, own in lines.items():
        known = all(is_number(row[x]) and low in row for row in own)
        band = [(row[x], row[low], row[high]) for row in own if known]
        points = [(row[x], row[y]) for row in own]
        draw_line(panel, points, label, labels.index(label), band)


def _mark(panel: Axes, x: str, values: Sequence[Any]) -> None:
    """Give what varies its scale and its ticks."""
    panel.tick_params(labelsize=7)
    panel.grid(alpha=0.3)
    if not all(map(is_number, values)):
        return
    if x in OPTIONS and all(isinstance(one, int) for one in values) and len({*values}) <= _LINES:
        mark_axis(panel, OPTIONS[x], values)
    elif min(values) > 0 and max(values) >= _WIDE * min(values):
        panel.set_xscale("log", base=2)
