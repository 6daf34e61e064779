"""Tornado charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hcasim.runs.drawing import new_figure, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hcasim.study.sensitivity.subject import Output
    from hcasim.study.sensitivity.tornado import Effect

BARS = 10
"""Most parameters of a chart."""
_LOW, _HIGH = "tab:blue", "tab:orange"


def draw(title: str, charts: Sequence[tuple[Output, float, Sequence[Effect]]]) -> Figure:
    """Draw how far each parameter moves each output: a chart each, the widest bar on top."""
    figure = new_figure(width=9.0)
    bars = [max(1, len(effects[:BARS])) for _, _, effects in charts]
    figure.set_figheight(1.2 + sum(0.7 + 0.28 * number for number in bars))
    panels = figure.subplots(
        len(charts), 1, squeeze=False, gridspec_kw={"height_ratios": [2 + one for one in bars]}
    )[:, 0]
    for axes, (output, base, effects) in zip(panels, charts, strict=True):
        _chart(axes, output, base, effects[:BARS])
    figure.suptitle(plain(title), fontsize=10)
    return figure


def _chart(axes: Axes, output: Output, base: float, effects: Sequence[Effect]) -> None:
    for place, one in enumerate(effects[::-1]):
        for reading, value, colour in (
            (one.low, one.factor.low, _LOW),
            (one.high, one.factor.high, _HIGH),
        ):
            if value == one.factor.base:
                continue
            axes.barh(place, reading.value - base, left=base, color=colour, height=0.6)
            right = reading.value > base
            axes.annotate(
                plain(one.factor.text(value)),
                (reading.value, place),
                xytext=(3 if right else -3, 0),
                textcoords="offset points",
                ha="left" if right else "right",
                va="center",
                fontsize=6,
            )
    axes.axvline(base, color="black", linewidth=0.8)
    axes.set_yticks(
        range(len(effects)), [plain(one.factor.name) for one in effects[::-1]], fontsize=7
    )
    axes.margins(x=0.15)
    said = f": {output.statement}" if output.statement else ""
    axes.set_title(plain(f"{output.name}{said}"), fontsize=8)
    axes.set_xlabel(plain(output.unit or "ratio"), fontsize=7)
    axes.tick_params(axis="x", labelsize=7)
    axes.grid(axis="x", alpha=0.3)
