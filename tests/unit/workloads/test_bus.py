"""The bus alone: a device with a DMA engine, places in a window, caches and translation."""

from typing import Any

import pytest

from hcasim.catalog import CatalogError, Machine, resolve
from hcasim.runs.benchmark import bench
from hcasim.runs.experiment import Experiment
from hcasim.runs.foreign import to_trace
from hcasim.workloads import Options, run_point

HASWELL = resolve("pcie-bench-haswell")
BROADWELL = resolve("pcie-bench-broadwell")
K, M = 1024, 1024 * 1024


def haswell(parameter: str, value: int) -> Machine:
    return resolve("pcie-bench-haswell", overrides={f"adapter.{parameter}": value})


def run(workload: str, machine: Machine = BROADWELL, **options: Any) -> dict[str, Any]:
    usual = {"size": 64, "iters": 100, "warmup": 10}
    return dict(run_point(workload, machine, Options(**(usual | options))).row)


def latency(**options: Any) -> float:
    usual = {"path": "command", "iters": 10_000}
    return float(run("lat_rd", **(usual | options))["latency_us"])


def test_software_of_a_device_keeps_as_many_operations_in_flight_as_it_has_threads() -> None:
    one = haswell("dma.operations", 1)
    alone = run("lat_rd", one)["latency_us"]
    # Each begins when the one before it has ended.
    assert run("bw_rd", one)["rate_Mps"] == pytest.approx(1 / alone, rel=2e-3, abs=0)
    assert run("bw_rd", HASWELL)["rate_Mps"] > 30 * run("bw_rd", one)["rate_Mps"]


def test_reads_and_writes_in_turn_are_counted_together_and_each_way() -> None:
    for machine in (HASWELL, resolve("liu2004")):
        row = run("bw_rdwr", machine, size=512)
        assert row["bandwidth_MBps"] == 2 * row["each_way_MBps"]
    alone = run("bw_rd", HASWELL, size=2048)["bandwidth_MBps"]
    assert 0.8 * alone < run("bw_rdwr", HASWELL, size=2048)["each_way_MBps"] < alone


def test_pages_that_the_iommu_does_not_hold_cost_a_read_of_memory_each() -> None:
    walk = BROADWELL.host.memory.read_latency / 1e6
    off, fits = latency(window_bytes=64 * M), latency(window_bytes=256 * K, iommu="on")
    # But for the first look-up of each of its pages.
    assert off <= fits < off * 1.03
    # Of 16 lines of tables the walks still have one each, beside what the pages held are of.
    half = latency(window_bytes=512 * K, iommu="on")
    walks = BROADWELL.host.iommu.walks
    assert half == pytest.approx(off + walk / 2 * (1 - walks / 16), rel=0.03, abs=0)
    most = latency(window_bytes=64 * M, iommu="on")
    assert most == pytest.approx(off + walk * (1 - 64 / 16384 - walks / 2048), rel=0.01, abs=0)


@pytest.mark.parametrize("kind", ["bw_rd", "bw_wr"])
def test_walks_bound_a_bandwidth_by_how_many_go_on_at_a_time(kind: str) -> None:
    walk = BROADWELL.host.memory.read_latency / 1e6
    found = run(kind, window_bytes=64 * M, iommu="on")["rate_Mps"]
    most = BROADWELL.host.iommu.walks / walk
    assert found == pytest.approx(most / (1 - 64 / 16384), rel=0.01, abs=0)


def test_only_short_reads_gain_bandwidth_from_a_warm_cache() -> None:
    """Neugebauer et al., 6.3: those of 64 B do, and none of 128 B and more."""

    def gain(size: int) -> float:
        warm, cold = (
            run("bw_rd", size=size, window_bytes=8 * K, cache=cache)["bandwidth_MBps"]
            for cache in ("device-warm", "cold")
        )
        return float(warm / cold)

    assert 1.1 < gain(64) < 1.3
    assert gain(128) == pytest.approx(1, rel=5e-3, abs=0)


def test_the_host_says_whether_the_iommu_is_in_use_unless_the_option_does() -> None:
    used = resolve("pcie-bench-broadwell", overrides={"host.iommu.enabled": True})
    on = latency(window_bytes=64 * M, iommu="on")
    assert latency(machine=used, window_bytes=64 * M) == on
    assert latency(machine=used, window_bytes=64 * M, iommu="off") < on


