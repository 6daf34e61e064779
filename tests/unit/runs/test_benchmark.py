"""A benchmark from Python gives what the command line prints."""

from collections.abc import Callable
from typing import Any

import pytest

from hcasim.runs.benchmark import bench

pytestmark = pytest.mark.usefixtures("simulated")


def test_the_result_is_the_json_of_the_design() -> None:
    found = bench("window_bw", "liu2004", size="8,64", overrides={"adapter.bus.lanes": "4"})
    data = found.to_dict()
    assert list(data) == [
        "workload",
        "testbed",
        "adapter",
        "firmware_mode",
        "overrides",
        "rows",
        "counters",
        "breakdown",
        "wall_seconds",
    ]
    assert data["overrides"] == {"adapter.bus.lanes": "4"}
    assert [row["size"] for row in data["rows"]] == [8, 64]
    assert data["counters"] == {"sqpc_miss_cnt": 2}
    assert data["breakdown"] == {}


def test_a_breakdown_of_one_size_stands_alone_and_of_several_with_their_sizes() -> None:
    one = bench("write_lat", "liu2004", size=8, explain=True).to_dict()
    assert one["breakdown"] == {"stages": [], "total_us": 0.0, "caches": []}
    several = bench("write_lat", "liu2004", size=[8, 64], explain=True).to_dict()
    assert [part["size"] for part in several["breakdown"]["sizes"]] == [8, 64]


def test_options_are_keywords(simulated: Callable[[], list[Any]]) -> None:
    bench("window_bw", "liu2004", size=8, mode="striping")
    assert simulated() == [["window_bw", "mt25208", 8, "striping"]]


def test_a_benchmark_is_a_table_and_html() -> None:
    found = bench("write_lat", "liu2004", size=[8, 64])
    assert found.to_pandas()["size"].tolist() == [8, 64]
    assert "<table>" in found._repr_html_()


def test_each_size_is_measured_with_each_number_of_queue_pairs() -> None:
    found = bench("write_lat", "liu2004", size="8,64", qps="1..4")
    rows = [(row["size"], row["qps"]) for row in found.curve.rows]
    assert rows == [(8, 1), (8, 2), (8, 4), (64, 1), (64, 2), (64, 4)]
    assert [axis.name for axis in found.axes] == ["size", "qps"]


def test_queue_pairs_are_a_number_a_list_or_a_text() -> None:
    for given, expected in ((3, [3]), ([1, 9], [1, 9]), ("2,1", [2, 1])):
        found = bench("write_lat", "liu2004", qps=given)
        assert [row["qps"] for row in found.curve.rows] == expected


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


def test_a_breakdown_names_what_varies() -> None:
    found = bench("write_lat", "liu2004", qps=[1, 2], explain=True).to_dict()
    points = found["breakdown"]["points"]
    assert [(one["size"], one["qps"]) for one in points] == [(8, 1), (8, 2)]


def test_html_has_a_column_for_each_combination() -> None:
    html = bench("write_lat", "liu2004", size=[8, 64], qps=[1, 2])._repr_html_()
    assert "<th>QPs 1</th><th>QPs 2</th>" in html
    assert "<th>64</th><td>4.06</td><td>4.07</td>" in html
