"""A thread that finds nothing again and again is seen to go round, if its rounds are short."""

import pytest

from hcasim.launch.circles import Circle

STEP_PS = 10_000


@pytest.mark.parametrize("period", [1, 2, 63, 64, 65, 70, 127, 128, 129])
def test_a_round_has_at_most_64_questions(period: int) -> None:
    circle = Circle()
    round_ps = []
    for number in range(8 * period):
        if circle.add((number % period,), number * STEP_PS, number, clock=False):
            assert circle.began() == number - period + 1
            round_ps.append(circle.round_ps())
    rounds = 8 - 2 if period <= 64 else 0
    assert round_ps == [period * STEP_PS] * (rounds * period + bool(rounds))
