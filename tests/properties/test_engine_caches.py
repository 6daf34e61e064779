"""Laws of caches: the policies against plain reference models."""

from collections.abc import Sequence
from math import sqrt
from random import Random
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.engine import SetAssociativeCache

Policy = Literal["lru", "fifo", "random"]
traces = st.lists(st.integers(0, 15), max_size=80)
shapes = st.sampled_from([(1, 1), (2, 1), (2, 2), (4, 2), (8, 1), (8, 2), (8, 8), (6, 3), (12, 4)])


def hits(cache: SetAssociativeCache, trace: Sequence[int]) -> list[bool]:
    found = []
    for key in trace:
        hit = cache.touch(key)
        if not hit:
            cache.fill(key)
        assert key in cache
        assert len(cache) <= cache.entries
        found.append(hit)
    return found


def reference(
    entries: int, ways: int, policy: Policy, seed: int, trace: Sequence[int]
) -> list[bool]:
    """The same with time stamps of the last use (lru) or of the filling in (fifo).

    Of the keys of a full set in the order in which they came, ``random`` gives up one drawn with
    the generator of the standard library.
    """
    sets = entries // ways
    draw = Random(seed)
    stamps: dict[int, int] = {}
    found = []
    for now, key in enumerate(trace):
        hit = key in stamps
        found.append(hit)
        if hit and policy != "lru":
            continue
        rivals = [held for held in stamps if held % sets == key % sets]
        if not hit and len(rivals) == ways:
            oldest = sorted(rivals, key=lambda held: stamps[held])
            del stamps[draw.choice(oldest) if policy == "random" else oldest[0]]
        stamps[key] = now
    return found


@given(shapes, st.sampled_from(["lru", "fifo", "random"]), st.integers(0, 2**32), traces)
def test_a_policy_hits_exactly_where_its_definition_does(
    shape: tuple[int, int], policy: Policy, seed: int, trace: list[int]
) -> None:
    found = hits(SetAssociativeCache(*shape, policy, seed), trace)
    assert found == reference(*shape, policy, seed, trace)


@given(shapes, st.sampled_from(["lru", "fifo", "random"]), traces)
def test_only_a_full_set_gives_up_a_key_and_only_one_of_its_own(
    shape: tuple[int, int], policy: Policy, trace: list[int]
) -> None:
    cache = SetAssociativeCache(*shape, policy)
    held: set[int] = set()
    for key in trace:
        if cache.touch(key):
            assert key in held
            continue
        assert key not in held
        rivals = {other for other in held if other % cache.sets == key % cache.sets}
        victim = cache.fill(key)
        assert (victim is not None) == (len(rivals) == cache.ways)
        if victim is not None:
            assert victim in rivals
            held.remove(victim)
        held.add(key)
        assert len(cache) == len(held)


@given(st.integers(1, 8), st.integers(1, 20), st.integers(1, 20), traces)
def test_more_ways_in_as_many_sets_never_miss_more(
    sets: int, ways: int, more: int, trace: list[int]
) -> None:
    few = hits(SetAssociativeCache(sets * ways, ways), trace)
    many = hits(SetAssociativeCache(sets * (ways + more), ways + more), trace)
    assert all(in_many or not in_few for in_few, in_many in zip(few, many, strict=True))


@pytest.mark.parametrize("policy", ["lru", "fifo", "random"])
@pytest.mark.parametrize(("entries", "keys"), [(1, 2), (8, 10), (16, 64), (64, 65), (64, 640)])
def test_uniform_access_hits_as_often_as_a_key_is_held(
    policy: Policy, entries: int, keys: int
) -> None:
    """Each access finds c of n keys held, whatever was asked before: it hits with probability c/n.

    So the hits in N accesses are binomial for every policy (that RANDOM and FIFO agree for any
    independent accesses: Gelenbe 1973, IEEE Transactions on Computers C-22 (6)).
    """
    cache = SetAssociativeCache(entries, entries, policy)
    hits(cache, range(keys))
    draw = Random(7)
    number = 40_000
    found = hits(cache, [draw.randrange(keys) for _ in range(number)])
    share = entries / keys
    assert abs(sum(found) - number * share) <= 4 * sqrt(number * share * (1 - share))
