"""Drawing: figures that belong to no window system, their axes, and the same bytes each time."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from typing import TYPE_CHECKING, Any

from hcasim.workloads.options import Option

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
MARKERS = "osD^vP"
# Nothing in a file may depend on when or by which release it was drawn.
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


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


def mark_axis(axes: Axes, axis: Option, points: Iterable[int]) -> None:
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
