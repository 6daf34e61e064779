"""What a measure reads is chosen in one place, whoever asks."""

from typing import Any

import pytest

from hcasim.papers.claim import Measure, Points

X = (16, 4, 8)


def a_measure(**fields: Any) -> Measure:
    return Measure.model_validate({"series": "one", **fields})


@pytest.mark.parametrize(
    ("fields", "points"),
    [
        ({"select": "smallest"}, [(4,)]),
        ({"select": "largest"}, [(16,)]),
        ({"select": "peak"}, [(4, 8, 16)]),
        ({"select": "all"}, [(4,), (8,), (16,)]),
        ({"at": 8}, [(8,)]),
        ({"select": "largest", "below": 16}, [(8,)]),
        ({"select": "smallest", "above": 4}, [(8,)]),
        ({"select": "peak", "above": 4}, [(8, 16)]),
        ({"select": "all", "below": 4}, []),
        ({"select": "smallest", "below": 4}, []),
    ],
)
def test_points_are_selected_by_what_varies(fields: dict[str, Any], points: list[Points]) -> None:
    assert a_measure(**fields).points(X) == [(one, ()) for one in points]


@pytest.mark.parametrize(
    ("fields", "pairs"),
    [
        ({"select": "smallest"}, [((4,), (2,))]),
        ({"select": "peak"}, [((4, 8, 16), (2, 8, 16))]),
        ({"select": "all"}, [((8,), (8,)), ((16,), (16,))]),
        ({"at": 8}, [((8,), (8,))]),
        ({"at": 8, "against_at": 2}, [((8,), (2,))]),
    ],
)
def test_of_two_series_each_is_selected_by_itself_but_where_all_count_the_shared_ones(
    fields: dict[str, Any], pairs: list[tuple[Points, Points]]
) -> None:
    assert a_measure(against="two", **fields).points(X, (2, 8, 16)) == pairs
