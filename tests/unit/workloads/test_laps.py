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


def test_one_queue_pair_repeats_whatever_the_pattern() -> None:
    laps = make_laps(Options(pattern="random", qps=1, iters=1000, warmup=0))
    for _ in range(6):
        laps.lap(100)
    assert laps.done


def drawn(values: list[int], number: int) -> list[int]:
    draw = Random(7)
    return [draw.choice(values) for _ in range(number)]


def test_a_random_mean_is_not_known_while_places_are_used_for_the_first_time() -> None:
    """Each first use of one of 512 places takes twice as long, as long as others are left."""
    options = Options(size=8, region=512 * 256, access="random", iters=20_000, warmup=0)
    laps, draw, used = make_laps(options), Random(7), set[int]()
    while not laps.done:
        place = draw.randrange(512)
        laps.lap(1000 if place in used else 2000)
        used.add(place)
    assert 300 < len(laps.durations_ps) < 10_000
    whole = 1000 * (1 + 512 / 20_000)
    assert abs(laps.mean_ps() / whole - 1) <= laps.error_percent / 100 <= 0.01


@pytest.mark.parametrize("values", [[1000, 2000], [1000] * 9 + [5000]])
def test_a_random_mean_is_known_with_the_error_that_is_asked_for(values: list[int]) -> None:
    laps = Laps(0, 100_000, exact=False, together=200, error=0.01, unused=lambda laps: 0.0)
    for duration in drawn(values, 100_000):
        laps.lap(duration)
        if laps.done:
            break
    assert len(laps.durations_ps) < 60_000
    assert 0 < laps.error_percent <= 1
    assert laps.mean_ps() == pytest.approx(sum(values) / len(values), rel=0.01)


def test_a_pattern_is_not_known_while_earlier_laps_of_it_were_otherwise() -> None:
    laps = Laps(0, 100, exact=False, together=9, error=2e-3)
    for number in range(100):
        laps.lap(1000 if number < 7 else 1010)
        if laps.done:
            break
    assert len(laps.durations_ps) < 20
    whole = (7 * 1000 + 93 * 1010) / 100
    assert abs(laps.mean_ps() / whole - 1) <= laps.error_percent / 100 + 1e-4


def test_what_seemed_known_is_part_of_the_transient_when_it_begins_again() -> None:
    laps = Laps(0, 40, exact=False, cold=1)
    for duration in [900, *[500] * 3]:
        laps.lap(duration)
    assert laps.done
    laps.begin_again()
    for duration in [400] * 3:
        assert not laps.done
        laps.lap(duration)
    assert laps.mean_ps() == (900 + 3 * 500 + 36 * 400) / 40


@pytest.mark.parametrize("run", [12, 18, 24])
def test_only_the_iterations_of_the_first_queue_pair_are_averaged(run: int) -> None:
    laps = Laps(3, 30, exact=False, cycle=3)
    for number in range(run):
        laps.lap((500, 20, 10)[number % 3] if number >= 3 else 7777)
    assert laps.done
    assert laps.mean_ps(every=3) == 500
    assert laps.mean_ps() == (500 + 20 + 10) / 3
