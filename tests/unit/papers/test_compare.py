"""The comparator accepts what is near enough and nothing else."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hcasim.papers.claim import TOLERANCES
from hcasim.papers.verdict import relative_error

# From attoseconds in seconds to terabytes in bytes: no scale is special.
published_numbers = st.floats(min_value=1e-18, max_value=1e15)
tolerances = st.sampled_from(sorted(set(TOLERANCES.values())))
signs = st.sampled_from([-1, 1])


@given(published_numbers)
def test_the_published_number_itself_has_no_error(published: float) -> None:
    assert relative_error(published, published) == 0


@given(published_numbers, tolerances, signs, st.floats(min_value=1.001, max_value=20))
def test_a_number_perturbed_beyond_the_tolerance_fails(
    published: float, tolerance: float, sign: int, excess: float
) -> None:
    error = relative_error(published * (1 + sign * tolerance * excess), published)
    assert abs(error) > tolerance
    assert math.copysign(1, error) == sign


@given(published_numbers, tolerances, signs, st.floats(min_value=0, max_value=0.999))
def test_a_number_perturbed_within_the_tolerance_passes(
    published: float, tolerance: float, sign: int, share: float
) -> None:
    error = relative_error(published * (1 + sign * tolerance * share), published)
    assert abs(error) <= tolerance


@given(published_numbers, st.floats(min_value=1, max_value=2), st.floats(0, 1))
def test_inside_a_range_there_is_no_error(low: float, width: float, share: float) -> None:
    high = low * width
    inside = min(max(low + share * (high - low), low), high)
    assert relative_error(inside, (low, high)) == 0


@given(published_numbers, st.floats(min_value=1, max_value=2), tolerances, signs)
def test_beside_a_range_the_nearer_end_counts(
    low: float, width: float, tolerance: float, sign: int
) -> None:
    edge = low if sign < 0 else low * width
    outside = edge * (1 + sign * tolerance * 1.01)
    assume(outside > 0)
    error = relative_error(outside, (low, low * width))
    assert abs(error) > tolerance
    assert error == pytest.approx(sign * tolerance * 1.01, rel=1e-6)


@pytest.mark.parametrize("simulated", [math.nan, math.inf, -math.inf, 0.0, -3.8])
def test_a_number_that_makes_no_sense_fails(simulated: float) -> None:
    assert not abs(relative_error(simulated, 3.8)) <= 0.05


@pytest.mark.parametrize("published", [0.0, -1.0, math.nan, (2.0, 1.0), (0.0, 1.0)])
def test_nothing_is_relative_to_a_number_that_is_not_positive(
    published: float | tuple[float, float],
) -> None:
    with pytest.raises(ValueError, match="cannot compare"):
        relative_error(1.0, published)


def test_a_latency_in_seconds_is_judged_as_one_in_microseconds() -> None:
    assert abs(relative_error(309e-9, 300e-9)) > 0.02
    assert abs(relative_error(0.309, 0.300)) > 0.02


def test_the_tolerances_are_those_of_the_design() -> None:
    assert TOLERANCES == {
        "latency": 0.05,
        "bandwidth": 0.03,
        "rate": 0.15,
        "ratio": 0.03,
        "memory": 0.25,
        "time": 0.05,
        "overlap": 0.03,
        "overhead": 0.05,
        "run": 0.05,
        "communication": 0.05,
    }
