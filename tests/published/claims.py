"""What the tests of claims share: each paper is replayed once, by the worker that judges it."""

from functools import cache
from typing import Any

import pytest

from hcasim.papers.claim import Claim
from hcasim.papers.loader import list_papers, load_scenarios
from hcasim.papers.report import Report, reproduce

ALONE = ("liu2004", "modern", "sur2005")
"""Papers whose replay takes long, each with a file of tests of its own, for a worker of its own."""
LONG = (
    *("modern/krcore-", "modern/n-to-1-", "modern/nvmf-", "modern/rc-swarm-"),
    *("liu2004/fig18", "liu2004/fig19", "sur2005/fig4"),
)
"""What the ids of scenarios begin with that take minutes: of many threads, or whole programs."""
OTHERS = [paper for paper in list_papers() if paper not in ALONE]


def takes_minutes(scenario: str) -> bool:
    """Whether a scenario is among the long checks."""
    return scenario.startswith(LONG)


@cache
def report(paper: str, long: bool = False) -> Report:
    """A paper, replayed once; the other workers need the other processors.

    Args:
        long: whether those of its scenarios that take minutes are replayed, or the others.
    """
    names = [one.id for one in load_scenarios([paper]) if takes_minutes(one.id) is long]
    return reproduce(names, jobs=1)


def claims(*papers: str) -> list[Any]:
    """Each claim with its paper and scenario, marked by how long the replay takes."""
    return [
        pytest.param(
            scenario.paper,
            claim,
            scenario.id,
            id=f"{claim.id} {scenario.id}",
            marks=pytest.mark.long if takes_minutes(scenario.id) else pytest.mark.slow,
        )
        for scenario in load_scenarios(papers)
        for claim in scenario.claims
    ]


def check_claim(paper: str, claim: Claim, scenario: str) -> None:
    replayed = report(paper, takes_minutes(scenario))
    verdict = next(v for v in replayed.verdicts if v.id == claim.id)
    assert verdict.scenario == scenario
    said = f"{claim.statement}: published {verdict.published}, simulated {verdict.simulated}"
    if claim.deviation is None:
        assert verdict.status == "pass", f"{said} ({verdict.note})"
    else:
        assert verdict.status == "deviation", f"{said}: the documented deviation is none; remove it"
        # Of a limit that is missed, how far it is exceeded; of an order, how far from equality.
        limit = float(claim.published) if claim.kind == "threshold" else 1.0
        simulated = float(verdict.simulated or 0)
        error = verdict.error if verdict.error is not None else simulated / limit - 1
        assert abs(error - claim.deviation.error) <= 0.02, f"{said}: another deviation"


def check_share(paper: str) -> None:
    summary = report(paper).summary
    assert summary["pass"] >= 0.9 * (sum(summary.values()) - summary["context"])


def check_median(paper: str, role: str) -> None:
    error = report(paper).median_error(role)
    assert error is not None
    assert error <= 0.02
