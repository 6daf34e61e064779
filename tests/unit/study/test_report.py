"""A reproduction judges every statement once and says what is missed."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from hcasim.catalog import CatalogError
from hcasim.study import load_scenario, reproduce
from hcasim.study.report import COLUMNS

Simulated = Callable[[], list[Any]]


@pytest.fixture(autouse=True)
def _no_simulation(simulated: Simulated) -> None:
    """All tests here judge invented numbers."""


def test_a_scenario_s_claims_bring_the_series_they_refer_to(simulated: Simulated) -> None:
    report = reproduce(["liu2004/fig05"], jobs=1)
    assert {v.id for v in report.verdicts} == {
        claim.id for claim in load_scenario("liu2004/fig05").claims
    }
    assert [one.scenario.id for one in report.replays] == ["liu2004/fig05"]
    assert {name for name, *_ in simulated()} == {
        "write_lat",
        "send_lat",
        "read_lat",
        "atomic_lat",
    }


def test_a_paper_brings_all_its_statements_in_order() -> None:
    report = reproduce(["liu2004"])
    assert [v.id for v in report.verdicts] == [f"LIU-{n:03d}" for n in range(1, 106)]
    assert len(report.replays) == 10


def test_without_a_name_all_papers_are_reproduced() -> None:
    assert reproduce().summary == reproduce(["liu2004"]).summary


def test_an_unknown_paper_is_a_fault() -> None:
    with pytest.raises(CatalogError, match="did you mean 'liu2004'"):
        reproduce(["liu2005"])


def test_the_summary_counts_each_statement_once() -> None:
    report = reproduce(["liu2004"])
    assert sum(report.summary.values()) == 105
    assert report.summary["fail"] > 0
    assert not report.ok


def test_every_miss_is_explained_or_said_to_be_unexplained() -> None:
    report = reproduce(["liu2004"])
    lines = report.closing_lines()
    for verdict in report.deviations:
        assert any(line.startswith(f"{verdict.id}: missed, and no deviation") for line in lines)


def test_the_report_is_the_json_of_the_design() -> None:
    data = json.loads(json.dumps(reproduce(["liu2004"]).to_dict()))
    assert list(data) == ["hcasim", "wall_seconds", "summary", "claims"]
    assert list(data["summary"]) == ["pass", "fail", "deviation", "context"]
    keys = {
        "id",
        "scenario",
        "system",
        "quantity",
        "kind",
        "published",
        "unit",
        "relation",
        "simulated",
        "error",
        "tolerance",
        "role",
        "status",
        "note",
    }
    assert all(keys <= set(claim) for claim in data["claims"])


def test_the_error_in_the_report_is_relative_and_signed() -> None:
    by_id = {v.id: v for v in reproduce(["liu2004/fig03"], jobs=1).verdicts}
    assert by_id["LIU-041"].error == pytest.approx(4.004 / 3.8 - 1)
    assert by_id["LIU-041"].role == "fitted"


def test_the_table_has_a_text_for_each_column() -> None:
    report = reproduce(["liu2004"])
    assert all(len(row) == len(COLUMNS) for row in report.rows())
    assert len(report.rows()) == 105 - report.summary["context"]
    assert "<table>" in report._repr_html_()


def test_the_median_error_is_that_of_the_role() -> None:
    report = reproduce(["liu2004/fig03"], jobs=1)
    assert report.median_error("fitted") == pytest.approx(4.004 / 3.8 - 1)
    assert report.median_error("nobody") is None
