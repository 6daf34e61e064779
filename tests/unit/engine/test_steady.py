"""When a deterministic model repeats itself."""

from collections.abc import Callable
from itertools import pairwise
from math import inf, sqrt
from random import Random
from statistics import mean, stdev
from typing import Any

import pytest

from hcasim.engine import Repetition, Simulator, find_period, mean_error, settled
from hcasim.engine.changes import Changes


@pytest.mark.parametrize(
    ("intervals", "asked", "period"),
    [
        ([1, 2, 3, 4, 5, 6, 7, 8] * 3, {}, 8),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9] * 3, {}, None),
        (list(range(12)) * 3, {"longest": 12}, 12),
        ([1000, 1001, 1000], {"slack": 0.001}, 1),
        ([1000, 1002, 1000], {"slack": 0.001}, None),
        # The lengths of the repetitions agree.
        ([10, 20, 11, 19, 9, 21], {"slack": 1e-9}, 2),
        ([5] * 9, {"step": 3}, 3),
        ([1, 2] * 6, {"step": 3}, None),
        ([1, 2] * 9, {"step": 3}, 6),
    ],
)
def test_the_period_is_the_shortest_with_which_the_intervals_end(
    intervals: list[int], asked: dict[str, Any], period: int | None
) -> None:
    assert find_period(intervals, **asked) == period


def noise(count: int, memory: float = 0.0, seed: int = 3) -> list[float]:
    """Values about 100, each with a share of what the one before was off by."""
    draw, off, found = Random(seed), 0.0, []
    for _ in range(count):
        off = memory * off + draw.gauss(0, 1)
        found.append(100 + off)
    return found


def alike(values: list[float]) -> float:
    """How far neighbours are from being as often alike as unlike, and alike rather."""
    middle = mean(values)
    found = sum((a - middle) * (b - middle) for a, b in pairwise(values)) / len(values)
    return abs(found + 0.1)


def test_of_fewer_than_eight_values_nothing_is_known() -> None:
    assert mean_error([7.0] * 7) == inf
    assert mean_error([7.0] * 8) == 0.0
    assert settled([7.0] * 3)[1] == inf


@pytest.mark.parametrize(("freedom", "quantile"), [(7, 5.408), (15, 4.073), (99, 3.392)])
def test_the_error_of_independent_values_is_students(freedom: int, quantile: float) -> None:
    # In the order of a shuffle in which neighbours are a little unlike each other.
    values = min((noise(freedom + 1, seed=seed) for seed in range(40)), key=alike)
    scatter = stdev(values) / sqrt(freedom + 1) / mean(values)
    # Published quantiles of one in a thousand.
    assert mean_error(values) == pytest.approx(quantile * scatter, rel=0.01)


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_means_of_values_that_remember_are_within_their_error(memory: float) -> None:
    outside = [
        abs(sum(values) / len(values) / 100 - 1) > mean_error(values)
        for values in (noise(256, memory, seed) for seed in range(300))
    ]
    assert sum(outside) <= 3


def test_a_drift_is_an_error_of_the_difference_of_the_halves() -> None:
    assert mean_error([99.0] * 400 + [101.0] * 400) >= 0.02


@pytest.mark.parametrize(("cold", "left"), [(0, 80), (20, 60), (39, 40)])
def test_a_transient_at_the_start_is_no_part_of_what_has_settled(cold: int, left: int) -> None:
    count, error = settled([300.0] * cold + [100.0] * (80 - cold))
    assert (count, error) == (left, 0.0)


def test_whole_turns_are_left_out() -> None:
    assert settled([300.0] * 20 + [100.0] * 60, step=16)[0] == 80 - 32


class Machine:
    """Has a number, and one that counts."""

    __module__ = "hcasim.made.for.a.test"

    changes = Changes(counts="count", wraps="turn", slips="freed")

    def __init__(self) -> None:
        self.number = self.count = self.turn = self.freed = 0
        self.queue: list[int] = []


def proven(
    step: Callable[[Machine, int], None], cold: int = 0, error: float = 0.0
) -> tuple[int, int]:
    """Laps until a period is proven, and its laps; none in forty of them."""
    sim = Simulator()
    state = Machine()
    repetition = Repetition(sim, lambda: [state], cold)
    for lap in range(1, 41):
        for _ in range(50):
            sim.call_after(20, int)
        sim.run()
        step(state, lap)
        if period := repetition.lap():
            assert repetition.period_ps == period * 20
            assert repetition.error == error
            return lap, period
    return 0, 0


def fill(state: Machine, lap: int) -> None:
    state.queue.append(lap)


def accelerate(state: Machine, lap: int) -> None:
    state.count = lap * lap


def count(state: Machine, lap: int) -> None:
    state.count = 3 * lap


def drift(state: Machine, lap: int) -> None:
    state.number = 3 * lap


def wrap(state: Machine, lap: int) -> None:
    state.number = lap % 4


@pytest.mark.parametrize("step", [fill, accelerate, drift])
def test_laps_that_last_equally_long_prove_nothing_while_something_grows(
    step: Callable[[Machine, int], None],
) -> None:
    assert proven(step) == (0, 0)


def test_what_counts_steadily_is_a_period_after_three_looks_at_warm_laps() -> None:
    assert proven(count) == (5, 1)
    assert proven(count, cold=10) == (15, 1)


def test_what_counts_round_and_round_is_one_of_as_many_laps() -> None:
    assert proven(wrap)[1] == 4


def test_a_period_of_a_cyclic_counter_may_be_longer_than_nine_readings_reach() -> None:
    def turn(state: Machine, lap: int) -> None:
        state.turn = lap % 12
        state.number = state.turn // 3

    # Nine laps in a row, and two that are like the last of them.
    assert proven(turn) == (35, 12)


def test_laps_with_equal_counters_prove_nothing_while_something_grows() -> None:
    def turn_and_drift(state: Machine, lap: int) -> None:
        state.turn = lap % 3
        state.number = lap

    assert proven(turn_and_drift) == (0, 0)


@pytest.mark.parametrize(("laps", "expected", "error"), [(4, (11, 4), 0.0), (64, (11, 1), 500.0)])
def test_a_counter_may_slip_after_nine_laps_and_the_error_says_so(
    laps: int, expected: tuple[int, int], error: float
) -> None:
    def slip(state: Machine, lap: int) -> None:
        state.freed = lap % laps

    # 10 ns for each counter, beside laps of 20 ps.
    assert proven(slip, error=error) == expected


def test_a_counter_may_slip_between_any_of_the_nine_laps() -> None:
    def slip(state: Machine, lap: int) -> None:
        state.freed = lap % 64
        # One more is sent in the last laps but one.
        state.count = 3 * lap + lap // 10

    assert proven(slip, error=500.0) == (11, 1)
