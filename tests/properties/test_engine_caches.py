"""Laws of caches: the policies against plain reference models, and what is known of cyclic access.

Cyclic access by n keys to a cache of c entries is how queue pairs in turn use the adapter's
context caches.
"""

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


def reference(entries: int, ways: int, policy: Policy, trace: Sequence[int]) -> list[bool]:
    """The same with time stamps of the last use (lru) or of the filling in (fifo).

    Of the keys of a full set in the order in which they came, ``random`` gives up one drawn with
    the generator of the standard library.
    """
    sets = entries // ways
    draw = Random(0)
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


@given(shapes, st.sampled_from(["lru", "fifo", "random"]), traces)
def test_a_policy_hits_exactly_where_its_definition_does(
    shape: tuple[int, int], policy: Policy, trace: list[int]
) -> None:
    assert hits(SetAssociativeCache(*shape, policy), trace) == reference(*shape, policy, trace)


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


@given(st.integers(1, 40), st.integers(1, 60), st.sampled_from(["lru", "fifo"]))
def test_cyclic_access_always_hits_if_the_keys_fit_and_never_if_they_do_not(
    entries: int, keys: int, policy: Policy
) -> None:
    cache = SetAssociativeCache(entries, entries, policy)
    assert hits(cache, range(keys)) == [False] * keys
    again = hits(cache, list(range(keys)) * 3)
    assert again == [keys <= entries] * len(again)


@given(st.integers(1, 20), st.integers(1, 20), traces)
def test_a_larger_lru_cache_holds_all_that_a_smaller_one_holds(
    entries: int, more: int, trace: list[int]
) -> None:
    small = hits(SetAssociativeCache(entries, entries), trace)
    large = hits(SetAssociativeCache(entries + more, entries + more), trace)
    assert all(in_large or not in_small for in_small, in_large in zip(small, large, strict=True))


@given(st.integers(1, 8), st.integers(1, 4), st.integers(1, 4), traces)
def test_more_ways_in_as_many_sets_never_miss_more(
    sets: int, ways: int, more: int, trace: list[int]
) -> None:
    few = hits(SetAssociativeCache(sets * ways, ways), trace)
    many = hits(SetAssociativeCache(sets * (ways + more), ways + more), trace)
    assert all(in_many or not in_few for in_few, in_many in zip(few, many, strict=True))


@given(traces, st.integers(0, 2**32))
def test_random_replacement_repeats_itself_from_its_seed(trace: list[int], seed: int) -> None:
    first, second = (hits(SetAssociativeCache(4, 4, "random", seed), trace) for _ in range(2))
    assert first == second


def cyclic_hit_rate(entries: int, keys: int) -> float:
    """Hit rate h of random replacement: a key survives the misses of the other n - 1.

    h = (1 - 1/c) ** ((n - 1) (1 - h)), the smaller solution; the larger is 1.
    """
    rate = 0.0
    for _ in range(1000):
        rate = (1 - 1 / entries) ** ((keys - 1) * (1 - rate))
    return rate


@pytest.mark.parametrize(("entries", "keys"), [(64, 80), (64, 96), (64, 128), (64, 256), (16, 32)])
def test_random_replacement_loses_gradually_where_lru_loses_all(entries: int, keys: int) -> None:
    rounds = 400
    cache = SetAssociativeCache(entries, entries, "random")
    hits(cache, list(range(keys)) * 20)
    found = hits(cache, list(range(keys)) * rounds)
    assert sum(found) / len(found) == pytest.approx(cyclic_hit_rate(entries, keys), rel=0, abs=0.02)


def test_random_replacement_always_hits_once_the_keys_fit() -> None:
    cache = SetAssociativeCache(64, 64, "random")
    hits(cache, range(64))
    assert all(hits(cache, list(range(64)) * 5))


@pytest.mark.parametrize("entries", [2, 8, 16, 64])
def test_random_replacement_of_one_key_too_many_misses_twice_in_a_cycle(entries: int) -> None:
    """With one key more than entries, exactly one key is absent.

    A miss makes any other key the absent one, each with probability 1/c, and it is asked for after
    1 to c accesses. So the times between misses are independent and uniform on 1..c: their mean is
    (c + 1)/2 and their variance (c^2 - 1)/12, the hit rate (c - 1)/(c + 1), and the misses in N
    accesses vary by N variance / mean^3 (renewal theory: Feller, volume 1, XIII.6).
    """
    keys, rounds = entries + 1, 4000
    cache = SetAssociativeCache(entries, entries, "random")
    hits(cache, list(range(keys)) * 20)
    found = hits(cache, list(range(keys)) * rounds)
    mean, variance = (entries + 1) / 2, (entries**2 - 1) / 12
    misses, deviation = len(found) / mean, sqrt(len(found) * variance / mean**3)
    assert abs(found.count(False) - misses) <= 4 * deviation + 1
    gaps = "".join(map(str, map(int, found))).split("0")[1:-1]
    assert {len(gap) for gap in gaps} == set(range(entries))


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
