"""A default run is no further from the whole one than it says."""

import pytest

from hcasim import bench
from hcasim.runs.machine import each_machine_once
from tests.fuzz.pairs import REFUSED, SHORT, Case, compare, difference, draw

DECEPTIVE = (
    # Laps last equally long while a queue fills up, or come in bursts of equal ones.
    Case(
        "write_bw",
        {"testbed": "pair", "adapter": "connectx6", "host": "epyc-rome"},
        {"size": 1024, "iters": 1500, "post_list": 3, "qps": 2},
    ),
    Case(
        "write_bw", {"testbed": "rashti2007"}, {"size": 1, "iters": 600, "post_list": 2, "qps": 4}
    ),
    Case(
        "read_bw",
        {"testbed": "pair-roce", "adapter": "connectx5"},
        {"size": 8, "iters": 1500, "post_list": 3},
    ),
    # Streams end apart, or pile up behind their completions.
    Case(
        "window_bw",
        {"testbed": "pair-roce", "adapter": "connectx7", "host": "haswell-e5-2683v3"},
        {"size": 1 << 18, "window": 64, "iters": 2, "warmup": 1},
    ),
    Case(
        "window_bibw",
        {"testbed": "val"},
        {"size": 98524, "qps": 5, "window": 64, "iters": 2, "warmup": 1},
    ),
    # A page of each queue is translated for the first time.
    Case("send_lat", {"testbed": "liu2004"}, {"size": 1, "qps": 16, "iters": 1200, "warmup": 3}),
    Case(
        "send_bibw",
        {"testbed": "pair-roce", "adapter": "connectx5"},
        {"qps": 4, "size": 8192, "tx_depth": 1, "iters": 700},
    ),
    # Buffers, queue pairs, places, queues of a device and slots come around late.
    Case("window_bw", {"testbed": "roce-400g"}, {"size": 64, "reuse": 25, "iters": 60}),
    Case(
        "window_bw",
        {"testbed": "pair", "adapter": "connectx3", "host": "skylake-sp"},
        {"size": 5000, "reuse": 75, "window": 4, "warmup": 0, "iters": 155},
    ),
    Case("window_bibw", {"testbed": "roce-40g"}, {"size": 1, "qps": 2, "iters": 40, "warmup": 3}),
    Case(
        "send_lat",
        {"testbed": "roce-400g"},
        {"size": 16, "qps": 100, "pattern": "zipf", "connection": "UC", "iters": 600},
    ),
    Case(
        "atomic_lat",
        {"testbed": "pair", "adapter": "connectx4", "host": "generic-modern"},
        {"region": 1 << 16, "iters": 1000},
    ),
    Case("bw_rdwr", {"testbed": "pcie-bench-broadwell"}, {"size": 64}),
    Case("osu_latency", {"testbed": "ucx-hdr"}, {"size": 100_000, "iters": 60, "warmup": 3}),
    Case(
        "osu_multi_lat",
        {"testbed": "ucx-hdr"},
        {"size": 8192, "processes": 2, "iters": 300, "warmup": 3},
    ),
    Case("imb_sendrecv", {"testbed": "rashti2007"}, {"size": 1 << 16, "iters": 70, "warmup": 3}),
)


@each_machine_once()
def _hold(count: int, packets: int) -> None:
    cases = [draw(seed, packets) for seed in range(count)]
    pairs = [compare(case) for case in cases]
    assert sum(bool(pair.refused) for pair in pairs) <= REFUSED * count
    assert not [
        (*case, *pair.faults) for case, pair in zip(cases, pairs, strict=True) if pair.faults
    ]


def test_what_is_drawn_is_within_its_stated_error() -> None:
    _hold(80, SHORT)


@pytest.mark.check
def test_what_is_drawn_and_longer_is_within_its_stated_error() -> None:
    _hold(100, 10 * SHORT)


def test_what_looks_steady_too_early_is_within_its_stated_error_which_is_small() -> None:
    assert not [fault for case in DECEPTIVE if (fault := difference(case, most=0.7))]


def test_a_region_is_used_from_the_start_as_after_minutes() -> None:
    options = {"size": 4096, "region": "64M", "access": "sequential", "tx_depth": 1}
    short, long = (
        bench("write_bw", "liu2004", **options, iters=iters, exact=True).curve.rows[0]
        for iters in (200, 1000)
    )
    assert abs(short["rate_Mps"] / long["rate_Mps"] - 1) < 0.005
