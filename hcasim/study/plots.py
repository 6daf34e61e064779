"""Figures in the papers' axes: simulated curves, published values marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Any

from hcasim.study.axis import Axis
from hcasim.study.claims import Claim
from hcasim.study.curve import Curve
from hcasim.study.quantities import BEST, FIELDS, UNITS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hcasim.study.replays import Replay

FORMATS = ("png", "svg", "pdf")
MARKERS = "osD^vP"
# Nothing in a file may depend on when or by which release it was drawn.
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def draw(replay: Replay) -> Figure:
    """Draw a scenario in the axes of the published figure.

    Parameters:
        replay: its simulated curves.

    Returns:
        A figure that belongs to no window system.
    """
    scenario = replay.scenario
    figure = new_figure()
    axes = figure.add_subplot()
    if scenario.axes.kind == "bars":
        _bars(axes, replay)
    else:
        _lines(axes, replay)
    axes.set_xlabel(scenario.axes.x)
    axes.set_ylabel(scenario.axes.y)
    # The usual margin is a share of the span, which is nothing where all values are alike.
    axes.set_ylim(bottom=0, top=max(axes.get_ylim()[1], 1.05 * axes.dataLim.ymax))
    if scenario.axes.ymax is not None and axes.get_ylim()[1] < scenario.axes.ymax:
        axes.set_ylim(top=scenario.axes.ymax)
    axes.set_title(f"{scenario.place}: {replay.title}", fontsize=10)
    axes.legend(fontsize=8)
    return figure


def new_figure(width: float = 6.4) -> Figure:
    """Return an empty figure that belongs to no window system, so many inches wide."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def render(figure: Figure, form: str) -> bytes:
    """Return a figure as a file: the same bytes for the same figure.

    Parameters:
        figure: what to write.
        form: one of FORMATS.
    """
    import matplotlib as mpl

    buffer = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "hcasim", "svg.fonttype": "path"}):
        figure.savefig(buffer, format=form, dpi=150, metadata=_METADATA[form])
    return buffer.getvalue()


def _lines(axes: Axes, replay: Replay) -> None:
    field = replay.scenario.axes.field
    points: set[int] = set()
    for number, (name, curve) in enumerate(replay.curves.items()):
        marker = MARKERS[number % len(MARKERS)]
        (line,) = axes.plot(curve.x, curve[field], marker=marker, markersize=4, label=curve.label)
        _mark_published(axes, replay, name, curve, line.get_color())
        points.update(int(x) for x in curve.x)
    mark_axis(axes, replay.scenario.options.axis, points)


def mark_axis(axes: Axes, axis: Axis, points: Iterable[int]) -> None:
    """Give what varies its scale and its ticks."""
    marked = sorted(set(points))
    if axis.doubling:
        axes.set_xscale("log", base=2)
    ticks = _ticks(marked) if axis.name == "size" else marked
    axes.set_xticks(ticks, [axis.label(x) for x in ticks])
    axes.minorticks_off()
    axes.grid(alpha=0.3)


def _ticks(sizes: list[int]) -> list[int]:
    """Powers of four, as in the papers, if the sizes reach far enough; else all sizes."""
    powers = [size for size in sizes if size & (size - 1) == 0 and size.bit_length() % 2 == 1]
    return powers if len(powers) >= 4 else sizes


def _bars(axes: Axes, replay: Replay) -> None:
    field = replay.scenario.axes.field
    groups = list(dict.fromkeys(curve.group for curve in replay.curves.values()))
    labels = list(dict.fromkeys(curve.label for curve in replay.curves.values()))
    width = 0.8 / len(labels)
    for number, label in enumerate(labels):
        bars = [curve for curve in replay.curves.values() if curve.label == label]
        middle = (number - (len(labels) - 1) / 2) * width
        drawn = axes.bar(
            [groups.index(curve.group) + middle for curve in bars],
            [float(curve[field][0]) for curve in bars],
            width,
            label=label,
        )
        axes.bar_label(drawn, fmt="%.1f", fontsize=8)
    axes.set_xticks(range(len(groups)), groups)


def _mark_published(axes: Axes, replay: Replay, name: str, curve: Curve, color: Any) -> None:
    """Put the published numbers about one series where they were read off."""
    if replay.overrides:
        return
    seen = set()
    for claim in replay.scenario.claims:
        for at in _places(claim, name, curve, replay.scenario.axes.field):
            published = claim.published
            if isinstance(published, str) or (at, published) in seen:
                continue
            seen.add((at, published))
            factor = UNITS[claim.quantity].get(claim.unit, 1.0)
            ends = published if isinstance(published, tuple) else (published, published)
            low, high = (end / factor for end in ends)
            middle = (low + high) / 2
            axes.errorbar(
                [at],
                [middle],
                yerr=[[middle - low], [high - middle]],
                marker="*",
                markersize=13,
                capsize=4,
                linestyle="none",
                color=color,
                markeredgecolor="black",
                label=f"{curve.label}, published" if len(seen) == 1 else "_published",
                zorder=3,
            )


def _places(claim: Claim, name: str, curve: Curve, drawn: str) -> Iterator[int]:
    """Where a claim reads one value of this series, if it does and that is what is drawn."""
    field, best = FIELDS[claim.quantity], BEST[claim.quantity]
    if claim.kind != "value" or field != drawn:
        return
    for measure in claim.measure:
        if name not in measure.series:
            continue
        rows = [row for row in curve.rows if measure.covers(row[curve.axis])]
        rows.sort(key=lambda row: int(row[curve.axis]))
        if measure.at is not None:
            yield measure.at
        elif measure.select == "smallest":
            yield int(rows[0][curve.axis])
        elif measure.select == "largest":
            yield int(rows[-1][curve.axis])
        elif measure.select == "peak":
            yield int(best(rows, key=lambda row: float(row[field]))[curve.axis])
