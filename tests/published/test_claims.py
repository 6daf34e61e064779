"""Every claim of the four papers."""

import pytest

from hcasim.papers.report import Report
from tests.published.claims import check_claims, check_paper, each_scenario

PAPERS = ("benjegerdes2004", "liu2004", "rashti2007", "sur2005")


@pytest.mark.parametrize("scenario", each_scenario(*PAPERS))
def test_the_replay_agrees_with_the_paper(replayed: Report, scenario: str) -> None:
    check_claims(replayed, scenario)


@pytest.mark.check
# The only predicted number of sur2005 is that of the host's memory, a documented deviation.
@pytest.mark.parametrize(("paper", "role"), [("liu2004", "predicted"), ("sur2005", "fitted")])
def test_four_of_five_claims_pass_outright_and_numbers_are_near(paper: str, role: str) -> None:
    assert check_paper(paper, role) <= 0.02
