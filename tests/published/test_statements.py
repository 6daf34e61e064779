"""The statements of liu2004 are entered completely, correctly and once."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from hcasim.catalog import load, resolve
from hcasim.study import Scenario, load_context, load_scenarios
from hcasim.study.claims import Claim, Context

SCENARIOS = load_scenarios(["liu2004"])
CLAIMS = {claim.id: claim for scenario in SCENARIOS for claim in scenario.claims}
CONTEXT = {context.id: context for context in load_context("liu2004")}
NUMBERED = [f"LIU-{number:03d}" for number in range(1, 106)]
FITTED = {"LIU-004", "LIU-038", "LIU-039", "LIU-041", "LIU-044", "LIU-045", "LIU-057"}

with (Path(__file__).with_name("liu2004.csv")).open(newline="") as stream:
    SECOND_READING = {row["id"]: row for row in csv.DictReader(stream)}


def test_every_numbered_statement_has_exactly_one_place() -> None:
    places = Counter([claim.id for scenario in SCENARIOS for claim in scenario.claims])
    places.update(context.id for context in load_context("liu2004"))
    assert sorted(places) == NUMBERED
    assert set(places.values()) == {1}


@pytest.mark.parametrize("identifier", NUMBERED)
def test_a_second_reading_of_the_paper_gives_the_same_number(identifier: str) -> None:
    entry = CLAIMS.get(identifier) or CONTEXT[identifier]
    if isinstance(entry.published, str):
        assert identifier not in SECOND_READING
        return
    second = SECOND_READING[identifier]
    assert entry.unit == second["unit"]
    read = tuple(float(number) for number in second["value"].split(" to "))
    published = entry.published if isinstance(entry.published, tuple) else (entry.published,)
    if isinstance(entry, Claim) and entry.contradiction:
        # The paper says one end here and the other elsewhere; both are named.
        assert len(read) == 1
        assert read[0] in published
        assert all(f"{number:g}" in entry.contradiction for number in published)
    else:
        assert published == read


def test_only_what_the_design_allows_is_fitted() -> None:
    assert {claim.id for claim in CLAIMS.values() if claim.role == "fitted"} == FITTED


def test_what_is_not_replayed_says_why() -> None:
    kinds = ("a unit: ", "an input", "a nominal rate: ", "background: ", "later: ")
    assert all(context.reason.startswith(kinds) for context in CONTEXT.values())


def test_only_what_needs_mpi_comes_later() -> None:
    sections = {"Abstract", "I", "IV.C.1", "IV.C.2", "IV.C.3"}
    later = [context for context in CONTEXT.values() if context.reason.startswith("later: ")]
    assert {context.section for context in later} == sections
    assert all("MPI" in text(context) or "NAS" in text(context) for context in later)


def text(context: Context) -> str:
    return f"{context.statement} {context.reason}"


def by_workload(*names: str) -> list[Scenario]:
    return [scenario for scenario in SCENARIOS if scenario.workload in names]


def test_latency_tests_run_as_the_authors_ran_them() -> None:
    tests = by_workload("write_lat", "send_lat", "read_lat", "atomic_lat")
    assert [test.figure for test in tests] == ["2", "3", "4", "5"]
    for test in tests:
        assert test.options.warmup == CONTEXT["LIU-034"].published
        assert test.options.iters == CONTEXT["LIU-035"].published


def test_bandwidth_tests_run_as_the_authors_ran_them() -> None:
    tests = by_workload("write_bw", "write_bibw")
    assert [test.figure for test in tests] == ["6", "7", "8", "9", "10", "11"]
    for test in tests:
        assert test.options.window == CONTEXT["LIU-052"].published
        assert test.options.warmup == CONTEXT["LIU-053"].published
        assert test.options.iters == CONTEXT["LIU-054"].published


@pytest.mark.parametrize("adapter", ["mt23108", "mt25208"])
def test_the_testbed_is_the_one_described(adapter: str) -> None:
    machine = resolve("liu2004", adapter=adapter)
    assert machine.adapter.ports == CONTEXT["LIU-028"].published
    assert machine.nodes == CONTEXT["LIU-030"].published
    assert machine.host.cpus == CONTEXT["LIU-031"].published
    assert machine.switch is not None
    assert machine.switch.id == "infiniscale"
    assert load("mt25208").model.firmware_mode == load("mt23108").model.firmware_mode
