"""Scenario files are read strictly, and all their faults are said at once."""

from collections.abc import Callable

import pytest

from hcasim.catalog import CatalogError
from hcasim.papers.loader import (
    list_papers,
    list_scenarios,
    load_context,
    load_scenario,
    load_scenarios,
)
from hcasim.papers.scenario import Options, Series
from hcasim.workloads.options import OPTIONS

Edit = Callable[[str, str], None]
OVERHEAD = "overhead_percent"

SMALLEST = 'select = "smallest"'
MEASURE = 'measure = { series = "pcie"'
SERIES = 'adapter = "mt25208"'
SIZES = 'sizes = ["4", "8", "16", "32", "64", "128", "256", "512", "1K", "2K", "4K"]'


def faults_of(*identifiers: str) -> list[str]:
    with pytest.raises(CatalogError) as caught:
        load_scenarios(identifiers)
    return caught.value.faults


def test_a_paper_stands_for_its_scenarios_and_each_is_loaded_once() -> None:
    assert "liu2004" in list_papers()
    assert list_scenarios("liu2004") == [f"liu2004/fig{number:02d}" for number in range(2, 20)]
    loaded = load_scenarios(["liu2004/fig05", "liu2004", "liu2004/fig03"])
    assert loaded[0].id == "liu2004/fig05"
    assert sorted(one.id for one in loaded) == list_scenarios("liu2004")


def test_a_paper_without_a_context_file_has_no_context() -> None:
    assert load_context("nobody1999") == ()


def test_unknown_names_are_answered_with_the_nearest() -> None:
    first, second = faults_of("liu2044", "liu2004/fig3")
    assert "found no scenario 'liu2044'" in first
    assert "did you mean 'liu2004'?" in first
    assert "did you mean 'liu2004/fig03'?" in second


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('title = "RDMA write latency"\n', "", "title: missing"),
        ("warmup = 1000", "warmpu = 1000", "did you mean 'warmup'?"),
        ("warmup = 1000", "warmup = -1", "options.warmup: found -1; "),
        ("warmup = 1000", 'warmup = "many"', "options.warmup: found 'many'; "),
        ('sizes = ["4", ', 'sizes = ["4 ns", ', "options.sizes[1]: found '4 ns'; allowed"),
        (SERIES, 'adapter = "mt25280"', "series.pcie.adapter: models/adapters: found no adapter"),
        (SERIES, f'testbed = "my"\n{SERIES}', "series.pcie.testbed: models/testbeds: found no "),
        (
            'testbed = "liu2004"',
            'testbed = "liu2005"',
            "testbed: models/testbeds: found no testbed",
        ),
        ('paper = "liu2004"', 'paper = "liu2005"', "paper: found 'liu2005'"),
        ('field = "latency_us"', 'field = "latency"', "axes.field: found 'latency'; allowed: "),
        (
            'field = "latency_us"',
            f'field = "{OVERHEAD}"',
            f"over: missing; axes.field is {OVERHEAD}",
        ),
        (SERIES, f'over = "write_lat"\n{SERIES}', f"found; allowed if axes.field is {OVERHEAD}"),
        (
            SERIES,
            f'overrides = {{ "adapter.bus.lanes" = "16" }}\n{SERIES}',
            "claims[1].measure: series 'pcie' is of another machine; no number is measured there",
        ),
        (
            SERIES,
            f'settings = {{ "adapter.bus.lanes" = 16 }}\n{SERIES}',
            "series.pcie.settings: found 'adapter.bus.lanes'; allowed: what authors set: adapter.",
        ),
        (
            SERIES,
            f'settings = {{ "host.pcix_bridge.streamin" = true }}\n{SERIES}',
            "did you mean 'host.pcix_bridge.streaming'?",
        ),
        (SERIES, f"settings = {{ mtu = [] }}\n{SERIES}", "series.pcie.settings.mtu"),
        ('kind = "value"', 'kind = "valve"', "did you mean 'value'?"),
        ('series = "pcie"', 'series = "pice"', "claims[1].measure: found no series 'pice'"),
        ("liu2004/fig02:pcie", "liu2004/fig02:pice", "found no series 'liu2004/fig02:pice'"),
        ("liu2004/fig02:pcie", "liu2004/fig20:pcie", "found no scenario 'liu2004/fig20'"),
        ('"LIU-042"', '"LIU-041"', "claims: found 'LIU-041' twice"),
        ("published = 3.8", 'published = "some"', "published must be a number, found 'some'"),
        ("published = 3.8", "published = [4.0, 3.0]", "published must be [low, high]"),
        ("published = 3.8", "published = [3.0, 4.0]", "a range needs a contradiction"),
        ('relation = "="', 'relation = "<"', "claims[1]: relation must be one of = ~ <= >="),
        ('change = "reduction"\n', "", "change belongs to kind percent, and is needed there"),
        (', against = "pcix"', "", "against is needed here"),
        (f"{MEASURE}, ", f'{MEASURE}, against = "pcix", ', "against is not allowed here"),
        (SMALLEST, 'select = "smallest", at = 4', "either select or at is needed"),
        (SMALLEST, "below = 8", "either select or at is needed"),
        (SMALLEST, "at = 4, below = 8", "below and above belong to select"),
        (SMALLEST, "at = 5", "claims[1].measure: found at 5; size of liu2004/fig03 has 4, 8, "),
        (SMALLEST, f"{SMALLEST}, below = 4", "below or above all; size of liu2004/fig03 has 4"),
        (MEASURE, 'role = "fitted"\n' + MEASURE, "claims[1].role: unknown key; allowed: id, "),
        (SMALLEST, "at = 4, against_at = 8", "against_at belongs to at and against"),
        ('unit = "us"', 'unit = "MB/s"', "claims[1].unit: found 'MB/s'; allowed for a latency: us"),
        (MEASURE, f"tolerance = 0.06\n{MEASURE}", "must be at most 0.05, as usual, found 0.06"),
        (MEASURE, "tolerance = 0.0\n" + MEASURE, "claims[1].tolerance: found 0.0; "),
        (SERIES, 'firmware_mode = "memfre"\n' + SERIES, "did you mean 'memfree'?"),
        (SERIES, 'memory = "hots"\n' + SERIES, "series.pcie.memory: found 'hots'; allowed: "),
        ("warmup = 1000", "qps = [1, 2]", "options: found several values of size or qps; allowed"),
        ("warmup = 1000", "reuse = 101", "options.reuse: found 101; allowed: 0 to 100"),
        ("warmup = 1000", "warmup = = 1000", "not valid TOML"),
        (SIZES, "qps = [1, 2, 1]", "qps: found a value twice"),
        (
            'against = "liu2004/fig02:pcix", select = "all", below = 128',
            'against = "liu2004/fig02:pcix", at = 5',
            "found at 5; size of liu2004/fig02 has 4, 8",
        ),
        ("warmup = 1000", 'pattern = "cyclc"', "did you mean 'cyclic'?"),
        ("[options]", "[adapter]\nports = 1\n\n[options]", "adapter: unknown key; allowed: "),
    ],
)
def test_a_fault_says_where_what_and_what_is_allowed(
    edit: Edit, old: str, new: str, fault: str
) -> None:
    edit(old, new)
    faults = faults_of("liu2004/fig03")
    assert all(line.startswith("scenarios/liu2004/fig03.toml: ") for line in faults)
    assert any(fault in line for line in faults), faults


