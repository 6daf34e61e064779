"""What a measured point says of its value and of the error of it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.calibrate.gathering import Measurement, measurement, pooled
from hcasim.traces import Measured, Statistics


def latency(**fields: object) -> Measured:
    return Measured.model_validate({"quantity": "latency", "unit": "ns", **fields})


def test_samples_give_their_median_whatever_the_tail() -> None:
    found = measurement(latency(samples=[5.0, 1.0, 3.0, 4.0, 1e9]))
    assert found.value == 4.0
    assert found.sampling < 10


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60))
def test_a_histogram_says_what_its_samples_say(values: list[int]) -> None:
    samples = measurement(latency(samples=[float(one) for one in values]))
    pairs = [(float(one), values.count(one)) for one in sorted(set(values))]
    assert measurement(latency(histogram=pairs)) == samples
    assert samples.value == pytest.approx(float(np.median(values)))


def test_the_error_of_a_median_is_that_of_normal_samples() -> None:
    rng = np.random.default_rng(3)
    runs = rng.normal(1000.0, 20.0, (400, 100))
    found = [measurement(latency(samples=row.tolist())) for row in runs]
    scatter = np.std([one.value for one in found])
    assert np.mean([one.sampling for one in found]) == pytest.approx(scatter, rel=0.1)


@pytest.mark.parametrize(
    ("given_", "value"),
    [
        ({"median": 3.0, "mean": 4.0, "minimum": 1.0}, 3.0),
        ({"mean": 4.0, "minimum": 1.0}, 4.0),
        ({"minimum": 1.0}, 1.0),
    ],
)
def test_of_statistics_the_median_counts_first(given_: dict[str, Any], value: float) -> None:
    assert measurement(latency(statistics=Statistics(**given_))).value == value


def test_a_printed_deviation_gives_the_error_of_the_mean() -> None:
    found = measurement(latency(statistics=Statistics(mean=100.0, deviation=5.0, count=25)))
    assert found.sampling == pytest.approx(1.0)


def test_printed_digits_say_how_exact_a_number_is_in_any_unit() -> None:
    seen = Statistics(mean=926.1 * 1.048576)
    found = measurement(latency(statistics=seen, printed="926.10 MiB/s"))
    assert found.rounding == pytest.approx(0.005 * 1.048576)
    coarse = measurement(latency(statistics=Statistics(mean=1200.0), printed="1.2 us"))
    assert coarse.rounding == pytest.approx(50)


def test_repeats_with_known_errors_are_weighted_by_them() -> None:
    found = pooled([Measurement(100.0, 1.0, 0.0), Measurement(101.0, 2.0, 0.0)])
    assert found.value == pytest.approx(100.2)
    assert found.sampling == pytest.approx((1 / (1 + 1 / 4)) ** 0.5)


def test_runs_that_differ_by_more_than_their_errors_widen_the_pool() -> None:
    found = pooled([Measurement(90.0, 0.001, 0.0), Measurement(110.0, 0.1, 0.0)])
    assert found.value == pytest.approx(100.0, abs=0.01)
    assert found.sampling == pytest.approx(10.0, rel=1e-3)


def test_a_rounding_is_not_averaged_away() -> None:
    assert pooled([Measurement(5.0, 0.0, 0.05)] * 4) == Measurement(5.0, 0.0, 0.05)


@given(
    st.lists(
        st.builds(
            Measurement,
            st.floats(1, 1e6),
            st.one_of(st.just(0.0), st.floats(1e-3, 1e3)),
            st.one_of(st.just(0.0), st.floats(1e-3, 1e3)),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_a_pool_lies_among_its_repeats(repeats: list[Measurement]) -> None:
    found = pooled(repeats)
    values = [one.value for one in repeats]
    assert min(values) * (1 - 1e-9) <= found.value <= max(values) * (1 + 1e-9)
    assert found.rounding <= max(one.rounding for one in repeats) * (1 + 1e-9)
    # Runs that differ are averaged too, and the scatter of a few is no more than their range.
    widest = max(values) - min(values) + max(one.sampling for one in repeats)
    assert 0 <= found.sampling <= widest * (1 + 1e-9)
