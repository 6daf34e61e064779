"""The page on accuracy shows what there is: values of one source always, errors beside a report."""

import json
from pathlib import Path

import pytest

from tests.docs.site import accuracy

CLAIM = {
    "id": "N144",
    "section": "1",
    "system": "one",
    "statement": "latency of writes of 2 B",
    "published": 1.87,
    "unit": "us",
    "relation": "=",
    "scenario": "modern/connectx6-write-lat",
    "quantity": "latency",
    "kind": "value",
    "simulated": 1.9635,
    "error": 0.05,
    "role": "fitted",
    "first": "N144",
    "status": "pass",
    "note": "",
}
LEFT_OUT = {
    "source": "one/two",
    "numbers": 8,
    "medians": [0.01, 0.03],
    "values": [{"place": [], "value": "1 ns", "base": "2 ns", "of": "three"}],
    "claims": [{"id": "N144", "own": 0.05, "without": -0.2}],
}


def page() -> str:
    ((name, text),) = accuracy.pages()
    assert name == "reference/accuracy"
    return text


def test_it_shows_who_determined_each_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(accuracy.REPORT, raising=False)
    text = page()
    (line,) = (one for one in text.splitlines() if "stacks/rdma-core-lean.md" in one)
    for word in ("`doorbell`", "efficient/rdma\\_bench", "N177", "itself alone"):
        assert word in line
    assert "## By kind" not in text


def test_beside_a_report_it_shows_errors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(accuracy.REPORT, str(tmp_path / "reproduce.json"))
    (tmp_path / "reproduce.json").write_text(json.dumps({"claims": [CLAIM]}))
    assert "| latency | 5.0 % of 1 |  |  |" in page()
    assert "Each source without" not in page()
    (tmp_path / accuracy.LEFT_OUT).write_text(json.dumps([LEFT_OUT]))
    text = page()
    assert "| one/two | 8 | 1.0 % | 3.0 % | 3.0 | 1 of 1 |" in text
    assert "| latency | 5.0 % of 1 |  |  | 20.0 % of 1 |" in text
