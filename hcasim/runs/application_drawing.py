"""Figures of what a program has done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hcasim.runs.drawing import new_figure, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hcasim.runs.application import Application


def draw(found: Application) -> Figure:
    """Draw what each process has done with its time, and who has sent how many bytes to whom."""
    figure = new_figure(9.6)
    machine = found.machine
    figure.suptitle(plain(f"{found.program} on {machine.id}, {machine.adapter.id}"))
    times, traffic = figure.subplots(1, 2)
    ranks = [one.rank for one in found.outcome.ranks]
    below = [0.0] * len(ranks)
    for label, parts in (
        ("computing", [one.compute_seconds for one in found.outcome.ranks]),
        ("in calls", [one.mpi_seconds - one.wait_seconds for one in found.outcome.ranks]),
        ("waiting in calls", [one.wait_seconds for one in found.outcome.ranks]),
    ):
        times.bar(ranks, parts, bottom=below, label=label)
        below = [a + b for a, b in zip(below, parts, strict=True)]
    times.set(xlabel="rank", ylabel="time (s)")
    times.legend()
    image = traffic.imshow(found.matrix(), cmap="Blues", origin="lower")
    traffic.set(xlabel="to rank", ylabel="from rank")
    figure.colorbar(image, ax=traffic, label="bytes sent")
    for axis in (times.xaxis, traffic.xaxis, traffic.yaxis):
        axis.get_major_locator().set_params(integer=True)
    return figure
