"""Lines of all tables share a cache by bytes, bank by bank."""

from random import Random

import pytest

from hcasim.catalog.adapter import IcmCache
from hcasim.hca.line_cache import LineCache


def cache(size: int = 1024, banks: int = 1, policy: str = "lru") -> LineCache:
    return LineCache(IcmCache(size=size, banks=banks, latency=1000, policy=policy))


def test_lines_of_different_sizes_take_their_bytes() -> None:
    shared = cache(1024)
    for line in range(3):
        assert shared.fill(0, line, 256) == []
    for line in range(4):
        shared.fill(1, line, 64)
    assert all(shared.holds(0, line) for line in range(3))
    shared.fill(0, 3, 256)
    assert not shared.holds(0, 0)
    assert shared.holds(1, 0)


@pytest.mark.parametrize(("policy", "kept"), [("lru", 0), ("fifo", 1)])
def test_the_policy_tells_which_line_leaves(policy: str, kept: int) -> None:
    shared = cache(512, policy=policy)
    shared.fill(0, 0, 256)
    shared.fill(0, 1, 256)
    assert shared.touch(0, 0)
    shared.fill(0, 2, 256)
    assert shared.holds(0, kept)
    assert not shared.holds(0, 1 - kept)


def test_random_replacement_holds_the_share_that_fits_and_repeats_itself() -> None:
    def held() -> list[int]:
        shared = cache(100 * 256, policy="random")
        for _ in range(3):
            for line in range(400):
                if not shared.touch(0, line):
                    shared.fill(0, line, 256)
        return [line for line in range(400) if shared.holds(0, line)]

    assert len(held()) == 100
    assert held() == held()
    assert min(held()) < 100


def missed(policy: str, lines: int, order: list[int]) -> float:
    """The share of look-ups that miss in a cache of 100 lines, when it has been filled."""
    shared = cache(100 * 256, policy=policy)
    for turn in range(2):
        before = shared.accesses, shared.misses
        for line in order if turn else range(lines):
            if not shared.touch(0, line):
                shared.fill(0, line, 256)
    return (shared.misses - before[1]) / (shared.accesses - before[0])


def test_random_replacement_has_no_cliff_where_lines_used_in_turn_no_longer_fit() -> None:
    lines = [100, 105, 110, 125, 150, 200, 400]
    shares = [missed("random", count, [*range(count)] * 20) for count in lines]
    assert shares[0] == 0
    assert shares == sorted(shares)
    # What is held until its next use survives as many misses as come before that.
    for count, share in zip(lines[1:], shares[1:], strict=True):
        assert 1 - share == pytest.approx(0.99 ** (count * share), abs=0.05)
    assert [missed("lru", count, [*range(count)] * 20) for count in lines] == [0, *[1] * 6]


def test_random_replacement_holds_of_lines_drawn_at_random_what_fits() -> None:
    for count in (110, 200, 400, 800):
        order = [Random(count + turn).randrange(count) for turn in range(20000)]
        assert missed("random", count, order) == pytest.approx(1 - 100 / count, abs=0.02)


def test_a_bank_holds_only_lines_of_its_own() -> None:
    shared = cache(1024, banks=2)
    for line in range(0, 8, 2):
        shared.fill(0, line, 256)
    assert [line for line in range(8) if shared.holds(0, line)] == [4, 6]
    for line in (1, 3):
        shared.fill(0, line, 256)
    assert [line for line in range(8) if shared.holds(0, line)] == [1, 3, 4, 6]


def test_only_changed_lines_are_written_back_when_they_leave() -> None:
    shared = cache(512)
    shared.fill(0, 0, 256)
    shared.fill(2, 7, 256)
    shared.mark(2, 7)
    assert shared.fill(0, 1, 256) == []
    assert shared.fill(0, 2, 256) == [(2, 7)]
    assert (shared.accesses, shared.misses) == (0, 0)


def test_a_line_longer_than_its_bank_is_held_alone() -> None:
    shared = cache(64)
    shared.fill(0, 0, 256)
    assert shared.touch(0, 0)
    shared.fill(0, 1, 256)
    assert not shared.touch(0, 0)
    assert (shared.accesses, shared.misses) == (2, 1)
