"""What the tests of claims share: each paper is replayed once, by the worker that judges it."""

from functools import cache
from typing import Any

import pytest

from hcasim.papers.claim import Claim
from hcasim.papers.loader import list_papers, load_scenarios
from hcasim.papers.report import Report, reproduce

ALONE = ("liu2004", "sur2005")
"""Papers whose replay takes long, each with a file of tests of its own, for a worker of its own."""
OTHERS = [paper for paper in list_papers() if paper not in ALONE]


@cache
def report(paper: str) -> Report:
    """A paper, replayed once; the other workers need the other processors."""
    return reproduce([paper], jobs=1)


def claims(*papers: str) -> list[Any]:
    return [
        pytest.param(scenario.paper, claim, scenario.id, id=f"{claim.id} {scenario.id}")
        for scenario in load_scenarios(papers)
        for claim in scenario.claims
    ]


def check_claim(paper: str, claim: Claim, scenario: str) -> None:
    verdict = next(v for v in report(paper).verdicts if v.id == claim.id)
    assert verdict.scenario == scenario
    said = f"{claim.statement}: published {verdict.published}, simulated {verdict.simulated}"
    if claim.deviation is None:
        assert verdict.status == "pass", f"{said} ({verdict.note})"
    else:
        assert verdict.status == "deviation", f"{said}: the documented deviation is none; remove it"
        # Of an order that is missed, how far the ratio is from equality.
        error = verdict.error if verdict.error is not None else float(verdict.simulated or 0) - 1
        assert abs(error - claim.deviation.error) <= 0.02, f"{said}: another deviation"


def check_share(paper: str) -> None:
    summary = report(paper).summary
    assert summary["pass"] >= 0.9 * (sum(summary.values()) - summary["context"])


def check_median(paper: str, role: str) -> None:
    error = report(paper).median_error(role)
    assert error is not None
    assert error <= 0.02
