"""The table of a sweep: a row for each point, a column for each setting and result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hcasim.catalog import Machine
from hcasim.ground.text import brief
from hcasim.ground.units import DELAY, FREQUENCY, LENGTH, OPERATIONS, RATE, SIZE, TIME
from hcasim.runs.curve import PARTS, measured_with
from hcasim.runs.point import all_notes
from hcasim.runs.table import Table, cell
from hcasim.study.sweep.plan import Planned, unit_of
from hcasim.study.sweep.trial import ERROR
from hcasim.workloads.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS = {
    TIME.base: ("ns", 10**3),
    SIZE.base: ("B", 1),
    FREQUENCY.base: ("MHz", 10**6),
    RATE.base: ("MBps", 10**6),
    OPERATIONS.base: ("Mops", 10**6),
    LENGTH.base: ("m", 10**3),
    DELAY.base: ("ns_per_m", 10**3),
}
"""By the unit in which a value is kept: the last word of its column, and how many make one."""


@dataclass(frozen=True, repr=False)
class Sweep(Table):
    """What a sweep has measured.

    Parameters:
        axes: columns of what varies.
        rows: a mapping for each point: what varies, all other settings, what was measured, and
            `error` where the simulator has refused a point. The last word of a column says its
            unit; a path of --set has it, too, as in `host.memory.read_latency_ns`.
        machines: one of those that are put together from the same parts.
        drawn: paths of what was drawn at random for bands; empty without bands.
        samples: how many machines the bands of a point are made of.
        notes: what the results leave out that a reader may expect.
    """

    axes: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    machines: tuple[Machine, ...] = field(default=(), compare=False)
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
        from hcasim.study.sweep.document import SweepDocument

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
        from hcasim.study.sweep.drawing import Facets, draw

        return draw(self.rows, self.axes, self.fields, Facets(x, y, series, columns, rows))

    def lines(self) -> list[tuple[str, ...]]:
        """What varies and what was measured, in words, a line for each point."""
        names = (*self.axes, *self.fields, *([ERROR] if self.refused else []))
        return [names, *(tuple(cell(row.get(n), n) for n in names) for row in self.rows)]


def make_table(axes: Sequence[str], planned: Sequence[Planned], results: Sequence[Result]) -> Sweep:
    """Return the table of points and their results.

    Parameters:
        axes: settings that vary, by name or path.
        planned: the points, in the order of the rows.
        results: of each of them.
    """
    rows = []
    units: dict[str, str] = {}
    for one, result in zip(planned, results, strict=True):
        point = one.point
        same, _ = measured_with([point])
        paths = {}
        known = {parameter.path: parameter for parameter in point.machine.parameters}
        for path, text in point.machine.overrides.items():
            parameter = known.get(path)
            units.setdefault(path, parameter.unit if parameter else "")
            name = _column(path, units[path])
            paths[name] = _number(text if parameter is None else parameter.value, units[path])
        row = dict(result.row)
        every = {**{name: same[name] for name in PARTS[3:]}, **same, **paths}
        first = {
            key: every[key] for axis in axes if (key := _column(axis, units.get(axis, ""))) in every
        }
        rows.append({**first, **every, **row})
    # Some benchmarks measure many sizes by themselves.
    ladder = len({id(one.made) for one in planned}) < len(planned)
    every_axis = [*axes, "size"] if ladder else axes
    named = dict.fromkeys(_column(axis, units.get(axis, "")) for axis in every_axis)
    machines = {one.point.machine.parts: one.point.machine for one in planned[::-1]}
    notes = all_notes(one.point for one in planned)
    return Sweep(tuple(named), tuple(rows), tuple(machines.values())[::-1], notes=notes)


def _column(name: str, base: str) -> str:
    return f"{name}_{_COLUMNS[base][0]}" if unit_of(base) else name


def _number(value: Any, base: str) -> Any:
    if unit_of(base) and isinstance(value, int):
        exact = Fraction(value, _COLUMNS[base][1])
        return int(exact) if exact.denominator == 1 else float(exact)
    return int(value) if isinstance(value, str) and value.isdecimal() else value
