"""Figures of sweeps: panels side by side, with a line for each combination of what else varies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hcasim.catalog import CatalogError
from hcasim.ground.errors import nearest, one_of
from hcasim.ground.quantities import band_fields, title
from hcasim.runs.drawing import MARKERS, mark_axis, new_figure, plain
from hcasim.workloads.options import OPTIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = Mapping[str, Any]
PANELS = 36
"""Most panels of a figure."""
_LINES = 20
"""Lines of a panel up to which a legend names them."""
_WIDE = 16
"""Times the smallest value from which on an axis is logarithmic."""


@dataclass(frozen=True)
class Facets:
    """What of a figure shows which column of a table; what is not chosen is found.

    Parameters:
        x: what a line runs over.
        y: what was measured.
        series: what has a line of its own for each value, as does all that has no other place.
        columns: what has a column of panels for each value.
        rows: what has a row of panels for each value.
    """

    x: str | None = None
    y: str | None = None
    series: str | None = None
    columns: str | None = None
    rows: str | None = None


def draw(
    table: Sequence[Row], axes: Sequence[str], fields: Sequence[str], chosen: Facets
) -> Figure:
    """Draw a table.

    Parameters:
        table: rows; those without the result that is shown are left out.
        axes: columns of what varies.
        fields: columns of what was measured.
        chosen: what shows which column.

    Returns:
        A figure that belongs to no window system.

    Raises:
        CatalogError: every fault of what was chosen, or nothing to draw.
    """
    facets = _placed(table, axes, fields, chosen)
    x, y = facets.x or "", facets.y or ""
    shown = [row for row in table if row.get(y) is not None and x in row]
    if not shown:
        raise CatalogError([f"plot: found no point that has {y or 'a result'} over {x}"])
    across, down = _values(shown, facets.columns), _values(shown, facets.rows)
    if len(across) * len(down) > PANELS:
        raise CatalogError(
            [f"plot: found {len(across)} x {len(down)} panels; allowed: at most {PANELS} in all"]
        )
    placed = (facets.x, facets.columns, facets.rows, facets.series)
    others = [*([facets.series] if facets.series else [])]
    others += [name for name in axes if name not in placed]
    labels = list(dict.fromkeys(_label(row, others) for row in shown))
    figure = new_figure(max(6.4, 3.2 * len(across) + 1.6))
    figure.set_figheight(max(4.4, 2.6 * len(down) + 0.8))
    panels = figure.subplots(len(down), len(across), squeeze=False, sharex=True, sharey=True)
    for one_down, line in zip(down, panels, strict=True):
        for one_across, panel in zip(across, line, strict=True):
            where = [(facets.columns, one_across), (facets.rows, one_down)]
            said = [(name, value) for name, value in where if name is not None]
            inside = [row for row in shown if all(row.get(n) == value for n, value in said)]
            _panel(panel, facets, inside, others, labels)
            panel.set_title("\n".join(plain(f"{n} = {value}") for n, value in said), fontsize=8)
    every = [row[x] for row in shown]
    for panel in panels.flat:
        _mark(panel, x, every)
    panels[0, 0].set_ylim(
        bottom=0, top=1.05 * max(1e-9, *(row.get(band_fields(y)[1], row[y]) for row in shown))
    )
    figure.supxlabel(plain(OPTIONS[x].title if x in OPTIONS else title(x)) or x, fontsize=9)
    figure.supylabel(plain(title(y)), fontsize=9)
    if 1 < len(labels) <= _LINES:
        lines = {line.get_label(): line for panel in panels.flat for line in panel.get_lines()}
        named = [plain(label) for label in labels if plain(label) in lines]
        handles = [lines[label] for label in named]
        figure.legend(handles, named, loc="outside right upper", fontsize=7)
    return figure


def _placed(
    table: Sequence[Row], axes: Sequence[str], fields: Sequence[str], chosen: Facets
) -> Facets:
    """Say of each column that varies where it is shown."""
    faults = []
    given = {n: one for n, one in vars(chosen).items() if one is not None}
    for name, column in given.items():
        allowed = fields if name == "y" else axes
        if column not in allowed:
            hint = nearest(column, allowed)
            faults.append(
                f"{name}: found {column!r}; allowed: {one_of(allowed) or 'nothing varies'}{hint}"
            )
    places: dict[str, str] = {}
    for name, column in given.items():
        if places.setdefault(column, name) != name:
            faults.append(f"{name}: found {column}, as in {places[column]}; allowed: another")
    if not axes:
        faults.append("plot: nothing varies; allowed: a setting with several values")
    if not fields:
        faults.append("plot: nothing was measured")
    if faults:
        raise CatalogError(dict.fromkeys(faults))
    free = [name for name in axes if name not in places]
    if "x" not in given and free:
        # What has most values, and numbers before words.
        numbers = [name for name in free if all(map(_is_number, _values(table, name)))]
        longest = max(numbers or free, key=lambda name: len(_values(table, name)))
        given["x"] = "size" if "size" in free else longest
        free.remove(given["x"])
    if "x" not in given:
        raise CatalogError([f"x: found none left of {one_of(axes)}"])
    for name in ("series", "columns", "rows"):
        if name not in given and free:
            given[name] = free.pop(0)
    return Facets(**{"y": fields[0], **given})


def _values(rows: Iterable[Row], name: str | None) -> list[Any]:
    return [None] if name is None else list(dict.fromkeys(row.get(name) for row in rows))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _label(row: Row, names: Iterable[str]) -> str:
    return ", ".join(f"{name} = {row[name]}" for name in names if name in row)


def _panel(
    panel: Axes, facets: Facets, rows: Sequence[Row], others: Sequence[str], labels: Sequence[str]
) -> None:
    x, y = facets.x or "", facets.y or ""
    lines: dict[str, list[Row]] = {}
    for row in rows:
        lines.setdefault(_label(row, others), []).append(row)
    for label, own in lines.items():
        points = [(row[x] if _is_number(row[x]) else plain(str(row[x])), row[y]) for row in own]
        if all(_is_number(row[x]) for row in own):
            points.sort()
        number = labels.index(label)
        low, high = band_fields(y)
        if all(_is_number(row[x]) and low in row for row in own):
            at, below, above = zip(*sorted((r[x], r[low], r[high]) for r in own), strict=True)
            panel.fill_between(at, below, above, color=f"C{number % 10}", alpha=0.2, linewidth=0)
        panel.plot(
            *zip(*points, strict=True),
            color=f"C{number % 10}",
            marker=MARKERS[number % len(MARKERS)],
            markersize=3,
            label=plain(label),
        )


def _mark(panel: Axes, x: str, values: Sequence[Any]) -> None:
    """Give what varies its scale and its ticks."""
    panel.tick_params(labelsize=7)
    panel.grid(alpha=0.3)
    if not all(map(_is_number, values)):
        return
    if x in OPTIONS and all(isinstance(one, int) for one in values) and len({*values}) <= _LINES:
        mark_axis(panel, OPTIONS[x], values)
    elif min(values) > 0 and max(values) >= _WIDE * min(values):
        panel.set_xscale("log", base=2)
