"""When a deterministic model repeats itself."""

import pytest

from hcasim.engine import bounded_mean, find_period, mean_error


@pytest.mark.parametrize(
    ("intervals", "period"),
    [
        ([], None),
        ([5, 5], None),
        ([5, 5, 5], 1),
        ([9, 8, 5, 5, 5], 1),
        ([5, 5, 6], None),
        ([1, 2, 1, 2, 1, 2], 2),
        ([1, 2, 1, 2, 1], None),
        ([2, 1, 2, 1, 2, 1, 1], None),
        ([1, 1, 3] * 3, 3),
        ([7, *[1, 1, 3] * 3], 3),
        ([1, 2, 3, 4, 5, 6, 7, 8] * 3, 8),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9] * 3, None),
    ],
)
def test_the_period_is_the_shortest_with_which_the_intervals_end(
    intervals: list[int], period: int | None
) -> None:
    assert find_period(intervals) == period


def test_fewer_repetitions_are_believed_only_on_request() -> None:
    assert find_period([1, 2, 1, 2]) is None
    assert find_period([1, 2, 1, 2], repeats=2) == 2


def test_longer_periods_are_found_only_if_asked_for() -> None:
    assert find_period(list(range(12)) * 3) is None
    assert find_period(list(range(12)) * 3, longest=12) == 12


def test_one_picosecond_breaks_a_period() -> None:
    assert find_period([10**9, 10**9, 10**9 + 1]) is None


def test_slack_allows_as_much_as_it_says_and_no_more() -> None:
    assert find_period([1000, 1001, 1000], slack=0.001) == 1
    assert find_period([1000, 1002, 1000], slack=0.001) is None


def test_with_slack_it_is_the_lengths_of_the_repetitions_that_agree() -> None:
    assert find_period([10, 20, 11, 19, 9, 21], slack=1e-9) == 2


def test_a_step_admits_only_its_own_multiples() -> None:
    assert find_period([5] * 9, step=3) == 3
    assert find_period([1, 2] * 6, step=3) is None
    assert find_period([1, 2] * 9, step=3) == 6


@pytest.mark.parametrize(("count", "known"), [(5, False), (6, True)])
def test_a_mean_needs_enough_intervals(count: int, known: bool) -> None:
    mean = bounded_mean([100] * count, enough=6, error=0.01)
    assert (mean == 100) is known
    assert (mean is None) is not known


def test_a_mean_is_that_of_all_intervals() -> None:
    assert bounded_mean([10, 30, 20, 10, 30, 20], enough=6, error=0.1) == 20


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


def test_nothing_shows_of_a_single_part() -> None:
    assert mean_error([]) == mean_error([7.0]) == 0.0
