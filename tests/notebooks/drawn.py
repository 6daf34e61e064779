"""What a figure shows, whichever release of matplotlib draws it: curves, bars, images and words."""

from __future__ import annotations

import json
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

KIND = "application/json"


def drawn(figure: Figure) -> dict[str, Any]:
    """The data and words of a figure, numbers with six digits."""
    return {"axes": [_axes(axes) for axes in figure.axes]}


def tell() -> None:
    """Make IPython say it of each figure that it shows."""
    # What is registered with its formatters goes when figures are first shown; only a method of
    # the class stays, and matplotlib declares none.
    Figure._repr_json_ = drawn  # type: ignore[attr-defined]


def keep(output: Any) -> None:
    """Keep it where readers do not see it."""
    told = output.get("data", {}).pop(KIND, None)
    if told is not None:
        output.metadata["drawn"] = json.dumps(told, sort_keys=True)
    output.get("metadata", {}).pop(KIND, None)


def _axes(axes: Axes) -> dict[str, Any]:
    legend = axes.get_legend()
    return {
        "title": axes.get_title(),
        "x": [axes.get_xlabel(), axes.get_xscale()],
        "y": [axes.get_ylabel(), axes.get_yscale()],
        "legend": [] if legend is None else [one.get_text() for one in legend.get_texts()],
        "texts": [one.get_text() for one in axes.texts],
        "lines": [
            [line.get_linestyle(), _numbers(line.get_xdata()), _numbers(line.get_ydata())]
            for line in axes.lines
        ],
        "bars": [
            _numbers([one.get_x(), one.get_width(), one.get_height()])
            for one in axes.patches
            if isinstance(one, Rectangle)
        ],
        "images": [_numbers(image.get_array().ravel()) for image in axes.images],
    }


def _numbers(values: Any) -> list[float]:
    return [float(f"{float(one):.6g}") for one in values]
