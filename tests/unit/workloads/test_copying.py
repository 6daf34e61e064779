"""Processors that copy, seen as a user of the benchmark sees them."""

from typing import Any

import pytest

from hcasim.catalog import resolve
from hcasim.workloads import Options, Result, run_point

ROUND = {
    "host.memory.bandwidth": "8 GB/s",
    "host.cache.size": "1 MiB",
    "host.cache.hit_bandwidth": "8 GB/s",
    "host.cache.miss_bandwidth": "2 GB/s",
}


def copied(size: int, overrides: dict[str, str] | None = None, **options: Any) -> Result:
    machine = resolve("liu2004", overrides=ROUND | (overrides or {}))
    return run_point("copy_bw", machine, Options(size=size, iters=50, warmup=10, **options))


def bandwidth(point: Result) -> float:
    return float(point.row["bandwidth_MBps"])


def test_what_fits_into_the_cache_is_copied_there_and_the_rest_in_memory() -> None:
    assert bandwidth(copied(2**16)) == pytest.approx(8000, rel=1e-4)
    assert bandwidth(copied(2**20)) == pytest.approx(2000, rel=1e-4)
    assert bandwidth(copied(2**16, buffers=16)) == pytest.approx(2000, rel=1e-4)


def test_processors_copy_side_by_side_as_far_as_memory_allows() -> None:
    assert bandwidth(copied(2**20, processes=2)) == pytest.approx(4000, rel=1e-3)
    slow = {"host.memory.bandwidth": "4 GB/s"}
    assert bandwidth(copied(2**20, slow, processes=2)) == pytest.approx(2000, rel=1e-3)


def test_explain_names_the_processor_or_the_memory() -> None:
    assert copied(2**20, explain=True).breakdown["binds"] == "node0.cpu0"
    slow = copied(2**20, {"host.memory.bandwidth": "1 GB/s"}, explain=True).breakdown
    busy = {one["name"]: one["busy"] for one in slow["resources"]}
    assert slow["binds"] == "node0.memory"
    assert min(busy["node0.memory"], busy["node0.cpu0"]) > 0.99
