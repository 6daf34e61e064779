"""What a curve is drawn over: the message size, the queue pairs or the reuse of buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hcasim.runs.sizes import axis_label, parse_counts, parse_percents, parse_sizes


@dataclass(frozen=True)
class Axis:
    """A number that may vary along a curve.

    Parameters:
        name: of the option and of the key of a row.
        title: of a column.
        label: writes one value.
        parse: reads values from text; raises ValueError with one line per fault.
        low, high: least and greatest value that makes sense.
        doubling: whether values are spread by doubling, for a logarithmic axis.
    """

    name: str
    title: str
    label: Callable[[int], str]
    parse: Callable[[str], tuple[int, ...]]
    low: int
    high: int
    doubling: bool = True

    def values(self, given: str | int | Sequence[int]) -> tuple[int, ...]:
        """Return values given as text, as one number or as several.

        Raises:
            ValueError: one line per fault of a text.
        """
        if isinstance(given, str):
            return self.parse(given)
        return (given,) if isinstance(given, int) else tuple(given)


_MOST = 2**31

AXES: Mapping[str, Axis] = {
    axis.name: axis
    for axis in (
        Axis("size", "Size", axis_label, parse_sizes, 1, _MOST),
        Axis("qps", "QPs", str, parse_counts, 1, _MOST),
        Axis("reuse", "Reuse (%)", str, parse_percents, 0, 100, doubling=False),
    )
}
"""By name, the usual x axis first."""


def varying(rows: Sequence[Mapping[str, Any]]) -> list[Axis]:
    """Return the axes of which rows have several values, in the order of AXES."""
    return [
        axis
        for axis in AXES.values()
        if len({row[axis.name] for row in rows if axis.name in row}) > 1
    ]
