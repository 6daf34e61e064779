"""A fit to traces as a document: curves, residuals, and what is determined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hcasim.calibrate.estimate import Residual
from hcasim.calibrate.report import FitReport, Traced
from hcasim.pages.document import Code, Document, Section, Text
from hcasim.pages.document import Figure as Drawing
from hcasim.runs.drawing import mark_axis, new_figure, plain
from hcasim.workloads.options import AXES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_Pairs = Sequence[tuple[Residual, Residual | None]]


def document(fit: FitReport) -> Document:
    """Return the document of a fit to traces; it is the same for the same fit."""
    traced = fit.traced
    assert traced is not None
    traces, machine = traced.prepared.traces, traced.prepared.machine
    parameters, curves, correlations, *_ = fit.tables()
    ended = "ended by itself."
    if not fit.converged:
        ended = "did not end by itself: these values are not a fit."
    counts = f"Points fitted: {len(fit.residuals)}; held out: {len(traced.held)}."
    shas = (f"{name}: sha256 {trace.sha256}" for name, trace in traces.items())
    return Document(
        f"{machine.id} with {machine.adapter.id}, fitted to {', '.join(traces)}",
        [
            Text(f"The search {ended} {counts}"),
            Code(traced.prepared.request.command),
            Section("What the traces determine", [parameters, *map(Text, _verdicts(fit))]),
            Section("Correlation", [correlations]),
            Section("Curves", [curves, *_figures(fit, traced)]),
            Section("Points", [fit.points()]),
            Section("Notes", [*map(Text, fit.closing_lines())]),
            Section("Traces", [*map(Text, shas)]),
        ],
    )


def _verdicts(fit: FitReport) -> Iterable[str]:
    for one in fit.parameters:
        path, verdict = one.path, one.verdict
        if not verdict.ended:
            yield f"{path} is unknown: the search did not end."
        elif verdict.identified:
            by = f" by {', '.join(one.claims)}" if one.claims else ""
            yield f"{path} is determined{by}."
        elif verdict.partners:
            yield f"{path} is not determined by itself, {verdict}."
        elif verdict.known:
            yield f"{path} is determined {verdict}: its interval ends at a bound."
        else:
            yield f"{path} is not determined at all: within its bounds everything fits."


def _figures(fit: FitReport, traced: Traced) -> Iterable[Drawing]:
    groups: dict[str, list[tuple[Residual, Residual | None]]] = {}
    for after, before in zip(fit.residuals, traced.before, strict=True):
        groups.setdefault(after.observation.curve, []).append((after, before))
    for one in traced.held:
        groups.setdefault(f"{one.observation.curve} (held out)", []).append((one, None))
    for name, points in groups.items():
        points.sort(key=lambda pair: pair[0].observation.size)
        yield Drawing(name, _draw(name, points))


def _draw(name: str, points: _Pairs) -> Figure:
    figure = new_figure()
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    sizes = [after.observation.size for after, _ in points]
    measured = [float(after.observation.published) for after, _ in points]
    reach = [2 * after.observation.reach for after, _ in points]
    style = {"fmt": "o", "markersize": 4, "capsize": 3, "color": "black"}
    upper.errorbar(sizes, measured, yerr=reach, label="measured, ± 2 deviations", **style)
    upper.plot(sizes, [after.simulated for after, _ in points], color="tab:blue", label="fitted")
    base = [before.simulated for _, before in points if before is not None]
    if len(base) == len(sizes):
        upper.plot(sizes, base, color="tab:gray", linestyle="--", label="base description")
    upper.set_ylabel(plain(points[0][0].observation.unit))
    upper.set_yscale("log" if max(measured) > 20 * min(measured) else "linear")
    upper.set_title(plain(name), fontsize=10)
    upper.legend(fontsize=8)
    upper.grid(alpha=0.3)
    parts = [after.deviations for after, _ in points]
    lower.axhspan(-2, 2, color="tab:gray", alpha=0.2)
    lower.plot(sizes, parts, "o", markersize=4, color="tab:blue")
    lower.set_ylabel("deviations")
    top = max(3.0, 1.1 * max(abs(part) for part in parts))
    lower.set_ylim(-top, top)
    mark_axis(lower, AXES["size"], sizes)
    lower.set_xlabel("Message Size (Bytes)")
    return figure
