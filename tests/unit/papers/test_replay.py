"""A figure is replayed as its authors ran it, or with a what-if."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from hcasim.catalog import CatalogError
from hcasim.papers.loader import load_scenario
from hcasim.papers.plan import plan, plan_all
from hcasim.papers.replay import measured, replay, replay_all
from hcasim.workloads import Result

pytestmark = pytest.mark.usefixtures("simulated")


def test_the_curves_bear_the_names_of_the_series() -> None:
    found = replay("liu2004/fig03", jobs=1)
    assert list(found.curves) == ["pcie", "pcix"]
    assert found["pcie"].label == "PCI-Express"
    assert found["pcix"].latency_us[0] == pytest.approx(5.004)
    assert found["pcie"].settings["adapter"] == "mt25208"


def test_series_and_values_of_what_varies_may_be_chosen(
    simulated: Callable[[], list[Any]],
) -> None:
    found = replay("liu2004/fig03", series=["pcie"], sizes="8,64", jobs=1)
    assert list(found.curves) == ["pcie"]
    assert found["pcie"].x.tolist() == [8, 64]
    assert len(simulated()) == 2
    more = replay("sur2005/fig3c", series=["mem"], x="64..256", jobs=1)
    assert more["mem"].x.tolist() == [64, 128, 256]


@pytest.mark.parametrize(
    ("scenario", "given", "faults"),
    [
        ("liu2004/fig03", {"overrides": {"adapter.bus.lanes": "1"}}, [r"adapter\.bus\.lanes"]),
        ("liu2004/fig03", {"series": ["pice"], "sizes": "4G,x"}, ["mean 'pcie'", "4G", "x"]),
        ("sur2005/table1", {"sizes": "4K,64K"}, ["sizes: found several; allowed: one, beside reu"]),
        ("liu2004/fig03", {"sizes": "8", "x": "8"}, ["x: found with sizes, which are the x axis"]),
    ],
)
def test_all_faults_of_a_request_are_said_at_once(
    scenario: str, given: dict[str, Any], faults: list[str]
) -> None:
    with pytest.raises(CatalogError) as caught:
        replay(scenario, **given)
    assert len(caught.value.faults) == len(faults)
    assert all(map(re.search, faults, caught.value.faults))


@pytest.mark.parametrize(
    ("scenario", "setting", "values"),
    [
        ("liu2004/fig05", "op", ["cmp_swap", "fetch_add"]),
        ("rashti2007/fig2", "workload", ["send_lat", "write_lat"]),
        ("sur2005/fig3c", "firmware_mode", ["mem", "memfree"]),
        ("benjegerdes2004/fig02", "host.pcix_bridge.streaming", ["false", "true"]),
        (
            "benjegerdes2004/fig03",
            "testbed",
            [f"benjegerdes2004-{name}" for name in ("g5", "g5-osx", "opteron")],
        ),
    ],
)
def test_each_series_says_how_it_was_simulated(
    scenario: str, setting: str, values: list[Any]
) -> None:
    found = replay(scenario, jobs=1)
    assert sorted({row[setting] for row in found.rows}) == values
    assert not found.overrides


def test_a_replay_is_a_table_with_a_row_for_each_series_and_point() -> None:
    found = replay("sur2005/fig3c", jobs=1)
    assert found["mem"].x.tolist() == [1, 2, 4, 8, 16, 32, 64, 128]
    assert found.to_pandas()["qps"].tolist() == 2 * found["mem"].x.tolist()
    assert found["memfree"]["total_KiB"][-1] - found["mem"]["total_KiB"][-1] == 128 * 32
    assert "<th>QPs</th>" in found._repr_html_()
    found = replay("sur2005/table1", series=["mem"], jobs=1)
    assert [row["reuse"] for row in found["mem"].rows] == [100, 75, 50, 25, 0]
    assert {row["size"] for row in found["mem"].rows} == {65536}


def test_a_notebook_shows_the_figure_and_the_what_if() -> None:
    found = replay("liu2004/fig03", series=["pcie"], overrides={"adapter.bus.lanes": "1"}, jobs=1)
    assert "Figure 3: RDMA write latency (adapter.bus.lanes = 1)" in found._repr_html_()


def test_the_bandwidth_of_a_ping_pong_is_its_bytes_over_its_latency() -> None:
    curve = replay("rashti2007/fig3", jobs=1)["write"]
    assert curve.bandwidth_MBps == pytest.approx(curve.x / curve.latency_us)


def test_a_series_may_be_the_overhead_over_another_benchmark() -> None:
    (line,) = plan(load_scenario("rashti2007/fig6"), x=[16384]).lines
    us = {"osu_latency": 3.0, "write_lat": 2.0}
    found = {one: Result({"size": 16384, "latency_us": us[one.workload]}) for one in line.needed}
    told = {"bound_by": "", "evidence": "unknown"}
    row = {"size": 16384, "latency_us": 3.0, "overhead_percent": 50.0, **told}
    assert measured(line, found).rows == (row,)


def test_a_series_may_be_the_mean_of_runs_with_other_marks() -> None:
    scenario = load_scenario("peers/two-to-one")
    (line,) = plan(scenario, series="mean").lines
    seeds = [job.machine.switches[""].memory.marking.seed for job in line.needed]
    assert (seeds, line.overrides) == ([*range(1, 11)], {})
    found = {
        one: Result({"size": 9605781, "completion_mean_us": 1.0 + n, "marks_count": n % 2})
        for n, one in enumerate(line.needed)
    }
    (row,) = measured(line, found).rows
    assert (row["time_us"], row["marks_count"], row["size"]) == (5.5, 0.5, 9605781)


def test_a_series_may_be_one_result_of_several(simulated: Callable[[], list[Any]]) -> None:
    found = replay("rashti2007/fig4", jobs=1)
    for name, result in (("register", "registration_us"), ("deregister", "deregistration_us")):
        assert found[name]["time_us"].tolist() == found[name][result].tolist()
    # Both come from the same points.
    assert len(simulated()) == len(found["register"].rows)


def counted(**changes: Any) -> Any:
    """The row of a series that reads counters beside its bandwidth."""
    scenario = load_scenario("lossy/two-senders")
    series = scenario.series["vain"].model_copy(update=changes)
    (line,) = plan(scenario.model_copy(update={"series": {"vain": series}, "claims": ()})).lines
    row = {"size": 2**20, "bandwidth_MBps": 8e3}
    counters = {"switch_discards": 3, "rx_discards_phy": 1, "port_xmit_packets": 16, "naks": 0}
    return measured(line, {line.jobs[0]: Result(row, counters)}).rows[0]


def test_a_series_may_read_counters_beside_what_is_plotted() -> None:
    lost = ("switch_discards", "rx_discards_phy")
    alone, share = (
        counted(counters=lost, per=None),
        counted(counters=lost, per=("port_xmit_packets",)),
    )
    assert (alone["count"], share["count"], share["bandwidth_MBps"]) == (4, 0.25, 8e3)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"counters": ("switch_discard",)}, "found 'switch_discard'; allowed: switch_discards, "),
        ({"counters": ("naks",), "per": ("naks",)}, "found nothing of naks; allowed: at least one"),
    ],
)
def test_what_is_not_counted_is_a_fault(changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(CatalogError) as caught:
        counted(**changes)
    assert caught.value.faults[0].startswith(f"lossy/two-senders: series.vain.counters: {fault}")


def test_several_figures_may_have_the_same_what_if() -> None:
    wanted = [load_scenario("liu2004/fig03"), load_scenario("rashti2007/fig2")]
    found = replay_all(plan_all(wanted, {"adapter.bus": "mt23108"}), jobs=1)
    assert [one.title for one in found] == [
        "RDMA write latency (adapter.bus = mt23108)",
        "Verbs latency of ping-pong (adapter.bus = mt23108)",
    ]
    with pytest.raises(CatalogError) as caught:
        plan_all(wanted, {"adapter.bus.lanes": "1"})
    assert len(caught.value.faults) == 2
