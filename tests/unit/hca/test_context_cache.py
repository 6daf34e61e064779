"""Contexts come from the tables once, and everybody who needs one waits for the same fetch."""

from hcasim.catalog import Cache
from hcasim.engine import Simulator
from hcasim.hca.context_cache import ContextCache

MISS = 500_000


def cache(entries: int = 4, ways: int = 4) -> tuple[Simulator, ContextCache]:
    sim = Simulator()
    description = Cache(entries=entries, entry=256, ways=ways, policy="lru", miss_latency=MISS)
    return sim, ContextCache(sim, "sqpc", description)


def test_a_miss_takes_the_fetch_and_a_hit_takes_nothing() -> None:
    sim, contexts = cache()
    times: list[float] = []
    contexts.access(1, lambda: times.append(sim.now))
    sim.run()
    contexts.access(1, lambda: times.append(sim.now))
    assert times == [MISS, MISS]


def test_what_is_missing_twice_is_fetched_once() -> None:
    sim, contexts = cache()
    order: list[tuple[str, float]] = []
    contexts.access(1, lambda: order.append(("first", sim.now)))
    sim.call_at(200_000, contexts.access, 1, lambda: order.append(("second", sim.now)))
    sim.run()
    assert order == [("first", MISS), ("second", MISS)]


def test_counters_have_the_names_of_the_silicon() -> None:
    sim, contexts = cache()
    for key in (1, 1, 2):
        contexts.access(key, int)
    sim.run()
    contexts.access(2, int)
    assert contexts.held(1)
    assert not contexts.held(3)
    assert contexts.counters() == {
        "sqpc_access_cnt": 5,
        "sqpc_miss_cnt": 3,
        "sqpc_wait_ps": 3 * MISS,
    }


def test_different_entries_are_fetched_side_by_side() -> None:
    sim, contexts = cache()
    times: list[float] = []
    for key in range(4):
        contexts.access(key, lambda: times.append(sim.now))
    sim.run()
    assert times == [MISS] * 4


def test_more_contexts_than_entries_miss_every_time_in_turn() -> None:
    sim, contexts = cache(entries=4, ways=4)
    for _ in range(3):
        for key in range(5):
            contexts.access(key, int)
            sim.run()
    assert contexts.misses == contexts.accesses == 15


def test_as_many_contexts_as_entries_miss_once_each() -> None:
    sim, contexts = cache(entries=4, ways=2)
    for _ in range(3):
        for key in range(4):
            contexts.access(key, int)
            sim.run()
    assert (contexts.misses, contexts.accesses) == (4, 12)
