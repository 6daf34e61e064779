"""A period is proven by the state, however alike the laps."""

from collections.abc import Callable

import pytest

from hcasim.engine import Repetition, Simulator

State = list[object]


def proven(state: State, step: Callable[[State, int], None], cold: int = 0) -> tuple[int, int]:
    """Laps until a period is proven, and its laps; none in forty of them."""
    sim = Simulator()
    repetition = Repetition(sim, lambda: [state], cold)
    for lap in range(1, 41):
        for _ in range(50):
            sim.call_after(20, int)
        sim.run()
        step(state, lap)
        if period := repetition.lap():
            assert repetition.period_ps == period * 20
            return lap, period
    return 0, 0


def fill(state: State, lap: int) -> None:
    state.append(lap)


def accelerate(state: State, lap: int) -> None:
    state[0] = lap * lap


def count(state: State, lap: int) -> None:
    state[0] = 3 * lap


def wrap(state: State, lap: int) -> None:
    state[0] = lap % 4


@pytest.mark.parametrize("step", [fill, accelerate])
def test_laps_that_last_equally_long_prove_nothing_while_something_grows(
    step: Callable[[State, int], None],
) -> None:
    assert proven([0], step) == (0, 0)


def test_what_counts_steadily_is_a_period_after_three_looks_at_warm_laps() -> None:
    assert proven([0], count) == (5, 1)
    assert proven([0], count, cold=10) == (15, 1)


def test_what_counts_round_and_round_is_one_of_as_many_laps() -> None:
    assert proven([0], wrap)[1] == 4
