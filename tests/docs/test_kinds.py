"""Claims are sorted by what was measured, and numbers that repeat each other count once."""

import pytest

from hcasim.papers.plan import plan_papers
from hcasim.papers.verdict import Verdict, errors_of
from tests.docs.site.kinds import Kind, kinds_of

KINDS: dict[str, Kind] = {
    "H285": "bus",
    "N004": "rate of one thread",
    "N021": "bandwidth",
    "N260": "latency",
    "N163": "many queue pairs",
    "N675": "many queue pairs",
    "LIU-006": "bandwidth",
    "LIU-041": "latency",
    "LIU-081": "MPI",
    "RAS-012": "memory and time",
    "SUR-037": "MPI",
}


def test_a_claim_is_about_what_was_measured() -> None:
    found = kinds_of(plan_papers())
    assert {name: found[name] for name in KINDS} == KINDS


def verdict(name: str, error: float | None, first: str, kind: str = "value") -> Verdict:
    said = {"section": "1", "system": "one", "statement": "one", "published": 1.0, "relation": "="}
    own = {"id": name, "first": first, "kind": kind, "error": error}
    return Verdict.model_validate({"scenario": "own/one", "note": "", **said, **own}, strict=False)


@pytest.mark.parametrize(
    ("kind", "errors"), [("value", [0.3, 0.1]), ("ratio", [0.3, 0.1]), ("threshold", [0.1])]
)
def test_of_a_number_the_worst_error_counts(kind: str, errors: list[float]) -> None:
    verdicts = [
        verdict("A-1", -0.3, "A-1", kind),
        verdict("A-2", 0.1, "A-1", kind),
        verdict("A-3", -0.1, "A-3"),
        verdict("A-4", None, "A-4", "ordering"),
    ]
    assert errors_of(verdicts) == errors
