"""Curves may vary in size, queue pairs or reuse, and are told apart by what varies."""

import pytest

from hcasim.runs.axis import AXES, varying
from hcasim.runs.quantities import FIELDS, UNITS, measured, title


@pytest.mark.parametrize(
    ("name", "given", "values"),
    [
        ("size", "4K", (4096,)),
        ("qps", "1..4", (1, 2, 4)),
        ("qps", 8, (8,)),
        ("qps", [8, 2], (8, 2)),
        ("reuse", "100,0", (100, 0)),
    ],
)
def test_values_are_text_or_numbers(name: str, given: object, values: tuple[int, ...]) -> None:
    assert AXES[name].values(given) == values  # type: ignore[arg-type]


def test_only_what_has_several_values_varies() -> None:
    rows = [{"size": 8, "qps": 1, "reuse": 0}, {"size": 8, "qps": 2, "reuse": 50}]
    assert [axis.name for axis in varying(rows)] == ["qps", "reuse"]
    assert varying(rows[:1]) == []
    assert varying([{"size": 8}, {"size": 8}]) == []


def test_sizes_and_queue_pairs_double_along_the_axis_and_percentages_do_not() -> None:
    assert {name: axis.doubling for name, axis in AXES.items()} == {
        "size": True,
        "qps": True,
        "reuse": False,
    }
    assert AXES["size"].label(4096) == "4K"
    assert AXES["qps"].label(4096) == "4096"


def test_results_are_told_from_settings_by_their_unit() -> None:
    row = {"size": 8, "qps": 1, "reuse": 0, "buffers": 2, "latency_us": 4.0, "total_KiB": 5.0}
    assert measured(row) == ("latency_us", "total_KiB")


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("latency_us", "Latency (us)"),
        ("bandwidth_MBps", "Bandwidth (MB/s)"),
        ("rate_Mps", "Rate (M/s)"),
        ("work_queues_KiB", "Work queues (KiB)"),
    ],
)
def test_a_result_has_a_title_with_its_unit(field: str, words: str) -> None:
    assert title(field) == words


def test_each_quantity_can_be_claimed_in_the_unit_of_its_row() -> None:
    assert set(FIELDS) == set(UNITS)
    assert all(1.0 in factors.values() for factors in UNITS.values())
    assert UNITS["bandwidth"]["MiB/s"] * 2**20 == pytest.approx(1e6)
    assert UNITS["bandwidth"]["Gbit/s"] * 125 == 1
    assert UNITS["memory"]["MiB"] * 1024 == 1
