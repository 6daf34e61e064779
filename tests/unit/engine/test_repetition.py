"""A period is proven by the state, however alike the laps."""

from collections.abc import Callable

import pytest

from hcasim.engine import Repetition, Simulator
from hcasim.engine.changes import Changes


class Machine:
    """Has a number, and one that counts."""

    __module__ = "hcasim.made.for.a.test"

    changes = Changes(counts="count", slips="freed")

    def __init__(self) -> None:
        self.number = self.count = self.freed = 0
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


@pytest.mark.parametrize(("laps", "expected", "error"), [(4, (11, 4), 0.0), (64, (11, 1), 500.0)])
def test_a_counter_may_slip_after_nine_laps_and_the_error_says_so(
    laps: int, expected: tuple[int, int], error: float
) -> None:
    def slip(state: Machine, lap: int) -> None:
        state.freed = lap % laps

    # 10 ns for each counter, beside laps of 20 ps.
    assert proven(slip, error=error) == expected
