"""Each kind of claim is judged by what was measured, and can fail."""

from collections.abc import Mapping
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.papers.claim import TOLERANCES, Claim
from hcasim.papers.loader import load_scenario
from hcasim.papers.roles import Standing
from hcasim.papers.verdict import STALE, Verdict, judge, moved, relative_error, room
from hcasim.runs.curve import Curve

Fields = dict[str, Any]

ONE = {"series": "one", "select": "smallest"}
PAIR = {"series": "one", "against": "two", "select": "smallest"}
EACH = PAIR | {"select": "all"}
ORDER = {"kind": "ordering", "published": "a", "measure": PAIR}
RATIO = {"kind": "ratio", "published": 2.0, "unit": "x", "measure": PAIR}
GAIN = {"kind": "percent", "change": "gain", "published": 10, "unit": "%", "measure": PAIR}
MEMORY = {"quantity": "memory", "unit": "MiB"}
BANDWIDTH = {"quantity": "bandwidth"}
NAMES = ("one", "two", "three")
SCENARIO = load_scenario("liu2004/fig03")


def a_claim(**fields: Any) -> Claim:
    ordinary = {
        "id": "X-1",
        "section": "I",
        "system": "a machine",
        "statement": "a statement",
        "quantity": "latency",
        "kind": "value",
        "published": 4.0,
        "unit": "us",
        "relation": "=",
        "measure": ONE,
    }
    return Claim.model_validate(ordinary | fields)


def curve(name: str, points: Mapping[int, float]) -> Curve:
    fields = ("latency_us", "bandwidth_MBps", "total_KiB", "overhead_percent")
    rows = [{"size": size, "qps": 1, **dict.fromkeys(fields, one)} for size, one in points.items()]
    return Curve(name, name, tuple(rows))


def verdict(fields: Fields, *values: float | Mapping[int, float]) -> Verdict:
    """Judge a claim by one series or several, with a value or several each."""
    claim = a_claim(**fields)
    return judge(claim, SCENARIO, curves_of(*values), Standing("predicted", claim.id))


def curves_of(*values: float | Mapping[int, float]) -> dict[str, Curve]:
    given = dict(zip(NAMES, values, strict=False))
    return {
        f"liu2004/fig03:{name}": curve(name, one if isinstance(one, Mapping) else {4: one})
        for name, one in given.items()
    }


