"""Intervals follow from the rounding of the published numbers."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from hcasim.calibrate.confidence import confidence
from hcasim.calibrate.fit import calibrate
from hcasim.calibrate.parameters import free_parameters
from tests.unit.calibrate.toys import QUEUE, RECEIVE, RESPONDER, SEND, MakeFit, Observe


def test_one_number_gives_its_own_rounding(make_fit: MakeFit, observe: Observe, run: Any) -> None:
    report = calibrate(make_fit({SEND: (0, 2000)}), [observe("read_lat", "8.7")], run=run)
    one = report[SEND]
    # The read takes twice the latency, so half of the rounding reaches it.
    assert one.deviation == pytest.approx(50_000 / 3**0.5 / 2)
    reach = 1.959964 * one.deviation
    low, high = one.interval
    assert one.value - reach - 1000 < low <= one.value - reach
    assert one.value + reach <= high < one.value + reach + 1000
    assert low % 1000 == high % 1000 == 0


def test_a_floor_widens_the_interval_by_the_share_of_the_number(
    make_fit: MakeFit, observe: Observe, run: Any
) -> None:
    fit = make_fit({SEND: (0, 2000)})
    one = observe("write_lat", "2.400")
    exact = calibrate(fit, [one.with_floor(0)], run=run)[SEND]
    report = calibrate(
        fit.model_copy(update={"floor_percent": 2.0}), [one.with_floor(0.02)], run=run
    )
    assert report[SEND].value == exact.value
    assert report[SEND].deviation == pytest.approx((exact.deviation**2 + 48_000**2) ** 0.5)
    assert "2 % of each" in report.closing_lines()[-1]


def test_the_claims_are_those_that_move_the_parameter(
    make_fit: MakeFit, observe: Observe, run: Any
) -> None:
    seen = [observe("write_lat", "2.6"), observe("send_lat", "3.3"), observe("read_lat", "8.7")]
    free = {SEND: (0, 2000), QUEUE: (0, 2000), RESPONDER: (0, 9000)}
    report = calibrate(make_fit(free), seen, run=run)
    assert report[SEND].claims == ("write_lat",)
    assert report[QUEUE].claims == ("write_lat", "send_lat")
    assert report[RESPONDER].claims == ("write_lat", "read_lat")


def test_numbers_that_contradict_each_other_widen_the_intervals(
    make_fit: MakeFit, observe: Observe, run: Any
) -> None:
    fit = make_fit({SEND: (0, 2000)})
    agree = [observe("write_lat", "2.40", id="A"), observe("write_lat", "2.41", id="B")]
    differ = [observe("write_lat", "2.30", id="A"), observe("write_lat", "2.51", id="B")]
    calm, torn = (calibrate(fit, seen, run=run) for seen in (agree, differ))
    assert calm.inflation < 3
    assert torn.inflation == pytest.approx(2**0.5 * 0.105 / (0.005 / 3**0.5), rel=0.1)
    assert torn[SEND].deviation > 5 * calm[SEND].deviation
    assert any("times what the rounding explains" in line for line in torn.closing_lines())


def test_numbers_that_contradict_each_other_hide_what_they_would_have_told(
    make_fit: MakeFit, observe: Observe, run: Any
) -> None:
    # The bounds are 0.2 us apart, and an error may be 0.01 us or ten times as much.
    fit = make_fit({SEND: (0, 200)})
    agree = [observe("write_lat", n, id=n) for n in ("1.90", "1.91", "1.89")]
    differ = [observe("write_lat", n, id=n) for n in ("1.90", "2.02", "1.78")]
    calm, torn = (calibrate(fit, seen, run=run)[SEND] for seen in (agree, differ))
    assert calm.verdict.identified
    assert str(torn.verdict) == "not at all"


def test_a_straight_model_gets_the_covariance_of_the_textbook(
    make_fit: MakeFit, observe: Observe
) -> None:
    """Monte Carlo: the estimates from numbers with uniform errors scatter as it says."""
    free = free_parameters(make_fit({SEND: (0, 2000), QUEUE: (0, 1000)}))
    seen = [observe("write_lat", "4.0"), observe("send_lat", "2.00"), observe("read_lat", "8.0")]
    slopes = np.array([[1.0, 0.5], [0.2, 1.0], [1.0, -0.3]]) * 1e-6
    found = confidence(slopes, np.zeros(3), free, seen)
    weights = 1 / np.array([float(one.published) * one.tolerance for one in seen])
    solve = np.linalg.pinv(slopes * weights[:, None]) * weights
    # The variance of a uniform error is that of the three-point rule -w, 0, +w with 1/6, 2/3, 1/6
    # times two thirds; its first two moments are all that a linear estimate needs.
    halves = np.array([one.rounding for one in seen])
    errors = np.array(list(product([-1, 1], repeat=3))) * halves / 3**0.5
    scatter = np.cov((solve @ errors.T), bias=True)
    assert found.deviations == pytest.approx(np.sqrt(np.diag(scatter)), rel=1e-9)
    expected = scatter[0, 1] / np.sqrt(scatter[0, 0] * scatter[1, 1])
    assert found.correlation[0, 1] == pytest.approx(expected, rel=1e-9)


def test_of_a_pair_only_the_sum_is_known(make_fit: MakeFit, observe: Observe, run: Any) -> None:
    fit = make_fit({SEND: (0, 2000), RECEIVE: (0, 2000), QUEUE: (0, 2000)})
    seen = [observe("write_lat", "2.6"), observe("send_lat", "3.3")]
    report = calibrate(fit, seen, run=run)
    assert str(report[SEND].verdict) == f"only in combination with {RECEIVE}"
    assert str(report[RECEIVE].verdict) == f"only in combination with {SEND}"
    assert str(report[QUEUE].verdict) == "identified"
    assert report[SEND].value + report[RECEIVE].value == 1_600_000
    assert report[SEND].interval == (0, 2_000_000)


def test_a_parameter_without_effect_is_not_identified_at_all(
    make_fit: MakeFit, observe: Observe, run: Any
) -> None:
    fit = make_fit({SEND: (0, 2000), RESPONDER: (0, 2000)})
    report = calibrate(fit, [observe("write_lat", "2.6")], run=run)
    assert str(report[RESPONDER].verdict) == "not at all"
    assert report[RESPONDER].interval == (0, 2_000_000)
    assert report[RESPONDER].claims == ()
    assert str(report[SEND].verdict) == "identified"


def test_a_needed_tie_shows_the_move_that_goes_unnoticed(
    make_fit: MakeFit, observe: Observe, run: Any
) -> None:
    fit = make_fit({SEND: (0, 2000), RECEIVE: SEND, QUEUE: (0, 2000)})
    seen = [observe("write_lat", "2.6"), observe("send_lat", "3.3")]
    report = calibrate(fit, seen, run=run)
    (tie,) = report.ties
    assert tie.direction == pytest.approx({RECEIVE: 1, SEND: -1})
    assert tie.judgement == f"only in combination with {SEND}"
    assert report.result.entries[RECEIVE].verdict == tie.judgement
    assert report[SEND].judgement == "identified, given its ties"


def test_the_move_is_given_in_the_units_of_each_parameter(
    make_fit: MakeFit, observe: Observe, run: Any
) -> None:
    fit = make_fit({SEND: (0, 1000), RESPONDER: (0, 9000), QUEUE: SEND})
    (tie,) = calibrate(fit, [observe("send_lat", "2.5"), observe("read_lat", "7.5")], run=run).ties
    assert tie.direction == pytest.approx({QUEUE: 1, SEND: -1, RESPONDER: 2}, rel=2e-2)


def test_a_tie_that_the_data_do_not_need_is_said_to_be_none(
    make_fit: MakeFit, observe: Observe, run: Any
) -> None:
    fit = make_fit({SEND: (0, 2000), QUEUE: SEND})
    seen = [observe("write_lat", "2.6"), observe("send_lat", "3.3")]
    report = calibrate(fit, seen, run=run)
    (tie,) = report.ties
    assert not tie.direction
    assert "no need to tie it" in tie.move
    assert report.result.entries[QUEUE].verdict == "identified if freed"


def test_nearly_collinear_parameters_are_named(
    make_fit: MakeFit, observe: Observe, run: Any
) -> None:
    fit = make_fit({SEND: (0, 2000), QUEUE: (0, 2000)})
    seen = [observe("write_lat", "2.6"), observe("send_lat", "3.300")]
    report = calibrate(fit, seen, run=run)
    lines = [line for line in report.closing_lines() if "collinear" in line]
    assert lines == [f"{SEND} and {QUEUE} are nearly collinear: correlation -1.00"]
    assert lines[0] in "\n".join(report.to_toml().splitlines())
