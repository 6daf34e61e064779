"""The statements of liu2004 that are inputs are what the replays use."""

import pytest

from hcasim.catalog import load, resolve
from hcasim.papers.claim import Context
from hcasim.papers.loader import load_context, load_scenarios
from hcasim.papers.scenario import Scenario

SCENARIOS = load_scenarios(["liu2004"])
CONTEXT = {context.id: context for context in load_context("liu2004")}


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
    tests = by_workload("window_bw", "window_bibw")
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
