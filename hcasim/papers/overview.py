"""A reproduction in a few lines: how many claims agree, paper by paper, and which do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hcasim.papers.report import Report
from hcasim.papers.verdict import Verdict

_SHOWN = 8
"""Claims that a line names."""


def overview(report: Report) -> Iterator[str]:
    """Yield a line for all, one for each paper if there are several, and one for each kind of miss.

    Parameters:
        report: what was found.
    """
    took = "" if report.wall_seconds is None else f" in {report.wall_seconds:.0f} s"
    yield f"{report.title}: {_count(len(report.replays), 'figure')}{took}; {_agreement(report)}"
    papers: dict[str, list[Verdict]] = {}
    for one in report.verdicts:
        papers.setdefault(one.scenario.partition("/")[0], []).append(one)
    if len(papers) > 1:
        for name, own in papers.items():
            yield f"{name}: {_agreement(replace(report, verdicts=tuple(own)))}"
    roles = []
    for role, count in report.roles.items():
        error = report.median_error(role)
        if error is not None:
            numbers = _count(count["numbers"], "number")
            roles.append(f"{role}: {numbers}, median error {100 * error:.1f} %")
    if roles:
        yield "; ".join(roles)
    missed = report.deviations
    documented = [one for one in missed if one.status == "deviation"]
    others = [one for one in missed if one.status == "fail"]
    if documented:
        yield f"Documented deviations, the largest first: {_named(documented)}"
    if others:
        yield f"Missed, and no deviation is documented: {_named(others)}"


def _agreement(report: Report) -> str:
    counts = report.summary
    judged = counts["pass"] + counts["fail"] + counts["deviation"]
    text = f"{counts['pass']} of {_count(judged, 'claim')} pass"
    if counts["deviation"]:
        text += f", {_count(counts['deviation'], 'documented deviation')}"
    if counts["fail"]:
        text += f", {counts['fail']} missed"
    return text


def _named(verdicts: Sequence[Verdict]) -> str:
    """Name claims, those that are missed by most first: by how much, where that is a number."""
    largest = sorted(verdicts, key=lambda one: -abs(one.error or 0.0))
    shown = [f"{one.id} {one.texts[2]}".rstrip() for one in largest[:_SHOWN]]
    more = len(largest) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
