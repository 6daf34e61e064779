"""Figures in the papers' axes: simulated curves, published values marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import dist, inf
from typing import TYPE_CHECKING, Any

from hcasim.ground.quantities import QUANTITIES
from hcasim.papers.claim import Claim
from hcasim.papers.scenario import Scenario
from hcasim.runs.curve import Curve
from hcasim.runs.drawing import MARKERS, mark_axis, new_figure, plain
from hcasim.workloads.options import OPTIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

STAR = 13.0
"""Width of the mark of a published number, in points."""
NESTED = 0.6
"""Width of a mark that lies on another, of that of the other."""
DRAWN_AS = {("bandwidth_MBps", "throughput_Mbps"): 8e6 / 2**20}
"""What else a quantity is drawn as: how much of that is one of it."""
Places = dict[tuple[str, int], tuple[Any, float]]
"""By series and x: the colour of what is drawn there, and where that is along the axis."""


def draw(
    scenario: Scenario, curves: Mapping[str, Curve], title: str, marks: Sequence[Mark] = ()
) -> Figure:
    """Draw curves by the name of their series, and published numbers, in the axes of the paper.

    Below them stands what the authors set. The figure belongs to no window system.
    """
    own = {name: one for name, one in curves.items() if name in scenario.published}
    curves = own or curves
    frames = scenario.axes.frames or ((),)
    figure = new_figure(6.4 if len(frames) == 1 else 9.6)
    panels = figure.subplots(1, len(frames), squeeze=False)[0]
    heading = plain(f"{scenario.place}: {title}")
    if len(frames) == 1:
        panels[0].set_title(heading, fontsize=10)
    else:
        figure.suptitle(heading, fontsize=10)
    if scenario.axes.kind == "table":
        _tabulate(panels[0], scenario, curves, marks)
    else:
        for axes, frame in zip(panels, frames, strict=True):
            _draw_frame(axes, scenario, curves, marks, frame)
    figure.supxlabel(plain(_told(scenario, curves)), fontsize=7)
    return figure


def _draw_frame(
    axes: Axes,
    scenario: Scenario,
    curves: Mapping[str, Curve],
    marks: Sequence[Mark],
    frame: Sequence[str],
) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    bars = scenario.axes.kind == "bars"
    places = (_bars if bars else _lines)(axes, scenario, curves, frame)
    here = [mark for mark in marks if (mark.series, mark.at) in places]
    stars = list(_stars(axes, curves, here, places))
    axes.set_xlabel(plain(scenario.axes.x))
    axes.set_ylabel(plain(scenario.axes.y))
    if scenario.axes.yscale == "log":
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        # The usual margin is a share of the span, which is nothing where all values are alike.
        # Above bars there is room for the legend.
        above = (1.25 if bars else 1.05) * axes.dataLim.ymax
        top = (axes.get_ylim()[1], above, scenario.axes.ymax or 0)
        axes.set_ylim(bottom=0, top=max(top))
    axes.legend(fontsize=8, ncols=2 if bars else 1)
    _nest(axes, stars)


def _told(scenario: Scenario, curves: Mapping[str, Curve]) -> str:
    """What the authors set, if it is the same for all that is drawn."""
    every = [_set_by_authors(scenario, name) for name in curves]
    same = dict(one for one in every[0].items() if all(one in other.items() for other in every))
    words = str.maketrans("_.", "  ")
    return ", ".join(f"{name.translate(words)} {value}" for name, value in same.items())


def _set_by_authors(scenario: Scenario, name: str) -> dict[str, str]:
    series = scenario.series[name]
    chosen = {**scenario.options.chosen, **series.chosen}
    chosen.pop(scenario.options.axis.name, None)
    told = {}
    for option, value in (chosen | (series.settings or {})).items():
        values = value if isinstance(value, tuple) else (value,)
        if isinstance(value, bool):
            told[option] = "set" if value else "not set"
        elif isinstance(values[0], int):
            label = OPTIONS[option].label if option in OPTIONS else str
            told[option] = " ".join(map(label, values))
        else:
            told[option] = str(value)
    return told


def _lines(
    axes: Axes, scenario: Scenario, curves: Mapping[str, Curve], frame: Sequence[str]
) -> Places:
    """Draw lines, from the first to the last x of the frame if that has its own."""
    places: Places = {}
    ends = [scenario.options.axis.read(one)[0] for one in frame] or [0, inf]
    first, last = ends
    for number, (name, curve) in enumerate(curves.items()):
        found = [
            (int(x), y)
            for x, y in zip(curve.x, curve[scenario.axes.field], strict=True)
            if first <= x <= last
        ]
        (line,) = axes.plot(
            *zip(*found, strict=True),
            marker=MARKERS[number % len(MARKERS)],
            markersize=4,
            label=plain(f"{curve.label}, simulated"),
        )
        places |= {(name, x): (line.get_color(), float(x)) for x, _ in found}
    mark_axis(axes, scenario.options.axis, (x for _, x in places))
    return places


def _bars(
    axes: Axes, scenario: Scenario, curves: Mapping[str, Curve], frame: Sequence[str]
) -> Places:
    """Draw bars in groups: as the scenario says, those of the frame, and by x if that varies."""

    def group(curve: Curve, x: int) -> str:
        return f"{curve.group} {scenario.options.axis.label(x) if len(curve.x) > 1 else ''}".strip()

    bars = {
        (name, int(x)): (curve.label, group(curve, x), float(height))
        for name, curve in curves.items()
        if not frame or curve.group in frame
        for x, height in zip(curve.x, curve[scenario.axes.field], strict=True)
    }
    labels, groups = (list(dict.fromkeys(one[n] for one in bars.values())) for n in (0, 1))
    width = 0.8 / len(labels)
    places: Places = {}
    for number, label in enumerate(labels):
        own = {where: one for where, one in bars.items() if one[0] == label}
        middle = (number - (len(labels) - 1) / 2) * width
        at = [groups.index(one[1]) + middle for one in own.values()]
        heights = [one[2] for one in own.values()]
        drawn = axes.bar(at, heights, width, label=plain(f"{label}, simulated"))
        axes.bar_label(drawn, fmt="{:.3g}", fontsize=8)
        places |= {w: (drawn.patches[0].get_facecolor(), x) for w, x in zip(own, at, strict=True)}
    axes.set_xticks(range(len(groups)), [plain(str(one)) for one in groups])
    return places


def _tabulate(
    axes: Axes, scenario: Scenario, curves: Mapping[str, Curve], marks: Sequence[Mark]
) -> None:
    """Write a table: of each series what was simulated and what was published."""
    from matplotlib.transforms import Bbox

    published = {(one.series, one.at): f"{(one.low + one.high) / 2:#.4g}" for one in marks}
    stated = {one.series for one in marks}
    columns = [(n, k) for n in curves for k in ("simulated", "published")[: 1 + (n in stated)]]
    points = sorted({int(x) for one in curves.values() for x in one.x}, reverse=True)

    def cell(name: str, kind: str, x: int) -> str:
        if kind == "published":
            return published.get((name, x), "")
        return f"{curves[name].at(x)[scenario.axes.field]:#.4g}"

    rows = [[cell(name, kind, x) for name, kind in columns] for x in points]
    head = [f"{plain(curves[name].label)}\n{kind}" for name, kind in columns]
    labels = [*map(scenario.options.axis.label, points)]
    axes.axis("off")
    axes.text(0.5, 1, plain(f"{scenario.axes.y}, by {scenario.axes.x}"), ha="center", va="top")
    table = axes.table(
        cellText=rows,
        rowLabels=labels,
        colLabels=head,
        bbox=Bbox.from_bounds(0.08, 0.05, 0.9, 0.8),
    )
    table.auto_set_font_size(False)
    table.set_fontsize(9)


@dataclass(frozen=True)
class Mark:
    """A published number at its place in a figure.

    Parameters:
        series, at: which it is about, and its x.
        low, high: the ends of what was published; the same unless that is a range.
        bound: "<" or ">" if it is only a limit from above or from below.
    """

    series: str
    at: int
    low: float
    high: float
    bound: str = ""


def published_marks(scenario: Scenario, curves: Mapping[str, Curve]) -> list[Mark]:
    """Return what the paper states of single points that are drawn, each once."""
    found = (
        mark
        for name, curve in curves.items()
        for claim in scenario.claims
        for mark in _marks(claim, name, curve, scenario.axes.field)
    )
    return list(dict.fromkeys(found))


def _marks(claim: Claim, name: str, curve: Curve, drawn: str) -> Iterator[Mark]:
    """Where a claim reads one value of this series, if it does and that is what is drawn."""
    quantity = QUANTITIES[claim.quantity]
    bound = claim.relation[0] if claim.kind == "threshold" and claim.relation != "=" else ""
    # The end of a paper's axis is a limit, too, and is the end of ours.
    if claim.kind not in ("value", "threshold") or bound == "<":
        return
    scale = DRAWN_AS.get((quantity.field, drawn), 1.0 if quantity.field == drawn else None)
    if scale is None:
        return
    each = scale / quantity.factor(claim.unit)
    low, high = (each * end for end in claim.ends)
    found = {int(row[curve.axis]): float(row[drawn]) for row in curve.rows}
    for measure in claim.measure:
        if name in measure.series and measure.against is None:
            read, best = [points for points, _ in measure.points(found)], quantity.best
            if measure.select == "all" and claim.extreme:
                read, best = [tuple(found)], claim.extreme
            for points in read:
                if shown := [x for x in points if x in found]:
                    yield Mark(name, best(shown, key=found.__getitem__), low, high, bound)


def _stars(
    axes: Axes, curves: Mapping[str, Curve], marks: Sequence[Mark], places: Places
) -> Iterator[Line2D]:
    """Draw a star for each published number where it belongs."""
    labelled: set[str] = set()
    for mark in marks:
        colour, at = places[mark.series, mark.at]
        middle = (mark.low + mark.high) / 2
        label = plain(f"{curves[mark.series].label}, published")
        drawn = axes.errorbar(
            [at],
            [middle],
            # The arrow of a limit is as long as its error bar.
            yerr=[0.04 * middle if mark.bound else mark.high - middle],
            lolims=mark.bound == ">",
            marker="*",
            markersize=STAR,
            capsize=4,
            linestyle="none",
            color=colour,
            ecolor="black" if mark.bound or mark.high > mark.low else "none",
            markeredgecolor="black",
            label=f"_{label}" if label in labelled else label,
            zorder=3,
        )
        labelled.add(label)
        yield drawn.lines[0]


def _nest(axes: Axes, stars: Sequence[Line2D]) -> None:
    """Draw stars that would hide others smaller, and on top of them."""
    point = axes.figure.dpi / 72
    drawn: list[Any] = []
    for star in stars:
        (place,) = axes.transData.transform(star.get_xydata())
        below = sum(dist(place, other) < NESTED * STAR * point for other in drawn)
        star.set(markersize=STAR * NESTED**below, zorder=3 + below)
        drawn.append(place)
