"""Every claim about newer adapters and buses."""

import pytest

from hcasim.papers.report import Report
from tests.published.claims import check_claims, check_paper, each_scenario

PAPER = "modern"


@pytest.mark.parametrize("scenario", each_scenario(PAPER))
def test_the_replay_agrees_with_the_source(replayed: Report, scenario: str) -> None:
    check_claims(replayed, scenario)


@pytest.mark.check
def test_four_of_five_claims_pass_outright_and_numbers_are_near() -> None:
    check_paper(PAPER, near=0.025)
