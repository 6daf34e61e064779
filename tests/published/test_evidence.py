"""What claims rest on was computed for the claims, the curves and the machines as they are."""

import pytest

from hcasim.papers.evidence import digest_of, lines_of, read_evidence
from hcasim.papers.loader import list_scenarios, load_scenario
from hcasim.papers.verdict import NUMBERS

pytestmark = pytest.mark.check


@pytest.mark.parametrize("name", sorted(read_evidence()))
def test_nothing_that_was_studied_has_changed_since(name: str) -> None:
    """Otherwise make it again: make evidence PAPERS=liu2004/fig03."""
    assert name in list_scenarios()
    scenario = load_scenario(name)
    studied = read_evidence()[name]
    assert studied.digest == digest_of(scenario, lines_of(scenario))
    assert {*studied.claims} == {one.id for one in scenario.claims}
    for claim in scenario.claims:
        rests = studied.claims[claim.id]
        assert rests.holds == (claim.deviation is None)
        if claim.kind in NUMBERS and claim.deviation is None:
            assert rests.value > 0
