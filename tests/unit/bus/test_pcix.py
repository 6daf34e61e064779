"""PCI-X against phases counted by hand.

A burst has an address phase, an attribute phase, two clocks for the target's response, the data
phases and two clocks of turn-around: 6 and the data. A read request has a split response in place
of the data: 7 clocks.
"""

from collections.abc import Callable

import pytest

import hcasim
from hcasim.bus import PcixBus
from hcasim.engine import Call

Make = Callable[..., PcixBus]


def test_each_burst_and_each_request_of_a_transfer_is_granted_the_bus(pcix: Make) -> None:
    bus = pcix(write_burst=1024)
    bus.write(924, 1127)
    bus.read(48, 512, lambda: None)
    bus.sim.run()
    counters = bus.counters()
    assert counters["pcix_write_grants"] == 3
    assert counters["bus_read_requests"] == counters["pcix_read_grants"] == 2
    assert counters["pcix_bridge_grants"] == 2


def test_reads_wait_for_splits(pcix: Make) -> None:
    bus = pcix(outstanding_splits=2)
    for number in range(3):
        bus.read(512 * number, 64, lambda: None)
    bus.sim.run()
    assert bus.sim.resources.waiting_ps()["bus.outstanding_splits"] > 0


# 512 B, 70 clocks, in each 256.
OTHER = {"rate": 266_666_666}


def test_another_device_takes_its_part_of_a_bus_in_use(pcix: Make) -> None:
    bus = pcix(write_burst=512, other=OTHER)
    for number in range(100):
        bus.write(512 * number, 512)
    bus.sim.run()
    clocks = 100 * 70 * 256 / (256 - 70)
    assert bus.sim.now / 7500 == pytest.approx(clocks, rel=0.02)
    assert bus.counters()["pcix_other_grants"] == pytest.approx(clocks / 256, rel=0.03)


def test_another_device_takes_its_part_of_reads(pcix: Make) -> None:
    ends = []
    for other in (None, OTHER):
        bus = pcix(outstanding_splits=8, other=other)
        for number in range(100):
            bus.read(512 * number, 512, lambda: None)
        bus.sim.run()
        ends.append(bus.sim.now)
    assert ends[1] / ends[0] == pytest.approx(256 / (256 - 70), rel=0.03)


@pytest.mark.parametrize(("at", "rest"), [(0, 70), (30, 40), (69, 1), (70, 0), (255, 0), (266, 60)])
def test_an_idle_bus_has_the_bursts_of_another_device_without_events(
    pcix: Make, at: int, rest: int
) -> None:
    ends = []
    for other in (OTHER, None):
        bus = pcix(other=other)
        bus.sim.run(until=256 * 50 * 7500 + at * 7500)
        bus.write(0, 64, lambda bus=bus: ends.append(bus.sim.now))
        bus.sim.run()
    # A rate in whole bytes: the interval is 1 ps too long.
    assert ends[0] - ends[1] == pytest.approx(rest * 7500, abs=100)


@pytest.mark.parametrize(
    ("workload", "size", "rate"),
    [("read_lat", 4, "250 MB/s"), ("send_lat", 4, "150 MB/s"), ("write_lat", 256, "40 MB/s")],
)
def test_a_run_that_repeats_itself_has_met_all_bursts_of_another_device(
    workload: str, size: int, rate: str
) -> None:
    machine = {"adapter": "mt23108", "overrides": {"host.pcix_bridge.other.rate": rate}}
    usual, exact = (
        hcasim.bench(workload, "liu2004", size=size, iters=400, exact=one, cache=False, **machine)
        for one in (False, True)
    )
    found, whole = (one.rows[0]["latency_us"] for one in (usual, exact))
    assert found == pytest.approx(whole, rel=0.002)


def test_a_device_that_takes_all_of_a_bus_lets_it_rest(pcix: Make) -> None:
    bus = pcix(other={"rate": 10**12})
    bus.write(0, 2048)
    bus.sim.run()
    assert bus.counters()["pcix_other_grants"] < 20


def test_adapter_and_bridge_take_turns(pcix: Make) -> None:
    bus = pcix()
    ends: list[str] = []
    for _ in range(4):
        bus.write(0, 512, lambda: ends.append("adapter"))
        bus.arbiter.request(2, bus.burst_time(0, 512), Call(ends.append, ("bridge",)))
    bus.sim.run()
    assert ends == ["adapter", "bridge"] * 4
