"""The page on accuracy shows what there is: values of one source always, errors beside a report."""

import json
from pathlib import Path

import pytest

from hcasim.papers.verdict import Verdict
from tests.docs.site import accuracy
from tests.docs.site.bands import Coverage

CLAIM = {
    "id": "N260",
    "section": "1",
    "system": "one",
    "statement": "latency of writes of 2 B",
    "published": 1.87,
    "unit": "us",
    "relation": "=",
    "scenario": "modern/connectx3-write-lat",
    "quantity": "latency",
    "kind": "value",
    "simulated": 1.9635,
    "error": 0.05,
    "role": "fitted",
    "first": "N260",
    "status": "pass",
    "note": "",
    "low": 1.7,
    "high": 2.21,
    "bound_by": "switch",
    "evidence": "assumed",
}
LEFT_OUT = {
    "source": "one/two",
    "numbers": 8,
    "medians": [0.01, 0.03],
    "values": [{"place": [], "value": "1 ns", "base": "2 ns", "of": "three"}],
    "claims": [{"id": "N260", "own": 0.05, "without": -0.2}],
}


def page() -> str:
    ((name, text),) = accuracy.pages()
    assert name == "reference/accuracy"
    return text


def test_it_shows_who_determined_each_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(accuracy.REPORT, raising=False)
    text = page()
    (line,) = (one for one in text.splitlines() if "`completion.service`" in one)
    for word in ("adapters/connect_ib.md", "efficient/rdma\\_bench", "N179", "itself alone"):
        assert word in line
    assert "## By kind" not in text


def test_beside_a_report_it_shows_errors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(accuracy.REPORT, str(tmp_path / "reproduce.json"))
    (tmp_path / "reproduce.json").write_text(json.dumps({"claims": [CLAIM]}))
    assert "| latency | 5.0 % of 1 |  |  |" in page()
    assert "| fitted | 1 | 1 | 100 % | 1.30 | 1.30 to 1.30 |" in page()
    assert "Each source without" not in page()
    (tmp_path / accuracy.LEFT_OUT).write_text(json.dumps([LEFT_OUT]))
    text = page()
    assert "| one/two | 8 | 1.0 % | 3.0 % | 3.0 | 1 of 1 |" in text
    assert "| latency | 5.0 % of 1 |  |  | 20.0 % of 1 |" in text


def test_it_counts_what_lies_between_the_ends_each_number_once() -> None:
    def verdict(**more: object) -> Verdict:
        return Verdict.model_validate({**CLAIM, **more}, strict=False)

    found = Coverage.of(
        [
            verdict(),
            verdict(id="N261"),
            verdict(id="N262", first="N262", published=2.3),
            verdict(id="N263", first="N263", published=[2.2, 2.4], low=1.0, high=4.0),
            verdict(id="N264", first="N264", low=None, high=None),
            verdict(id="N265", first="N265", kind="ordering"),
        ]
    )
    assert (len(found.verdicts), len(found.known)) == (4, 3)
    assert found.inside == 2 / 3
    assert found.widths == pytest.approx([1.3, 1.3, 4.0])
    assert {*found.by(lambda one: one.evidence)} == {"assumed"}
