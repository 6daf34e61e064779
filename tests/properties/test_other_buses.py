"""One bus in place of another, in the testbed of any paper."""

from functools import cache

import pytest

from hcasim.catalog import list_ids, load, resolve
from hcasim.workloads import Options, Result, run_point


def of_its_time(adapter: str) -> bool:
    """Whether the bus of an adapter is PCI-X or PCI Express of the first generation."""
    bus = load(adapter, "adapters").values["bus"]
    return bus["kind"] == "pcix" or bus.get("generation") == 1


MACHINES = {name: resolve(name) for name in list_ids("testbeds")}
BUSES = [name for name in list_ids("adapters") if of_its_time(name)]
TESTBEDS = [name for name, on in MACHINES.items() if len(on.groups) == 1 and on.adapter.id in BUSES]


@cache
def stream(testbed: str, bus: str | None = None, adapter: str | None = None) -> Result:
    """Long RDMA writes one way."""
    overrides = {} if bus is None else {"adapter.bus": bus}
    machine = resolve(testbed, adapter=adapter, overrides=overrides)
    options = Options(size=2**17, window=8, iters=8, warmup=2, explain=True)
    return run_point("window_bw", machine, options)


def bandwidth(point: Result) -> float:
    return float(point.row["bandwidth_MBps"])


@pytest.mark.check
@pytest.mark.parametrize("testbed", TESTBEDS)
def test_a_bus_in_its_own_place_changes_nothing(testbed: str) -> None:
    own = resolve(testbed).adapter.id
    assert stream(testbed, own).row == stream(testbed).row
    assert stream(testbed, own).counters == stream(testbed).counters


@pytest.mark.parametrize("testbed", ["liu2004", "sur2005"])
def test_an_adapter_on_the_bus_of_another_streams_as_that_one(testbed: str) -> None:
    moved = bandwidth(stream(testbed, "mt23108", "mt25208"))
    assert moved == pytest.approx(bandwidth(stream(testbed, adapter="mt23108")), rel=0.01)


def test_the_bus_on_the_card_limits_the_ne010e_and_its_slot_does_not() -> None:
    point = stream("rashti2007")
    assert point.breakdown["binds"] == "node0.bus.bus"
    busy = {one["name"]: one.get("busy", 0) for one in point.breakdown["resources"]}
    assert busy["node0.bus.bus"] > 0.97
    assert busy["node0.bus.bridge.bus.downstream"] < 0.8
    assert bandwidth(stream("rashti2007", "mt25208")) > 1.2 * bandwidth(point)
