"""What no run of NetPIPE may contradict, on any adapter and at any size."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import resolve
from tests.rig import machine
from tests.rig import run as run_workload

ADAPTERS = st.sampled_from(["mt25208", "mt23108"])
WAYS: list[dict[str, Any]] = [
    {},
    {"completion": "memory"},
    {"completion": "memory", "verb": "write"},
]
SIZES = st.one_of(st.integers(1, 300), st.integers(1, 100_000))
FEW: dict[str, Any] = {"iters": 12, "warmup": 3}
TIGHT = {"adapter.mtt.entries": "64", "adapter.mpt.entries": "8"}


def run(adapter: str, **options: Any) -> dict[str, Any]:
    return run_workload("netpipe", machine(TIGHT, adapter=adapter), **FEW, **options).row


@given(adapter=ADAPTERS, size=SIZES, way=st.sampled_from(WAYS), invalidate=st.booleans())
def test_throughput_is_what_a_message_holds_over_the_time_it_takes(
    adapter: str, size: int, way: dict[str, Any], invalidate: bool
) -> None:
    row = run(adapter, size=size, invalidate=invalidate, **way)
    seconds = row["latency_us"] / 1e6
    assert row["throughput_Mbps"] == pytest.approx(8 * size / 2**20 / seconds, rel=1e-9)
    assert row["bandwidth_MBps"] == pytest.approx(size / 1e6 / seconds, rel=1e-9)


@given(adapter=ADAPTERS, size=SIZES, way=st.sampled_from(WAYS))
def test_rotation_through_a_pool_is_never_faster_than_one_buffer(
    adapter: str, size: int, way: dict[str, Any]
) -> None:
    same, rotating = (
        run(adapter, size=size, invalidate=invalidate, **way)["latency_us"]
        for invalidate in (False, True)
    )
    assert same <= rotating


@given(adapter=ADAPTERS, size=SIZES, invalidate=st.booleans())
def test_memory_is_noticed_sooner_than_a_completion_and_a_write_sooner_than_a_send(
    adapter: str, size: int, invalidate: bool
) -> None:
    queue, memory, write = (
        run(adapter, size=size, invalidate=invalidate, **way)["latency_us"] for way in WAYS
    )
    assert write < memory < queue


@pytest.mark.check
def test_rotation_costs_registrations_where_they_are_not_kept() -> None:
    """Two pools hold 90 messages of 200 KB: who keeps fewer registrations pays for each."""

    def latency(entries: str) -> float:
        kept = {"stack.mpi.registration.entries": entries}
        on = resolve("benjegerdes2004", overrides=kept, stack="mvapich-0.9.2")
        options = {"size": 200 * 1024, "iters": 2, "warmup": 3, "invalidate": True}
        return float(run_workload("netpipe_mpi send", on, **options).row["latency_us"])

    assert latency("40") > 1.3 * latency("190")
