"""Measured curves: one quantity over the message size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from hcasim.study.sizes import axis_label

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

FIELDS = ("latency_us", "bandwidth_MBps", "rate_Mps")
TITLES = {
    "latency_us": "Latency (us)",
    "bandwidth_MBps": "Bandwidth (MB/s)",
    "rate_Mps": "Rate (M/s)",
}


@dataclass(frozen=True)
class Curve:
    """What one series measured, size by size.

    Parameters:
        name: name of the series.
        label: its name in a legend.
        rows: one result per size: "size" and "qps", and some of "latency_us" (microseconds),
            "bandwidth_MBps" (10^6 bytes per second) and "rate_Mps" (10^6 messages per second).
        settings: how it was measured: adapter, workload and options.
        group: its place in a bar chart.
    """

    name: str
    label: str
    rows: tuple[Mapping[str, Any], ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    group: str = ""

    @property
    def fields(self) -> tuple[str, ...]:
        """What was measured, such as ("latency_us",)."""
        return tuple(name for name in FIELDS if self.rows and name in self.rows[0])

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Message sizes in bytes."""
        import numpy as np

        return np.array([row["size"] for row in self.rows], dtype=np.int64)

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """Return one of `fields` as an array over `sizes`."""
        import numpy as np

        return np.array([row[name] for row in self.rows], dtype=np.float64)

    @property
    def latency_us(self) -> NDArray[np.float64]:
        """Latency in microseconds, over `sizes`."""
        return self["latency_us"]

    @property
    def bandwidth_MBps(self) -> NDArray[np.float64]:
        """Bandwidth in 10^6 bytes per second, over `sizes`."""
        return self["bandwidth_MBps"]

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a table; needs pandas."""
        return table([self])

    def _repr_html_(self) -> str:
        return html_table([self], self.fields[0] if self.fields else "")


def table(curves: list[Curve]) -> pd.DataFrame:
    """Return curves as one table with a row per series and size; needs pandas."""
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
        curves: the columns.
        quantity: one of FIELDS.
    """
    sizes = sorted({row["size"] for curve in curves for row in curve.rows})
    columns = [
        {row["size"]: f"{row[quantity]:.2f}" for row in curve.rows if quantity in row}
        for curve in curves
    ]
    titles = "".join(f"<th>{escape(_title(curve))}</th>" for curve in curves)
    lines = "".join(
        f"<tr><th>{axis_label(size)}</th>"
        + "".join(f"<td>{column.get(size, '')}</td>" for column in columns)
        + "</tr>"
        for size in sizes
    )
    caption = escape(TITLES.get(quantity, quantity))
    return (
        f"<table><caption>{caption}</caption>"
        f"<thead><tr><th>Size</th>{titles}</tr></thead><tbody>{lines}</tbody></table>"
    )


def _title(curve: Curve) -> str:
    return f"{curve.label} {curve.group}".strip()
