"""Every claim of the papers that are replayed quickly."""

import pytest

from hcasim.papers.claim import Claim
from tests.published.claims import OTHERS, check_claim, check_share, claims, has_many_numbers

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("paper", "claim", "scenario"), claims(*OTHERS))
def test_the_replay_agrees_with_the_paper(paper: str, claim: Claim, scenario: str) -> None:
    check_claim(paper, claim, scenario)


@pytest.mark.parametrize("paper", [*filter(has_many_numbers, OTHERS)])
def test_nine_of_ten_claims_pass_outright(paper: str) -> None:
    check_share(paper)
