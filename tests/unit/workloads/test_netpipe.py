"""NetPIPE over verbs, and the other latencies that bring adapter memory to light."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hcasim.workloads import Options, Result
from hcasim.workloads.netpipe import ALIGNMENT, POOL, places, rotation
from tests.rig import Rig, machine
from tests.rig import run as run_workload


def run(
    name: str, adapter: str = "mt25208", overrides: dict[str, str] | None = None, **o: Any
) -> Result:
    return run_workload(name, machine(overrides, adapter=adapter), **o)


MEMORY: dict[str, Any] = {"completion": "memory"}
WRITE: dict[str, Any] = {"completion": "memory", "verb": "write"}


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


def test_memory_is_polled_without_the_bus_transactions_of_a_completion_queue() -> None:
    options: dict[str, Any] = {"size": 8, "iters": 50, "warmup": 0, "exact": True}
    messages = 2 * 50
    cq, memory = (
        run("netpipe", "mt23108", completion=completion, **options)
        for completion in ("cq", "memory")
    )
    saved = {name: cq.counters[name] - memory.counters[name] for name in cq.counters}
    # An entry written for each message, and a doorbell that says it has been read.
    assert saved["bus_writes"] == saved["cqes_written"] == messages
    assert saved["bus_write_bytes"] == 32 * messages
    assert saved["bus_mmio_writes"] == messages
    assert saved["pcix_bridge_grants"] == saved["pcix_write_grants"] == messages
    assert saved["bus_read_requests"] == saved["port_xmit_data"] == 0
    assert memory.row["latency_us"] < cq.row["latency_us"]


@pytest.mark.parametrize(
    ("options", "mmio", "writes", "reads"), [({}, 3, 2, 3), (MEMORY, 2, 1, 3), (WRITE, 1, 1, 2)]
)
def test_the_explanation_tells_what_a_message_takes_of_the_bus(
    options: dict[str, Any], mmio: int, writes: int, reads: int
) -> None:
    found = run("netpipe", "mt23108", size=8, iters=30, warmup=9, explain=True, **options)
    bus = found.breakdown["bus_per_message"]
    # Reads are of the data and of the two entries of work queues.
    assert bus["bus_mmio_writes"] == mmio
    assert bus["bus_writes"] == writes
    assert bus["bus_read_requests"] == reads
    assert found.breakdown["total_us"] == pytest.approx(found.row["latency_us"], rel=1e-9)


@pytest.mark.parametrize("size", [1, 1024, 5000, 40_000])
@pytest.mark.parametrize("options", [MEMORY, WRITE])
def test_a_message_is_noticed_in_memory_once_its_last_byte_is_there(
    size: int, options: dict[str, Any]
) -> None:
    found = run("netpipe", size=size, iters=20, warmup=2, explain=True, **options).breakdown
    names = [one["stage"] for one in found["stages"]]
    assert names.index("data write") == names.index("poll memory") - 1
    # 50 ns to look.
    assert found["stages"][names.index("poll memory")]["us"] == pytest.approx(0.05, rel=1e-9)


@pytest.mark.parametrize("options", [{}, MEMORY, WRITE])
def test_a_run_is_longer_than_its_queues(options: dict[str, Any]) -> None:
    short = {"adapter.limits.max_wr": "7"}
    point = run("netpipe", overrides=short, size=8, iters=40, warmup=0, exact=True, **options)
    assert point.counters["port_rcv_data"] == 2 * 40 * 8


@pytest.mark.parametrize("size", [8, 4096])
def test_new_pages_of_the_queues_are_counted(size: int) -> None:
    options: dict[str, Any] = {"size": size, "iters": 300, "warmup": 3}
    short, whole = (run("netpipe", exact=exact, **options).row for exact in (False, True))
    assert short["latency_us"] == pytest.approx(whole["latency_us"], rel=1e-3)


def test_a_write_needs_no_receive() -> None:
    point = run("netpipe", size=8, iters=40, warmup=0, exact=True, **WRITE)
    assert point.counters["receive_wqes_fetched"] == point.counters["cqes_written"] == 0


def pointers(size: int) -> list[int]:
    """Where NetPIPE's pointer goes before it is back: src/netpipe.c, AdvanceSendPtr."""
    block = size + ALIGNMENT - size % ALIGNMENT
    found = [0]
    while found[-1] + block < POOL - block:
        found.append(found[-1] + block)
    return found


@given(size=st.integers(1, POOL) | st.integers(1, 600).map(lambda n: n * ALIGNMENT))
@example(size=ALIGNMENT)
@example(size=POOL)
def test_messages_rotate_through_a_pool_as_netpipe_s_do(size: int) -> None:
    options = Options(size=size, invalidate=True)
    pd = Rig(size=8).peers[0].pd
    found = places(pd, options)
    first = found[0]
    assert first.source % ALIGNMENT == first.target % ALIGNMENT == 0
    assert [place.source - first.source for place in found] == pointers(size)
    assert [place.target - first.target for place in found] == pointers(size)
    assert len(found) == rotation(options)
    for place in (first, found[-1]):
        assert place.source + size <= place.sending.addr + place.sending.length
        assert place.target + size <= place.receiving.addr + place.receiving.length
    assert len({(place.sending.lkey, place.receiving.lkey) for place in found}) == 1
    assert first.sending.lkey != first.receiving.lkey


def test_each_end_of_a_rotation_uses_the_same_place_at_the_same_time() -> None:
    # A write to any other place than the one that is watched would never be noticed.
    point = run("netpipe", size=3_000_000, iters=5, warmup=0, exact=True, invalidate=True, **WRITE)
    assert point.row["buffers"] == 3
    assert point.counters["port_rcv_data"] == 2 * 5 * 3_000_000


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
