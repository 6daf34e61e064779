"""Every claim about newer adapters and buses."""

from pathlib import Path

import pytest

from hcasim.papers.report import Report
from tests.published.claims import check_claims, check_paper, each_scenario

PAPER = "modern"


@pytest.mark.parametrize("scenario", each_scenario(PAPER))
def test_the_replay_agrees_with_the_source(replayed: Report, scenario: str) -> None:
    check_claims(replayed, scenario)


@pytest.mark.check
def test_four_of_five_claims_pass_outright_and_the_readme_says_how_near_numbers_are() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert f"and {100 * check_paper(PAPER):.1f} % for `modern`" in readme