ONES = {4: 1.0, 8: 1.0}
AROUND = GAIN | {"relation": "~"}
UP_TO = GAIN | {"relation": "<=", "measure": EACH}
REDUCTION = GAIN | {"change": "reduction", "published": [20, 30]}
RANGE = {"published": [4.0, 5.0], "contradiction": "both"}
LESS = ORDER | {"relation": "<"}
MORE = ORDER | {"relation": ">"}
ALIKE = ORDER | {"relation": "~"}
OVERHEADS = LESS | {
    "quantity": "overhead",
    "measure": {"series": "one", "against": "one", "at": 4, "against_at": 8},
}
LIMIT = {"kind": "threshold", "published": 14, "relation": "<="}
SEVERAL = {"measure": [ONE, ONE | {"series": "two"}]}
LIMITS = {"kind": "threshold", "measure": [ONE | {"series": name} for name in NAMES]}
DIFFERENCE = MEMORY | {"kind": "difference", "relation": "<=", "measure": PAIR}
CAUSE = MORE | {"kind": "cause", "without": PAIR | {"series": "three"}}
TWICE = CAUSE | {
    "measure": [PAIR, PAIR | {"factor": 0.5}],
    "without": [PAIR | {"series": "three"}, PAIR | {"series": "three", "factor": 0.8}],
}
EACH_CAUSE = CAUSE | {"measure": EACH, "without": EACH | {"series": "three"}}
PASSES: list[tuple[Fields, tuple[Any, ...], tuple[Any, ...]]] = [
    # A range, and just beside it.
    (RANGE, (4.5,), (5.3,)),
    (RANGE, (5.2,), (3.7,)),
    # Ratios and changes.
    (RATIO, (6.0, 3.0), (3.0, 6.0)),
    # A percentage is met within 3 % of itself, or half a unit of its last digit.
    (GAIN | {"published": 24}, (1.247, 1.0), (1.248, 1.0)),
    (GAIN | {"published": 24}, (1.233, 1.0), (0.76, 1.0)),
    (REDUCTION, (0.75, 1.0), (1.25, 1.0)),
    (REDUCTION, (0.75, 1.0), (0.66, 1.0)),
    (AROUND, (1.0951, 1.0), (1.0949, 1.0)),
    (AROUND | {"tolerance": 0.01}, (1.1009, 1.0), (1.1011, 1.0)),
    # Differences and memory, which may be off by a quarter.
    (DIFFERENCE, (10240.0, 6144.0), (9000.0, 6144.0)),
    (DIFFERENCE, (10240.0, 6144.0), (6144.0, 10240.0)),
    (MEMORY | {"published": 1}, (769.0,), (767.0,)),
    (MEMORY | {"published": 1}, (1279.0,), (1281.0,)),
    # More closely than others of its kind.
    ({"published": 3.0, "tolerance": 0.0125}, (3.03,), (3.05,)),
    ({"published": 3.0, "tolerance": 0.0125}, (2.97,), (2.96,)),
    # Orders: everywhere, up to a size, from a size, against a multiple, and about alike.
    (
        LESS | {"measure": EACH},
        ({4: 1.0, 8: 2.0}, {4: 2.0, 8: 3.0, 16: 0.1}),
        ({4: 1.0, 8: 3.0}, {4: 2.0, 8: 3.0}),
    ),
    (MORE | {"measure": EACH | {"below": "8"}}, ({4: 2.0, 8: 1.0}, ONES), ({4: 1.0, 8: 2.0}, ONES)),
    (
        MORE | {"measure": EACH | {"above": "8"}},
        ({**ONES, 16: 2.0}, {**ONES, 16: 1.0}),
        ({8: 2.0, 16: 1.0}, {**ONES, 16: 1.0}),
    ),
    (LESS | {"measure": PAIR | {"factor": 2.0}}, (1.9, 1.0), (2.1, 1.0)),
    (ALIKE, (0.96, 1.0), (0.94, 1.0)),
    (ALIKE, (1.04, 1.0), (1.06, 1.0)),
    (ALIKE | {"tolerance": 0.0125}, (3.03, 3.0), (3.05, 3.0)),
    # An overhead may be below zero, or nothing.
    (OVERHEADS, ({4: -3.0, 8: -2.0},), ({4: -2.0, 8: -3.0},)),
    (OVERHEADS, ({4: -1.0, 8: 2.0},), ({4: 0.0, 8: 0.0},)),
    # Limits hold exactly, at each reading.
    (LIMIT, (14.0,), (14.001,)),
    (LIMIT | {"relation": "<"}, (13.9,), (14.0,)),
    (LIMITS | {"published": 1, "relation": ">="}, (1.0, 2.0, 2.0), (0.9, 2.0, 2.0)),
    # "Around" at each size, "up to" at the largest change, "at least" at the smallest.
    (AROUND | {"measure": EACH}, ({4: 1.096, 8: 1.104}, ONES), ({4: 1.02, 8: 1.10}, ONES)),
    (UP_TO, ({4: 1.02, 8: 1.10}, ONES), ({4: 1.02, 8: 1.05}, ONES)),
    (UP_TO, ({4: 1.02, 8: 1.10}, ONES), ({4: 1.10, 8: 1.20}, ONES)),
    (UP_TO, ({4: 1.02, 8: 1.10}, ONES), ({4: nan, 8: 1.10}, ONES)),
    (UP_TO, ({4: 1.02, 8: 1.10}, ONES), ({4: 1.10, 8: nan}, ONES)),
    (UP_TO | {"relation": ">="}, ({4: 1.10, 8: 1.90}, ONES), ({4: 1.20, 8: 1.90}, ONES)),
    # A cause: without it half of the effect or more goes, or as much as is stated.
    (CAUSE, (1.5, 1.0, 1.0), (1.5, 1.0, 1.5)),
    (CAUSE, (1.5, 1.0, 1.25), (1.5, 1.0, 1.2501)),
    (CAUSE | {"goes": 0.75}, (1.5, 1.0, 1.125), (1.5, 1.0, 1.1251)),
    (CAUSE | {"goes": 1.0}, (1.5, 1.0, 1.0), (1.5, 1.0, 1.0001)),
    (CAUSE | {"relation": "<"}, (0.5, 1.0, 0.75), (0.5, 1.0, 0.7499)),
    (CAUSE | {"measure": PAIR | {"factor": 0.5}}, (0.75, 1.0, 1.25), (0.75, 1.0, 1.2501)),
    # What is alike because of it differs without it.
    (CAUSE | {"relation": "~"}, (1.0, 1.0, 1.5), (1.0, 1.0, 1.0)),
    (CAUSE | {"relation": "~"}, (1.0, 1.0, 0.5), (1.5, 1.0, 2.0)),
    (CAUSE | {"relation": "~"}, (1.0, 1.0, 1.5), (1.0, 1.0, nan)),
    # Of several measures, each.
    (TWICE, (1.5, 1.0, 1.0), (1.5, 1.0, 1.3)),
    # Of several sizes, at each.
    (EACH_CAUSE, ({4: 1.5, 8: 2.0}, ONES, ONES), ({4: 1.5, 8: 2.0}, ONES, {4: 1.0, 8: 1.6})),
    (EACH_CAUSE, ({4: 1.5, 8: 2.0}, ONES, ONES), ({4: 1.0, 8: 2.0}, ONES, ONES)),
    # With the cause there is no effect, or the opposite one.
    (CAUSE, (1.5, 1.0, 1.0), (1.0, 1.0, 1.0)),
    (CAUSE, (1.5, 1.0, 1.0), (0.9, 1.0, 1.0)),
    (CAUSE | {"relation": "<"}, (0.5, 1.0, 1.0), (1.1, 1.0, 1.0)),
    (CAUSE, (1.5, 1.0, 1.0), (nan, 1.0, 1.0)),
    (CAUSE, (1.5, 1.0, 1.0), (1.5, 1.0, nan)),
    # At one point.
    ({"measure": {"series": "one", "at": 8}}, ({4: 9.0, 8: 4.0},), ({4: 4.0, 8: 9.0},)),
]


