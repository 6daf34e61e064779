"""Robust losses weigh outliers less, and their variance is that of theory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import least_squares

from hcasim.calibrate.loss import LOSSES

ERRORS = st.floats(-50, 50)


@pytest.mark.parametrize("name", LOSSES)
@given(residual=ERRORS)
def test_the_cost_is_what_scipy_makes_small(name: str, residual: float) -> None:
    loss = LOSSES[name]
    found = least_squares(
        lambda x: np.array([residual]) + 0 * x, [0.0], max_nfev=1, **loss.least_squares()
    )
    assert loss.cost(np.array([residual])) == pytest.approx(found.cost, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", LOSSES)
@given(residual=ERRORS)
def test_the_influence_is_the_slope_of_the_cost(name: str, residual: float) -> None:
    loss, step = LOSSES[name], 1e-5
    low, high = (loss.cost(np.array([residual + change])) for change in (-step, step))
    slope, _ = loss.influence(np.array([residual]))
    assert slope[0] == pytest.approx((high - low) / (2 * step), rel=1e-3, abs=1e-3)


def test_a_robust_loss_keeps_most_of_the_efficiency() -> None:
    squares, bend = LOSSES["soft_l1"].moments()
    assert 0.9 < bend**2 / squares < 1


@pytest.mark.parametrize("name", LOSSES)
def test_errors_as_expected_change_nothing(name: str) -> None:
    errors = np.random.default_rng(1).standard_normal(20_000)
    loss = LOSSES[name]
    squares, bend = loss.seen_moments(errors, len(errors))
    usual, usual_bend = loss.moments()
    assert squares / bend**2 == pytest.approx(usual / usual_bend**2, rel=0.05)
    assert loss.seen_moments(0.1 * errors, len(errors)) == loss.moments()


@pytest.mark.parametrize("name", LOSSES)
def test_errors_that_are_all_far_out_scatter_as_far_and_no_farther(name: str) -> None:
    loss = LOSSES[name]
    seen = loss.seen_moments(np.full(30, 10.0), 30)
    assert seen == loss.moments(10.0)
    squares, bend = seen
    usual, usual_bend = loss.moments()
    larger = np.sqrt(squares / bend**2 / (usual / usual_bend**2))
    assert 9.9 < larger < 13


def test_a_few_errors_far_out_are_outliers_and_not_scatter() -> None:
    errors = np.random.default_rng(1).standard_normal(1000)
    errors[:20] = 1000.0
    squares, bend = LOSSES["soft_l1"].seen_moments(errors, len(errors))
    assert squares / bend**2 < 1.3
