"""Every claim of the papers that are replayed quickly."""

import pytest

from hcasim.papers.claim import Claim
from tests.published.claims import OTHERS, check_claim, claims


@pytest.mark.parametrize(("paper", "claim", "scenario"), claims(*OTHERS))
def test_the_replay_agrees_with_the_paper(paper: str, claim: Claim, scenario: str) -> None:
    check_claim(paper, claim, scenario)
