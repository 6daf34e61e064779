"""Graphs of one benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hcasim.ground.quantities import title
from hcasim.runs.drawing import MARKERS, mark_axis, new_figure
from hcasim.workloads.options import AXES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hcasim.runs.benchmark import Benchmark

THROUGHPUT, TIME = "throughput_Mbps", "latency_us"


def draw_benchmark(result: Benchmark) -> Figure:
    """Draw what a benchmark measures over what varies.

    For NetPIPE that is the throughput over the size of the messages and, beside it, over the time
    that they take: its signature graph, whose left end is the latency.

    Parameters:
        result: what was measured.

    Returns:
        A figure that belongs to no window system.
    """
    signature = THROUGHPUT in result.fields
    field = THROUGHPUT if signature else result.fields[0]
    figure = new_figure(width=11.0 if signature else 6.4)
    panels = figure.subplots(1, 2 if signature else 1, squeeze=False, sharey=True)[0]
    lines = result.lines()
    for number, (label, rows) in enumerate(lines.items()):
        _line(panels[0], result.curve.axis, field, rows, label, number)
        if signature:
            _line(panels[1], TIME, field, rows, label, number)
    axis = AXES[result.curve.axis]
    panels[0].set_xlabel("Message Size (Bytes)" if axis.name == "size" else axis.title)
    panels[0].set_ylabel(title(field))
    panels[0].set_ylim(bottom=0, top=1.05 * max(float(panels[0].dataLim.ymax), 1e-9))
    mark_axis(panels[0], axis, [row[axis.name] for row in result.curve.rows if axis.name in row])
    if signature:
        panels[1].set_xlabel("Time (us)")
        panels[1].set_xscale("log")
        panels[1].grid(alpha=0.3)
    machine = result.machine
    figure.suptitle(f"{result.workload} on {machine.id}, {machine.adapter.id}", fontsize=10)
    if len(lines) > 1:
        panels[0].legend(fontsize=8)
    return figure


def _line(
    axes: Axes, x: str, y: str, rows: list[Mapping[str, Any]], label: str, number: int
) -> None:
    points = sorted((row.get(x, 0), row[y]) for row in rows)
    marker = MARKERS[number % len(MARKERS)]
    axes.plot(*zip(*points, strict=True), marker=marker, markersize=3, label=label)
