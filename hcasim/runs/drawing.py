"""Drawing: figures that belong to no window system, their axes, and the same bytes each time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeGuard

from hcasim.ground.quantities import title
from hcasim.ground.text import printable
from hcasim.workloads.option import Option
from hcasim.workloads.options import OPTIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows = Sequence[Mapping[str, Any]]
THROUGHPUT, TIME = "throughput_Mbps", "latency_us"
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


def plain(text: str) -> str:
    """Return words of a file for a figure: dollars begin no formula, controls can be seen."""
    return printable(text).replace("$", r"\$")


def render(figure: Figure, form: str) -> bytes:
    """Return a figure as a file in one of FORMATS: the same bytes for the same figure."""
    import matplotlib as mpl

    buffer = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "hcasim", "svg.fonttype": "path"}):
        figure.savefig(buffer, format=form, dpi=150, metadata=_METADATA[form])
    return buffer.getvalue()


def mark_axis(axes: Axes, axis: Option, points: Iterable[int]) -> None:
    """Give what varies its scale and its ticks."""
    marked = sorted(set(points))
    if axis.doubling and 0 in marked:
        axes.set_xscale("symlog", base=2, linthresh=1)
    elif axis.doubling:
        axes.set_xscale("log", base=2)
    # Powers of four, as in the papers, if the sizes reach far enough.
    powers = [one for one in marked if one & (one - 1) == 0 and one.bit_length() % 2 == 1]
    few = axis.name != "size" or len(powers) < 4
    ticks = marked if few else [*({0} & {*marked}), *powers]
    axes.set_xticks(ticks, [axis.label(x) for x in ticks])
    axes.minorticks_off()
    axes.grid(alpha=0.3)


def draw_lines(
    heading: str, fields: Sequence[str], lines: Mapping[str, Rows], axis: Option
) -> Figure:
    """Draw what a benchmark measures: lines of rows, by what else varies, over what varies.

    For NetPIPE that is the throughput over the size of the messages and, beside it, over the time
    that they take: its signature graph, whose left end is the latency.
    """
    signature = THROUGHPUT in fields
    field = THROUGHPUT if signature else fields[0]
    figure = new_figure(width=11.0 if signature else 6.4)
    panels = figure.subplots(1, 2 if signature else 1, squeeze=False, sharey=True)[0]
    for number, (label, rows) in enumerate(lines.items()):
        for panel, x in zip(panels, (axis.name, TIME), strict=False):
            draw_line(panel, [(row.get(x, 0), row[field]) for row in rows], label, number)
    panels[0].set_xlabel(axis_title(axis.name))
    panels[0].set_ylabel(title(field))
    panels[0].set_ylim(bottom=0, top=1.05 * max(float(panels[0].dataLim.ymax), 1e-9))
    every = chain.from_iterable(lines.values())
    mark_axis(panels[0], axis, [row[axis.name] for row in every if axis.name in row])
    if signature:
        panels[1].set_xlabel("Time (us)")
        panels[1].set_xscale("log")
        panels[1].grid(alpha=0.3)
    figure.suptitle(plain(heading), fontsize=10)
    if len(lines) > 1:
        panels[0].legend(fontsize=8)
    return figure


def axis_title(name: str) -> str:
    """Return what an axis that shows an option, or a column of rows, is called."""
    if name == "size":
        return "Message Size (Bytes)"
    return plain((OPTIONS[name].title if name in OPTIONS else title(name)) or name)


def draw_line(
    axes: Axes,
    points: Iterable[tuple[Any, float]],
    label: str,
    number: int,
    band: Iterable[tuple[float, float, float]] = (),
) -> None:
    """Draw a line of points, with its band: x and both ends of what it may be.

    Numbers are put in order, words stay as they come; the line's number says how it looks.
    """
    every = [(x if is_number(x) else plain(str(x)), y) for x, y in points]
    if all(is_number(x) for x, _ in every):
        every.sort()
    colour = f"C{number % 10}"
    if ends := sorted(band):
        at, below, above = zip(*ends, strict=True)
        axes.fill_between(at, below, above, color=colour, alpha=0.2, linewidth=0)
    axes.plot(
        *zip(*every, strict=True),
        color=colour,
        marker=MARKERS[number % len(MARKERS)],
        markersize=3,
        label=plain(label),
    )


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value has a place on an axis of numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool)
