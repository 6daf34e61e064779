"""NetPIPE over verbs, and the other latencies that bring adapter memory to light."""

import pytest

from hcasim.workloads import Options, run_point
from tests.rig import machine


def run(name: str, adapter: str = "mt25208", overrides: dict[str, str] | None = None, **o: object):  # type: ignore[no-untyped-def]
    return run_point(name, machine(overrides, adapter=adapter), Options(**o))  # type: ignore[arg-type]


def test_the_bandwidth_is_the_size_over_half_a_round_trip() -> None:
    row = run("netpipe", size=10_000, iters=20, warmup=2).row
    assert row["bandwidth_MBps"] == pytest.approx(10_000 / row["latency_us"], rel=1e-9)
    seconds = row["latency_us"] / 1e6
    assert row["throughput_Mbps"] == pytest.approx(10_000 * 8 / 2**20 / seconds, rel=1e-9)


def test_sends_are_not_signaled() -> None:
    point = run("netpipe", size=8, iters=50, warmup=0, exact=True)
    # One entry for each message received, and none for those sent.
    assert point.counters["cqes_written"] == 2 * 50


@pytest.mark.parametrize(("pages", "misses"), [(24, False), (40, True)])
def test_a_buffer_is_translated_once_for_sending_and_once_for_receiving(
    pages: int, misses: bool
) -> None:
    # 64 entries hold two translations of 24 pages, and some of the queues, but not of 40 pages.
    tight = {"adapter.mtt.entries": "64", "adapter.mtt.ways": "64"}

    def count(iters: int) -> int:
        point = run(
            "netpipe", overrides=tight, size=pages * 4096, iters=iters, warmup=0, exact=True
        )
        return point.counters["mtt_miss_cnt"]

    assert (count(8) - count(4) > 4 * pages) is misses


def test_rotation_through_more_buffers_than_are_held_translates_each_anew() -> None:
    def count(buffers: int) -> int:
        tight = {"adapter.mtt.entries": "64"}
        options = {"size": 8192, "iters": 200, "warmup": 0, "exact": True}
        point = run("netpipe", overrides=tight, buffers=buffers, **options)
        return point.counters["mtt_miss_cnt"]

    # Two pages, sending and receiving, at both ends.
    assert count(100) - count(1) > 0.95 * 200 * 2 * 2 * 2


def test_a_loop_puts_nothing_onto_the_link() -> None:
    counters = run("loopback_lat", size=4096, iters=20, warmup=2).counters
    assert counters["port_xmit_packets"] == 0
    assert counters["flow_control_packets"] == 0


def test_half_of_there_and_back_is_reported() -> None:
    # A slower doorbell delays the start of each of the two messages.
    overrides = {"adapter.doorbell.latency": "1100 ns"}
    slow = run("loopback_lat", overrides=overrides, size=8, iters=300, warmup=200).row
    fast = run("loopback_lat", size=8, iters=300, warmup=200).row
    assert slow["latency_us"] - fast["latency_us"] == pytest.approx(1.0, rel=0.01)


def test_a_scatter_writes_each_buffer_once_and_awaits_all() -> None:
    point = run("scatter", size=3000, qps=10, iters=5, warmup=1, exact=True)
    assert point.counters["port_rcv_data"] == 6 * 10 * 3000
    assert point.counters["cqes_written"] == 6 * 10


def test_the_buffers_and_queue_pairs_of_a_scatter_are_all_different() -> None:
    tight = {"adapter.mpt.entries": "4", "adapter.mpt.ways": "4"}

    def misses(name: str) -> int:
        point = run(name, overrides=tight, size=8, qps=12, iters=8, warmup=0, exact=True)
        return point.counters["mpt_miss_cnt"]

    # Source and target each time, on top of the work queue.
    assert misses("scatter") >= 8 * 12 * 2


@pytest.mark.parametrize("name", ["scatter", "loopback_lat"])
def test_an_explanation_names_what_binds(name: str) -> None:
    found = run(name, size=65536, qps=8, iters=6, warmup=1, explain=True).breakdown
    assert found["binds"] in {resource["name"] for resource in found["resources"]}


def test_long_buffers_are_scattered_at_the_rate_of_the_link() -> None:
    point = run("scatter", size=65536, qps=64, iters=6, warmup=1, explain=True)
    assert point.breakdown["binds"].endswith(".link")
    assert 64 * 65536 / point.row["latency_us"] == pytest.approx(970, rel=0.01)