def test_an_adapter_of_verbs_is_translated_for_as_a_device_is() -> None:
    used = {"adapter": "connectx4", "host": "broadwell-e5-2630v4"}
    given = {"size": 64, "iters": 300, "region": 64 * M, "explain": False}
    off, on = (
        run("read_lat", resolve("pair", **used), iommu=how, **given)["latency_us"]
        for how in ("off", "on")
    )
    walk = BROADWELL.host.memory.read_latency / 1e6
    # A look-up of the page that is read, and of those that the context is in.
    assert off + 0.5 * walk < on < off + 4 * walk
    assert run("read_lat", resolve("pair", **used), iommu="host", **given)["latency_us"] == off


def test_what_the_device_has_written_is_in_its_part_of_the_cache() -> None:
    gain = BROADWELL.host.memory.dram_latency / 1e6
    cold = latency(window_bytes=4 * K)
    assert latency(window_bytes=4 * K, cache="device-warm") == pytest.approx(cold - gain)
    # Of 10 MiB a quarter is still there; processors have all of the cache.
    part = latency(window_bytes=10 * M, cache="device-warm")
    assert part == pytest.approx(cold - gain / 4, rel=0.01, abs=0)
    assert latency(window_bytes=10 * M, cache="host-warm") == pytest.approx(cold - gain)


def test_a_read_behind_a_write_of_a_command_waits_for_that() -> None:
    write = HASWELL.host.memory.write_latency / 1e6
    alone = run("lat_rd", HASWELL, path="command", cache="host-warm")["latency_us"]
    behind = run("lat_wrrd", HASWELL, path="command", cache="host-warm")["latency_us"]
    # 64 bytes more on the link take some 11 ns, with the gap behind them 14.
    assert 0 < behind - alone - write < 0.016


def test_writes_displace_what_a_device_wrote_before_but_nothing_of_processors() -> None:
    def behind(window: int, cache: str) -> float:
        given = {"path": "command", "iters": 10_000, "window_bytes": window, "cache": cache}
        return float(run("lat_wrrd", **given)["latency_us"])

    near, gain = behind(M, "cold"), BROADWELL.host.memory.dram_latency / 1e6
    assert behind(M, "host-warm") == pytest.approx(near)
    # A quarter of 10 MiB is the devices' part of the cache; processors have written all of it.
    assert behind(10 * M, "cold") == pytest.approx(near + 3 / 4 * gain, rel=0.01, abs=0)
    assert behind(10 * M, "host-warm") == pytest.approx(near)


@pytest.mark.parametrize("window", [1, 8, 64])
def test_reads_and_writes_in_turn_are_as_fast_however_long_an_operation_is(window: int) -> None:
    liu = resolve("liu2004")
    page, more = (
        run("bw_rdwr", liu, size=size, window=window)["bandwidth_MBps"] for size in (4096, 65536)
    )
    assert more == pytest.approx(page, rel=1e-3, abs=0)


