"""A reproduction of papers as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby

from hcasim import __version__
from hcasim.ground.quantities import title
from hcasim.pages import (
    Block,
    Cell,
    Code,
    Column,
    Content,
    Counts,
    Document,
    Facts,
    Figure,
    Section,
    Table,
    Text,
)
from hcasim.papers.replay import Replay
from hcasim.papers.report import Report
from hcasim.runs.curve import beside
from hcasim.study.report.agreement import (
    by_paper,
    by_role,
    claim_place,
    claims,
    context,
    deviations,
    figure_place,
)
from hcasim.study.report.provenance import Provenance

_COUNTED = {
    "pass": "claims pass",
    "deviation": "miss, with a documented deviation",
    "fail": "miss, and nothing says why",
    "context": "statements that nothing replays",
}
_ROLES = (
    "Numbers that several claims repeat are one reading. Orders and limits are counted apart from "
    "numbers. The median error is that of the readings that state a number, each with the worst of "
    "its errors."
)


def document(report: Report, command: str = "", made: datetime | None = None) -> Document:
    """Describe a reproduction for readers, with the command that made it, and when."""
    provenance = Provenance(report.replays)
    missed: Block = Text("None: every claim is met.")
    if report.deviations:
        missed = deviations(report)
    sections = [
        Section("Agreement", list(_agreement(report))),
        Section("Deviations", [missed]),
        Section("Figures", list(_figures(report))),
        Section(
            "Fitted, chosen and predicted",
            [Text(_ROLES), by_role(report), *provenance.determined()],
        ),
        Section("Where each value comes from", list(provenance.blocks())),
    ]
    return Document(report.title, [*_summary(report, command, made), *sections])


def _summary(report: Report, command: str, made: datetime | None) -> Iterator[Block]:
    yield Counts([(told, report.summary[one], one) for one, told in _COUNTED.items()])
    papers = dict.fromkeys(one.scenario.paper for one in report.replays)
    facts = {
        "papers and collections": ", ".join(papers),
        "replayed": f"{len(report.replays)} figures and tables",
        **{f"instead: {part}": name for part, name in report.instead.items()},
        "hcasim": __version__,
        "made": f"{made:%Y-%m-%d %H:%M %Z}".strip() if made else "",
        "took": "" if report.wall_seconds is None else f"{report.wall_seconds:.1f} s",
    }
    yield Facts([(name, one) for name, one in facts.items() if one])
    if command:
        yield Code(f"$ {command}")


def _agreement(report: Report) -> Iterator[Block]:
    if len(report.by_paper) > 1:
        yield by_paper(report.by_paper)
    yield Text(
        "The error is relative to what was published; the bar shows how much of the tolerance it "
        "takes, of which each half of the bar is all. A claim is fitted if a value was fitted to "
        "it or chosen from it, derived if it follows from such claims by arithmetic, and "
        "predicted otherwise."
    )
    yield claims(report)
    if report.summary["context"]:
        yield Section("Statements that nothing replays", [context(report)], folded=True)


def _figures(report: Report) -> Iterator[Block]:
    yield Text("Lines and bars are simulated, stars are what was published of single points.")
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
