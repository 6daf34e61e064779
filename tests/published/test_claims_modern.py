"""Every claim about newer adapters and buses."""

import pytest

from hcasim.papers.claim import Claim
from tests.published.claims import ALONE, check_claim, check_median, check_share, claims

PAPER = "modern"
assert PAPER in ALONE


@pytest.mark.parametrize(("paper", "claim", "scenario"), claims(PAPER))
def test_the_replay_agrees_with_the_source(paper: str, claim: Claim, scenario: str) -> None:
    check_claim(paper, claim, scenario)


@pytest.mark.slow
def test_numbers_are_off_by_two_percent_in_the_median_at_most() -> None:
    check_median(PAPER, "predicted")


@pytest.mark.slow
def test_nine_of_ten_claims_pass_outright() -> None:
    check_share(PAPER)
