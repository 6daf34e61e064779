"""A probe waits behind what loads its way, and for nothing in an idle network."""

from typing import Any

import pytest

from hcasim.catalog import CatalogError
from hcasim.runs.benchmark import bench
from tests.unit.runs.test_options import faults_of

PACKET_US = (1024 + 82) * 80 / 1e6


def probe(testbed: str = "ideal-100g-4mb", **options: Any) -> Any:
    usual = {"cache": False, "jobs": 1, "iters": 8, "warmup": 3}
    return bench("probe_lat", testbed, **(usual | options)).rows[0]


def test_a_probe_waits_behind_the_streams_to_its_server() -> None:
    row = probe(nodes=4, background_size="16K", warmup=16)
    alone = bench("write_lat", "ideal-100g-4mb", cache=False, jobs=1, iters=4, warmup=1)
    latency = alone.rows[0]["latency_us"]
    assert row["idle_p50_us"] == pytest.approx(latency, rel=1e-3)
    # At least half a packet on one of two ways, and at most 16 messages of each of two streams.
    assert PACKET_US / 4 < row["latency_p50_us"] - latency < 2 * 16 * 16 * PACKET_US / 2
    assert row["latency_p50_us"] <= row["latency_p99_us"] <= row["latency_p999_us"]
    ratio = row["latency_p99_us"] / row["idle_p50_us"]
    assert row["slowdown_p99_times"] == pytest.approx(ratio, rel=1e-6)
    # However much leaves and fills the switch, no more comes than the server's link carries.
    carried = 12500 * 1024 / (1024 + 82)
    assert 0.95 * carried < row["background_MBps"] < 1.01 * carried


def test_a_probe_whose_message_is_lost_for_good_ends_though_others_go_on() -> None:
    small = {"switch.memory.size": "96 KiB", "switch.memory.reserve": "0 B"}
    lossy = {"adapter": "connectx6", "switch": "spectrum-tail-drop", "overrides": small}
    with pytest.raises(CatalogError, match="lost or corrupted; messages of UC are not sent again"):
        probe("ideal-100g", nodes=6, connection="UC", size="64K", **lossy)


def test_with_two_nodes_and_streams_nothing_loads_the_network() -> None:
    row = probe(nodes=2)
    assert row["latency_p999_us"] == pytest.approx(row["idle_p50_us"], rel=1e-3)
    assert row["background_MBps"] == 0


def test_laps_before_those_that_are_timed_are_not_told() -> None:
    cold, warm = (probe("simllm-leaf", nodes=2, warmup=laps) for laps in (0, 3))
    assert cold["latency_p999_us"] > 1.1 * cold["latency_p50_us"]
    assert warm["latency_p999_us"] < 1.01 * warm["latency_p50_us"]


def test_flows_of_drawn_sizes_delay_the_tail_and_are_the_same_for_a_seed() -> None:
    usual = {"nodes": 4, "background": "open_loop", "flow_sizes": "storage", "iters": 30}
    low, high = (probe(load=load, **usual) for load in (1, 90))
    assert low["slowdown_p50_times"] == pytest.approx(1, abs=0.01)
    assert high["latency_us"] > low["latency_us"] + PACKET_US / 2
    assert high["latency_p99_us"] > high["idle_p50_us"] + 4 * PACKET_US
    assert probe(load=90, **usual) == high
    assert probe(load=90, seed=2, **usual) != high


def test_a_probe_that_is_over_at_once_says_what_left_meanwhile() -> None:
    # Within a microsecond, after which the streams are looked at.
    row = probe("ideal-100g", nodes=3, iters=1, overrides={"link.cable_length": "1 m"})
    assert 0 < row["background_MBps"] < 12_500


def test_options_of_another_background_are_refused() -> None:
    assert faults_of("probe_lat", load=50) == [
        "load: found with background 'incast'; allowed: with open_loop"
    ]
    assert faults_of("probe_lat", background="open_loop", background_size=8) == [
        "background_size: found with background 'open_loop'; allowed: with incast"
    ]
