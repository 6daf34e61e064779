"""The shipped machines away from their papers: smooth where hardware is, steps where it steps."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from hcasim.catalog import resolve
from hcasim.workloads import WORKLOADS, run_point
from tests.buses import pcie_byte
from tests.rig import run

ADAPTERS = ("mt25208", "mt23108")
LARGE = 256 * 1024


def bandwidth(workload: str, adapter: str, size: int = LARGE, **what: object) -> float:
    return measure(workload, adapter, size, "bandwidth_MBps", **what)


def latency(workload: str, adapter: str, size: int, **what: object) -> float:
    return measure(workload, adapter, size, "latency_us", **what)


def measure(
    workload: str,
    adapter: str,
    size: int,
    field: str,
    overrides: dict[str, str] | None = None,
    mtu: int | None = None,
    switch: bool = True,
    **options: object,
) -> float:
    machine = resolve("liu2004", adapter=adapter, overrides=overrides or {}, mtu=mtu, switch=switch)
    chosen = replace(WORKLOADS[workload].defaults, size=size, **options)  # type: ignore[arg-type]
    return float(run_point(workload, machine, chosen).row[field])


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_one_more_byte_costs_at_most_one_more_packet(adapter: str) -> None:
    for size in (256, 512, 1024, 2048, 4096, 65536):
        step = latency("write_lat", adapter, size + 1) - latency("write_lat", adapter, size)
        assert 0 <= step < 0.25


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_a_narrow_bus_binds_at_its_read_bandwidth(lanes: int) -> None:
    overrides = {"adapter.bus.lanes": str(lanes)}
    alone = bandwidth("bw_rd", "mt25208", 4096, overrides=overrides)
    request = 512 + 8 * 20 + 2 * 8
    assert alone == pytest.approx(512 / request / float(pcie_byte(1, lanes)) * 1e6, rel=1e-3)
    assert bandwidth("window_bw", "mt25208", overrides=overrides) == pytest.approx(alone, rel=1e-2)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_bandwidth_never_falls_as_messages_grow(adapter: str) -> None:
    found = [bandwidth("window_bw", adapter, 1 << k) for k in range(0, 19, 2)]
    assert all(after >= before * 0.999 for before, after in pairwise(found))


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_faster_link_helps_only_until_the_bus_binds(adapter: str) -> None:
    found = [
        bandwidth("window_bw", adapter, overrides={"link.speed": speed})
        for speed in ("SDR", "DDR", "QDR")
    ]
    alone = bandwidth("bw_rd", adapter, 4096)
    assert found == sorted(found)
    assert found[-1] <= alone * 1.001


NEWER = ["connectx3", "connectx5", "connectx6", "connectx7"]
NEWER_WORKLOADS = ["send_bibw", "write_bibw", "read_bw"]
LARGER: dict[str, list[Any]] = {
    "adapter.send.port_buffer": ["32 KiB", "128 KiB", "1 MiB"],
    "adapter.receive.buffer": ["64 KiB", "256 KiB", "1 MiB"],
    "adapter.receive_queue.ahead": ["4", "16", "64", "256"],
    "mtu": [512, 1024, 2048, 4096],
}


@pytest.mark.parametrize(
    ("adapter", "workload", "name"),
    [
        (adapter, NEWER_WORKLOADS[(place + step) % 3], name)
        for place, adapter in enumerate(NEWER)
        for step, name in enumerate(LARGER)
    ],
)
def test_a_larger_buffer_or_mtu_never_slows_a_newer_adapter(
    adapter: str, workload: str, name: str
) -> None:
    found = []
    for value in LARGER[name]:
        changed: dict[str, Any] = {"mtu": value} if name == "mtu" else {"overrides": {name: value}}
        on = resolve("pair", adapter=adapter, **changed)
        found.append(run(workload, on, size=8192, iters=300).row["bandwidth_MBps"])
    assert all(large > 0.96 * small for small, large in pairwise(found)), found
