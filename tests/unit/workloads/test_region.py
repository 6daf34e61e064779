"""Addresses all over a region miss translations that pages of 2 MB bring back."""

from typing import Any

import pytest

from hcasim.workloads.perftest import stream
from tests.rig import machine, run

BELOW, BEYOND = 1 << 19, 1 << 26
"""Regions whose pages of 4 KiB fit into the 512 entries of the translation cache, and do not."""
LAT: dict[str, Any] = {"size": 64, "iters": 4000, "warmup": 100}
BW: dict[str, Any] = {"size": 64, "iters": 4000}


@pytest.mark.parametrize("access", ["random", "sequential"])
def test_a_region_whose_translations_fit_costs_nothing(access: str) -> None:
    one, many = (
        run("read_lat", machine(), region=region, access=access, **LAT).row["latency_us"]
        for region in (0, BELOW)
    )
    assert many == pytest.approx(one, rel=0.01)


@pytest.mark.parametrize("workload", ["read_lat", "atomic_lat"])
def test_a_larger_one_adds_fetches_that_large_pages_save(workload: str) -> None:
    given = {**LAT, "size": 8, "region": BEYOND}
    small, large = (
        run(workload, machine(), page_size=page, **given).row["latency_us"]
        for page in (4096, 1 << 21)
    )
    alone = run(workload, machine(), **LAT | {"size": 8}).row["latency_us"]
    assert small > 1.1 * alone
    assert large == pytest.approx(alone, rel=0.01)


def test_the_rate_falls_with_the_misses_and_not_with_large_pages() -> None:
    rate = {
        page: run("write_bw", machine(), region=BEYOND, page_size=page, **BW).row["rate_Mps"]
        for page in (4096, 1 << 21)
    }
    alone = run("write_bw", machine(), **BW).row["rate_Mps"]
    assert rate[4096] < 0.8 * alone
    assert rate[1 << 21] == pytest.approx(alone, rel=0.02)


@pytest.mark.parametrize("workload", ["read_lat", "write_bw", "read_bw"])
def test_a_short_run_tells_what_a_long_one_does(
    monkeypatch: pytest.MonkeyPatch, workload: str
) -> None:
    monkeypatch.setattr(stream, "MOST", 1500)
    given = LAT if workload == "read_lat" else BW
    short, full = (
        run(workload, machine(), region=BEYOND, exact=exact, **given) for exact in (False, True)
    )
    (field,) = {"latency_us", "rate_Mps"} & {*full.row}
    assert short.row[field] == pytest.approx(full.row[field], rel=0.02)
    assert short.counters["doorbells"] < 0.7 * full.counters["doorbells"]


def test_uniform_addresses_hit_as_often_as_there_is_room() -> None:
    # Half of the pages fit: each end looks up one of its own for each message, beside its queues'.
    counters = run("write_bw", machine(), region=1 << 22, exact=True, **BW).counters
    missed = counters["mtt_miss_cnt"] / (2 * BW["iters"])
    assert missed == pytest.approx(1 - 512 / 1024, abs=0.06)
