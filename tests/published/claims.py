"""What the tests of claims share: each paper is replayed once, by the worker that judges it."""

from functools import cache
from typing import Any

import pytest

from hcasim.papers.claim import Claim
from hcasim.papers.loader import list_papers, load_scenarios
from hcasim.papers.report import Report, reproduce

ALONE = ("liu2004", "modern", "sur2005")
"""Papers whose replay takes long, each with a file of tests of its own, for a worker of its own."""
CROWDS = ("modern/krcore-", "modern/n-to-1-", "modern/nvmf-", "modern/rc-swarm-")
"""What the ids of scenarios of many threads begin with, which take minutes."""
OTHERS = [paper for paper in list_papers() if paper not in ALONE]


def crowded(scenario: str) -> bool:
    """Whether many threads take part in a scenario."""
    return scenario.startswith(CROWDS)


@cache
def report(paper: str, crowds: bool = False) -> Report:
    """A paper, replayed once; the other workers need the other processors.

    Args:
        crowds: whether those of its scenarios in which many threads take part are replayed, or
            the others.
    """
    names = [one.id for one in load_scenarios([paper]) if crowded(one.id) is crowds]
    return reproduce(names, jobs=1)


def claims(*papers: str) -> list[Any]:
    return [
        pytest.param(scenario.paper, claim, scenario.id, id=f"{claim.id} {scenario.id}")
        for scenario in load_scenarios(papers)
        for claim in scenario.claims
    ]


def check_claim(paper: str, claim: Claim, scenario: str) -> None:
    replayed = report(paper, crowded(scenario))
    verdict = next(v for v in replayed.verdicts if v.id == claim.id)
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