@pytest.mark.parametrize(("fields", "good", "bad"), PASSES)
def test_a_claim_passes_where_it_is_met_and_only_there(
    fields: Fields, good: tuple[Any, ...], bad: tuple[Any, ...]
) -> None:
    assert verdict(fields, *good).status == "pass"
    assert verdict(fields, *bad).status == "fail"


THREE = {8: 2.0, 4: 5.0, 16: 3.0}
BEST = {"measure": {"series": ["one", "two"], "select": "peak"}}
AT_8 = {"series": "one", "at": 8, "against": "two"}


@pytest.mark.parametrize(
    ("fields", "values", "simulated"),
    [
        ({"measure": ONE | {"select": "peak"}}, (THREE,), 2.0),
        (BANDWIDTH | {"measure": ONE | {"select": "peak"}}, (THREE,), 5.0),
        # Of several series the best counts, of several readings the worst.
        (BANDWIDTH | BEST, ({4: 3.0, 8: 1.0}, {4: 2.0, 8: 7.0}), 7.0),
        (BEST, ({4: 3.0, 8: 1.0}, {4: 2.0, 8: 7.0}), 1.0),
        (SEVERAL, (4.0, 5.0), 5.0),
        (SEVERAL, (3.9, 4.05), 3.9),
        (SEVERAL, (40.0, nan), pytest.approx(nan, nan_ok=True)),
        (LIMITS | {"published": 10, "relation": "<="}, (3.0, 9.0, 5.0), 9.0),
        (LIMITS | {"published": 1, "relation": ">="}, (3.0, 9.0, 5.0), 3.0),
        # What is compared, in which unit.
        (RATIO | BANDWIDTH, (6.0, 3.0), 2.0),
        (GAIN, (1.25, 1.0), 25.0),
        (REDUCTION, (0.75, 1.0), 25.0),
        (DIFFERENCE, (10240.0, 6144.0), 4.0),
        (LESS | {"measure": PAIR | {"factor": 2}}, (3.0, 2.0), 0.75),
        (CAUSE, (1.5, 1.0, 1.125), 75.0),
        (BANDWIDTH | {"unit": "MiB/s"}, (971.0,), pytest.approx(971e6 / 2**20)),
        (BANDWIDTH | {"unit": "MB/s"}, (926.0,), 926.0),
        # Two points of one series, or one of each.
        (
            RATIO | {"measure": AT_8 | {"against": "one", "against_at": 4}},
            ({4: 3.0, 8: 6.0},),
            2.0,
        ),
        (RATIO | {"measure": AT_8}, ({4: 0.0, 8: 6.0}, {4: 0.0, 8: 3.0}), 2.0),
    ],
)
def test_the_number_that_was_published_is_read(
    fields: Fields, values: tuple[Any, ...], simulated: float
) -> None:
    assert verdict(fields, *values).simulated == simulated


