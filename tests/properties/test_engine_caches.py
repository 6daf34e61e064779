"""Laws of caches: the policies against plain reference models."""

from collections.abc import Sequence
from random import Random
from typing import Literal

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
