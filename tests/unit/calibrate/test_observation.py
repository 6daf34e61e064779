"""A published number knows how finely it was printed, and counts once."""

import pytest

from hcasim.calibrate.observation import without_repeats
from tests.unit.calibrate.toys import Observe


@pytest.mark.parametrize(
    ("printed", "rounding"),
    [("3.8", 0.05), ("9.0", 0.05), ("9", 0.5), ("781", 0.5), ("0.125", 5e-4)],
)
def test_the_uncertainty_is_half_a_unit_of_the_last_printed_digit(
    observe: Observe, printed: str, rounding: float
) -> None:
    assert observe("write_lat", printed).rounding == pytest.approx(rounding, rel=1e-12)


def test_the_best_of_several_points_is_read(observe: Observe) -> None:
    rows = [{"latency_us": 3.0}, {"latency_us": 2.0}, {"latency_us": 4.0}]
    assert observe("write_lat", "1").read(rows) == 2.0
    assert observe("write_lat", "1", best="max").read(rows) == 4.0


def test_a_repeated_number_is_kept_once_with_both_names(observe: Observe) -> None:
    first, again = observe("write_lat", "3.8", id="A"), observe("write_lat", "3.8", id="B")
    (one,) = without_repeats([first, again])
    assert (one.id, one.repeats) == ("A", ("B",))


def test_another_number_of_the_same_point_is_no_repeat(observe: Observe) -> None:
    both = [observe("write_lat", "3.8", id="A"), observe("write_lat", "3.9", id="B")]
    assert without_repeats(both) == tuple(both)
