"""A benchmark from Python gives what the command line prints."""

from collections.abc import Callable
from typing import Any

import pytest

from hcasim.study import bench

pytestmark = pytest.mark.usefixtures("simulated")


def test_the_result_is_the_json_of_the_design() -> None:
    found = bench("write_bw", "liu2004", sizes="8,64", overrides={"adapter.bus.lanes": "4"})
    data = found.to_dict()
    assert list(data) == [
        "workload",
        "testbed",
        "adapter",
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
    one = bench("write_lat", "liu2004", sizes=8, explain=True).to_dict()
    assert one["breakdown"] == {"stages": [], "total_us": 0.0}
    several = bench("write_lat", "liu2004", sizes=[8, 64], explain=True).to_dict()
    assert [part["size"] for part in several["breakdown"]["sizes"]] == [8, 64]


def test_options_are_keywords(simulated: Callable[[], list[Any]]) -> None:
    bench("write_bw", "liu2004", sizes=8, mode="striping")
    assert simulated() == [["write_bw", "mt25208", 8, "striping"]]


def test_a_benchmark_is_a_table_and_html() -> None:
    found = bench("write_lat", "liu2004", sizes=[8, 64])
    assert found.to_pandas()["size"].tolist() == [8, 64]
    assert "<table>" in found._repr_html_()
