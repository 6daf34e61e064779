"""What a host does beyond latencies never helps, and more room never hurts."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcasim.catalog import Machine, resolve
from hcasim.workloads import Options, run_point
from tests.rig import extended, run

BASE = resolve("pcie-bench-broadwell")
BED = "pcie-bench-broadwell"
ERROR = 0.01
"""Places at random are known to this, and Acks fall into step in several ways."""
WINDOWS = [4096 << n for n in range(15)]
SIZES = st.sampled_from([8, 64, 100, 256, 512, 1000, 2048, 4096])
BANDWIDTHS = st.sampled_from(["bw_rd", "bw_wr", "bw_rdwr"])


def bandwidth(kind: str, machine: Machine = BASE, **options: Any) -> float:
    chosen = Options(**({"iters": 60, "warmup": 20} | options))
    return float(run_point(kind, machine, chosen).row["bandwidth_MBps"])


def latency(machine: Machine = BASE, **options: Any) -> float:
    chosen = Options(**({"iters": 1000, "warmup": 200} | options))
    return float(run_point("lat_rd", machine, chosen).row["latency_us"])


@settings(max_examples=2)
@given(BANDWIDTHS, SIZES, st.sampled_from(WINDOWS), st.sampled_from(["cold", "device-warm"]))
def test_an_iommu_is_never_quicker_than_none(kind: str, size: int, window: int, cache: str) -> None:
    used = {"size": size, "window_bytes": window, "cache": cache}
    assert bandwidth(kind, iommu="on", **used) <= bandwidth(kind, iommu="off", **used) * (1 + ERROR)


@pytest.mark.check
@settings(max_examples=4)
@given(BANDWIDTHS, SIZES, st.sampled_from(WINDOWS), st.sampled_from(["on", "off"]))
def test_a_cold_cache_is_never_quicker_than_a_warm_one(
    kind: str, size: int, window: int, iommu: str
) -> None:
    used = {"size": size, "window_bytes": window, "iommu": iommu}
    for warm in ("host-warm", "device-warm"):
        cold = bandwidth(kind, cache="cold", **used)
        assert cold <= bandwidth(kind, cache=warm, **used) * (1 + ERROR)
        assert latency(cache="cold", **used) >= latency(cache=warm, **used) * (1 - ERROR)


@pytest.mark.parametrize(
    ("cache", "iommu"), [("cold", "off"), ("host-warm", "on"), ("device-warm", "on")]
)
def test_a_larger_window_is_never_faster(cache: str, iommu: str) -> None:
    windows = WINDOWS[::3]
    used = {"size": 64, "cache": cache, "iommu": iommu}
    rates = [bandwidth("bw_rd", window_bytes=window, **used) for window in windows]
    assert all(after <= before * (1 + ERROR) for before, after in pairwise(rates))
    times = [latency(window_bytes=window, **used) for window in windows]
    assert all(after >= before * (1 - ERROR) for before, after in pairwise(times))


MORE: dict[str, tuple[int, ...]] = {
    "adapter.bus.read_tags": (1, 2, 4, 8, 16, 32, 64, 128),
    "adapter.dma.operations": (1, 2, 4, 8, 16, 32, 64, 128),
    "host.root_port.posted_header_credits": (1, 2, 4, 8, 16, 32, 64),
    "host.root_port.posted_data_credits": (16, 32, 64, 128, 256, 512, 1024),
    "host.root_port.nonposted_header_credits": (1, 2, 4, 8, 16, 32, 64),
    "host.root_port.outstanding_lines": (4, 8, 16, 32, 64, 128),
    "host.root_port.outstanding_reads": (1, 2, 4, 8, 16, 32, 64),
    "host.iommu.entries": (1, 4, 16, 64, 256, 1024, 4096),
    "host.iommu.walks": (1, 2, 4, 8, 16, 32, 64),
}


@pytest.mark.parametrize(
    ("path", "kind", "size"),
    [
        ("adapter.bus.read_tags", "bw_rd", 512),
        ("adapter.dma.operations", "bw_rdwr", 1024),
        ("host.root_port.posted_header_credits", "bw_wr", 512),
        pytest.param(
            "host.root_port.posted_data_credits", "bw_rdwr", 1024, marks=pytest.mark.check
        ),
        ("host.root_port.nonposted_header_credits", "bw_rd", 512),
        ("host.root_port.outstanding_lines", "bw_rdwr", 512),
        ("host.root_port.outstanding_reads", "bw_rd", 64),
        ("host.iommu.entries", "bw_wr", 512),
        ("host.iommu.walks", "bw_wr", 64),
    ],
)
def test_more_room_is_never_slower(path: str, kind: str, size: int) -> None:
    used = {"size": size, "window_bytes": 2**20, "iommu": "on"}
    rates = [bandwidth(kind, resolve(BED, overrides={path: value}), **used) for value in MORE[path]]
    assert all(after >= before * (1 - ERROR) for before, after in pairwise(rates))


@pytest.mark.parametrize(
    "path", ["host.root_port.posted_header_credits", "host.root_port.posted_data_credits"]
)
def test_posted_credits_bind_until_they_cover_what_a_write_takes(path: str) -> None:
    few, many = MORE[path][1], MORE[path][-1]
    found = {
        count: bandwidth("bw_wr", resolve(BED, overrides={path: count}), size=512)
        for count in (few, many)
    }
    assert found[few] < 0.7 * found[many]
    # What is under way is bound to the time until a write is visible and its room is free.
    held = BASE.host.memory.write_latency
    packets = few if path.endswith("header_credits") else few * 16 // 256
    assert found[few] <= packets * 256 / (held / 1e6) * (1 + ERROR)


@pytest.mark.check
def test_ordered_writes_bind_perftest_by_their_number_and_relaxed_ones_do_not() -> None:
    """Each line of 64 B holds its place until memory has it (Little's law)."""
    on = resolve("pair", adapter="connectx6", host="epyc-rome")

    def measured(ordered: int | None, relaxed: bool = False) -> tuple[float, str]:
        changes = {
            "host": {"root_port": {"ordered_writes": ordered}},
            "adapter": {"bus": {"relaxed_ordering": relaxed}},
        }
        options = {"size": 65536, "qps": 2, "iters": 200, "explain": True}
        found = run("write_bw", extended(on, **changes), **options)
        return found.row["bandwidth_MBps"], found.breakdown["binds"]

    (free, _), (slow, _), (quick, binds) = map(measured, (None, 12, 24))
    most = 24 * 64 / on.host.memory.write_latency * 1e6
    assert (quick, slow) == (pytest.approx(most, rel=0.03), pytest.approx(quick / 2, rel=0.05))
    assert quick < 0.9 * free
    assert binds.endswith(".ordered_writes")
    assert measured(12, relaxed=True)[0] == pytest.approx(free, rel=1e-9)


def test_an_epyc_takes_150_gigabits_of_writes_that_are_not_relaxed() -> None:
    """Source: UCX pull request 8062, of an adapter of 200 Gbit/s."""
    on = resolve("pair", adapter="connectx6", host="epyc-rome")
    strict = extended(on, adapter={"bus": {"relaxed_ordering": False}})
    found = run("write_bw", strict, size=1 << 20, iters=50).row["bandwidth_MBps"]
    assert found == pytest.approx(150e9 / 8e6, rel=0.05)
