"""Stopping when a run repeats gives the result of the whole run."""

from math import gcd
from typing import Any

import pytest

from hcasim.catalog import Machine, resolve
from tests.rig import machine, run


def both(name: str, on: Machine, column: str, **options: Any) -> tuple[float, float]:
    """A result in short, and in full."""
    short, full = (run(name, on, exact=exact, **options).row[column] for exact in (False, True))
    return short, full


# The warm-up is long enough for the work queues to have been used to their ends: each page of
# them is translated for the first time once.
@pytest.mark.parametrize(
    ("adapter", "name", "size", "qps"),
    [
        ("mt23108", "write_lat", 1, 3),
        ("mt25208", "write_lat", 2048, 1),
        ("mt25208", "send_lat", 8, 3),
        ("mt23108", "send_lat", 4096, 1),
        ("mt25208", "read_lat", 4096, 3),
        ("mt25208", "atomic_lat", 8, 1),
    ],
)
def test_a_latency_is_exactly_that_of_all_iterations(
    adapter: str, name: str, size: int, qps: int
) -> None:
    short, full = both(
        name, machine(adapter=adapter), "latency_us", size=size, qps=qps, iters=201, warmup=400
    )
    assert short == full


SMALL = {f"adapter.{cache}.entries": "16" for cache in ("sqpc", "rqpc")}
TIGHT = {"adapter.mpt.entries": "16", "adapter.mtt.entries": "64", "adapter.mtt.ways": "4"}
STRIPES = {"ports": 2, "mode": "striping"}


def turns(name: str, qps: int, window: int) -> tuple[str, str, float, dict[str, int]]:
    """Queue pairs that take several windows to have their turns."""
    cycle = qps // gcd(qps, window)
    lengths = {"iters": 10 * cycle, "warmup": 2 * cycle}
    return "mt25208", name, 0.003, {"size": 64, "qps": qps, "window": window, **lengths}


@pytest.mark.parametrize(
    ("adapter", "name", "rel", "options"),
    [
        ("mt25208", "lat_rd", 0, {"size": 600, "iters": 301}),
        ("mt23108", "lat_wrrd", 0, {"size": 600, "iters": 301}),
        # Credits of acknowledgements add up to one more packet every 17 round trips.
        ("mt25208", "write_lat", 1e-5, {"size": 65536, "iters": 60, "warmup": 1}),
        ("mt25208", "window_bw", 0.002, {"size": 64, "iters": 6, "warmup": 2}),
        ("mt23108", "window_bw", 0.002, {"size": 4096, "iters": 6, "warmup": 2}),
        ("mt25208", "window_bibw", 0.002, {"size": 2048, "iters": 6, "warmup": 2}),
        ("mt25208", "window_bw send", 0.002, {"size": 5000, "iters": 6, "warmup": 2}),
        ("mt23108", "window_bibw send", 0.002, {"size": 2048, "iters": 6, "warmup": 2}),
        ("mt25208", "window_bw read", 0.002, {"size": 8192, "iters": 6, "warmup": 2}),
        ("mt25208", "window_bibw", 0.005, {"size": 4096, "iters": 5, "warmup": 1, **STRIPES}),
        ("mt25208", "bw_rd", 0.002, {"size": 2000, "iters": 30, "warmup": 3}),
        ("mt23108", "bw_wr", 0.002, {"size": 2000, "iters": 30, "warmup": 3}),
        ("mt25208", "bw_rdwr", 0.002, {"size": 2000, "iters": 30, "warmup": 3}),
        turns("window_bw", 7, 2),
        turns("window_bibw", 3, 1),
        turns("window_bw send", 16, 4),
        turns("window_bw read", 7, 2),
    ],
)
def test_a_short_run_tells_what_all_iterations_do(
    adapter: str, name: str, rel: float, options: dict[str, Any]
) -> None:
    column = "latency_us" if "lat" in name else "bandwidth_MBps"
    short, full = both(name, machine(adapter=adapter), column, **options)
    assert short == pytest.approx(full, rel=rel, abs=0)


@pytest.mark.parametrize(
    ("entries", "adapter", "name", "rel", "options"),
    [
        (TIGHT, "mt25208", "window_bw", 0.002, {"size": 64, "reuse": 33}),
        (TIGHT, "mt23108", "window_bw", 0.002, {"size": 10_000, "reuse": 0}),
        (TIGHT, "mt25208", "window_bw send", 0.002, {"size": 10_000, "reuse": 33}),
        (TIGHT, "mt23108", "window_bw read", 0.002, {"size": 64, "reuse": 0}),
        (TIGHT, "mt23108", "netpipe", 0.005, {"size": 64, "buffers": 5, "iters": 20, "warmup": 5}),
        (TIGHT, "mt23108", "netpipe", 0.005, {"size": 65536, "iters": 20, "warmup": 5}),
        (SMALL, "mt25208", "qp_lat", 0.001, {"size": 8, "qps": 20, "iters": 20, "warmup": 2}),
        (SMALL, "mt25208", "scatter", 0.005, {"size": 2000, "qps": 20, "iters": 80, "warmup": 70}),
        (SMALL, "mt25208", "loopback_lat", 0.005, {"size": 2000, "iters": 80, "warmup": 70}),
    ],
)
def test_so_it_does_where_caches_hold_little(
    entries: dict[str, str], adapter: str, name: str, rel: float, options: dict[str, Any]
) -> None:
    column = "bandwidth_MBps" if "bw" in name else "latency_us"
    given = {"iters": 5, "warmup": 1} | options
    short, full = both(name, machine(entries, adapter=adapter), column, **given)
    assert short == pytest.approx(full, rel=rel, abs=0)


def test_a_window_begins_with_misses_when_further_buffers_displace_what_it_needs() -> None:
    options = {"size": 65536, "reuse": 50, "window": 16, "iters": 6, "warmup": 1}
    short, full = both("window_bw", resolve("sur2005"), "bandwidth_MBps", **options)
    assert short == pytest.approx(full, rel=0.0005, abs=0)


@pytest.mark.parametrize(
    ("name", "qps", "pattern"), [("write_lat", 17, "zipf"), ("read_lat", 100, "random")]
)
def test_a_random_order_is_averaged_to_about_one_percent(name: str, qps: int, pattern: str) -> None:
    options = {"size": 8, "qps": qps, "pattern": pattern, "iters": 4000, "warmup": 300}
    short, full = (run(name, machine(SMALL), exact=exact, **options) for exact in (False, True))
    # One percent is two standard errors; three must be enough.
    assert short.row["latency_us"] == pytest.approx(full.row["latency_us"], rel=0.015, abs=0)
    assert short.counters["doorbells"] < 0.6 * full.counters["doorbells"]


@pytest.mark.parametrize(
    ("size", "options", "laps"),
    [
        (100_000, {}, 3),
        (300_000, {"invalidate": True}, 2),
        (300_000, {"verb": "write", "completion": "memory"}, 2),
    ],
)
def test_one_round_trip_tells_all_where_a_message_displaces_every_translation(
    size: int, options: dict[str, Any], laps: int
) -> None:
    # 64 translations reach 256 KiB.
    tight = machine({"adapter.mtt.entries": "64"}, adapter="mt23108")
    words = {"size": size, "iters": 8, "warmup": 4} | options
    short, full = (run("netpipe", tight, exact=exact, **words) for exact in (False, True))
    assert short.row["latency_us"] == full.row["latency_us"]
    assert short.counters["port_rcv_data"] == pytest.approx(2 * laps * size, rel=0.01)
