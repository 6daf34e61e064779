"""The shipped machines away from their papers: smooth where hardware is, steps where it steps."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from hcasim.catalog import resolve
from hcasim.fabric.packet import BASE, FRAME_DELIMITERS
from hcasim.workloads import WORKLOADS, run_point
from tests.twin import link_byte, pcie_byte

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
@pytest.mark.parametrize("workload", ["write_lat", "send_lat", "read_lat"])
def test_a_longer_message_never_takes_less_time(workload: str, adapter: str) -> None:
    near = {max(1, (1 << k) + d) for k in range(14) for d in (-1, 0, 1)}
    sizes = sorted(near | {1 << k for k in range(14, 21, 2)})
    times = [latency(workload, adapter, size) for size in sizes]
    # The last packets of a long message may fall a few ns better into step with the bus.
    assert all(after >= before * 0.99999 for before, after in pairwise(times))


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_one_more_byte_costs_at_most_one_more_packet(adapter: str) -> None:
    for size in (256, 512, 1024, 2048, 4096, 65536):
        step = latency("write_lat", adapter, size + 1) - latency("write_lat", adapter, size)
        assert 0 <= step < 0.25


@pytest.mark.parametrize("mtu", [512, 1024, 2048])
def test_pci_express_fills_the_link_less_its_headers(mtu: int) -> None:
    wire = float(link_byte("SDR", 4)) * (mtu + BASE + FRAME_DELIMITERS)
    assert bandwidth("window_bw", "mt25208", 1 << 20, mtu=mtu) == pytest.approx(
        mtu / wire * 1e6, rel=2e-3
    )


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_a_narrow_bus_binds_at_its_read_bandwidth(lanes: int) -> None:
    overrides = {"adapter.bus.lanes": str(lanes)}
    alone = bandwidth("bw_rd", "mt25208", 4096, overrides=overrides)
    request = 512 + 8 * 20 + 2 * 8
    assert alone == pytest.approx(512 / request / float(pcie_byte(1, lanes)) * 1e6, rel=1e-3)
    assert bandwidth("window_bw", "mt25208", overrides=overrides) == pytest.approx(alone, rel=1e-2)


@pytest.mark.check
@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("adapter.bus.generation", ("1", "2", "3", "4", "5")),
        ("adapter.bus.lanes", ("1", "2", "4", "8", "16")),
        ("adapter.bus.max_read_request", ("128 B", "256 B", "512 B", "1024 B", "4096 B")),
        ("adapter.bus.read_tags", ("1", "2", "4", "8", "16")),
    ],
)
def test_more_of_the_bus_never_gives_less_on_two_ports(path: str, values: tuple[str, ...]) -> None:
    found = [
        bandwidth("window_bw", "mt25208", overrides={path: v}, ports=2, mode="binding", processes=2)
        for v in values
    ]
    assert all(after >= before * 0.999 for before, after in pairwise(found))
    assert found[-1] > found[0]


@pytest.mark.check
@pytest.mark.parametrize("workload", ["window_bw", "window_bibw"])
def test_a_slower_pci_x_clock_gives_less_bandwidth_and_no_more_than_the_bus(workload: str) -> None:
    clocks = ("33.333333 MHz", "66.666667 MHz", "100 MHz", "133.333333 MHz")
    found = [bandwidth(workload, "mt23108", overrides={"adapter.bus.clock": c}) for c in clocks]
    assert found == sorted(found)
    for clock, carried in zip(clocks, found, strict=True):
        assert carried < 8 * float(clock.split()[0])


@pytest.mark.check
def test_longer_pci_x_reads_and_more_of_them_give_more_bandwidth() -> None:
    for path, values in (
        ("adapter.bus.mmrbc", ("512 B", "1024 B")),
        ("adapter.bus.outstanding_splits", ("1", "2", "3", "4")),
    ):
        found = [bandwidth("window_bw", "mt23108", overrides={path: v}) for v in values]
        assert found == sorted(found)
        assert found[-1] > 1.1 * found[0]


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


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_two_nodes_without_a_switch_are_faster_and_carry_as_much(adapter: str) -> None:
    assert latency("write_lat", adapter, 8, switch=False) < latency("write_lat", adapter, 8)
    assert bandwidth("window_bw", adapter, switch=False) == pytest.approx(
        bandwidth("window_bw", adapter), rel=1e-3
    )


# The work queues of each queue pair take one of 64 MPT entries; the CQ and both buffers three more.
@pytest.mark.parametrize("qps", [1, 2, 16, pytest.param(61, marks=pytest.mark.check)])
def test_queue_pairs_that_fit_the_caches_cost_no_latency(qps: int) -> None:
    one, several = (latency("write_lat", "mt25208", 8, qps=count) for count in (1, qps))
    # Each page of each queue is translated for the first time once.
    assert several == pytest.approx(one, rel=3e-3, abs=0)


@pytest.mark.check
def test_queue_pairs_beyond_the_caches_wait_for_their_contexts() -> None:
    assert latency("write_lat", "mt25208", 8, qps=256) > latency("write_lat", "mt25208", 8) + 0.5
