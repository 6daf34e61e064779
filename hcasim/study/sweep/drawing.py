"""Figures of sweeps: panels side by side, with a line for each combination of what else varies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hcasim.ground.errors import nearest, one_of, refuse
from hcasim.ground.quantities import band_fields, title
from hcasim.runs.drawing import axis_title, draw_line, is_number, mark_axis, new_figure, plain
from hcasim.study.sweep.values import column_unit
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


def draw(
    table: Sequence[Row],
    axes: Sequence[str],
    fields: Sequence[str],
    chosen: Mapping[str, str | None],
) -> Figure:
    """Draw a table on a figure that belongs to no window system, as `Sweep.plot` says; rows without
    the result that is shown are left out.

    Raises:
        CatalogError: every fault of what was chosen, or nothing to draw.
    """
    places = _placed(table, axes, fields, chosen)
    x, y = places["x"], places["y"]
    shown = [row for row in table if row.get(y) is not None and x in row]
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


def _placed(
    table: Sequence[Row],
    axes: Sequence[str],
    fields: Sequence[str],
    chosen: Mapping[str, str | None],
) -> dict[str, str]:
    """Return which column is shown where."""
    faults = []
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
        numbers = [name for name in free if all(map(is_number, _values(table, name)))]
        longest = max(numbers or free, key=lambda name: len(_values(table, name)))
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
