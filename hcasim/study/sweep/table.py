"""The table of a sweep: a row for each point, a column for each setting and result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from hcasim.catalog import CatalogError
from hcasim.ground.text import brief
from hcasim.runs.curve import PARTS, measured_with
from hcasim.runs.document import Form, Head, Notes, Rows
from hcasim.runs.point import Point, all_notes
from hcasim.runs.program import Launch
from hcasim.runs.table import Table, cell
from hcasim.study.sweep.plan import Planned
from hcasim.study.sweep.values import column_of, number_of
from hcasim.workloads.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hcasim.workloads.registry import Listen

ERROR = "error"
"""Key of the row of a point that was refused."""


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
        from hcasim.study.sweep.drawing import draw

        chosen = {"x": x, "y": y, "series": series, "columns": columns, "rows": rows}
        return draw(self.rows, self.axes, self.fields, chosen)

    def lines(self) -> list[tuple[str, ...]]:
        """Return the names of the columns, and the cells of each point as text."""
        names = (*self.axes, *self.fields, *([ERROR] if self.refused else []))
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
        rows.append({**first, **every, **result.row})
    # Some benchmarks measure many sizes by themselves.
    every_axis = [*axes, "size"] if len(points) > len(planned) else axes
    named = dict.fromkeys(column_of(axis, units.get(axis, "")) for axis in every_axis)
    return Sweep(tuple(named), tuple(rows), notes=all_notes(points))


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
