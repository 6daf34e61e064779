"""Replayed figures, each with its claims, how it was simulated and its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from hcasim.ground.quantities import title
from hcasim.pages import Cell, Column, Content, Facts, Figure, Section, Table
from hcasim.papers.replay import Replay
from hcasim.papers.report import Report
from hcasim.runs.curve import beside
from hcasim.study.report.agreement import claim_place, figure_place


def figures(report: Report) -> Iterator[Section]:
    """Yield a section for each paper, with one for each of its figures."""
    statuses = {one.id: one.status for one in report.verdicts}
    for paper, replays in groupby(report.replays, lambda one: one.scenario.paper):
        yield Section(paper, [_figure(one, statuses) for one in replays])


def _figure(replay: Replay, statuses: Mapping[str, str]) -> Section:
    scenario = replay.scenario
    heading = f"{scenario.place}: {replay.title}"
    claims = [
        Cell(one.id, link=claim_place(one.id), mark=statuses.get(one.id, ""))
        for one in scenario.claims
    ]
    how: list[tuple[str, Content | Sequence[Content]]] = [
        ("scenario", scenario.id),
        ("discussed in", scenario.section),
        ("testbed", ", ".join(dict.fromkeys(map(scenario.testbed_of, scenario.series)))),
        ("workload", ", ".join(dict.fromkeys(map(scenario.workload_of, scenario.series)))),
        *([("claims", claims)] if claims else []),
    ]
    curves, quantity = list(replay.curves.values()), scenario.axes.field
    (first, *others), rows = beside(curves, quantity)
    columns: tuple[str | Column, ...] = (first, *(Column(one, right=True) for one in others))
    values = Table(title(quantity), columns, rows)
    drawing = Figure(heading, replay.plot())
    folded = Section("Values", [values], f"values-{figure_place(scenario.id)}", folded=True)
    return Section(heading, [drawing, Facts(how), folded], figure_place(scenario.id))
