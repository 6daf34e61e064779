"""Which messages reuse a buffer, and where the others come from and go to."""

from typing import Any

import pytest

from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import CQ, PD, Context, VerbsError
from hcasim.workloads import Options
from hcasim.workloads.windows.process import FurtherBuffers, enough_buffers
from tests.rig import machine, run

TIGHT = {"adapter.mpt.entries": "4", "adapter.mtt.entries": "64"}


def buffers(reuse: int, **options: Any) -> FurtherBuffers:
    context = Context(sim := Simulator(), Cluster(sim, machine(TIGHT), 2).nodes[0])
    return FurtherBuffers(PD(context), Options(reuse=reuse, **options))


@pytest.mark.parametrize("reuse", [0, 1, 25, 33, 50, 75, 99, 100])
def test_the_percentage_of_reuse_is_exact_and_spread_evenly(reuse: int) -> None:
    found = buffers(reuse)
    reused = [found.find(message) is None for message in range(400)]
    assert sum(reused) == 4 * reuse
    # In each stretch of messages the share differs from the percentage by one message at most.
    for length in (1, 4, 10, 64, 100):
        for start in range(0, 300, 7):
            assert abs(sum(reused[start : start + length]) - length * reuse / 100) <= 1


@pytest.mark.parametrize("size", [64, 4096, 65536])
def test_there_are_so_many_further_buffers_that_both_caches_have_forgotten_each(size: int) -> None:
    adapter = machine(TIGHT).adapter
    count = enough_buffers(adapter, Options(size=size))
    assert count > adapter.mpt.entries
    assert count * -(-size // 4096) > adapter.mtt.entries


@pytest.mark.parametrize("name", ["window_bw", "window_bw send", "window_bw read"])
def test_each_end_translates_a_further_buffer_anew(name: str) -> None:
    def misses(reuse: int) -> int:
        few = {"window": 16, "iters": 8, "warmup": 0, "exact": True}
        return run(name, machine(TIGHT), size=8192, reuse=reuse, **few).counters["mtt_miss_cnt"]

    # Two pages for each of the 128 messages, at both ends.
    further = 2 * 128 * 2
    # What all reuse is translated once at each end.
    assert further - 4 <= misses(0) - misses(100) <= 1.1 * further
    assert misses(50) - misses(100) >= further / 2


@pytest.mark.parametrize(
    ("name", "reuse"),
    [
        ("window_bw", 0),
        ("window_bw", 100),
        ("window_bw send", 100),
        ("write_lat", 100),
        ("read_lat", 100),
        ("qp_lat", 100),
        ("scatter", 100),
        ("loopback_lat", 100),
        ("netpipe", 100),
    ],
)
def test_a_larger_page_takes_fewer_translations(name: str, reuse: int) -> None:
    def misses(page_size: int) -> int:
        options = {"window": 4, "iters": 4, "reuse": reuse, "page_size": page_size}
        return run(name, machine(TIGHT), size=1 << 19, **options).counters["mtt_miss_cnt"]

    assert misses(65536) < misses(4096) / 4


def test_completion_queues_are_no_longer_than_the_adapter_allows() -> None:
    few = machine({"adapter.limits.max_cqe": "200"})
    with pytest.raises(VerbsError, match="cqe is 201; allowed: 1 to 200"):
        CQ(Context(sim := Simulator(), Cluster(sim, few, 2).nodes[0]), 201)
    rates = [
        run("window_bw", on, window=16, iters=4, exact=True).row["rate_Mps"]
        for on in (few, machine())
    ]
    assert rates[0] == rates[1]
