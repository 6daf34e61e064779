"""Which keys a set-associative cache holds."""

import pytest

from hcasim.engine import SetAssociativeCache


def test_what_precedes_displaces_nothing_and_is_the_first_to_go() -> None:
    cache = SetAssociativeCache(3, 3, "lru")
    cache.fill(1)
    cache.precede(2)
    cache.precede(3)
    assert cache.full
    cache.precede(4)
    assert 4 not in cache
    cache.precede(1)
    assert [cache.fill(key) for key in (5, 6, 7)] == [3, 2, 1]


def test_filling_in_a_key_that_is_held_changes_nothing() -> None:
    cache = SetAssociativeCache(2, 2)
    cache.fill(1)
    cache.fill(2)
    assert cache.fill(1) is None
    assert len(cache) == 2
    assert cache.fill(3) == 1


@pytest.mark.parametrize(
    ("entries", "ways", "fault"),
    [
        (0, 1, "positive entries and ways"),
        (4, 0, "positive entries and ways"),
        (-4, 2, "positive entries and ways"),
        (8, 3, "3 ways do not divide 8 entries"),
    ],
)
def test_what_is_no_cache_is_refused(entries: int, ways: int, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        SetAssociativeCache(entries, ways)
