"""A fit to traces as one page of HTML: curves, residuals, and what is determined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from hcasim.calibrate.intervals.estimate import Residual
from hcasim.calibrate.intervals.report import Table
from hcasim.calibrate.traces.report import TraceReport
from hcasim.runs.drawing import mark_axis, new_figure, plain, render
from hcasim.workloads.options import AXES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = """
body { font: 15px/1.45 sans-serif; margin: 2em auto; max-width: 62em; padding: 0 1em; }
table { border-collapse: collapse; margin: .6em 0 1.4em; }
td, th { border-bottom: 1px solid #ccc; padding: .2em .7em; text-align: left; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
figure { display: inline-block; margin: 0; } svg { height: auto; max-width: 31em; width: 100%; }
pre { background: #f4f4f4; overflow-x: auto; padding: .7em; }
"""
_IDS = re.compile(r'(\bid="|\bhref="#|url\(#)')


def page(fit: TraceReport) -> str:
    """Return the page; it needs no other file, and is the same for the same fit."""
    report, request = fit.report, fit.prepared.request
    machine = fit.prepared.base.machine
    title = f"{machine.id} with {machine.adapter.id}, fitted to {', '.join(fit.prepared.traces)}"
    parameters, curves, correlations = fit.tables()
    ended = "The search ended by itself."
    if not report.converged:
        ended = "The search did not end by itself: these values are not a fit."
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{ended} Points fitted: {len(report.residuals)}; held out: {len(fit.held)}.</p>",
        f"<pre>{escape(request.command)}</pre>",
        "<h2>What the traces determine</h2>",
        _table(parameters),
        _items(_verdicts(fit)),
        "<h2>Correlation</h2>",
        _table(correlations),
        "<h2>Curves</h2>",
        _table(curves),
        *_figures(fit),
        "<h2>Points</h2>",
        _table(fit.points()),
        "<h2>Notes</h2>",
        _items(fit.closing_lines()),
        "<h2>Traces</h2>",
        _items(f"{name}: sha256 {trace.sha256}" for name, trace in fit.prepared.traces.items()),
    ]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'


def _verdicts(fit: TraceReport) -> Iterable[str]:
    for one in fit.report.parameters:
        path, verdict = one.path, one.verdict
        if not verdict.ended:
            yield f"{path} is unknown: the search did not end."
        elif verdict.identified:
            by = f" by {', '.join(one.claims)}" if one.claims else ""
            yield f"{path} is determined{by}."
        elif verdict.partners:
            others = " and ".join(verdict.partners)
            yield f"{path} is not determined by itself, only in combination with {others}."
        elif verdict.known:
            yield f"{path} is determined only from {verdict.known}: its interval ends at a bound."
        else:
            yield f"{path} is not determined at all: within its bounds everything fits."


def _figures(fit: TraceReport) -> Iterable[str]:
    groups: dict[str, list[tuple[Residual, Residual | None]]] = {}
    for after, before in zip(fit.report.residuals, fit.before, strict=True):
        groups.setdefault(after.observation.curve, []).append((after, before))
    for one in fit.held:
        groups.setdefault(f"{one.observation.curve} (held out)", []).append((one, None))
    for number, (name, points) in enumerate(groups.items()):
        points.sort(key=lambda pair: pair[0].observation.setups[0].options.size)
        svg = render(_draw(name, points), "svg").decode()
        svg = svg[svg.index("<svg") :]
        # Ids of one drawing must not meet those of another on the same page.
        svg = _IDS.sub(rf"\g<1>f{number}-", svg)
        yield f"<figure>{svg}</figure>"


def _draw(name: str, points: Sequence[tuple[Residual, Residual | None]]) -> Figure:
    figure = new_figure()
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    sizes = [after.observation.setups[0].options.size for after, _ in points]
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


def _table(table: Table) -> str:
    marks = [' class="n"' if name in table.right else "" for name in table.columns]

    def row(kind: str, cells: Sequence[str]) -> str:
        marked = zip(cells, marks, strict=True)
        return f"<tr>{''.join(f'<{kind}{m}>{escape(c)}</{kind}>' for c, m in marked)}</tr>"

    body = "".join(f"{row('td', cells)}\n" for cells in table.rows)
    return f"<table><thead>{row('th', table.columns)}</thead><tbody>\n{body}</tbody></table>"


def _items(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"
