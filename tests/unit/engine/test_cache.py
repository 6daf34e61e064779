"""Which keys a set-associative cache holds."""

import pytest

from hcasim.engine import SetAssociativeCache


def look_up(cache: SetAssociativeCache, *keys: int) -> list[bool]:
    hits = []
    for key in keys:
        hits.append(cache.touch(key))
        cache.fill(key)
    return hits


def test_a_key_is_held_only_after_it_was_brought_in() -> None:
    cache = SetAssociativeCache(4, 2)
    assert not cache.touch(5)
    assert 5 not in cache
    assert cache.fill(5) is None
    assert cache.touch(5)
    assert 5 in cache
    assert len(cache) == 1


def test_lru_evicts_the_key_used_longest_ago() -> None:
    cache = SetAssociativeCache(3, 3, "lru")
    look_up(cache, 1, 2, 3, 1)
    assert cache.fill(4) == 2
    assert cache.fill(5) == 3
    assert cache.fill(6) == 1


def test_what_precedes_displaces_nothing_and_is_the_first_to_go() -> None:
    cache = SetAssociativeCache(3, 3, "lru")
    look_up(cache, 1)
    cache.precede(2)
    cache.precede(3)
    assert cache.full
    cache.precede(4)
    assert 4 not in cache
    cache.precede(1)
    assert [cache.fill(key) for key in (5, 6, 7)] == [3, 2, 1]


def test_fifo_evicts_the_key_brought_in_longest_ago_however_often_it_was_used() -> None:
    cache = SetAssociativeCache(3, 3, "fifo")
    look_up(cache, 1, 2, 3, 1, 1)
    assert cache.fill(4) == 1


def test_random_evicts_some_key_of_the_set_and_repeats_itself_from_the_same_seed() -> None:
    runs = []
    for seed in (1, 1, 2):
        cache = SetAssociativeCache(8, 8, "random", seed)
        look_up(cache, *range(8))
        runs.append([cache.fill(key) for key in range(8, 100)])
    assert runs[0] == runs[1] != runs[2]
    assert len(set(runs[0][:8])) > 1


def test_keys_of_different_sets_do_not_evict_each_other() -> None:
    cache = SetAssociativeCache(4, 1)
    look_up(cache, 0, 1, 2, 3)
    assert cache.fill(4) == 0
    assert [key in cache for key in (1, 2, 3, 4)] == [True] * 4


def test_keys_of_one_set_evict_each_other_although_there_is_room_elsewhere() -> None:
    cache = SetAssociativeCache(4, 1)
    assert look_up(cache, 0, 4, 0, 4) == [False] * 4
    assert len(cache) == 1


def test_filling_in_a_key_that_is_held_changes_nothing() -> None:
    cache = SetAssociativeCache(2, 2)
    look_up(cache, 1, 2)
    assert cache.fill(1) is None
    assert len(cache) == 2
    assert cache.fill(3) == 1


@pytest.mark.parametrize(("entries", "ways"), [(0, 1), (4, 0), (-4, 2)])
def test_a_cache_without_capacity_is_refused(entries: int, ways: int) -> None:
    with pytest.raises(ValueError, match="positive entries and ways"):
        SetAssociativeCache(entries, ways)


def test_ways_that_do_not_divide_the_entries_are_refused() -> None:
    with pytest.raises(ValueError, match="3 ways do not divide 8 entries"):
        SetAssociativeCache(8, 3)
