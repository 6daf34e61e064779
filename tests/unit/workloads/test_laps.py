"""Which queue pair is next, and when the mean of a random order is known."""

from collections import Counter
from itertools import islice
from math import sqrt
from random import Random

import pytest

from hcasim.workloads.laps import Laps, draw_turns, make_laps
from hcasim.workloads.options import Options, Pattern


def turns(pattern: Pattern, number: int, **options: int) -> list[int]:
    # Exact runs have no turns that only warm the caches.
    return list(islice(draw_turns(Options(pattern=pattern, exact=True, **options)), number))


def test_a_uniform_order_gives_each_queue_pair_the_same_share() -> None:
    seen = Counter(turns("random", 20_000, qps=10))
    assert set(seen) == set(range(10))
    # Five standard deviations of a binomial count.
    assert all(abs(count - 2000) < 5 * sqrt(1800) for count in seen.values())


def test_the_share_in_zipfs_law_falls_with_the_rank() -> None:
    seen = Counter(turns("zipf", 40_000, qps=10))
    assert seen[0] / seen[1] == pytest.approx(2, rel=0.08)
    assert seen[0] / seen[4] == pytest.approx(5, rel=0.12)


@pytest.mark.parametrize("pattern", ["random", "zipf"])
def test_a_short_run_first_gives_each_queue_pair_a_turn_the_most_popular_last(
    pattern: Pattern,
) -> None:
    options = Options(pattern=pattern, qps=30, iters=5000)
    assert list(islice(draw_turns(options), 30)) == list(range(29, -1, -1))


def test_one_queue_pair_repeats_whatever_the_pattern() -> None:
    laps = make_laps(Options(pattern="random", qps=1, iters=1000, warmup=0))
    for _ in range(6):
        laps.lap(100)
    assert laps.done


def drawn(values: list[int], number: int) -> list[int]:
    draw = Random(7)
    return [draw.choice(values) for _ in range(number)]


def test_a_random_mean_takes_at_least_two_hundred_iterations() -> None:
    laps = make_laps(Options(pattern="random", qps=4, iters=1000, warmup=0))
    while not laps.done:
        laps.lap(1000)
    # Four queue pairs have a turn before the order is random.
    assert len(laps.durations_ps) == 204


@pytest.mark.parametrize("values", [[1000, 2000], [1000] * 9 + [5000]])
def test_a_random_mean_is_known_when_twice_its_standard_error_is_one_percent(
    values: list[int],
) -> None:
    laps = Laps(0, 100_000, exact=False, samples=200, error=0.01)
    for duration in drawn(values, 100_000):
        laps.lap(duration)
        if laps.done:
            break
    mean = sum(values) / len(values)
    spread = sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    assert len(laps.durations_ps) == pytest.approx((2 * spread / (0.01 * mean)) ** 2, rel=0.1)
    assert laps.mean_ps() == pytest.approx(mean, rel=0.02)


def test_iterations_before_the_random_order_are_not_averaged() -> None:
    laps = Laps(50, 1000, exact=False, samples=200, error=0.01)
    for duration in [9_000_000] * 50 + [1000] * 200:
        laps.lap(duration)
    assert laps.done
    assert laps.mean_ps() == 1000


@pytest.mark.parametrize("run", [12, 18, 24])
def test_only_the_iterations_of_the_first_queue_pair_are_averaged(run: int) -> None:
    laps = Laps(3, 30, exact=False, cycle=3)
    for number in range(run):
        laps.lap((500, 20, 10)[number % 3] if number >= 3 else 7777)
    assert laps.done
    assert laps.mean_ps(every=3) == 500
    assert laps.mean_ps() == (500 + 20 + 10) / 3
