"""Contexts come from the tables once, and everybody who needs one waits for the same fetch."""

from typing import Any

import pytest

from hcasim.catalog import Cache
from hcasim.engine import Simulator
from hcasim.hca.context_cache import ContextCache

pytestmark = pytest.mark.pure

FETCH = 500_000


class Memory:
    """A table in a memory that answers every fetch after a fixed time."""

    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.fetched: list[tuple[int, int]] = []
        self.written: list[int] = []
        self.owner = "hca"
        self.under_way = self.most = self.read_ps = 0

    def fetch(self, line: int, into: ContextCache) -> None:
        self.fetched.append((int(self.sim.now), line))
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        self.sim.call_after(FETCH, self._done, line, into)

    def _done(self, line: int, into: ContextCache) -> None:
        self.under_way -= 1
        self.read_ps += FETCH
        into.arrived(line)

    def write_back(self, line: int) -> None:
        self.written.append(line)


def cache(*, written: bool = False, **change: Any) -> tuple[Simulator, ContextCache, Memory]:
    """A cache of 4 contexts of 256 B that fetches any number of them at a time."""
    sim = Simulator()
    given = {
        "entries": 4,
        "entry": 256,
        "line": 256,
        "ways": 4,
        "policy": "lru",
        "outstanding": 16,
        "location": "adapter",
    }
    memory = Memory(sim)
    description = Cache(**(given | change))
    return sim, ContextCache(sim, "sqpc", description, memory, written=written), memory


def test_a_miss_takes_the_fetch_and_a_hit_takes_nothing() -> None:
    sim, contexts, _ = cache()
    times: list[float] = []
    contexts.access(1, lambda: times.append(sim.now))
    sim.run()
    contexts.access(1, lambda: times.append(sim.now))
    assert times == [FETCH, FETCH]


def test_what_is_missing_twice_is_fetched_once() -> None:
    sim, contexts, memory = cache()
    order: list[tuple[str, float]] = []
    contexts.access(1, lambda: order.append(("first", sim.now)))
    sim.call_at(200_000, contexts.access, 1, lambda: order.append(("second", sim.now)))
    sim.run()
    assert order == [("first", FETCH), ("second", FETCH)]
    assert memory.fetched == [(0, 1)]
    assert contexts.lookup_wait_ps == FETCH + (FETCH - 200_000)


def test_counters_have_the_names_of_the_silicon() -> None:
    sim, contexts, _ = cache(written=True)
    for key in (1, 1, 2):
        contexts.access(key, int)
    sim.run()
    contexts.access(2, int)
    assert contexts.held(1)
    assert not contexts.held(3)
    assert contexts.counters() == {
        "sqpc_access_cnt": 5,
        "sqpc_miss_cnt": 2,
        "sqpc_wait_ps": 3 * FETCH,
        "sqpc_fetch_ps": 2 * FETCH,
        "sqpc_fetch_bytes": 2 * 256,
        "sqpc_writeback_bytes": 0,
    }


def test_different_entries_are_fetched_side_by_side() -> None:
    sim, contexts, _ = cache()
    times: list[float] = []
    for key in range(4):
        contexts.access(key, lambda: times.append(sim.now))
    sim.run()
    assert times == [FETCH] * 4


@pytest.mark.parametrize("outstanding", [1, 2, 3, 4])
def test_no_more_fetches_are_under_way_than_the_cache_allows(outstanding: int) -> None:
    sim, contexts, memory = cache(outstanding=outstanding)
    times: list[float] = []
    for key in range(4):
        contexts.access(key, lambda: times.append(sim.now))
    sim.run()
    assert memory.most == outstanding
    assert times == [FETCH * (1 + key // outstanding) for key in range(4)]


def test_look_ups_that_wait_for_their_turn_to_be_fetched_are_merged_too() -> None:
    sim, contexts, memory = cache(outstanding=1)
    done: list[int] = []
    for key in (1, 2, 2, 2):
        contexts.access(key, done.append, key)
    sim.run()
    assert done == [1, 2, 2, 2]
    assert len(memory.fetched) == contexts.misses == 2


def test_more_contexts_than_entries_miss_every_time_in_turn() -> None:
    sim, contexts, memory = cache(entries=4, ways=4)
    for _ in range(3):
        for key in range(5):
            contexts.access(key, int)
            sim.run()
    assert contexts.misses == contexts.accesses == len(memory.fetched) == 15


def test_as_many_contexts_as_entries_miss_once_each() -> None:
    sim, contexts, _ = cache(entries=4, ways=2)
    for _ in range(3):
        for key in range(4):
            contexts.access(key, int)
            sim.run()
    assert (contexts.misses, contexts.accesses) == (4, 12)


def test_a_line_brings_the_neighbours_of_what_was_missing() -> None:
    sim, contexts, memory = cache(entries=16, entry=8, line=64, ways=2)
    done: list[int] = []
    contexts.access(11, done.append, 11)
    contexts.access(15, done.append, 15)
    sim.run()
    assert done == [11, 15]
    # Entries 8 to 15 are the second line of 64 B of the table.
    assert memory.fetched == [(0, 1)]
    assert all(contexts.held(key) for key in range(8, 16))
    assert not contexts.held(7)
    assert not contexts.held(16)
    assert contexts.counters()["sqpc_fetch_bytes"] == 64


def test_a_cache_of_lines_holds_as_many_bytes_as_one_of_entries() -> None:
    sim, contexts, _ = cache(entries=16, entry=8, line=64, ways=2)
    for key in (0, 8, 16):
        contexts.access(key, int)
        sim.run()
    assert [contexts.held(key) for key in (0, 8, 16)] == [False, True, True]


def test_a_changed_line_is_written_back_when_it_has_to_leave() -> None:
    sim, contexts, memory = cache(written=True)
    for key in range(6):
        contexts.access(key, int)
        sim.run()
    assert memory.written == [0, 1]
    assert contexts.counters()["sqpc_writeback_bytes"] == 2 * 256


def test_what_is_only_read_is_never_written_back() -> None:
    sim, contexts, memory = cache(written=False)
    for key in range(6):
        contexts.access(key, int)
        sim.run()
    assert memory.written == []
    assert contexts.counters()["sqpc_writeback_bytes"] == 0


def test_a_line_that_left_and_comes_again_is_fetched_and_written_again() -> None:
    sim, contexts, memory = cache(entries=1, ways=1, written=True)
    for _ in range(5):
        for key in (3, 4):
            contexts.access(key, int)
            sim.run()
    assert [line for _, line in memory.fetched] == [3, 4] * 5
    # The last one is still there.
    assert memory.written == ([3, 4] * 5)[:-1]


def test_those_who_waited_go_on_in_the_order_in_which_they_asked() -> None:
    sim, contexts, _ = cache(entries=8, line=512, ways=2)
    done: list[int] = []
    for number, key in enumerate((2, 3, 2, 3)):
        contexts.access(key, done.append, number)
    sim.run()
    assert done == [0, 1, 2, 3]


def test_a_cache_of_millions_of_entries_takes_no_memory_until_they_are_used() -> None:
    sim, contexts, _ = cache(entries=1 << 24, ways=4)
    for key in range(100):
        contexts.access(key << 16, int)
    sim.run()
    assert len(contexts._cache) == 100
    assert len(contexts._cache._sets) <= 100
