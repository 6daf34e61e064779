"""Where a bus is attached: DMA to memory, to the other socket and to the cache."""

from collections.abc import Callable, Generator

import pytest

from hcasim.bus import connect
from hcasim.catalog import resolve
from hcasim.engine import Call, Event, Simulator
from hcasim.host import Chipset, Host
from hcasim.host.memory import SOCKET_BITS
from tests.handed import Told

from .conftest import FAR
from .test_core import took

Make = Callable[..., Host]
OTHER = 1 << SOCKET_BITS
KIB = 1024


def read(host: Host, attached: Chipset, address: int, size: int) -> int:
    """When the last byte is there, in ps from now."""
    found: list[int] = []
    now = int(host.sim.now)
    attached.read(now, address, size, Told(fetched=lambda last, *_: found.append(last)))
    host.sim.run()
    return found[0] - now


def write(host: Host, attached: Chipset, address: int, size: int) -> tuple[int, int]:
    """When the room is free again and when the data are visible, in ps from now."""
    taken: list[int] = []
    seen: list[int] = []
    now = int(host.sim.now)
    visible = Call(lambda: seen.append(int(host.sim.now)), ())
    attached.write(now, address, size, visible, Told(taken=taken.append))
    host.sim.run()
    return taken[0] - now, seen[0] - now


@pytest.mark.pure
def test_memory_takes_its_latency_and_its_bandwidth(host: Make) -> None:
    node = host()
    assert read(node, node.attach(), 0, 800) == 400_000 + 100_000
    node = host()
    assert write(node, node.attach(), 0, 8000) == (1_000_000, 1_000_000)
    node = host()
    assert write(node, node.attach(), 0, 8) == (1000, 100_000)


@pytest.mark.pure
def test_transfers_of_two_buses_share_the_memory(host: Make) -> None:
    node = host()
    ends: list[int] = []
    for attached in (node.attach(), node.attach(1)):
        attached.write(0, 0, 8000, None, Told(taken=ends.append))
    assert ends == [1_000_000, 2_000_000]
    assert node.sim.resources.busy_ps() == {"node.memory": 2_000_000}


@pytest.mark.pure
def test_the_memory_of_the_other_socket_is_behind_the_interconnect(host: Make) -> None:
    node = host(FAR)
    attached = node.attach(0)
    assert read(node, attached, 0, 800) == 500_000
    # There and back, and the link is half as fast as memory.
    assert read(node, attached, OTHER, 800) == 400_000 + 2 * 40_000 + 200_000
    assert write(node, attached, OTHER, 800) == (240_000, 240_000)
    assert read(node, node.attach(1), OTHER, 800) == 500_000
    busy = attached.sim.resources.busy_ps()
    assert (busy["node.interconnect0"], busy["node.interconnect1"]) == (200_000, 200_000)
    assert (busy["node.memory0"], busy["node.memory1"]) == (100_000, 300_000)


@pytest.mark.pure
def test_a_write_to_near_memory_is_not_seen_before_an_earlier_one_to_far_memory(host: Make) -> None:
    node = host(FAR)
    attached = node.attach(0)
    seen: list[str] = []
    ignored = Told(taken=lambda _: None)
    attached.write(0, OTHER, 4096, Call(seen.append, ("data",)), ignored)
    attached.write(0, 0, 32, Call(seen.append, ("completion",)), ignored)
    node.sim.run()
    assert seen == ["data", "completion"]


@pytest.mark.pure
def test_what_a_device_has_written_is_in_no_cache(host: Make) -> None:
    node = host()
    took(node, (KIB, 0, 1 << 20))
    write(node, node.attach(), 0, KIB)
    assert took(node, (KIB, 0, 1 << 20)) == KIB * (500 + 125) // 2


@pytest.mark.pure
def test_with_ddio_it_is_in_the_cache_and_memory_rests(host: Make) -> None:
    node = host(ddio=8 * KIB)
    attached = node.attach()
    assert write(node, attached, 0, 4 * KIB) == (0, 100_000)
    assert attached.sim.resources.busy_ps() == {"node.memory": 0}
    took(node, (4 * KIB, 1 << 22, 1 << 20))
    assert took(node, (4 * KIB, 0, 1 << 20)) == 4 * KIB * 125


@pytest.mark.pure
def test_beyond_the_part_for_devices_as_much_goes_to_memory_as_comes_in(host: Make) -> None:
    node = host(ddio=8 * KIB)
    attached = node.attach()
    for address in range(0, 64 * KIB, KIB):
        write(node, attached, address, KIB)
    assert attached.sim.resources.busy_ps() == {"node.memory": 56 * KIB * 125}


@pytest.mark.pure
def test_a_write_waits_for_the_chunk_under_way_and_no_more(host: Make) -> None:
    # Chunks begin every 256 ns and use memory for 128; the write of 64 B takes 8.
    node = host()
    attached = node.attach()
    node.cores[0].copy(64 * KIB, 0, 1 << 20)
    taken: list[int] = []
    for at in (10_300_000, 10_490_000, 20_300_000):
        node.sim.call_at(at, attached.write, at, 1 << 23, 64, None, Told(taken=taken.append))
    node.sim.run()
    # The second one holds a chunk up for 2 ns, which the core does not notice.
    assert taken == [10_368_000 + 8000, 10_498_000, 20_352_000 + 8000]
    assert node.sim.now == 64 * KIB * 500


@pytest.mark.pure
@pytest.mark.parametrize("streams", [1, 4])
def test_copy_and_dma_together_take_what_all_their_bytes_take(host: Make, streams: int) -> None:
    # The copy alone could keep memory busy all the time, so nothing is lost between the two.
    node = host(bandwidth=2, miss_bandwidth=8)
    attached = node.attach()
    size, written = 256 * KIB, 64 * KIB
    pieces = range(0, written // streams, KIB)

    def device(n: int) -> Generator[Event, None, None]:
        for offset in pieces:
            taken = node.sim.event()
            attached.write(
                node.sim.now, (n + 4 << 24) + offset, KIB, None, Told(taken=taken.succeed)
            )
            yield node.sim.timeout(max(0, taken.value - node.sim.now))

    ends: list[int] = []

    def processor() -> Generator[Event, None, None]:
        yield node.cores[0].copy(size, 0, 1 << 22)
        ends.append(int(node.sim.now))

    for n in range(streams):
        node.sim.process(device(n))
    node.sim.process(processor())
    node.sim.run()
    assert ends == [(2 * size + written) * 500]


def test_a_busy_processor_slows_a_bus_that_needs_the_memory() -> None:
    machine = resolve("liu2004", overrides={"host.memory.bandwidth": "1 GB/s"})

    def streamed(copying: bool) -> int:
        node = Host(Simulator(), machine.host, "node")
        bus = connect(node, machine.adapter.bus, "bus")
        if copying:
            node.cores[0].copy(1 << 20, 1 << 30, 1 << 31)
        ends: list[int] = []
        for n in range(64):
            bus.read(n << 12, 4096, lambda: ends.append(int(node.sim.now)))
        node.sim.run()
        return ends[-1]

    assert streamed(copying=True) > 1.2 * streamed(copying=False)
