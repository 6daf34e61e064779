"""A claim tests the sizes that its sentence covers, not those that pass."""

import pytest

from hcasim.papers.loader import list_papers, load_context
from hcasim.papers.plan import Plan, plan_papers
from tests.docs.site.covered import Sentence, lines_of, read_by, read_sentences
from tests.published.test_statements import GATHERED

NARROWER = {
    "BEN-014": "the limit is said to be between 1 and 2 MB: what is beyond both is larger",
    "BEN-015": "likewise: of all sizes up to 1 MB against all beyond 2 MB",
    "BEN-019": "it drops from 2 KB on and is back at 128 KB: both ends, against what is between",
    "LIU-089": "a drop at 8 KB is one against the sizes before it",
    "RAS-013": "independent of the size: the largest against the smallest",
    "RAS-027": "the longest that overlap much are told by the next ones, which do not",
    "SUR-020": "the abstract and sections 1 and 7 say 4 KB, this sentence 8",
}
"""Claims that test fewer of the simulated sizes than the sentence covers, and why."""


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    return list(plan_papers())


def test_each_statement_of_the_papers_is_read_once(plans: list[Plan]) -> None:
    claimed = {claim.id for one in plans for claim in one.scenario.claims}
    papers = [one for one in list_papers() if one not in GATHERED]
    context = {one.id for paper in papers for one in load_context(paper)}
    assert not claimed & context
    assert read_sentences().keys() <= claimed | context
    assert len(read_sentences()) == 194


def test_a_claim_tests_all_simulated_sizes_that_its_sentence_covers(plans: list[Plan]) -> None:
    sentences, lines = read_sentences(), lines_of(plans)
    narrower = set()
    for plan in plans:
        for claim in plan.scenario.claims:
            sentence = sentences.get(claim.id, Sentence(claim.id, "", "", ""))
            found = read_by(plan.scenario, claim, lines)
            if plan.scenario.options.axis.name == "size" and any(
                sentence.covers(size) and size not in found.x for size in found.every
            ):
                narrower.add(claim.id)
    assert narrower == NARROWER.keys()
