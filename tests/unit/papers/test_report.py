"""A reproduction judges every statement once and says what is missed."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from hcasim.papers.loader import list_papers, load_scenario
from hcasim.papers.report import COLUMNS, Report, reproduce
from hcasim.papers.verdict import Verdict

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


def test_a_report_is_a_table_with_a_row_for_each_claim() -> None:
    report = reproduce(["liu2004/fig05"], adapter="mt25218")
    table = report.to_pandas()
    claims = report.to_dict()["claims"]
    assert table["id"].tolist() == [one["id"] for one in claims]
    assert list(table) == [*claims[0], "adapter"]
    assert set(table["adapter"]) == {"mt25218"}
    assert table["simulated"].dropna().tolist() == [
        one["simulated"] for one in claims if one["simulated"] is not None
    ]


@pytest.mark.check
def test_without_a_name_all_papers_are_reproduced() -> None:
    summaries = [reproduce([paper], jobs=1).summary for paper in list_papers()]
    assert len(summaries) > 1
    assert reproduce(jobs=1).summary == {
        status: sum(one[status] for one in summaries) for status in summaries[0]
    }


def test_a_paper_brings_all_its_statements_in_order_and_each_counts_once() -> None:
    report = reproduce(["liu2004"], jobs=1)
    every = [v.id for v in report.verdicts]
    assert [one for one in every if one.count("-") == 1] == [f"LIU-{n:03d}" for n in range(1, 117)]
    assert len(report.replays) == 18
    assert sum(report.summary.values()) == len(every)
    assert report.summary["fail"] > 0
    assert not report.ok
    assert all(len(row) == len(COLUMNS) for row in report.lines())
    assert len(report.lines()) - 1 == len(every) - report.summary["context"]
    assert "<table>" in report._repr_html_()
    # Every miss is explained, or said to be unexplained.
    lines = report.closing_lines()
    assert {verdict.status for verdict in report.deviations} == {"fail", "deviation"}
    for verdict in report.deviations:
        line = next(line for line in lines if line.startswith(f"{verdict.id}: "))
        assert ("missed, and no deviation is documented" in line) == (verdict.status == "fail")
    data = json.loads(json.dumps(report.to_dict()))
    head = ["schema", "version", "hcasim", "wall_seconds", "summary", "claims", "scenarios"]
    assert list(data) == head
    assert list(data["summary"]) == ["pass", "fail", "deviation", "context", "roles", "bases"]
    assert list(data["summary"]["roles"]) == ["fitted", "derived", "predicted"]
    counts = {"claims", "readings", "numbers", "orders", "limits"}
    assert all(set(one) == counts for one in data["summary"]["roles"].values())
    shown = {"id", "section", "system", "statement", "published", "unit", "relation", "scenario"}
    shown |= {"quantity", "kind", "simulated", "error", "tolerance", "role", "first", "status"}
    shown |= {"low", "high", "bound_by", "evidence", "basis", "decisive"}
    assert all(shown | {"note"} == set(claim) for claim in data["claims"])


def test_errors_are_relative_and_signed_and_their_median_is_that_of_a_role() -> None:
    report = reproduce(["liu2004/fig03"], jobs=1)
    by_id = {v.id: v for v in report.verdicts}
    each = [4.004 / 3.8 - 1, 5.004 / 4.8 - 1]
    assert [by_id[name].error for name in ("LIU-041", "LIU-042")] == pytest.approx(each)
    assert by_id["LIU-041"].role == "fitted"
    assert report.median_error("fitted") == pytest.approx(sum(each) / 2)
    assert report.median_error("nobody") is None
    assert 0 < report.replays[0].wall_seconds <= report.wall_seconds < 60


def a_verdict(**fields: Any) -> Verdict:
    """A verdict that could be any."""
    ordinary: dict[str, Any] = {"section": "I", "system": "a machine", "statement": "a statement"}
    ordinary |= dict.fromkeys(("id", "first"), "X-1") | {"scenario": "x/fig01", "note": ""}
    ordinary["role"] = "predicted"
    ordinary |= {"quantity": "latency", "kind": "value", "published": 4.0, "unit": "us"}
    ordinary |= {"relation": "=", "simulated": 4.1, "error": 0.025, "status": "pass"}
    return Verdict(**(ordinary | fields))


def test_what_claims_rest_on_stands_in_place_of_roles_where_it_was_computed() -> None:
    known = a_verdict(id="X-1", basis="forced")
    verdicts = (known, a_verdict(id="X-2", first="X-2", error=0.5))
    report = Report(verdicts, (), None)
    assert [row[-2] for row in report.lines()[1:]] == ["forced", "predicted"]
    assert [name for name, one in report.bases.items() if one["claims"]] == [
        "forced",
        "not computed",
    ]
    closing = "\n".join(report.closing_lines())
    assert "forced: 1 claims about 1 readings: 1 numbers (median error 2.5 %)" in closing
    assert "not computed: 1 claims about 1 readings: 1 numbers (median error 50.0 %)" in closing
    alone = Report((*verdicts[1:], a_verdict(status="context")), (), None)
    assert len(alone.lines()) == 2
    assert "not computed" not in "\n".join(alone.closing_lines())


ORDER = {"kind": "ordering", "published": "a < b", "error": None, "unit": "", "simulated": 0.75}


@pytest.mark.parametrize(
    ("fields", "published", "simulated", "error"),
    [
        ({}, "4 us", "4.10 us", "+2.5 %"),
        ({"relation": "~", "error": -0.0312}, "~ 4 us", "4.10 us", "-3.1 %"),
        ({"published": (20.0, 30.0), "unit": "%"}, "20 to 30 %", "4.1 %", "+2.5 %"),
        ({"published": 972.0, "unit": "MB/s", "simulated": 971.6}, "972 MB/s", "972 MB/s", None),
        ({"published": 1.24, "unit": "x", "relation": "<="}, "<= 1.24 x", "4.100 x", None),
        (ORDER, "a < b", "0.750 x", ""),
    ],
)
def test_numbers_are_written_as_papers_do(
    fields: dict[str, Any], published: str, simulated: str, error: str | None
) -> None:
    row = dict(zip(COLUMNS, Report((a_verdict(**fields),), (), 0.0).lines()[1], strict=True))
    assert (row["published"], row["simulated"]) == (published, simulated)
    if error is not None:
        assert row["error"] == error


def test_the_report_closes_with_explanations_counts_and_medians() -> None:
    verdicts = (
        a_verdict(error=-0.01),
        a_verdict(id="X-7", first="X-7", error=0.03),
        a_verdict(id="X-8", first="X-7", error=-0.02),
        a_verdict(role="fitted", error=0.001),
        a_verdict(id="X-2", first="X-2", error=0.5, status="deviation", note="it is so; because"),
        a_verdict(id="X-3", first="X-3", kind="ordering", error=None, status="fail", note="4 to 5"),
        a_verdict(id="X-6", first="X-1", kind="ordering", error=0.9),
        a_verdict(id="X-4", first="X-4", kind="threshold", error=None, status="fail"),
        a_verdict(id="X-5", error=None, status="context", role="context"),
    )
    assert not Report(verdicts, (), 0.0).ok
    assert Report(verdicts[4:5], (), 0.0).ok
    assert Report(verdicts, (), 0.0).closing_lines() == [
        "X-2: it is so; because",
        "X-3: missed, and no deviation is documented (4 to 5)",
        "X-4: missed, and no deviation is documented",
        "5 pass, 2 fail, 1 deviation (documented), 1 context (not replayed)",
        "fitted: 1 claims about 1 readings: 1 numbers (median error 0.1 %), 0 orders, 0 limits",
        "predicted: 7 claims about 5 readings: 3 numbers (median error 3.0 %), 1 orders, 1 limits",
    ]


def test_the_text_of_a_deviation_comes_once() -> None:
    notes = {
        "X-1": "so much; 2 to 3; it is so",
        "X-2": "so much; 2 to 3; it is so",
        "X-3": "less; it is so",
        "X-4": "it",
        "X-5": "",
        "X-6": "",
    }
    verdicts = [a_verdict(id=name, status="deviation", note=note) for name, note in notes.items()]
    assert Report(tuple(verdicts), (), 0.0).closing_lines()[:6] == [
        "X-1: so much; 2 to 3; it is so",
        "X-2: as X-1",
        "X-3: less; as X-1",
        "X-4: it",
        "X-5: ",
        "X-6: ",
    ]


def test_an_overview_has_a_line_for_each_paper_and_kind_of_miss_with_the_largest_first() -> None:
    verdicts = [
        a_verdict(id="a1", error=0.01),
        a_verdict(id="a2", error=None, status="deviation"),
        *(a_verdict(id=f"b{n}", error=-n / 10, status="deviation") for n in range(1, 9)),
        a_verdict(id="b9", error=0.5, status="fail"),
        a_verdict(id="b10", error=None, status="context", role="context"),
    ]
    found = [
        one.model_copy(update={"scenario": f"{one.id[0]}/fig01", "first": one.id})
        for one in verdicts
    ]
    assert list(Report(tuple(found), (), 12.4).overview()) == [
        (
            "Published and simulated: 0 figures in 12 s; "
            "1 of 11 claims pass, 9 documented deviations, 1 missed"
        ),
        "a: 1 of 2 claims pass, 1 documented deviation",
        "b: 0 of 9 claims pass, 8 documented deviations, 1 missed",
        "predicted: 11 numbers, median error 45.0 %",
        (
            "Documented deviations, the largest first: b8 -80.0 %, b7 -70.0 %, b6 -60.0 %, "
            "b5 -50.0 %, b4 -40.0 %, b3 -30.0 %, b2 -20.0 %, b1 -10.0 % and 1 more"
        ),
        "Missed, and no deviation is documented: b9 +50.0 %",
    ]
    assert len(list(Report(tuple(found[:1]), (), None).overview())) == 2
