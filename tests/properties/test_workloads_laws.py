"""What no benchmark result may contradict, on any machine."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcasim.catalog import Machine
from hcasim.engine import Simulator
from hcasim.workloads import Options, run_point
from tests.buses import pcie_byte
from tests.rig import machine, run
from tests.twin import link_byte

ADAPTERS = st.sampled_from(["mt25208", "mt23108"])
SPEEDS = st.sampled_from(["SDR", "DDR", "QDR", "EDR"])
BUSES: dict[str, dict[str, list[str]]] = {
    "mt25208": {
        "adapter.bus.lanes": ["1", "4", "8", "16"],
        "adapter.bus.max_read_request": ["128 B", "512 B", "4096 B"],
    },
    "mt23108": {
        "adapter.bus.clock": ["66.67 MHz", "133.333333 MHz"],
        "adapter.bus.outstanding_splits": ["1", "2", "8"],
    },
}


@st.composite
def machines(draw: st.DrawFn) -> tuple[str, tuple[tuple[str, str], ...], int]:
    adapter = draw(ADAPTERS)
    changes = {path: draw(st.sampled_from(values)) for path, values in BUSES[adapter].items()}
    changes["link.speed"] = draw(SPEEDS)
    return adapter, tuple(changes.items()), draw(st.sampled_from([256, 1024, 4096]))


def on(setup: tuple[str, tuple[tuple[str, str], ...], int], **more: str) -> Machine:
    adapter, changes, mtu = setup
    return machine(dict(changes) | more, adapter=adapter, mtu=mtu)


def latency(name: str, of: Machine, size: int, **options: Any) -> float:
    row = run_point(name, of, Options(size=size, iters=12, warmup=2, **options)).row
    return row["latency_us"]


@settings(max_examples=20)
@given(
    setup=machines(),
    name=st.sampled_from(["write_lat", "send_lat", "read_lat", "netpipe"]),
    sizes=st.tuples(st.integers(1, 20_000), st.integers(1, 20_000)),
)
def test_a_longer_message_is_never_faster(setup: Any, name: str, sizes: tuple[int, int]) -> None:
    short, long = sorted(sizes)
    assert latency(name, on(setup), short) <= latency(name, on(setup), long)


@settings(max_examples=12)
@given(
    setup=machines(),
    name=st.sampled_from(["write_lat", "send_lat", "read_lat"]),
    table=st.sampled_from(["sqpc", "rqpc", "cqc", "mpt", "mtt"]),
    entries=st.sampled_from(["1", "2", "4"]),
    misses=st.tuples(st.integers(0, 5000), st.integers(0, 5000)),
)
def test_a_slower_fetch_of_contexts_never_lowers_the_latency(
    setup: Any, name: str, table: str, entries: str, misses: tuple[int, int]
) -> None:
    tight = {f"adapter.{table}.entries": entries, f"adapter.{table}.ways": "1"}
    fast, slow = (
        latency(name, on(setup, **tight, **{"adapter.memory.latency": f"{m} ns"}), 64, qps=4)
        for m in sorted(misses)
    )
    assert fast <= slow


def limit(of: Machine, both_ways: bool) -> float:
    """Payload in MB/s that neither the link nor the bus can exceed."""
    packet = of.mtu + 26 + 2
    link = 1e6 / float(link_byte(of.link.speed, of.link.width)) * of.mtu / packet
    device = of.adapter.bus
    if device.kind == "pcix":
        # One bus for both directions.
        return min((1 + both_ways) * link, device.clock * device.width_bits / 8 / 1e6)
    part = of.host.root_port.completion
    bus = 1e6 / float(pcie_byte(device.generation, device.lanes)) * part / (part + 20)
    return (1 + both_ways) * min(link, bus)


@settings(max_examples=12)
@given(
    setup=machines(),
    name=st.sampled_from(["window_bw", "window_bibw", "window_bw send", "window_bw read"]),
    size=st.integers(1, 60_000),
)
def test_no_stream_exceeds_its_link_or_its_bus(setup: Any, name: str, size: int) -> None:
    of = on(setup)
    row = run(name, of, size=size, iters=6, warmup=1).row
    assert 0 < row["bandwidth_MBps"] <= limit(of, name == "window_bibw")
    assert row["bandwidth_MBps"] == pytest.approx(row["rate_Mps"] * size)


@settings(max_examples=10)
@given(
    setup=machines(),
    name=st.sampled_from(["write_lat", "window_bw send", "window_bibw", "atomic_lat"]),
    size=st.integers(1, 9000),
)
def test_the_same_benchmark_gives_the_same_events_and_numbers(
    setup: Any, name: str, size: int
) -> None:
    options = {"size": 8 if name == "atomic_lat" else size, "iters": 4, "warmup": 1, "window": 8}

    def logged() -> tuple[Any, ...]:
        events: list[tuple[Any, ...]] = []

        def listen(sim: Simulator) -> None:
            sim.listeners.append(lambda *event: events.append(event))

        point = run(name, on(setup), listen, **options)
        return events, point.row, point.counters

    first = logged()
    assert first[0]
    assert first == logged()


@settings(max_examples=10)
@given(
    setup=machines(),
    name=st.sampled_from(["write_lat", "send_lat", "read_lat", "atomic_lat"]),
)
def test_a_switch_costs_its_latency_and_a_cable_on_each_way(setup: Any, name: str) -> None:
    adapter, changes, mtu = setup
    alone = machine(dict(changes), adapter=adapter, mtu=mtu, switch=False)
    through = on(setup)
    assert through.switch is not None
    flight = through.link.cable_length * through.link.propagation // 1000
    ways = 2 if name in ("read_lat", "atomic_lat") else 1
    longer = round((latency(name, through, 8) - latency(name, alone, 8)) * 1e6)
    assert longer == ways * (through.switch.latency + flight)


CAPACITY = 16
SMALL = {
    f"adapter.{cache}.{key}": str(CAPACITY)
    for cache in ("sqpc", "rqpc")
    for key in ("entries", "ways")
} | {
    # Room for all regions and pages, so that only contexts of queue pairs are missing.
    "adapter.mpt.entries": "1024",
    "adapter.mtt.entries": "4096",
}
PATTERNS = st.sampled_from(["cyclic", "random", "zipf"])


def over(qps: int, *, name: str = "write_lat", **options: Any) -> float:
    chosen = {"size": 8, "iters": 1500, "warmup": 300} | options
    return run_point(name, machine(SMALL), Options(qps=qps, **chosen)).row["latency_us"]


@settings(max_examples=7)
@given(
    qps=st.integers(1, CAPACITY),
    pattern=PATTERNS,
    name=st.sampled_from(["write_lat", "send_lat", "read_lat"]),
)
def test_queue_pairs_that_are_all_held_cost_no_more_than_one(
    qps: int, pattern: str, name: str
) -> None:
    # Work queues are used to their ends within the run, so pages of them are translated once.
    assert over(qps, pattern=pattern, name=name) == pytest.approx(over(1, name=name), rel=0.01)


@pytest.mark.check
@settings(max_examples=5)
@given(
    qps=st.integers(2 * CAPACITY, 8 * CAPACITY),
    name=st.sampled_from(["write_lat", "send_lat", "read_lat"]),
)
def test_more_queue_pairs_than_are_held_cost_most_in_turn_and_less_the_more_some_are_preferred(
    qps: int, name: str
) -> None:
    one, zipf, random, cyclic = (
        over(n, name=name, pattern=pattern)
        for n, pattern in ((1, "cyclic"), (qps, "zipf"), (qps, "random"), (qps, "cyclic"))
    )
    assert 1.01 * one < zipf < random < 1.01 * cyclic


@pytest.mark.check
@settings(max_examples=5)
@given(qps=st.integers(CAPACITY + 1, 6 * CAPACITY))
def test_the_first_of_many_queue_pairs_costs_what_each_costs_in_turn(qps: int) -> None:
    first = over(qps, name="qp_lat", iters=10, warmup=1)
    assert first == pytest.approx(over(qps, iters=20 * qps, warmup=qps), rel=0.002)


@settings(max_examples=6)
@given(
    counts=st.tuples(st.integers(1, 80), st.integers(1, 80)),
    size=st.sampled_from([1, 300, 4096, 20_000]),
)
def test_a_scatter_over_more_queue_pairs_takes_longer(counts: tuple[int, int], size: int) -> None:
    few, many = sorted(counts)
    short, long = (over(n, name="scatter", size=size, iters=20, warmup=2) for n in (few, many))
    assert short <= long * 1.005
    if many >= 2 * few:
        assert short < long


@pytest.mark.check
@settings(max_examples=7)
@given(
    name=st.sampled_from(["window_bw", "window_bw send", "window_bw read"]),
    size=st.sampled_from([64, 4096, 20_000]),
    qps=st.integers(1, 4),
    reuse=st.integers(0, 99),
)
def test_further_buffers_never_make_a_stream_faster(
    name: str, size: int, qps: int, reuse: int
) -> None:
    tight = machine({"adapter.mtt.entries": "64", "adapter.mpt.entries": "16"})
    all_reused, some = (
        run(name, tight, size=size, qps=qps, iters=8, warmup=1, reuse=share).row
        for share in (100, reuse)
    )
    assert some["bandwidth_MBps"] <= 1.005 * all_reused["bandwidth_MBps"]
    assert (all_reused["reuse"], some["reuse"]) == (100, reuse)