@pytest.mark.parametrize(
    ("workload", "options", "words"),
    [
        ("write_lat", {}, "found with nfp-6000, which is no RDMA adapter; allowed: bw_rd"),
        ("bw_rd", {"window": 8}, "whose software keeps 95 operations in flight"),
        ("lat_rd", {"path": "command", "size": 128}, "allowed: up to 64, as nfp-6000 has it"),
        ("bw_rd", {"iommu": "on", "host": "skylake-sp"}, "skylake-sp has no section iommu"),
        ("bw_rd", {"size": 4096, "window_bytes": 1024}, "window_bytes: found 1024 with size 4096"),
    ],
)
def test_what_a_device_cannot_do_is_refused(
    workload: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(CatalogError) as refused:
        bench(workload, "pcie-bench-haswell", **options)
    assert any(words in fault for fault in refused.value.faults), refused.value.faults


def test_an_adapter_without_an_engine_has_no_commands() -> None:
    with pytest.raises(CatalogError, match="mt25208 has no DMA engine"):
        bench("lat_rd", "liu2004", path="command")


def test_a_result_says_no_window_where_the_device_has_its_own() -> None:
    found = bench("bw_rd", "pcie-bench-haswell", size=64).to_dict()
    assert "window" not in found["options"]
    assert bench("bw_rd", "liu2004", size=64).to_dict()["options"]["window"] == 64


def test_a_trace_of_a_device_tells_no_transport() -> None:
    trace = to_trace(bench("bw_rd", "pcie-bench-haswell", size=64))
    assert (trace.header.device.name, trace.header.device.transport) == ("nfp-6000", "")
    assert trace.header.port.mtu is None


@pytest.mark.parametrize(
    ("workload", "machine", "options", "binds"),
    [
        ("bw_rdwr", HASWELL, {}, "dma.writes"),
        ("bw_rd", HASWELL, {"size": 2 * K, "cache": "host-warm"}, "bus.downstream"),
        ("bw_rdwr", HASWELL, {"size": 512, "cache": "host-warm"}, "host.root_port.lines"),
        ("bw_wr", resolve("liu2004"), {"size": 64 * K}, "bus.upstream"),
        ("bw_rd", BROADWELL, {"window_bytes": 64 * M, "iommu": "on"}, "host.iommu_walks"),
        ("bw_rd", haswell("bus.read_tags", 4), {"size": 2 * K}, "bus.read_tags"),
        ("bw_rd", haswell("dma.operations", 2), {}, "device.operations"),
        ("bw_rd", resolve("pair"), {"window": 2}, "device.operations"),
    ],
)
def test_what_limits_a_bandwidth_is_engine_bus_translation_or_what_is_in_flight(
    workload: str, machine: Machine, options: dict[str, Any], binds: str
) -> None:
    usual = {"size": 64, "iters": 100, "warmup": 10, "explain": True}
    told = run_point(workload, machine, Options(**(usual | options))).breakdown
    assert told["binds"] == binds
    assert all(0 <= one.get("busy", one.get("waited")) <= 1 for one in told["resources"])


def test_memory_of_another_socket_is_farther_for_reads_only() -> None:
    far = resolve("pcie-bench-broadwell", overrides={"host.adapter_socket": 1})
    twice = 2 * BROADWELL.host.interconnect.latency / 1e6
    for cache in ("host-warm", "cold"):
        how = {"size": 64, "cache": cache, "path": "command"}
        assert run("lat_rd", far, **how)["latency_us"] == pytest.approx(
            run("lat_rd", **how)["latency_us"] + twice, rel=1e-6, abs=0
        )
    warm = {"window_bytes": 8 * K, "cache": "host-warm"}
    for kind, size, least, most in (
        ("bw_rd", 64, 0.75, 0.85),
        ("bw_rd", 512, 0.99, 1.01),
        ("bw_wr", 64, 0.99, 1.01),
    ):
        near, there = (run(kind, one, size=size, **warm)["rate_Mps"] for one in (BROADWELL, far))
        assert least < there / near < most


def test_an_adapter_is_on_a_socket_that_there_is() -> None:
    with pytest.raises(CatalogError, match=r"adapter_socket = 2 with 2 sockets; allowed: 0 to 1"):
        resolve("pair", overrides={"host.adapter_socket": 2})
    with pytest.raises(CatalogError, match=r"adapter_socket = 1 with one memory controller"):
        resolve("liu2004", overrides={"host.adapter_socket": 1})


def test_doorbells_and_lines_cross_to_the_socket_of_the_adapter() -> None:
    near, far = (resolve("pair", overrides={"host.adapter_socket": one}) for one in (0, 1))
    options = Options(size=8, iters=100)
    # The doorbell, the write of the message, and there and back for the lines of the message and of
    # the completion.
    six = 6 * near.host.interconnect.latency / 1e6
    found = [run_point("write_lat", one, options).row["latency_us"] for one in (near, far)]
    assert found[1] - found[0] == pytest.approx(six, rel=1e-6, abs=0)
    rates = [run_point("write_bw", one, options).row["rate_Mps"] for one in (near, far)]
    assert rates[1] < 0.95 * rates[0]


def test_a_cache_that_devices_do_not_use_is_not_warmed() -> None:
    with pytest.raises(CatalogError, match="cache: found 'host-warm', but devices do not use the"):
        Experiment.of("lat_rd", "liu2004", cache="host-warm").benchmark()


@pytest.mark.parametrize("workload", ["bw_rd", "bw_wr", "bw_rdwr", "lat_rd", "lat_wrrd"])
def test_a_way_to_memory_that_takes_no_time_has_no_bandwidth(workload: str) -> None:
    said = f"{workload}: found with ideal, whose way to memory takes no time"
    with pytest.raises(CatalogError, match=said):
        bench(workload, "ideal-100g", size=64)
