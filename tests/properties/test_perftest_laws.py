"""What holds for perftest's bandwidths on any machine, and their closed forms."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcasim.catalog import Machine
from tests.rig import machine, run
from tests.twin import link_byte, small_write

ADAPTERS = st.sampled_from(["mt25208", "mt23108"])
SIZES = st.integers(1, 9000)


def rate(name: str, on: Machine, **options: Any) -> float:
    found: float = run(name, on, iters=400, **options).row["rate_Mps"]
    return found


@settings(max_examples=5)
@given(adapter=ADAPTERS, size=SIZES, depths=st.tuples(st.integers(1, 64), st.integers(1, 64)))
def test_a_deeper_queue_is_never_slower(adapter: str, size: int, depths: tuple[int, int]) -> None:
    shallow, deep = sorted(depths)
    on = machine(adapter=adapter)
    slow, fast = (rate("write_bw", on, size=size, tx_depth=n, cq_mod=1) for n in (shallow, deep))
    assert slow <= fast * 1.002


@settings(max_examples=10)
@given(adapter=ADAPTERS, size=st.integers(1, 500), metres=st.integers(0, 40))
def test_one_message_in_flight_takes_a_round_trip(adapter: str, size: int, metres: int) -> None:
    on = machine({"link.cable_length": f"{metres} m"}, adapter=adapter)
    trip = small_write(on, size).completed + on.stack.poll_cq
    few, more = (run("write_bw", on, size=size, iters=n, tx_depth=1).row for n in (40, 140))
    # What is fetched for the first time is in both.
    took = 140 / more["rate_Mps"] - 40 / few["rate_Mps"]
    assert took * 1e6 == pytest.approx(100 * trip, rel=1e-4)
    assert more["bandwidth_MBps"] == pytest.approx(size * more["rate_Mps"])


@pytest.mark.check
@pytest.mark.parametrize("size", [4096, 65536])
def test_a_full_queue_reaches_what_long_windows_tend_to(size: int) -> None:
    full = run("write_bw", machine(), size=size, iters=5000).row["bandwidth_MBps"]
    windows = run("window_bw", machine(), size=size, window=4000, iters=3, warmup=1)
    assert full == pytest.approx(windows.row["bandwidth_MBps"], rel=2e-3)


@settings(max_examples=5)
@given(packets=st.integers(2, 40), speed=st.sampled_from(["SDR", "DDR"]))
def test_a_full_queue_fills_a_link_that_binds(packets: int, speed: str) -> None:
    on = machine({"link.speed": speed, "adapter.bus.lanes": "16", "adapter.bus.generation": "3"})
    size = packets * on.mtu
    # Base header and delimiters of each packet, and RETH on the first.
    wire = packets * (on.mtu + 26 + 2) + 16
    most = 1e6 * size / float(wire * link_byte(speed, 4))
    found = run("write_bw", on, size=size, iters=5000).row["bandwidth_MBps"]
    assert 0.98 * most < found <= most


@settings(max_examples=3)
@given(adapter=ADAPTERS, verb=st.sampled_from(["write", "send", "read"]), size=SIZES)
def test_both_ways_are_never_more_than_twice_one_way(adapter: str, verb: str, size: int) -> None:
    on = machine(adapter=adapter)
    one, both = (rate(f"{verb}_{way}", on, size=size, tx_depth=16) for way in ("bw", "bibw"))
    assert both <= 2 * one * 1.02
