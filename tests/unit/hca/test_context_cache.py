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
        self.owner = "hca"
        self.icm = self
        self.under_way = self.most = self.read_ps = 0

    def fetch(self, table: object, line: int, into: ContextCache) -> None:
        self.fetched.append((int(self.sim.now), line))
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        self.sim.call_after(FETCH, self._done, line, into)

    def _done(self, line: int, into: ContextCache) -> None:
        self.under_way -= 1
        self.read_ps += FETCH
        into.arrived(line)

    def write_back(self, line: int) -> None:
        raise AssertionError("nothing was changed")


def cache(**change: Any) -> tuple[Simulator, ContextCache, Memory]:
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
    return sim, ContextCache(sim, "sqpc", description, memory, written=False), memory


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
    assert contexts.held(2)
    assert not contexts.held(3)
    assert len(memory.fetched) == contexts.misses == 2


def test_a_cache_of_millions_of_entries_takes_no_memory_until_they_are_used() -> None:
    sim, contexts, _ = cache(entries=1 << 24, ways=4)
    for key in range(100):
        contexts.access(key << 16, int)
    sim.run()
    assert len(contexts._cache) == 100
    assert len(contexts._cache._sets) <= 100