@pytest.mark.parametrize(
    ("fields", "values", "note"),
    [
        (SEVERAL, (4.0, 5.0), "one 4 us; two 5 us"),
        (AROUND | {"measure": EACH}, ({4: 1.02, 8: 1.10}, ONES), "one / two 2 % at 4"),
        (
            LESS | {"measure": EACH},
            ({4: 1.0, 8: 3.0}, {4: 2.0, 8: 4.0}),
            "one / two 0.500 to 0.750",
        ),
        (LESS | {"measure": PAIR | {"factor": 2}}, (3.0, 2.0), "one / 2 x two 0.750"),
        (OVERHEADS, ({4: 3.0, 8: 2.0},), "one / one 1.500 at 4 / 8"),
        (RANGE, (4.5,), "the paper says both"),
        (CAUSE, (1.5, 1.0, 1.125), "one / two: 50.0 %, without the cause 12.5 %"),
        (
            EACH_CAUSE,
            ({4: 1.5, 8: 2.0}, ONES, {4: 1.125, 8: 1.125}),
            "one / two at 4: 50.0 %, without the cause 12.5 %",
        ),
    ],
)
def test_the_note_has_all_numbers(fields: Fields, values: tuple[Any, ...], note: str) -> None:
    assert verdict(fields, *values).note == note


def test_the_error_is_relative_to_what_is_compared() -> None:
    assert verdict(GAIN | {"published": 24}, 1.27, 1.0).error == pytest.approx(27 / 24 - 1)
    assert verdict(RANGE, 4.5).error == 0
    alike = verdict(ALIKE, 0.94, 1.0)
    assert (alike.error, alike.tolerance) == (pytest.approx(-0.06), 0.05)
    because = verdict(CAUSE | {"relation": "~"}, 0.94, 1.0, 1.5)
    assert (because.error, because.tolerance) == (pytest.approx(-0.06), 0.05)
    assert verdict(LESS, 0.94, 1.0).error is None


def test_series_without_a_common_size_have_no_order() -> None:
    with pytest.raises(ValueError, match="share no size"):
        verdict(LESS | {"measure": EACH}, {4: 1.0}, {8: 1.0})
    with pytest.raises(ValueError, match="sizes differ"):
        verdict(EACH_CAUSE, {4: 2.0, 8: 2.0}, ONES, {4: 1.0})


@pytest.mark.parametrize("select", ["smallest", "all"])
@pytest.mark.parametrize(("relation", "value"), [("<", 1.01), ("<", 1.0), (">", 0.99), (">", 1.0)])
def test_the_wrong_order_and_a_tie_fail(select: str, relation: str, value: float) -> None:
    fields = ORDER | {"relation": relation, "measure": PAIR | {"select": select}}
    assert verdict(fields, value, 1.0).status == "fail"
    assert verdict(fields, 1.0, value).status == ("fail" if value == 1.0 else "pass")


@pytest.mark.parametrize("relation", ["<", ">", "~"])
@pytest.mark.parametrize("place", [4, 8, 16])
def test_an_order_with_a_number_that_is_none_fails(relation: str, place: int) -> None:
    fields = ORDER | {"relation": relation, "measure": EACH}
    one = dict.fromkeys((4, 8, 16), 1.0)
    two = dict.fromkeys(one, {"<": 2.0, ">": 0.5, "~": 1.0}[relation])
    assert verdict(fields, one, two).status == "pass"
    assert verdict(fields, {**one, place: nan}, two).status == "fail"


