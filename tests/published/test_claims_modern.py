"""Every claim about newer adapters and buses; those of many threads are among the long checks."""

import pytest

from hcasim.papers.claim import Claim
from tests.published.claims import ALONE, check_claim, check_median, check_share, claims, crowded

PAPER = "modern"
assert PAPER in ALONE

EACH = claims(PAPER)
QUICK = [one for one in EACH if not crowded(str(one.values[2]))]
CROWDS = [one for one in EACH if crowded(str(one.values[2]))]


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "claim", "scenario"), QUICK)
def test_the_replay_agrees_with_the_source(paper: str, claim: Claim, scenario: str) -> None:
    check_claim(paper, claim, scenario)


@pytest.mark.long
@pytest.mark.parametrize(("paper", "claim", "scenario"), CROWDS)
def test_the_replay_of_a_crowd_agrees_with_the_source(
    paper: str, claim: Claim, scenario: str
) -> None:
    check_claim(paper, claim, scenario)


@pytest.mark.slow
def test_numbers_are_off_by_two_percent_in_the_median_at_most() -> None:
    check_median(PAPER, "predicted")


@pytest.mark.slow
def test_nine_of_ten_claims_pass_outright() -> None:
    check_share(PAPER)
