"""A claim tests the series and sizes that its sentence covers, not those that pass."""

import pytest

from hcasim.papers.claim import Claim
from hcasim.papers.loader import list_papers, load_context
from hcasim.papers.plan import Plan, plan_papers
from tests.docs.site.covered import Sentence, lines_of, missed_by, read_by, read_sentences
from tests.published.test_statements import CAUSE, GATHERED

NARROWER = {
    "BEN-013": "the sizes at which the limits of eager messages decide, 2 to 64 KB",
    "BEN-014": "other graphs are not named: raw VAPI; what is beyond 1 and 2 MB, against all below",
    "BEN-015": "the limit is said to be between 1 and 2 MB: up to 1 MB against all beyond 2 MB",
    "BEN-018": "around 10K: of the sizes beside it, 8K and 12K, both are read",
    "BEN-019": "it drops from 2 KB on and is back at 128 KB: both ends, against what is between",
    "LIU-003": "a summary: atomic operations are those of LIU-047, which reads all",
    "LIU-046": "an atomic operation of 8 B, against a read of 4 B",
    "LIU-089": "a drop at 8 KB is one against the sizes before it",
    "RAS-013": "independent of the size: the largest against the smallest",
    "RAS-014": "short messages: the shortest",
    "RAS-023": "what medium messages reach of large ones: 64 KB of 256",
    "RAS-031": "costs more for larger buffers: the largest against the smallest",
    "SUR-006": "said of 128 queue pairs",
    "SUR-020": "the abstract and sections 1 and 7 say 4 KB, this sentence 8",
    "SUR-036": "said of 128 queue pairs",
    "SUR-040": "no degradation by misses: where all miss, against where none does",
}
"""Claims that test fewer of the simulated sizes or series than the sentence covers, and why."""

NEW = """
LIU-106; largest; PCIe bi-directional, 1 port; PCIe uni-directional; almost doubles
LIU-107; largest; PCI-X both ports; even PCI-X with Double Data Rate cannot fully take advantage
LIU-108; all; PCIe strip; PCI-X strip; using both ports ... performs significantly better
LIU-109; all; PCIe strip; PCIe binding; PCI-X strip; PCI-X binding; performs much better than PCI-X
LIU-110; all; PCIe strip; PCIe binding; PCI-X strip; PCI-X binding; much higher aggregate bandwidth
LIU-111; all; PCIe RDMA write; PCI-X RDMA write; can improve latency performance
LIU-112; all; PCIe RDMA read; PCI-X RDMA read; can improve latency performance
LIU-113; all; PCIe MPI; PCI-X MPI; can achieve significant performance benefits
LIU-114; all; PCIe MPI; PCI-X MPI; can significantly improve performance even with a single port
LIU-115; largest; PCIe both ports; PCIe one port; can deliver significant performance improvements
LIU-116; all; PCI-X; communication performance can be adversely affected by I/O operations
RAS-029; 1; RDMA write; from the latency of MPI and its overhead
RAS-030; 65537..; overlap, send; overlap, receive; drops sharply afterwards
RAS-031; all; registration; deregistration cost is almost independent of the buffer size
RAS-032; 65537..; both-way; ping-pong; unidirectional; to saturate the network
SUR-039; all; MemFree; Mem; the rows of Table 1
SUR-040; all; MemFree; Mem; misses do not cause any degradation in bandwidth
SUR-041; all; MemFree; Mem; as the QPs are allocated more Host memory is being utilized
"""
"""Claims about sentences that are none of the 194: sizes, series, and words of the sentence."""


@pytest.fixture(scope="module")
def claims() -> list[tuple[Plan, Claim]]:
    papers = [one for one in plan_papers() if one.scenario.paper not in GATHERED]
    return [(one, claim) for one in papers for claim in one.scenario.claims]


@pytest.fixture(scope="module")
def sentences() -> dict[str, Sentence]:
    rows = [line.split("; ") for line in NEW.strip().splitlines()]
    new = {name: Sentence(name, "", sizes, "; ".join(series)) for name, sizes, *series, _ in rows}
    assert len(new) == len(rows)
    assert not new.keys() & read_sentences().keys()
    return read_sentences() | new


def test_each_statement_of_the_papers_is_read_once(claims: list[tuple[Plan, Claim]]) -> None:
    claimed = {claim.id for _, claim in claims}
    papers = [one for one in list_papers() if one not in GATHERED]
    context = {one.id for paper in papers for one in load_context(paper)}
    assert not claimed & context
    assert read_sentences().keys() <= claimed | context
    assert len(read_sentences()) == 194


def test_each_claim_is_about_a_sentence(
    claims: list[tuple[Plan, Claim]], sentences: dict[str, Sentence]
) -> None:
    claimed = {claim.id.removesuffix(CAUSE) for _, claim in claims}
    assert claimed - sentences.keys() == set()
    assert sentences.keys() - read_sentences().keys() <= claimed


def test_a_claim_tests_the_series_and_all_simulated_sizes_that_its_sentence_covers(
    claims: list[tuple[Plan, Claim]], sentences: dict[str, Sentence]
) -> None:
    """A cause is tested where its effect is clear, beside the claim about the effect."""
    lines = lines_of(plan_papers())
    found = {
        claim.id: [*missed_by(sentences[claim.id], read_by(plan.scenario, claim, lines))]
        for plan, claim in claims
        if claim.kind != "cause"
    }
    assert {name: missed for name, missed in found.items() if missed and name not in NARROWER} == {}
    assert [name for name in NARROWER if not found[name]] == []


def test_each_cause_is_taken_away_or_it_is_said_why_not(
    claims: list[tuple[Plan, Claim]], sentences: dict[str, Sentence]
) -> None:
    named = [one.cause for one in read_sentences().values() if one.cause]
    tested = [one for one in named if one.endswith(CAUSE)]
    causes = {claim.id for _, claim in claims if claim.kind == "cause"} - sentences.keys()
    assert {*tested} == causes
    assert {one: sentences[one.removesuffix(CAUSE)].cause for one in causes} == {
        one: one for one in causes
    }
    rest = [one.partition(": ") for one in named if one not in causes]
    assert {name for name, _, _ in rest} == {"itself", "untested", "refuted"}
    assert all(why for _, _, why in rest)
