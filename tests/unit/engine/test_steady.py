"""When a deterministic model repeats itself."""

from collections.abc import Callable
from typing import Any

import pytest

from hcasim.engine import Repetition, Simulator, bounded_mean, find_period, mean_error
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


def test_a_mean_is_that_of_all_intervals_if_there_are_enough() -> None:
    assert bounded_mean([10, 30, 20, 10, 30, 20], enough=6, error=0.1) == 20
    assert bounded_mean([100] * 5, enough=6, error=0.01) is None


def test_a_mean_that_drifts_is_not_known() -> None:
    # The halves differ by 2 percent of the mean, which is an error of 1 percent.
    drifting = [99] * 4 + [101] * 4
    assert bounded_mean(drifting, enough=6, error=0.0101) == 100
    assert bounded_mean(drifting, enough=6, error=0.0099) is None
    assert bounded_mean(drifting[::-1], enough=6, error=0.0099) is None


def test_the_error_of_a_mean_is_four_standard_errors_of_its_batches() -> None:
    # Variance 8/7 of batches of one each; its root over that of 8.
    assert mean_error([9.0, 11.0] * 4) == pytest.approx(4 * (8 / 7 / 8) ** 0.5 / 10, rel=1e-12)
    # Batches of two are all alike.
    assert mean_error([9.0, 11.0] * 8) == 0.0


def test_a_drift_is_an_error_of_the_difference_of_the_halves() -> None:
    parts = [99.0] * 400 + [101.0] * 400
    assert mean_error(parts) >= 0.02
    assert mean_error([99.0, 101.0]) >= 0.02
    assert mean_error([]) == mean_error([7.0]) == 0.0


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
