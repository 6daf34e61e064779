"""A calibration is reported to people, to programs, and in the file that it makes."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hcasim import __version__
from hcasim.calibrate.fit import calibrate
from hcasim.calibrate.report import FitReport
from hcasim.catalog.fits import parse_fit
from tests.unit.calibrate.toys import QUEUE, RECEIVE, SEND, MakeFit, Observe


@pytest.fixture
def report(make_fit: MakeFit, observe: Observe, run: Any) -> FitReport:
    """Two parameters from two numbers, of which one is repeated."""
    fit = make_fit({SEND: (0, 2000), RECEIVE: SEND, QUEUE: (0, 2000)})
    seen = [
        observe("write_lat", "2.6", statement="a small write"),
        observe("send_lat", "3.3"),
        observe("write_lat", "2.6", id="again"),
    ]
    return calibrate(fit, seen, run=run)


def test_the_file_reads_back_as_the_result(report: FitReport) -> None:
    text = report.to_toml()
    assert parse_fit("invented", Path("invented.toml"), tomllib.loads(text)) == report.result
    entry = report.result.entries[RECEIVE]
    assert (entry.value, entry.tied_to) == ("800 ns", SEND)
    assert entry.interval == ("771 ns", "829 ns")


def test_the_file_keeps_what_was_set_by_hand(report: FitReport) -> None:
    result = report.result
    assert (result.id, result.title, result.notes) == ("invented", "title", "notes")
    assert result.entries[SEND].bounds == ("0 ns", "2000 ns")


def test_the_head_of_the_file_says_how_it_came_about(report: FitReport) -> None:
    head = [line for line in report.to_toml().splitlines() if line.startswith("#")]
    text = "\n".join(head)
    assert f"hcasim {__version__}" in head[0]
    assert "#     hcasim calibrate invented -o calibration/fits/invented.toml" in head
    assert "how exactly the numbers are printed" in text
    assert "write_lat, again  2.6 ± 0.05 us  fitted 2.600 us  a small write" in text
    assert f"{RECEIVE}: +1.00 {RECEIVE}, -1.00 {SEND}" in text


def test_the_tables_hold_parameters_observations_correlations_and_ties(
    report: FitReport,
) -> None:
    parameters, observations, correlations, ties = report.tables()
    assert parameters.rows[0] == (
        "1",
        SEND,
        "800 ns",
        "771 ns to 829 ns",
        "identified, given its ties",
    )
    assert observations.rows[0][2:] == ("2.6 ± 0.05 us", "2.600 us", "+0.00 %")
    assert correlations.rows[0] == ("1", "+1.00", "-0.71")
    assert ties.rows == [(RECEIVE, SEND, f"+1.00 {RECEIVE}, -1.00 {SEND}")]
    for table in report.tables():
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_the_report_is_json(report: FitReport) -> None:
    data = json.loads(json.dumps(report.to_dict()))
    (first, second) = data["parameters"]
    assert first["path"] == SEND
    assert first["value"] == "800 ns"
    assert first["interval"] == ["771 ns", "829 ns"]
    assert first["bounds"] == ["0 ns", "2000 ns"]
    assert first["also_sets"] == [RECEIVE]
    assert first["verdict"] == "identified"
    assert first["claims"] == ["write_lat"]
    assert second["correlation"][SEND] == pytest.approx(-0.71, abs=0.01)
    assert [one["id"] for one in data["observations"]] == ["write_lat", "send_lat"]
    assert data["observations"][0]["repeats"] == ["again"]
    assert data["observations"][0]["uncertainty"] == 0.05
    assert data["ties"][0]["separable"] is False
    assert data["evaluations"] == report.evaluations > 0
    assert data["converged"] is True
