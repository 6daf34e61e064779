"""PCI-X against phases counted by hand.

A burst has an address phase, an attribute phase, two clocks for the target's response, the data
phases and two clocks of turn-around: 6 and the data. A read request has a split response in place
of the data: 7 clocks.
"""

from collections.abc import Callable

import pytest

from hcasim.bus import PcixBus
from hcasim.engine import Call

Make = Callable[..., PcixBus]


@pytest.mark.parametrize(
    ("width", "clock", "address", "size", "clocks"),
    [
        (64, 133_333_333, 0, 512, 70),
        (64, 133_333_333, 0, 4096, 518),
        (64, 133_333_333, 0, 1, 7),
        (64, 133_333_333, 4, 8, 8),  # touches two words of 8 bytes
        (64, 133_333_333, 4, 4, 7),
        (32, 133_333_333, 0, 512, 134),
        (32, 133_333_333, 4, 8, 8),
        (32, 66_666_667, 0, 512, 134),
        (64, 100_000_000, 0, 512, 70),
        (64, 66_666_667, 0, 512, 70),
        (32, 33_333_333, 2, 4, 8),
    ],
)
def test_a_burst_takes_its_phases(
    pcix: Make, width: int, clock: int, address: int, size: int, clocks: int
) -> None:
    period = 1e12 / clock
    bus = pcix(width_bits=width, clock=clock)
    assert bus.burst_time(address, size) == pytest.approx(clocks * period, rel=1e-9, abs=0.5)


def end(bus: PcixBus, start: Callable[[Callable[[], None]], None]) -> int:
    done: list[int] = []
    start(lambda: done.append(int(bus.sim.now)))
    bus.sim.run()
    assert len(done) == 1
    return done[0]


def test_a_write_leaves_the_adapter_with_its_burst_and_is_visible_behind_the_bridge(
    pcix: Make,
) -> None:
    bus = pcix(clock=100_000_000)
    assert end(bus, lambda done: bus.write(0, 64, done)) == 14 * 10_000
    bus = pcix(clock=100_000_000)
    assert end(bus, lambda done: bus.write(0, 64, None, done)) == 14 * 10_000 + 200_000 + 100_000


def test_a_read_takes_request_bridge_memory_bridge_and_completion(pcix: Make) -> None:
    bus = pcix(clock=100_000_000)
    expected = 7 * 10_000 + 2 * 200_000 + 400_000 + 70 * 10_000
    assert end(bus, lambda done: bus.read(0, 512, done)) == expected


def test_a_long_completion_is_cut_at_the_bridge_s_burst(pcix: Make) -> None:
    bus = pcix(clock=100_000_000, mmrbc=2048)
    # 64 bytes up to the boundary, 512, and the other 448.
    clocks = 7 + (6 + 8) + (6 + 64) + (6 + 56)
    expected = clocks * 10_000 + 2 * 200_000 + 400_000
    assert end(bus, lambda done: bus.read(448, 64 + 512 + 448, done)) == expected


def test_a_register_is_written_through_bridge_and_bus(pcix: Make) -> None:
    bus = pcix(clock=100_000_000)
    there = 50_000 + 200_000 + 7 * 10_000
    assert end(bus, lambda done: bus.mmio_write(8, done)) == there


def test_a_long_write_is_cut_into_bursts(pcix: Make) -> None:
    bus = pcix(clock=100_000_000, write_burst=1024)
    # 100 bytes touch 13 words; 1024 touch 128; 3 touch 1.
    expected = (6 + 13 + 6 + 128 + 6 + 1) * 10_000
    assert end(bus, lambda done: bus.write(924, 1127, done)) == expected
    assert bus.counters()["pcix_write_grants"] == 3


def test_a_read_is_cut_at_the_maximum_byte_count(pcix: Make) -> None:
    bus = pcix()
    end(bus, lambda done: bus.read(48, 512, done))
    counters = bus.counters()
    assert counters["bus_read_requests"] == counters["pcix_read_grants"] == 2
    assert counters["pcix_bridge_grants"] == 2


@pytest.mark.parametrize("splits", [1, 2, 4])
def test_no_more_reads_are_outstanding_than_splits(pcix: Make, splits: int) -> None:
    bus = pcix(outstanding_splits=splits)
    ends: list[int] = []
    for number in range(12):
        bus.read(512 * number, 64, lambda: ends.append(int(bus.sim.now)))
    bus.sim.run()
    single = pcix()
    alone = end(single, lambda done: single.read(0, 64, done))
    for index, time in enumerate(ends):
        assert time >= alone * (index // splits + 1)
    assert (bus.sim.resources.waiting_ps()["bus.outstanding_splits"] > 0) is (splits < 12)


def test_adapter_and_bridge_take_turns(pcix: Make) -> None:
    bus = pcix()
    ends: list[str] = []
    for _ in range(4):
        bus.write(0, 512, lambda: ends.append("adapter"))
        bus.arbiter.request(2, bus.burst_time(0, 512), Call(ends.append, ("bridge",)))
    bus.sim.run()
    assert ends == ["adapter", "bridge"] * 4


def test_the_bus_is_as_busy_as_its_transactions_are_long(pcix: Make) -> None:
    bus = pcix(clock=100_000_000)
    bus.read(0, 512, lambda: None)
    bus.write(0, 256)
    bus.mmio_write(8, lambda: None)
    bus.sim.run()
    assert bus.sim.resources.busy_ps()["bus.bus"] == (7 + 70 + 6 + 32 + 7) * 10_000
    counters = bus.counters()
    assert counters["bus_read_bytes"] == 512
    assert (counters["bus_writes"], counters["bus_write_bytes"]) == (1, 256)
    assert counters["bus_mmio_writes"] == 1
