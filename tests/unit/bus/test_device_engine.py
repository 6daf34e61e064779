"""A DMA engine in numbers worked out by hand."""

from collections.abc import Callable

import pytest

from hcasim.bus import PcieBus
from hcasim.catalog.adapter import DmaEngine as Description
from hcasim.workloads.device_engine import DeviceEngine

Make = Callable[..., PcieBus]
LATENCY, COMMAND = 200_000, 160_000
BASE = {
    "operations": 4,
    "operation_limit": 4096,
    "latency": LATENCY,
    "read_interval": 10_000,
    "read_bandwidth": 10**10,
    "write_interval": 20_000,
    "store_bandwidth": 10**9,
    "command_latency": COMMAND,
    "command_limit": 64,
}


def engine(pcie: Make, **more: int) -> DeviceEngine:
    bus = pcie()
    return DeviceEngine(bus.sim, Description(**(BASE | more)), bus, 512)


def alone(pcie: Make, size: int, kind: str = "read") -> int:
    """How long the bus takes for it without an engine."""
    bus = pcie()
    done: list[int] = []
    getattr(bus, kind)(0, size, lambda: done.append(bus.sim.now))
    bus.sim.run()
    return done[0]


def ends(one: DeviceEngine, *starts: Callable[[Callable[[], None]], None]) -> list[int]:
    done: list[int] = []
    for start in starts:
        start(lambda: done.append(one.sim.now))
    one.sim.run()
    return done


@pytest.mark.parametrize(
    ("kind", "size", "on_the_bus", "stored"),
    # Requests of a long read are stored one after the other; a write is done when it has left.
    [("read", 64, 64, 64_000), ("read", 1024, 512, 2 * 512_000), ("write", 64, 64, 0)],
)
def test_an_operation_takes_the_device_the_bus_and_its_way_into_the_device(
    pcie: Make, kind: str, size: int, on_the_bus: int, stored: int
) -> None:
    one = engine(pcie)
    (end,) = ends(one, lambda done: getattr(one, kind)(0, size, done))
    assert end == LATENCY + alone(pcie, on_the_bus, kind) + stored


@pytest.mark.parametrize(("kind", "turn"), [("read", 10_000 + 6_400), ("write", 20_000)])
def test_operations_of_a_kind_begin_in_turns(pcie: Make, kind: str, turn: int) -> None:
    one = engine(pcie, store_bandwidth=10**12)
    # Far enough apart for the bus.
    first, second = ends(one, *[lambda done: getattr(one, kind)(0, 64, done)] * 2)
    assert second - first >= turn
    assert one.reads.busy_ps + one.writes.busy_ps == 2 * turn


def test_reads_and_writes_take_no_turns_with_each_other(pcie: Make) -> None:
    one = engine(pcie)
    ends(one, lambda done: one.read(0, 64, done), lambda done: one.write(64, 64, done))
    assert (one.reads.free_at, one.writes.free_at) == (LATENCY // 2 + 16_400, LATENCY // 2 + 20_000)


def test_a_command_passes_the_engine(pcie: Make) -> None:
    one = engine(pcie)
    (end,) = ends(one, lambda done: one.command_read(0, 64, done))
    assert end == COMMAND + alone(pcie, 64)
    assert one.reads.busy_ps == 0
    one.command_write(0, 8)
    one.sim.run()
    assert one.bus.writes == 1
