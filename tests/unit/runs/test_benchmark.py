"""A benchmark from Python gives what the command line prints."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from hcasim.catalog import CatalogError, resolve
from hcasim.papers.replay import replay
from hcasim.runs.benchmark import bench, cache_use
from hcasim.runs.experiment import Experiment

pytestmark = pytest.mark.usefixtures("simulated")


def test_the_result_is_the_json_of_the_design() -> None:
    found = bench("window_bw", "liu2004", size="8,64", overrides={"adapter.bus.lanes": "4"})
    data = found.to_dict()
    start = "schema version hcasim testbed adapter firmware_mode workload overrides options points"
    assert list(data) == [*start.split(), "rows", "counters", "breakdown", "wall_seconds"]
    assert data["overrides"] == {"adapter.bus.lanes": "4"}
    assert [row["size"] for row in data["rows"]] == [8, 64]
    assert data["counters"] == {"sqpc_miss_cnt": 2}
    assert data["breakdown"] == {}


def test_a_breakdown_of_one_size_stands_alone_and_of_several_with_what_varies() -> None:
    one = bench("write_lat", "liu2004", size=8, explain=True).to_dict()
    assert one["breakdown"] == {"stages": [], "total_us": 0.0, "caches": []}
    several = bench("write_lat", "liu2004", size=[8, 64], explain=True).to_dict()
    assert [part["size"] for part in several["breakdown"]["sizes"]] == [8, 64]
    points = bench("write_lat", "liu2004", qps=[1, 2], explain=True).to_dict()["breakdown"][
        "points"
    ]
    assert [(one["size"], one["qps"]) for one in points] == [(8, 1), (8, 2)]


def test_every_option_in_force_is_told_and_once_if_it_is_the_same_at_all_points() -> None:
    data = bench("write_bw", "liu2004", size=["4K", "64K"], tx_depth=16).to_dict()
    assert data["points"] == [{"size": 4096, "cq_mod": 16}, {"size": 65536, "cq_mod": 1}]
    known = {name: data["options"][name] for name in ("mtu", "tx_depth", "iters", "switch")}
    assert known == {"mtu": 1024, "tx_depth": 16, "iters": 5000, "switch": "infiniscale"}
    assert bench("bw_rd", "liu2004", mtu="2K").to_dict()["options"]["mtu"] == 2048
    assert bench("write_lat", "liu2004", switch=False).to_dict()["options"]["switch"] is False


@pytest.mark.parametrize("lanes", [4, 4.0, np.int64(4), np.float64(4), np.array(4), "4"])
def test_overrides_are_numbers_of_python_or_numpy_or_text(lanes: Any) -> None:
    found = bench("write_lat", "liu2004", overrides={"adapter.bus.lanes": lanes})
    assert found.to_dict()["overrides"] == {"adapter.bus.lanes": "4"}
    (settings,) = replay(
        "liu2004/fig03", series=["pcie"], x=[8], overrides={"adapter.bus.lanes": lanes}
    ).to_pandas()["adapter.bus.lanes"]
    assert settings == 4


@pytest.mark.parametrize("true", [True, np.True_, "true"])
def test_a_switch_is_a_boolean_of_python_or_numpy_or_text(true: Any) -> None:
    machine = resolve("benjegerdes2004", overrides={"host.pcix_bridge.streaming": true})
    assert machine.overrides == {"host.pcix_bridge.streaming": "true"}


def test_options_are_numbers_of_numpy_too() -> None:
    sizes = 2 ** np.arange(3, 6)
    given = {"window": np.float64(16), "inline": np.True_, "mtu": np.int64(512)}
    found = bench("window_bw", "liu2004", size=sizes, **given).to_dict()
    assert [row["size"] for row in found["rows"]] == [8, 16, 32]
    assert all(type(point["size"]) is int for point in found["points"])
    options = found["options"]
    assert (options["window"], options["inline"], options["mtu"]) == (16, True, 512)
    for wrong in ({"window": 1.5}, {"mtu": 1.5}, {"mtu": "2X"}, {"mtu": True}):
        with pytest.raises(CatalogError):
            bench("window_bw", "liu2004", **wrong)


def test_tables_of_several_benchmarks_can_be_joined() -> None:
    what_ifs: list[dict[str, Any]] = [{}, {"adapter.bus.lanes": 4}]
    frame = pd.concat(
        bench("write_bw", testbed, size=[64, 16384], overrides=one).to_pandas()
        for testbed in ("liu2004", "sur2005")
        for one in what_ifs
    )
    assert frame["testbed"].tolist() == ["liu2004"] * 4 + ["sur2005"] * 4
    assert frame["adapter"].unique().tolist() == ["mt25208", "mt25218"]
    assert frame["adapter.bus.lanes"].dropna().tolist() == [4] * 4
    assert frame["cq_mod"].tolist() == [100, 1] * 4
    assert {"workload", "firmware_mode", "mtu", "switch", "iters", "tx_depth"} <= {*frame.columns}
    curve = replay("liu2004/fig03", x=[8, 64]).to_pandas()
    assert {"testbed", "adapter", "iters", "mtu"} <= {*curve.columns} & {*frame.columns}
    assert curve["series"].tolist() == ["pcie", "pcie", "pcix", "pcix"]


def test_a_benchmark_is_a_table_and_html_with_a_column_for_each_combination() -> None:
    found = bench("write_lat", "liu2004", size=[8, 64], qps=[1, 2])
    assert found.to_pandas()["size"].tolist() == [8, 8, 64, 64]
    html = found._repr_html_()
    assert "<th>QPs 1</th><th>QPs 2</th>" in html
    assert "<th>64</th><td>4.06</td><td>4.07</td>" in html


def test_each_size_is_measured_with_each_number_of_queue_pairs() -> None:
    found = bench("write_lat", "liu2004", size="8,64", qps="1..4")
    rows = [(row["size"], row["qps"]) for row in found.curve.rows]
    assert rows == [(8, 1), (8, 2), (8, 4), (64, 1), (64, 2), (64, 4)]
    assert found.axes == ("size", "qps")


def test_reuse_is_in_the_rows_if_it_varies() -> None:
    found = bench("window_bw", "sur2005", reuse="100,0")
    assert [row["reuse"] for row in found.curve.rows] == [100, 0]
    assert found.curve.axis == "reuse"
    assert list(found.curve.rows[0])[:3] == ["size", "qps", "reuse"]


def test_the_firmware_mode_is_part_of_the_result() -> None:
    found = bench("host_memory", "sur2005", firmware_mode="memfree")
    assert found.to_dict()["firmware_mode"] == "memfree"
    assert "total_KiB" in found.fields
    assert found.axes == ()


def test_a_whole_program_begins_before_long_messages() -> None:
    (kernel,) = Experiment.of("nas_is", "liu2004", nodes=4).benchmark()
    (window,) = Experiment.of("window_bibw", "liu2004", size="1M").benchmark()
    assert kernel.weight > window.weight


COUNTERS = {"sqpc_access_cnt": 8, "sqpc_miss_cnt": 2, "sqpc_wait_ps": 1_500_000}
COUNTERS |= {"sqpc_fetch_ps": 1_300_000, "mtt_miss_cnt": 0}


def test_each_cache_that_was_used_has_its_hits_and_its_waiting() -> None:
    assert cache_use(resolve("sur2005"), COUNTERS) == [
        {
            "name": "sqpc",
            "accesses": 8,
            "misses": 2,
            "hit_rate": 0.75,
            "fetch_us": 0.65,
            "waited_us": 1.5,
            "table": "adapter",
        }
    ]


def test_without_memory_on_the_adapter_the_tables_are_in_the_host() -> None:
    (sqpc,) = cache_use(resolve("sur2005", firmware_mode="memfree"), COUNTERS)
    assert sqpc["table"] == "host"
