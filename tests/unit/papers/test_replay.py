"""A figure is replayed as its authors ran it, or with a what-if."""

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


def test_series_and_sizes_may_be_chosen(simulated: Callable[[], list[Any]]) -> None:
    found = replay("liu2004/fig03", series=["pcie"], sizes="8,64", jobs=1)
    assert list(found.curves) == ["pcie"]
    assert found["pcie"].sizes.tolist() == [8, 64]
    assert len(simulated()) == 2


def test_a_what_if_that_does_not_suit_a_series_is_a_fault() -> None:
    with pytest.raises(CatalogError, match=r"adapter\.bus\.lanes"):
        replay("liu2004/fig03", overrides={"adapter.bus.lanes": "1"})


def test_all_faults_of_a_request_are_said_at_once() -> None:
    with pytest.raises(CatalogError) as caught:
        replay("liu2004/fig03", series=["pice"], sizes="4G,x")
    assert len(caught.value.faults) == 3
    assert "did you mean 'pcie'?" in caught.value.faults[0]


def test_a_replay_becomes_a_table_with_a_row_per_series_and_size() -> None:
    frame = replay("liu2004/fig05", jobs=1).to_pandas()
    assert len(frame) == 4
    assert set(frame["op"]) == {"fetch_add", "cmp_swap"}


def test_a_notebook_shows_the_figure_and_the_what_if() -> None:
    found = replay("liu2004/fig03", series=["pcie"], overrides={"adapter.bus.lanes": "1"}, jobs=1)
    assert "Figure 3" in found._repr_html_()
    assert "adapter.bus.lanes = 1" in found._repr_html_()


def test_each_series_has_the_firmware_mode_of_its_authors() -> None:
    found = replay("sur2005/fig3c", jobs=1)
    assert found["memfree"].settings["firmware_mode"] == "memfree"
    assert found["memfree"]["total_KiB"][-1] - found["mem"]["total_KiB"][-1] == 128 * 32


def test_a_series_may_have_a_testbed_of_its_own() -> None:
    found = replay("benjegerdes2004/fig03", jobs=1)
    testbeds = {name: curve.settings["testbed"] for name, curve in found.curves.items()}
    assert testbeds == {
        "opteron": "benjegerdes2004-opteron",
        "g5": "benjegerdes2004-g5",
        "g5_osx": "benjegerdes2004-g5-osx",
    }


def test_a_replay_says_how_the_flag_of_the_chipset_was() -> None:
    found = replay("benjegerdes2004/fig02", series=["set", "clear"], jobs=1)
    assert found["set"].settings["chipset_flag"] is True
    assert found["clear"].settings["chipset_flag"] is False
    assert not found.overrides


def test_a_replay_may_vary_queue_pairs() -> None:
    found = replay("sur2005/fig3c", jobs=1)
    assert found["mem"].x.tolist() == [1, 2, 4, 8, 16, 32, 64, 128]
    assert "<th>QPs</th>" in found._repr_html_()
    assert found.to_pandas()["qps"].tolist()[:8] == found["mem"].x.tolist()
    more = replay("sur2005/fig3c", series=["mem"], x="64..256", jobs=1)
    assert more["mem"].x.tolist() == [64, 128, 256]


def test_a_row_says_what_varies_even_if_the_workload_does_not() -> None:
    found = replay("sur2005/table1", series=["mem"], jobs=1)
    assert [row["reuse"] for row in found["mem"].rows] == [100, 75, 50, 25, 0]
    assert {row["size"] for row in found["mem"].rows} == {65536}


def test_only_one_thing_varies() -> None:
    with pytest.raises(CatalogError, match="sizes: found several; allowed: one, beside reuse"):
        replay("sur2005/table1", sizes="4K,64K")
    with pytest.raises(CatalogError, match="x: found with sizes, which are the x axis"):
        replay("liu2004/fig03", sizes="8", x="8")


def test_a_series_may_be_measured_by_a_benchmark_of_its_own() -> None:
    found = replay("rashti2007/fig2", jobs=1).curves.values()
    assert [one.settings["workload"] for one in found] == ["write_lat", "send_lat"]


def test_the_bandwidth_of_a_ping_pong_is_its_bytes_over_its_latency() -> None:
    curve = replay("rashti2007/fig3", jobs=1)["write"]
    assert curve.bandwidth_MBps == pytest.approx(curve.sizes / curve.latency_us)


def test_a_series_may_be_the_overhead_over_another_benchmark() -> None:
    (line,) = plan(load_scenario("rashti2007/fig6"), x=[16384]).lines
    latencies = {"osu_latency": 3.0, "write_lat": 2.0}
    found = {
        one: Result({"size": 16384, "latency_us": latencies[one.workload]}) for one in line.needed
    }
    assert measured(line, found).rows == (
        {"size": 16384, "latency_us": 3.0, "overhead_percent": 50.0},
    )


def test_a_series_may_be_one_result_of_several(simulated: Callable[[], list[Any]]) -> None:
    found = replay("rashti2007/fig4", jobs=1)
    for name, result in (("register", "registration_us"), ("deregister", "deregistration_us")):
        assert found[name]["time_us"].tolist() == found[name][result].tolist()
    # Both come from the same points.
    assert len(simulated()) == len(found["register"].rows)


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
