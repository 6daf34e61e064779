"""Measured curves: what was measured over what varies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hcasim.ground.quantities import title, written
from hcasim.ground.text import brief, html_table
from hcasim.runs.table import Table
from hcasim.workloads.options import AXES

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from hcasim.runs.point import Point
    from hcasim.runs.program import Launch


PARTS = ("testbed", "adapter", "firmware_mode", "workload")
"""The settings of a curve that are no options."""


@dataclass(frozen=True, repr=False)
class Curve(Table):
    """What one series measured, point by point.

    Parameters:
        name: name of the series.
        label: its name in a legend.
        rows: of each point what varies and what was measured, such as "size" and "latency_us".
        settings: how all of it was measured: testbed, adapter, workload and options.
        group: its place in a bar chart.
        axis: what varies along the curve, such as "size".
        points: the options that differ from point to point, one table for each row.
        overrides: what-if settings of the machine, by path.
    """

    name: str
    label: str
    rows: tuple[Mapping[str, Any], ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    group: str = ""
    axis: str = "size"
    points: tuple[Mapping[str, Any], ...] = ()
    overrides: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return brief(self, self.name, points=len(self.rows), fields=self.fields)

    @property
    def title(self) -> str:
        return self.label

    @property
    def axes(self) -> tuple[str, ...]:
        return (self.axis,)

    @cached_property
    def x(self) -> NDArray[np.int64]:
        """What varies along the curve: bytes, queue pairs or percent."""
        import numpy as np

        return np.array([row[self.axis] for row in self.rows], dtype=np.int64)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Message sizes in bytes."""
        import numpy as np

        return np.array([row["size"] for row in self.rows], dtype=np.int64)

    def at(self, x: int) -> Mapping[str, Any]:
        """Return the row at one value of what varies."""
        return next(row for row in self.rows if row[self.axis] == x)

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """Return one of `fields` as an array over `x`."""
        import numpy as np

        return np.array([row[name] for row in self.rows], dtype=np.float64)

    @property
    def latency_us(self) -> NDArray[np.float64]:
        """Latency in microseconds, over `x`."""
        return self["latency_us"]

    @property
    def bandwidth_MBps(self) -> NDArray[np.float64]:
        """Bandwidth in 10^6 bytes per second, over `x`."""
        return self["bandwidth_MBps"]

    @property
    def setup(self) -> dict[str, Any]:
        """How it was measured, as a document says it: see `hcasim.runs.document.Setup`."""
        return {
            **{name: self.settings[name] for name in PARTS},
            "overrides": dict(self.overrides),
            "options": {name: one for name, one in self.settings.items() if name not in PARTS},
            "points": self.points,
        }

    @property
    def records(self) -> list[dict[str, Any]]:
        """The rows, each with the series, settings, options and what-if settings by path."""
        what_if = {
            path: int(text) if text.isdecimal() else text for path, text in self.overrides.items()
        }
        start = {"series": self.name, **self.settings, **what_if}
        options = self.points or ({},) * len(self.rows)
        return [{**start, **own, **row} for own, row in zip(options, self.rows, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {**self.setup, "name": self.name, "label": self.label, "rows": list(self.rows)}

    def plot(self) -> Figure:
        """Draw one quantity over what varies."""
        from hcasim.runs.drawing import draw_lines

        return draw_lines(self.label, self.fields, {self.label: self.rows}, AXES[self.axis])

    def _repr_html_(self) -> str:
        return side_by_side([self], self.fields[0] if self.fields else "")


def measured_with(
    jobs: Sequence[Point | Launch],
) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """Return the settings of all points of a curve, and the options that differ, point by point."""
    machine = jobs[0].machine
    group = machine.groups[0]
    parts = (machine.id, group.adapter.id, group.firmware_mode, jobs[0].workload)
    every = [job.settings for job in jobs]
    same = {name: one for name, one in every[0].items() if all(o[name] == one for o in every)}
    own = ({name: one for name, one in chosen.items() if name not in same} for chosen in every)
    return {**dict(zip(PARTS, parts, strict=True)), **same}, tuple(own)


def side_by_side(curves: Sequence[Curve], quantity: str) -> str:
    """Return what `beside` returns as HTML, for notebooks."""
    return html_table(*beside(curves, quantity), title(quantity))


def beside(curves: Sequence[Curve], quantity: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the columns and the rows of a table of curves along one axis, side by side."""
    axis = AXES[curves[0].axis if curves else "size"]
    points = dict.fromkeys(row[axis.name] for curve in curves for row in curve.rows)
    columns = [
        {row[axis.name]: written(row[quantity]) for row in curve.rows if quantity in row}
        for curve in curves
    ]
    rows = [
        (axis.label(point), *(column.get(point, "") for column in columns))
        for point in (sorted(points) if axis.doubling else points)
    ]
    return (axis.title, *(f"{one.label} {one.group}".strip() for one in curves)), rows
