"""A core that runs one thread: it computes, it copies, and its socket has a cache."""

from collections.abc import Callable, Generator

import pytest

from hcasim.catalog.host import ProcessorCache as Description
from hcasim.engine import Event
from hcasim.host import Core, Host
from hcasim.host.cache import BLOCK, ProcessorCache
from hcasim.host.memory import SOCKET_BITS

from .conftest import FAR

Make = Callable[..., Host]
KIB = 1024
A, B, C = 0, 1 << 24, 1 << 25
OTHER = 1 << SOCKET_BITS


def run(host: Host, *threads: Generator[Event, None, None]) -> int:
    for thread in threads:
        host.sim.process(thread)
    host.sim.run()
    return int(host.sim.now)


def copying(core: Core, *copies: tuple[int, int, int]) -> Generator[Event, None, None]:
    for size, source, destination in copies:
        yield core.copy(size, source, destination)


def took(host: Host, *copies: tuple[int, int, int], core: int = 0) -> int:
    """Time in ps of the last of some copies, one after the other."""
    if copies[:-1]:
        run(host, copying(host.cores[core], *copies[:-1]))
    began = int(host.sim.now)
    return run(host, copying(host.cores[core], copies[-1])) - began


def test_work_takes_its_time_and_is_counted_and_waiting_is_not(host: Make) -> None:
    node = host()
    core = node.cores[0]
    seen: list[int] = []

    def thread() -> Generator[Event, None, None]:
        yield node.sim.timeout(1000)
        for duration in (10, 0, 32):
            yield core.work(duration)
            seen.append(int(node.sim.now))

    run(node, thread())
    assert seen == [1010, 1010, 1042]
    assert core.busy_ps == 42


def memory_busy(node: Host) -> dict[str, int]:
    """Time in ps that memory and interconnect were in use."""
    busy = node.sim.resources.busy_ps()
    return {name: ps for name, ps in busy.items() if ".cpu" not in name}


@pytest.mark.parametrize(
    ("copies", "ps_per_byte", "streams"),
    [
        ([(A, B)], 500, 2),
        ([(A, B), (A, B)], 125, 2),
        # One end in the cache saves half.
        ([(A, B), (A, C)], (500 + 125) / 2, 3),
        ([(A, B), (C, B)], (500 + 125) / 2, 3),
    ],
)
def test_a_copy_takes_the_time_of_what_is_not_in_the_cache(
    host: Make, copies: list[tuple[int, int]], ps_per_byte: float, streams: int
) -> None:
    node = host()
    assert took(node, *((8 * KIB, *places) for places in copies)) == 8192 * ps_per_byte
    assert memory_busy(node) == {"node.memory": streams * 8192 * 125}


def test_the_cache_is_that_of_the_socket(host: Make) -> None:
    node = host()
    run(node, copying(node.cores[0], (KIB, A, B)))
    assert took(node, (KIB, A, C), core=1) == KIB * 500


def test_what_another_socket_has_written_is_not_in_the_cache_any_more(host: Make) -> None:
    node = host()
    run(node, copying(node.cores[0], (KIB, A, B)))
    run(node, copying(node.cores[1], (KIB, C, A)))
    assert took(node, (KIB, A, B)) == KIB * (500 + 125) // 2


def test_a_long_copy_is_as_few_events_as_a_short_one(host: Make) -> None:
    counts = []
    for size in (KIB, 1024 * KIB):
        node = host()
        node.sim.process(copying(node.cores[0], (size, A, B)))
        node.sim.run()
        counts.append(node.sim.calls)
    assert counts[0] == counts[1] <= 4


def test_pieces_are_copied_as_if_each_took_an_event(host: Make) -> None:
    pieces = [(8 * KIB, A, B), (100, A, B), (0, A, C), (3001, B, A + 64), (8, A, B), (513, B, C)]
    one, other = host(), host()
    assert run(one, one.cores[0].copies(pieces)) == run(other, copying(other.cores[0], *pieces))
    assert one.sim.resources.busy_ps() == other.sim.resources.busy_ps()
    assert one.sim.calls < other.sim.calls
    began = one.sim.calls
    run(one, one.cores[0].copies(pieces))
    # All of it is in the cache: one pause, and the begin and the end of a program.
    assert one.sim.calls == began + 3


def test_a_copy_from_the_other_socket_passes_the_interconnect(host: Make) -> None:
    node = host(FAR, miss_bandwidth=8)
    # 40 ns on the way, and 4 GB/s are slower than what the core could do.
    assert took(node, (8 * KIB, OTHER, A)) == 40_000 + 8192 * 250
    assert memory_busy(node) == {
        "node.memory0": 8192 * 125,
        "node.memory1": 8192 * 125,
        "node.interconnect0": 0,
        "node.interconnect1": 8192 * 250,
    }


def test_two_cores_that_copy_share_the_memory(host: Make) -> None:
    node = host(bandwidth=2)
    threads = [copying(core, (64 * KIB, n << 24, n + 8 << 24)) for n, core in enumerate(node.cores)]
    both = run(node, *threads)
    assert both == 4 * 64 * KIB * 500
    assert min(core.busy_ps for core in node.cores) > 0.99 * both


def cache(blocks: int = 4, ddio: int = 0) -> ProcessorCache:
    rate = 10**9
    return ProcessorCache(
        Description.model_construct(
            size=blocks * BLOCK, hit_bandwidth=rate, miss_bandwidth=rate, ddio=ddio * BLOCK
        )
    )


def test_what_was_used_last_is_held() -> None:
    held = cache(4)
    assert held.access(0, 4 * BLOCK) == 4 * BLOCK
    assert held.access(0, BLOCK) == 0
    assert held.access(4 * BLOCK, BLOCK) == BLOCK  # in the place of the second
    assert held.access(2 * BLOCK, 2 * BLOCK) == 0
    assert held.access(0, BLOCK) == 0
    assert held.access(BLOCK, BLOCK) == BLOCK


def test_no_more_is_missed_than_was_asked_for() -> None:
    assert cache().access(BLOCK - 1, 2) == 2
    assert cache().access(3, 5) == 5


def test_what_is_written_elsewhere_is_forgotten() -> None:
    held = cache()
    held.access(0, 3 * BLOCK)
    held.invalidate(BLOCK + 8, 8)
    assert held.access(0, 3 * BLOCK) == BLOCK


def test_a_device_fills_its_part_and_no_more() -> None:
    held = cache(4, ddio=2)
    assert held.ddio
    assert held.place(0, 2 * BLOCK) == 0
    assert held.place(0, 2 * BLOCK) == 0
    assert held.place(2 * BLOCK, BLOCK) == BLOCK
    assert held.access(BLOCK, 2 * BLOCK) == 0
    assert held.access(0, BLOCK) == BLOCK


def test_a_device_writes_over_what_the_processor_holds() -> None:
    held = cache(4, ddio=1)
    held.access(0, 3 * BLOCK)
    assert held.place(0, 3 * BLOCK) == 0
    assert not cache().ddio
