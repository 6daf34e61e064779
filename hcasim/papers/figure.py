"""Figures in the papers' axes: simulated curves, published values marked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hcasim.ground.quantities import QUANTITIES
from hcasim.papers.claim import Claim
from hcasim.papers.select import select
from hcasim.runs.curve import Curve
from hcasim.runs.drawing import MARKERS, mark_axis, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hcasim.papers.replay import Replay


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
    axes.set_xlabel(plain(scenario.axes.x))
    axes.set_ylabel(plain(scenario.axes.y))
    # The usual margin is a share of the span, which is nothing where all values are alike.
    axes.set_ylim(bottom=0, top=max(axes.get_ylim()[1], 1.05 * axes.dataLim.ymax))
    if scenario.axes.ymax is not None and axes.get_ylim()[1] < scenario.axes.ymax:
        axes.set_ylim(top=scenario.axes.ymax)
    axes.set_title(plain(f"{scenario.place}: {replay.title}"), fontsize=10)
    axes.legend(fontsize=8)
    return figure


def _lines(axes: Axes, replay: Replay) -> None:
    field = replay.scenario.axes.field
    points: set[int] = set()
    for number, (name, curve) in enumerate(replay.curves.items()):
        marker = MARKERS[number % len(MARKERS)]
        label = plain(curve.label)
        (line,) = axes.plot(curve.x, curve[field], marker=marker, markersize=4, label=label)
        _mark_published(axes, replay, name, curve, line.get_color())
        points.update(int(x) for x in curve.x)
    mark_axis(axes, replay.scenario.options.axis, points)


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
            label=plain(label),
        )
        axes.bar_label(drawn, fmt="%.1f", fontsize=8)
    axes.set_xticks(range(len(groups)), [plain(group) for group in groups])


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
            factor = QUANTITIES[claim.quantity].factor(claim.unit)
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
                label=f"{plain(curve.label)}, published" if len(seen) == 1 else "_published",
                zorder=3,
            )


def _places(claim: Claim, name: str, curve: Curve, drawn: str) -> Iterator[int]:
    """Where a claim reads one value of this series, if it does and that is what is drawn."""
    if claim.kind != "value" or QUANTITIES[claim.quantity].field != drawn:
        return
    found = {int(row[curve.axis]): float(row[drawn]) for row in curve.rows}
    for measure in claim.measure:
        if name in measure.series and measure.select != "all":
            for points, _ in select(measure, found):
                yield QUANTITIES[claim.quantity].best(points, key=lambda x: found.get(x, 0.0))
