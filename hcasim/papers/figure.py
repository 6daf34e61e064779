"""Figures in the papers' axes: simulated curves, published values marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hcasim.ground.quantities import QUANTITIES
from hcasim.papers.claim import Claim
from hcasim.papers.scenario import Scenario
from hcasim.papers.select import select
from hcasim.runs.curve import Curve
from hcasim.runs.drawing import MARKERS, mark_axis, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STAR = 13.0
"""Width of the mark of a published number, in points."""
DRAWN_AS = {("bandwidth_MBps", "throughput_Mbps"): 8e6 / 2**20}
"""What else a quantity is drawn as: how much of that is one of it."""


def draw(
    scenario: Scenario, curves: Mapping[str, Curve], title: str, marks: Sequence[Mark] = ()
) -> Figure:
    """Draw a scenario in the axes of the published figure.

    Parameters:
        scenario: what was replayed.
        curves: as simulated, by the name of the series.
        title: what is shown.
        marks: published numbers that are shown beside them.

    Returns:
        A figure that belongs to no window system.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    figure = new_figure()
    axes = figure.add_subplot()
    if scenario.axes.kind == "bars":
        _bars(axes, scenario, curves)
    else:
        _lines(axes, scenario, curves, marks)
    axes.set_xlabel(plain(scenario.axes.x))
    axes.set_ylabel(plain(scenario.axes.y))
    if scenario.axes.yscale == "log":
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        _from_zero(axes, scenario.axes.ymax)
    axes.set_title(plain(f"{scenario.place}: {title}"), fontsize=10)
    axes.legend(fontsize=8)
    return figure


def _from_zero(axes: Axes, ymax: float | None) -> None:
    # The usual margin is a share of the span, which is nothing where all values are alike.
    axes.set_ylim(bottom=0, top=max(axes.get_ylim()[1], 1.05 * axes.dataLim.ymax))
    if ymax is not None and axes.get_ylim()[1] < ymax:
        axes.set_ylim(top=ymax)


def _lines(
    axes: Axes, scenario: Scenario, curves: Mapping[str, Curve], marks: Sequence[Mark]
) -> None:
    field = scenario.axes.field
    points: set[int] = set()
    colours: dict[str, Any] = {}
    for number, (name, curve) in enumerate(curves.items()):
        marker = MARKERS[number % len(MARKERS)]
        label = plain(curve.label)
        (line,) = axes.plot(curve.x, curve[field], marker=marker, markersize=4, label=label)
        colours[name] = line.get_color()
        points.update(int(x) for x in curve.x)
    _draw_marks(axes, curves, marks, colours)
    mark_axis(axes, scenario.options.axis, points)


def _bars(axes: Axes, scenario: Scenario, curves: Mapping[str, Curve]) -> None:
    field = scenario.axes.field
    groups = list(dict.fromkeys(curve.group for curve in curves.values()))
    labels = list(dict.fromkeys(curve.label for curve in curves.values()))
    width = 0.8 / len(labels)
    for number, label in enumerate(labels):
        bars = [curve for curve in curves.values() if curve.label == label]
        middle = (number - (len(labels) - 1) / 2) * width
        drawn = axes.bar(
            [groups.index(curve.group) + middle for curve in bars],
            [float(curve[field][0]) for curve in bars],
            width,
            label=plain(label),
        )
        axes.bar_label(drawn, fmt="%.1f", fontsize=8)
    axes.set_xticks(range(len(groups)), [plain(group) for group in groups])


@dataclass(frozen=True)
class Mark:
    """A published number at its place in a figure.

    Parameters:
        series: which it is about.
        at: its x.
        low, high: the ends of what was published; the same unless that is a range.
        bound: "<" or ">" if it is only a limit from above or from below.
    """

    series: str
    at: int
    low: float
    high: float
    bound: str = ""

    @property
    def middle(self) -> float:
        """Where it is drawn."""
        return (self.low + self.high) / 2


def published_marks(scenario: Scenario, curves: Mapping[str, Curve]) -> list[Mark]:
    """Return what the paper states of single points that are drawn, each once."""
    field = scenario.axes.field
    return list(
        dict.fromkeys(
            mark
            for name, curve in curves.items()
            for claim in scenario.claims
            for mark in _marks(claim, name, curve, field)
        )
    )


def _marks(claim: Claim, name: str, curve: Curve, drawn: str) -> Iterator[Mark]:
    """Where a claim reads one value of this series, if it does and that is what is drawn."""
    quantity = QUANTITIES[claim.quantity]
    bound = claim.relation[0] if claim.kind == "threshold" and claim.relation != "=" else ""
    stated = claim.published
    # The end of a paper's axis is a limit, too, and is the end of ours.
    if claim.kind not in ("value", "threshold") or bound == "<" or isinstance(stated, str):
        return
    scale = DRAWN_AS.get((quantity.field, drawn), 1.0 if quantity.field == drawn else None)
    if scale is None:
        return
    low, high = stated if isinstance(stated, tuple) else (stated, stated)
    each = scale / quantity.factor(claim.unit)
    found = {int(row[curve.axis]): float(row[drawn]) for row in curve.rows}
    for measure in claim.measure:
        if name in measure.series and measure.against is None and measure.select != "all":
            for points, _ in select(measure, found):
                at = quantity.best(points, key=lambda x: found.get(x, 0.0))
                yield Mark(name, at, each * low, each * high, bound)


def _draw_marks(
    axes: Axes, curves: Mapping[str, Curve], marks: Sequence[Mark], colours: Mapping[str, Any]
) -> None:
    """Draw stars, side by side where they would hide each other."""
    from matplotlib.transforms import ScaledTranslation

    scale = axes.figure.dpi_scale_trans
    labelled: set[str] = set()
    near = 0.06 * max((mark.middle for mark in marks), default=0.0)
    for mark in marks:
        crowd = [m for m in marks if m.at == mark.at and abs(m.middle - mark.middle) < near]
        shift = STAR * (crowd.index(mark) - (len(crowd) - 1) / 2)
        label = f"{plain(curves[mark.series].label)}, published"
        axes.errorbar(
            [mark.at],
            [mark.middle],
            # The arrow of a limit is as long as its error bar.
            yerr=[0.04 * mark.middle if mark.bound else mark.high - mark.middle],
            lolims=mark.bound == ">",
            marker="*",
            markersize=STAR,
            capsize=4,
            linestyle="none",
            color=colours[mark.series],
            markeredgecolor="black",
            label=f"_{label}" if mark.series in labelled else label,
            zorder=3,
            transform=axes.transData + ScaledTranslation(shift / 72, 0, scale),
        )
        labelled.add(mark.series)
