"""What simulating cost is told point by point and together, and only if it is asked for."""

from pathlib import Path

import pytest

from hcasim.catalog import CatalogError
from hcasim.papers.replay import replay
from hcasim.runs.benchmark import Benchmark, bench


def profiled(*, jobs: int = 1, timing: bool = True) -> Benchmark:
    options = {"window": 16, "iters": 4, "warmup": 0}
    return bench("window_bw", "liu2004", size="1K,1M", jobs=jobs, profile=True, **options)


def test_what_several_points_cost_adds_up() -> None:
    found = profiled()
    document = found.to_dict()
    profile = document["profile"]
    assert [one["point"] for one in profile["points"]] == [{"size": 1024}, {"size": 1 << 20}]
    for name in ("events", "packets", "packets_left_out"):
        assert profile[name] == sum(one[name] for one in profile["points"])
    assert profile["packets_left_out"] > 0
    sent = profile["packets"] + profile["packets_left_out"]
    assert sent == document["counters"]["port_xmit_packets"]
    assert profile["events"] == sum(one["calls"] for one in profile["blocks"])
    blocks = sum(one["seconds"] for one in profile["blocks"])
    parts = blocks + profile["queue_s"] + profile["setup_s"]
    assert parts == pytest.approx(profile["wall_s"], rel=1e-9, abs=0)
    assert sum(one["share"] for one in profile["blocks"]) == pytest.approx(
        blocks / profile["wall_s"], rel=1e-9, abs=0
    )
    assert profile["packets_per_s"] == profile["packets"] / profile["wall_s"]
    assert "wall_s" in profile["points"][0]
    seconds = [one["seconds"] for one in profile["blocks"]]
    assert seconds == sorted(seconds, reverse=True)
    assert {"software", "Transmitter", "Port"} <= {one["block"] for one in profile["blocks"]}


@pytest.mark.check
def test_several_processes_count_what_one_does() -> None:
    one, two = profiled(jobs=1), profiled(jobs=2)
    assert [cost.calls for cost in one.costs] == [cost.calls for cost in two.costs]
    assert [cost.packets for cost in one.costs] == [cost.packets for cost in two.costs]


def test_a_point_without_events_costs_time_alone() -> None:
    (cost,) = bench("host_memory", "liu2004", qps=8, jobs=1, profile=True).costs
    assert cost.events == cost.packets == cost.left_out == 0
    assert cost.setup_s == cost.wall_s > 0


def test_both_simulations_of_an_overlap_count() -> None:
    options = {"size": 8, "iters": 4, "warmup": 1}
    found = bench("overlap_isend", "rashti2007", jobs=1, profile=True, **options)
    (cost,) = found.costs
    # The counters are those of the second alone.
    assert cost.packets + cost.left_out > 1.5 * found.counters["port_xmit_packets"]


def test_what_is_kept_of_earlier_runs_is_simulated_again_to_be_profiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HCASIM_CACHE", str(tmp_path))
    chosen = {"series": "pcix", "sizes": [8], "jobs": 1}
    replay("liu2004/fig02", **chosen)
    kept = sorted(tmp_path.rglob("*"))
    (cost,) = replay("liu2004/fig02", profile=True, **chosen).costs.values()
    assert cost.events > 0
    assert sorted(tmp_path.rglob("*")) == kept
    assert not replay("liu2004/fig02", **chosen).costs


def test_profile_is_a_flag() -> None:
    with pytest.raises(CatalogError, match="profile"):
        bench("write_lat", "liu2004", size=8, profile=3)  # type: ignore[arg-type]


# Percent. Every number that a message changes has to be declared, or nothing is left out. A first
# message meets cold caches: on some adapters queues then fill up until its end. Those of 1 MiB at
# both ends of a ConnectX-7's link take four more to empty: it reads at 29, and writes at 30 GB/s.
@pytest.mark.parametrize(
    ("testbed", "adapter", "least"),
    [
        *(("pair", one, 98) for one in ("mt23108", "mt25208", "mt25218")),
        *(("pair", one, 87) for one in ("connectx4", "connectx5")),
        *(("pair", "mt25218-ddr", 96), ("pair", "connectx3", 93), ("pair", "connect_ib", 96)),
        *(("pair", "connectx4-x8", 85), ("pair", "connectx6", 83)),
        *(("pair-roce", "connectx5", 82), ("pair-roce", "connectx7", 31)),
        *(("liu2004", "mt23108", 99), ("rashti2007", "ne010e", 72)),
    ],
)
def test_most_packets_of_long_messages_are_left_out(testbed: str, adapter: str, least: int) -> None:
    options = {"size": "16M", "tx_depth": 2, "iters": 8}
    found = bench("write_bw", testbed, adapter=adapter, jobs=1, profile=True, **options)
    (cost,) = found.costs
    assert 100 * cost.left_out >= least * (cost.packets + cost.left_out)


@pytest.mark.parametrize(
    ("workload", "nodes", "least"),
    [("incast", 9, 98), ("neighbour", 16, 92), ("all_to_all", 4, 92)],
)
def test_most_packets_of_flows_that_cross_are_left_out(
    workload: str, nodes: int, least: int
) -> None:
    options = {"size": "16M", "nodes": nodes, "iters": 1}
    found = bench(workload, "fat-tree-64", jobs=1, profile=True, **options)
    (cost,) = found.costs
    assert 100 * cost.left_out >= least * (cost.packets + cost.left_out)


# A period lasts until counters of TLPs and places in rings of work requests are the same together:
# up to 64 laps of 32 packets.
@pytest.mark.parametrize(
    ("workload", "testbed", "adapter", "size", "most"),
    [
        ("write_bw", "pair", "connectx3", "64K", 8000),
        ("write_bw", "pair", "connectx2", "1M", 17_000),
        ("write_bw", "pair", "connectx7", "64K", 5000),
        ("write_bw", "pair-roce", "connectx3-en", "64K", 7500),
        ("read_bw", "pair-roce", "connectx3-en", "64K", 17_000),
    ],
)
def test_few_packets_of_a_stream_are_simulated(
    workload: str, testbed: str, adapter: str, size: str, most: int
) -> None:
    (cost,) = bench(workload, testbed, adapter=adapter, size=size, jobs=1, profile=True).costs
    assert cost.packets <= most
