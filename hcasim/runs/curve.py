"""Measured curves: quantities over the message size, the queue pairs or the reuse of buffers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from hcasim.ground.quantities import measured, title, written
from hcasim.workloads.options import AXES

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Curve:
    """What one series measured, point by point.

    Parameters:
        name: name of the series.
        label: its name in a legend.
        rows: one result per point: "size", "qps" and, where it means something, "reuse"; and what
            was measured, such as "latency_us" (microseconds), "bandwidth_MBps" (10^6 bytes per
            second), "rate_Mps" (10^6 messages per second) and "total_KiB" (2^10 bytes).
        settings: how it was measured: adapter, workload and options.
        group: its place in a bar chart.
        axis: what varies along the curve: "size", "qps" or "reuse".
    """

    name: str
    label: str
    rows: tuple[Mapping[str, Any], ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    group: str = ""
    axis: str = "size"

    @property
    def fields(self) -> tuple[str, ...]:
        """What was measured, such as ("latency_us",)."""
        return measured(self.rows[0]) if self.rows else ()

    @cached_property
    def x(self) -> NDArray[np.int64]:
        """What varies along the curve: bytes, queue pairs or percent."""
        import numpy as np

        return np.array([row[self.axis] for row in self.rows], dtype=np.int64)

    def at(self, x: int) -> Mapping[str, Any]:
        """Return the row at one value of what varies."""
        return next(row for row in self.rows if row[self.axis] == x)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Message sizes in bytes."""
        import numpy as np

        return np.array([row["size"] for row in self.rows], dtype=np.int64)

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

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a table; needs pandas."""
        return table([self])

    def _repr_html_(self) -> str:
        return html_table([self], self.fields[0] if self.fields else "")


def table(curves: list[Curve]) -> pd.DataFrame:
    """Return curves as one table with a row per series and point; needs pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "to_pandas() needs pandas; install it with: pip install pandas"
        ) from error

    return pd.DataFrame([{"series": c.name, **c.settings, **row} for c in curves for row in c.rows])


def html_table(curves: list[Curve], quantity: str) -> str:
    """Return curves side by side as HTML, for notebooks.

    Parameters:
        curves: the columns; they vary along the same axis.
        quantity: one of their fields.
    """
    axis = AXES[curves[0].axis if curves else "size"]
    points = dict.fromkeys(row[axis.name] for curve in curves for row in curve.rows)
    columns = [
        {row[axis.name]: written(row[quantity]) for row in curve.rows if quantity in row}
        for curve in curves
    ]
    titles = "".join(f"<th>{escape(_title(curve))}</th>" for curve in curves)
    lines = "".join(
        f"<tr><th>{axis.label(point)}</th>"
        + "".join(f"<td>{column.get(point, '')}</td>" for column in columns)
        + "</tr>"
        for point in (sorted(points) if axis.doubling else points)
    )
    return (
        f"<table><caption>{escape(title(quantity))}</caption>"
        f"<thead><tr><th>{axis.title}</th>{titles}</tr></thead><tbody>{lines}</tbody></table>"
    )


def _title(curve: Curve) -> str:
    return f"{curve.label} {curve.group}".strip()
