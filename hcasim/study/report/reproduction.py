"""A reproduction of papers as a document."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from hcasim import __version__
from hcasim.pages import Block, Code, Counts, Document, Facts, Section, Text
from hcasim.papers.report import Report
from hcasim.study.report.agreement import (
    by_paper,
    by_role,
    claims,
    context,
    deviations,
)
from hcasim.study.report.figures import figures
from hcasim.study.report.provenance import Provenance

_COUNTED = {
    "pass": "claims pass",
    "deviation": "miss, with a documented deviation",
    "fail": "miss, and nothing says why",
    "context": "statements that nothing replays",
}


def document(report: Report, command: str = "", made: datetime | None = None) -> Document:
    """Describe a reproduction for readers.

    Parameters:
        report: what it found.
        command: that made it.
        made: when; left out without it.
    """
    provenance = Provenance(report.replays)
    sections = [
        Section("Agreement", list(_agreement(report))),
        Section("Deviations", list(_deviations(report))),
        Section("Figures", list(_figures(report))),
        Section("Fitted, chosen and predicted", [*_roles(report), *provenance.determined()]),
        Section("Where each value comes from", list(provenance.blocks())),
    ]
    return Document(report.title, [*_summary(report, command, made), *sections])


def _summary(report: Report, command: str, made: datetime | None) -> Iterator[Block]:
    yield Counts([(told, report.summary[one], one) for one, told in _COUNTED.items()])
    papers = list(dict.fromkeys(one.scenario.paper for one in report.replays))
    facts = [
        ("papers and collections", ", ".join(papers)),
        ("replayed", f"{len(report.replays)} figures and tables"),
        *((f"instead: {part}", name) for part, name in report.instead.items()),
        ("hcasim", __version__),
    ]
    if made is not None:
        facts.append(("made", f"{made:%Y-%m-%d %H:%M %Z}".strip()))
    if report.wall_seconds is not None:
        facts.append(("took", f"{report.wall_seconds:.1f} s"))
    yield Facts(facts)
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


def _deviations(report: Report) -> Iterator[Block]:
    if report.deviations:
        yield deviations(report)
    else:
        yield Text("None: every claim is met.")


def _figures(report: Report) -> Iterator[Block]:
    yield Text("Lines and bars are simulated, stars are what was published of single points.")
    yield from figures(report)


def _roles(report: Report) -> Iterator[Block]:
    yield Text(
        "Numbers that several claims repeat are one reading. Orders and limits are counted apart "
        "from numbers. The median error is that of the readings that state a number, each with the "
        "worst of its errors."
    )
    yield by_role(report)
