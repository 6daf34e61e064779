"""Benchmarks of a host's memory: registered, taken by queue pairs, and copied."""

from typing import Any

import pytest

from hcasim.catalog import CatalogError, Machine, resolve
from hcasim.runs.benchmark import bench
from hcasim.workloads import Options, Result, run_point

COST = {
    "stack.registration.call": "7 us",
    "stack.registration.pin_page": "500 ns",
    "stack.registration.table_entry": "250 ns",
    "stack.registration.dereg_call": "5 us",
    "stack.registration.dereg_page": "125 ns",
    "stack.driver.process": "8 MiB",
    "stack.driver.reserved_srqs": "0",
}


def machine(mode: str | None = None) -> Machine:
    return resolve("liu2004", adapter="mt25218", overrides=COST, firmware_mode=mode)


def test_registration_is_linear_in_pages() -> None:
    assert run_point("reg_mr", machine(), Options(size=65536)).row == {
        "size": 65536,
        "page_size": 4096,
        "registration_us": 7 + 16 * 0.75,
        "deregistration_us": 5 + 16 * 0.125,
    }


def test_stages_of_registration_add_up() -> None:
    point = run_point("reg_mr", machine(), Options(size=4096, explain=True))
    assert [one["stage"] for one in point.breakdown["stages"]] == ["register", "deregister"]
    assert point.breakdown["total_us"] == 7.75 + 5.125


def test_the_row_of_host_memory_holds_each_component() -> None:
    row = run_point("host_memory", machine("memfree"), Options(qps=128)).row
    assert (row["size"], row["qps"]) == (8, 128)
    assert row["icm_qpc_KiB"] == 512
    assert row["doorbell_records_KiB"] == 8
    sums = {"pinned_KiB", "total_KiB", "mapped_KiB"}
    parts = {name: row[name] for name in row if name.endswith("_KiB") and name not in sums}
    assert len(parts) == 16
    assert row["total_KiB"] == sum(parts.values())


def test_host_memory_explains_itself() -> None:
    point = run_point("host_memory", machine("memfree"), Options(qps=3, explain=True))
    components = point.breakdown["components"]
    assert point.breakdown["total_KiB"] == sum(one["KiB"] for one in components)
    assert sum(one["KiB"] for one in components if one["pinned"]) == point.row["pinned_KiB"]
    assert sum(one["KiB"] for one in components if one["mapped"]) == point.row["mapped_KiB"]


@pytest.mark.parametrize("page_size", [0, 2048, 12288, 2**31])
def test_pages_that_cannot_be_are_refused_before_anything_runs(page_size: int) -> None:
    fault = f"page_size: found {page_size}; allowed: powers of two from 4096 B to 1 GiB"
    with pytest.raises(CatalogError) as caught:
        bench("reg_mr", "liu2004", page_size=page_size)
    assert caught.value.faults == [fault]


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