def test_all_faults_of_a_file_are_said_at_once(edit: Edit) -> None:
    edit("warmup = 1000", "warmpu = 1000")
    edit('kind = "value"', 'kind = "valve"')
    edit('title = "RDMA write latency"\n', "")
    assert len(faults_of("liu2004/fig03")) == 3


def test_a_scenario_has_no_place_for_a_hardware_parameter() -> None:
    """But for settings, and for what takes a cause away, of which no number is stated."""
    measured = {*OPTIONS} - {"exact", "explain", "size"}
    assert {*Options.model_fields} == measured | {"sizes", "mtu"}
    said = {"label", "group", "workload", "result", "over", "counters", "per"}
    parts = {"testbed", "adapter", "firmware_mode", "stack"}
    assert {*Series.model_fields} == measured | said | parts | {"size", "settings", "overrides"}


def test_what_has_several_values_is_the_x_axis(edit: Edit) -> None:
    edit(SIZES, 'sizes = "8"\nreuse = 50\nqps = [1, 16, 128]')
    options = load_scenario("liu2004/fig03").options
    assert (options.axis.name, options.points) == ("qps", (1, 16, 128))
    assert (options.chosen["size"], options.chosen["reuse"]) == ((8,), (50,))


def test_the_x_axis_is_the_size_that_a_scenario_may_leave_to_the_workload(edit: Edit) -> None:
    sizes = load_scenario("liu2004/fig06").options.points
    assert (sizes[0], sizes[-1]) == (4, 2**20)
    edit(SIZES, "")
    options = load_scenario("liu2004/fig03").options
    assert (options.axis.name, options.points) == ("size", None)


def test_processes_may_vary_along_a_figure_and_a_claim_be_about_a_rate(edit: Edit) -> None:
    edit('workload = "write_lat"', 'workload = "rc_swarm"')
    edit(SIZES, 'sizes = "32"\nprocesses = [1, 2]\nnodes = 2\nwindow = 4')
    edit('field = "latency_us"', 'field = "rate_Mps"')
    edit('quantity = "latency"', 'quantity = "rate"')
    edit('unit = "us"', 'unit = "M/s"')
    options = load_scenario("liu2004/fig03").options
    assert (options.axis.name, options.points) == ("processes", (1, 2))
    edit(SERIES, f"processes = 1\n{SERIES}")
    (fault,) = faults_of("liu2004/fig03")
    assert fault.endswith(
        "series.pcie.processes: found 1, but processes is the x axis; leave one out"
    )


def test_a_table_is_no_figure() -> None:
    assert load_scenario("liu2004/fig03").place == "liu2004, Figure 3"
    assert load_scenario("sur2005/table1").place == "sur2005, Table 1"
