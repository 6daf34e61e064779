"""What claims rest on was computed for the claims, the curves and the machines as they are."""

import pytest

from hcasim.papers.evidence import digest_of, lines_of, read_evidence
from hcasim.papers.loader import list_papers, list_scenarios, load_scenario
from hcasim.papers.verdict import NUMBERS
from tests.published.test_statements import GATHERED

pytestmark = pytest.mark.check

UNSTUDIED = """
benjegerdes2004/fig05 benjegerdes2004/fig06 benjegerdes2004/fig07 liu2004/fig06 liu2004/fig07
liu2004/fig08 liu2004/fig09 liu2004/fig10 liu2004/fig11 liu2004/fig13 liu2004/fig14 liu2004/fig15
liu2004/fig16 liu2004/fig17 liu2004/fig18 liu2004/fig19 rashti2007/fig10 rashti2007/fig5
rashti2007/fig6 rashti2007/fig7 rashti2007/fig8a rashti2007/fig8b rashti2007/fig9 sur2005/fig3b
sur2005/fig4 sur2005/table1
"""
"""Of the four papers: nobody has waited for these yet."""


def test_what_is_studied_is_known() -> None:
    papers = [one for one in list_papers() if one not in GATHERED]
    named = [one for paper in papers for one in list_scenarios(paper) if load_scenario(one).claims]
    assert {*named} - read_evidence().keys() == {*UNSTUDIED.split()}


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
