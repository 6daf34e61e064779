"""What the tests of claims share: what each scenario is held to."""

from typing import Any

import pytest

from hcasim.papers.claim import Claim
from hcasim.papers.loader import load_scenarios
from hcasim.papers.report import Report, reproduce
from hcasim.papers.verdict import Verdict

GUARDS = frozenset(
    {
        *(f"benjegerdes2004/{name}" for name in ("fig06", "tpt")),
        *(f"liu2004/{name}" for name in ("fig02", "fig03", "fig04", "fig05", "fig06")),
        *(f"rashti2007/{name}" for name in ("fig2", "fig3", "fig4", "fig5")),
        *(f"sur2005/{name}" for name in ("fig2", "fig3c", "white-paper")),
        *(
            f"modern/{name}"
            for name in ("connectx3-atomics", "connectx3-write-lat", "loopback-lat")
        ),
    }
)
"""Scenarios that `make test` replays, of each paper some that cost little."""


def each_scenario(*papers: str) -> list[Any]:
    """The id of each scenario of papers."""
    return [
        pytest.param(one.id, marks=[] if one.id in GUARDS else pytest.mark.check)
        for one in load_scenarios(papers)
    ]


def check_claims(replayed: Report, scenario: str) -> None:
    """Judge all claims of a scenario."""
    claims = {claim.id: claim for one in load_scenarios([scenario]) for claim in one.claims}
    verdicts = {one.id: one for one in replayed.verdicts if one.scenario == scenario}
    assert verdicts.keys() == claims.keys()
    found = [fault(claims[name], verdict) for name, verdict in verdicts.items()]
    assert [one for one in found if one] == []


def fault(claim: Claim, verdict: Verdict) -> str | None:
    """What is wrong with what came of a claim."""
    said = f"{claim.id} {claim.statement}: published {verdict.published}"
    said += f", simulated {verdict.simulated}"
    if claim.deviation is None:
        return None if verdict.status == "pass" else f"{said} ({verdict.note})"
    if verdict.status != "deviation":
        return f"{said}: the documented deviation is none; remove it"
    # Of a limit that is missed, how far it is exceeded; of an order, how far from equality.
    limit = float(claim.published) if claim.kind == "threshold" else 1.0
    simulated = float(verdict.simulated or 0)
    error = verdict.error if verdict.error is not None else simulated / limit - 1
    return None if abs(error - claim.deviation.error) <= 0.02 else f"{said}: another deviation"


def check_paper(paper: str, role: str = "predicted") -> float:
    """Four of five claims pass outright; return how far off the median number is."""
    replayed = reproduce(paper, jobs=1)
    summary = replayed.summary
    assert summary["pass"] >= 0.8 * (sum(summary.values()) - summary["context"])
    error = replayed.median_error(role)
    assert error is not None
    return error
