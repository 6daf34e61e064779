"""The adapter's own memory moves one burst at a time, and reads go first."""

import pytest

from hcasim.catalog.adapter import LocalMemory as Description
from hcasim.engine import Simulator
from hcasim.hca.local_memory import LocalMemory

LATENCY = 300_000


def memory(size: int = 1 << 20) -> tuple[Simulator, LocalMemory]:
    """1 GB/s: a byte takes 1 ns."""
    sim = Simulator()
    description = Description(size=1 << 20, latency=LATENCY, bandwidth=10**9)
    return sim, LocalMemory(sim, "dimm", description, size)


def test_a_write_is_visible_when_the_controller_has_it_and_sent_with_its_bytes() -> None:
    sim, dimm = memory()
    times: list[tuple[str, int]] = []
    dimm.write(
        0,
        100,
        lambda: times.append(("sent", int(sim.now))),
        lambda: times.append(("visible", int(sim.now))),
    )
    sim.run()
    assert times == [("visible", 0), ("sent", 100_000)]


def test_accesses_follow_each_other_by_their_bytes_and_latencies_overlap() -> None:
    sim, dimm = memory()
    done: list[int] = []
    for _ in range(4):
        dimm.read(0, 64, lambda: done.append(int(sim.now)))
    sim.run()
    assert done == [64_000 * turn + LATENCY for turn in (1, 2, 3, 4)]


def test_reads_go_before_writes_that_wait() -> None:
    sim, dimm = memory()
    sent: list[int] = []
    read: list[int] = []
    for _ in range(3):
        dimm.write(0, 100, lambda: sent.append(int(sim.now)))
    for time in (1, 2):
        sim.call_at(time, dimm.read, 0, 10, lambda: read.append(int(sim.now)))
    sim.run()
    assert read == [100_000 + LATENCY + 10_000 * turn for turn in (1, 2)]
    assert sent == [100_000, 220_000, 320_000]


def test_the_controller_is_busy_for_every_byte_and_counts_it() -> None:
    sim, dimm = memory()
    for size in (8, 64, 4096):
        dimm.read(0, size, int)
        dimm.write(0, 2 * size)
    sim.run()
    assert dimm.counters() == {
        "local_memory_reads": 3,
        "local_memory_read_bytes": 4168,
        "local_memory_writes": 3,
        "local_memory_write_bytes": 2 * 4168,
    }
    assert dimm.busy_ps == 3 * 4168 * 1000


def test_buffers_begin_with_a_page_and_do_not_overlap() -> None:
    _, dimm = memory(1 << 20)
    first, second = dimm.allocate(5000, 4096), dimm.allocate(1, 4096)
    third = dimm.allocate(1, 1 << 16)
    assert (first, second, third) == (0, 8192, 1 << 16)


def test_what_is_released_is_given_out_again() -> None:
    _, dimm = memory(1 << 16)
    first, second, _ = (dimm.allocate(16384, 4096) for _ in range(3))
    dimm.release(first)
    with pytest.raises(MemoryError, match="16384 are free"):
        dimm.allocate(16385, 4096)
    assert dimm.allocate(8192, 4096) == first
    dimm.release(second)
    with pytest.raises(MemoryError, match="24576 are free"):
        dimm.allocate(24577, 4096)
    assert dimm.allocate(16384, 16384) == second


@pytest.mark.parametrize(
    ("used", "asked", "free"), [(0, 8193, 8192), (4097, 1, 0), (1, 4097, 4096)]
)
def test_a_buffer_that_does_not_fit_says_how_much_is_free(used: int, asked: int, free: int) -> None:
    _, dimm = memory(8192)
    if used:
        dimm.allocate(used, 4096)
    with pytest.raises(MemoryError, match=f"^{asked} bytes .* {free} are free$"):
        dimm.allocate(asked, 4096)
    if free:
        dimm.allocate(free, 4096)