@pytest.mark.parametrize(("value", "status"), [(0.991, "pass"), (1.009, "pass"), (1.011, "fail")])
def test_a_limit_of_a_difference_holds_both_ways_and_at_each_size(
    value: float, status: str
) -> None:
    fields = {"kind": "threshold", "published": 1, "unit": "%", "relation": "<", "measure": EACH}
    found = verdict(fields, {4: 1.0, 8: value, 16: 1.001}, {**ONES, 16: 1.0})
    assert found.status == status
    assert found.simulated == pytest.approx(100 * abs(value - 1))
    assert found.note.endswith("% at 8")


def test_a_documented_miss_is_a_deviation_with_its_mechanism_and_stale_if_it_is_none() -> None:
    fields = {"deviation": {"error": 1.0, "reason": "too slow", "mechanism": "nobody knows"}}
    found = verdict(fields, 8.0)
    assert (found.status, found.error, found.note) == ("deviation", 1.0, "too slow; nobody knows")
    found = verdict(fields, 4.0)
    assert (found.status, found.note) == ("pass", STALE)


# From attoseconds in seconds to terabytes in bytes: no scale is special.
published_numbers = st.floats(min_value=1e-18, max_value=1e15)
tolerances = st.sampled_from(sorted(set(TOLERANCES.values())))
signs = st.sampled_from([-1, 1])


@given(published_numbers, tolerances, signs, st.floats(0, 20).filter(lambda x: abs(x - 1) > 1e-3))
def test_a_number_passes_within_the_tolerance_only(
    published: float, tolerance: float, sign: int, share: float
) -> None:
    error = relative_error(published * (1 + sign * tolerance * share), published)
    assert (abs(error) <= tolerance) == (share < 1)
    assert share < 1 or error * sign > 0


within = st.floats(-0.999, 0.999)
shares = st.floats(0.5, 2)


@given(st.sampled_from("<>~"), shares, shares, within, within)
def test_what_changes_less_than_there_is_room_for_does_not_turn_a_cause(
    relation: str, one: float, three: float, first: float, second: float
) -> None:
    fields = CAUSE | {"relation": relation}
    before = verdict(fields, one, 1.0, three)
    least = room(a_claim(**fields), before.simulated or 0.0, SCENARIO, curves_of(one, 1.0, three))
    after = verdict(fields, one * (1 + least * first), 1.0, three * (1 + least * second))
    assert after.status == before.status


def test_of_two_numbers_one_does_not_tell_how_far_they_moved() -> None:
    assert moved(a_claim(**CAUSE), 75.0, 60.0) == pytest.approx(0.15)
    assert moved(a_claim(**CAUSE | {"relation": "~"}), 17.0, 17.0) == inf


@given(published_numbers, st.floats(1, 2), tolerances, signs, st.floats(0, 1))
def test_inside_a_range_there_is_no_error_and_beside_it_the_nearer_end_counts(
    low: float, width: float, tolerance: float, sign: int, share: float
) -> None:
    high = low * width
    assert relative_error(min(max(low + share * (high - low), low), high), (low, high)) == 0
    outside = (low if sign < 0 else high) * (1 + sign * tolerance * 1.01)
    assert relative_error(outside, (low, high)) == pytest.approx(sign * tolerance * 1.01, rel=1e-6)


@pytest.mark.parametrize("simulated", [nan, inf, -inf, 0.0, -3.8])
def test_a_number_that_makes_no_sense_fails(simulated: float) -> None:
    assert not abs(relative_error(simulated, 3.8)) <= 0.05


@pytest.mark.parametrize("published", [0.0, -1.0, nan, (2.0, 1.0), (0.0, 1.0)])
def test_nothing_is_relative_to_a_number_that_is_not_positive(
    published: float | tuple[float, float],
) -> None:
    with pytest.raises(ValueError, match="cannot compare"):
        relative_error(1.0, published)


@pytest.mark.parametrize(
    ("simulated", "text"), [(14.0, "14.00 us"), (14.0004, "14.0004 us"), (13.9, "13.90 us")]
)
def test_what_misses_a_limit_does_not_read_like_it(simulated: float, text: str) -> None:
    assert verdict(LIMIT, simulated).texts[1] == text
