"""Each kind of claim is judged by what was measured, and can fail."""

from collections.abc import Mapping
from math import inf, isnan, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.papers.claim import TOLERANCES, Claim
from hcasim.papers.loader import load_scenario
from hcasim.papers.roles import Standing
from hcasim.papers.verdict import STALE, Verdict, judge, relative_error
from hcasim.runs.curve import Curve

Fields = dict[str, Any]
Values = dict[int, float]

ONE = {"series": "one", "select": "smallest"}
PAIR = {"series": "one", "against": "two", "select": "smallest"}
EACH = PAIR | {"select": "all"}
ORDER = {"kind": "ordering", "published": "a", "measure": PAIR}
RATIO = {"kind": "ratio", "published": 2.0, "unit": "x", "measure": PAIR}
GAIN = {"kind": "percent", "change": "gain", "published": 10, "unit": "%", "measure": PAIR}
MEMORY = {"quantity": "memory", "unit": "MiB"}
BANDWIDTH = {"quantity": "bandwidth"}
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


def verdict(fields: Fields, **values: float | Mapping[int, float]) -> Verdict:
    """Judge a claim by series with one value or several."""
    claim = a_claim(**fields)
    given = {n: one if isinstance(one, Mapping) else {4: one} for n, one in values.items()}
    curves = {f"liu2004/fig03:{name}": curve(name, one) for name, one in given.items()}
    return judge(claim, SCENARIO, curves, Standing("predicted", claim.id))


def beyond(tolerance: float) -> Any:
    """Errors that are not at the edge of a tolerance."""
    return st.floats(-0.5, 0.5).filter(lambda x: abs(abs(x) - tolerance) > 1e-6)


@given(beyond(0.05))
def test_a_latency_passes_within_five_percent_only(perturbation: float) -> None:
    found = verdict({}, one=4.0 * (1 + perturbation))
    assert found.status == ("pass" if abs(perturbation) < 0.05 else "fail")
    assert found.error == pytest.approx(perturbation, abs=1e-12)
    assert found.tolerance == 0.05


@given(beyond(0.03))
def test_a_bandwidth_passes_within_three_percent_only(perturbation: float) -> None:
    fields = BANDWIDTH | {"published": 972, "measure": ONE | {"select": "peak"}}
    found = verdict(fields, one={4: 1.0, 8: 972 * (1 + perturbation)})
    assert found.status == ("pass" if abs(perturbation) < 0.03 else "fail")


PASSES: list[tuple[Fields, Fields, Fields]] = [
    # A range, and just beside it.
    *(
        ({"published": [4.0, 5.0], "contradiction": "both"}, {"one": good}, {"one": bad})
        for good, bad in ((4.5, 5.3), (5.2, 3.7))
    ),
    # Ratios and changes.
    (RATIO, {"one": 6.0, "two": 3.0}, {"one": 3.0, "two": 6.0}),
    (GAIN | {"published": 24}, {"one": 1.27, "two": 1.0}, {"one": 1.28, "two": 1.0}),
    (GAIN | {"published": 24}, {"one": 1.21, "two": 1.0}, {"one": 0.76, "two": 1.0}),
    *(
        (
            GAIN | {"change": "reduction", "published": [20, 30]},
            {"one": 0.75, "two": 1.0},
            {"one": bad, "two": 1.0},
        )
        for bad in (1.25, 0.66)
    ),
    *(
        (
            GAIN | {"relation": "~", "tolerance": 0.027},
            {"one": good, "two": 1},
            {"one": bad, "two": 1},
        )
        for good, bad in ((1.071, 1.07), (1.129, 1.13))
    ),
    # Differences and memory, which may be off by a quarter.
    *(
        (
            MEMORY | {"kind": "difference", "relation": "<=", "measure": PAIR},
            {"one": 10240.0, "two": 6144.0},
            bad,
        )
        for bad in ({"one": 9000.0, "two": 6144.0}, {"one": 6144.0, "two": 10240.0})
    ),
    *(
        (MEMORY | {"published": 1}, {"one": a}, {"one": b})
        for a, b in ((769.0, 767.0), (1279, 1281))
    ),
    # More closely than others of its kind.
    *(({"published": 3.0, "tolerance": 0.0125}, {"one": a}, {"one": 3.05}) for a in (3.03, 2.97)),
    # Orders: everywhere, up to a size, from a size, against a multiple, and about alike.
    (
        ORDER | {"relation": "<", "measure": EACH},
        {"one": {4: 1.0, 8: 2.0}, "two": {4: 2.0, 8: 3.0, 16: 0.1}},
        {"one": {4: 1.0, 8: 3.0}, "two": {4: 2.0, 8: 3.0}},
    ),
    (
        ORDER | {"relation": ">", "measure": EACH | {"below": "8"}},
        {"one": {4: 2.0, 8: 1.0}, "two": {4: 1.0, 8: 1.0}},
        {"one": {4: 1.0, 8: 2.0}, "two": {4: 1.0, 8: 1.0}},
    ),
    (
        ORDER | {"relation": ">", "measure": EACH | {"above": "8"}},
        {"one": {4: 1.0, 8: 1.0, 16: 2.0}, "two": {4: 1.0, 8: 1.0, 16: 1.0}},
        {"one": {8: 2.0, 16: 1.0}, "two": {8: 1.0, 16: 1.0}},
    ),
    (
        ORDER | {"relation": "<", "measure": PAIR | {"factor": 2.0}},
        {"one": 1.9, "two": 1.0},
        {"one": 2.1, "two": 1.0},
    ),
    *(
        (ORDER | {"relation": "~"}, {"one": a, "two": 1}, {"one": b, "two": 1})
        for a, b in ((0.96, 0.94), (1.04, 1.06))
    ),
    (
        ORDER | {"relation": "~", "tolerance": 0.0125},
        {"one": 3.03, "two": 3.0},
        {"one": 3.05, "two": 3.0},
    ),
    # An overhead may be below zero, or nothing.
    *(
        (
            ORDER
            | {
                "quantity": "overhead",
                "relation": "<",
                "measure": {"series": "one", "against": "one", "at": 4, "against_at": 8},
            },
            {"one": dict(zip((4, 8), good, strict=True))},
            {"one": dict(zip((4, 8), bad, strict=True))},
        )
        for good, bad in (((-3, -2), (-2, -3)), ((-1, 2), (0, 0)))
    ),
    # Limits hold exactly, at each reading.
    ({"kind": "threshold", "published": 14, "relation": "<="}, {"one": 14.0}, {"one": 14.001}),
    ({"kind": "threshold", "published": 14, "relation": "<"}, {"one": 13.9}, {"one": 14.0}),
    (
        {
            "kind": "threshold",
            "published": 1,
            "relation": ">=",
            "measure": [ONE, ONE | {"series": "two"}],
        },
        {"one": 1.0, "two": 2.0},
        {"one": 0.9, "two": 2.0},
    ),
    # "Around" at each size, "up to" at the largest change, "at least" at the smallest.
    (
        GAIN | {"relation": "~", "measure": EACH},
        {"one": {4: 1.08, 8: 1.12}, "two": {4: 1.0, 8: 1.0}},
        {"one": {4: 1.02, 8: 1.10}, "two": {4: 1.0, 8: 1.0}},
    ),
    *(
        (
            GAIN | {"relation": "<=", "measure": EACH},
            {"one": {4: 1.02, 8: 1.10}, "two": {4: 1.0, 8: 1.0}},
            {"one": dict(zip((4, 8), bad, strict=True)), "two": {4: 1.0, 8: 1.0}},
        )
        for bad in ((1.02, 1.05), (1.10, 1.20), (nan, 1.10), (1.10, nan))
    ),
    (
        GAIN | {"relation": ">=", "measure": EACH},
        {"one": {4: 1.10, 8: 1.90}, "two": {4: 1.0, 8: 1.0}},
        {"one": {4: 1.20, 8: 1.90}, "two": {4: 1.0, 8: 1.0}},
    ),
    # At one point.
    ({"measure": {"series": "one", "at": 8}}, {"one": {4: 9.0, 8: 4.0}}, {"one": {4: 4.0, 8: 9.0}}),
]


@pytest.mark.parametrize(("fields", "good", "bad"), PASSES)
def test_a_claim_passes_where_it_is_met_and_only_there(
    fields: Fields, good: Fields, bad: Fields
) -> None:
    assert verdict(fields, **good).status == "pass"
    assert verdict(fields, **bad).status == "fail"


SEVERAL = {"measure": [ONE, ONE | {"series": "two"}]}
LIMITS = {"kind": "threshold", "measure": [ONE | {"series": n} for n in ("one", "two", "three")]}


@pytest.mark.parametrize(
    ("fields", "values", "simulated"),
    [
        *(
            ({"measure": ONE | {"select": select}}, {"one": {8: 2.0, 4: 5.0, 16: 3.0}}, simulated)
            for select, simulated in (("smallest", 5.0), ("largest", 3.0), ("peak", 2.0))
        ),
        (
            BANDWIDTH | {"measure": ONE | {"select": "peak"}},
            {"one": {8: 2.0, 4: 5.0, 16: 3.0}},
            5.0,
        ),
        # Of several series the best counts, of several readings the worst.
        *(
            (
                {"quantity": quantity, "measure": {"series": ["one", "two"], "select": "peak"}},
                {"one": {4: 3.0, 8: 1.0}, "two": {4: 2.0, 8: 7.0}},
                best,
            )
            for quantity, best in (("bandwidth", 7.0), ("latency", 1.0))
        ),
        (SEVERAL, {"one": 4.0, "two": 5.0}, 5.0),
        (SEVERAL, {"one": 3.9, "two": 4.05}, 3.9),
        (SEVERAL, {"one": 40.0, "two": nan}, nan),
        *(
            (LIMITS | limit, {"one": 3.0, "two": 9.0, "three": 5.0}, worst)
            for limit, worst in (
                ({"published": 10, "relation": "<="}, 9.0),
                ({"published": 1, "relation": ">="}, 3.0),
            )
        ),
        # What is compared, in which unit.
        (RATIO | BANDWIDTH, {"one": 6.0, "two": 3.0}, 2.0),
        (GAIN, {"one": 1.25, "two": 1.0}, 25.0),
        (GAIN | {"change": "reduction"}, {"one": 0.75, "two": 1.0}, 25.0),
        (MEMORY | {"kind": "difference", "measure": PAIR}, {"one": 10240, "two": 6144}, 4.0),
        (ORDER | {"relation": "<", "measure": PAIR | {"factor": 2}}, {"one": 3, "two": 2}, 0.75),
        (BANDWIDTH | {"unit": "MiB/s"}, {"one": 971.0}, pytest.approx(971e6 / 2**20)),
        (BANDWIDTH | {"unit": "MB/s"}, {"one": 926.0}, 926.0),
        # Two points of one series, or one of each.
        (
            RATIO | {"measure": {"series": "one", "at": 8, "against": "one", "against_at": 4}},
            {"one": {4: 3.0, 8: 6.0}},
            2.0,
        ),
        (
            RATIO | {"measure": {"series": "one", "at": 8, "against": "two"}},
            {"one": {4: 0.0, 8: 6.0}, "two": {4: 0.0, 8: 3.0}},
            2.0,
        ),
    ],
)
def test_the_number_that_was_published_is_read(
    fields: Fields, values: Fields, simulated: float
) -> None:
    found = verdict(fields, **values).simulated
    assert found == simulated or (isnan(simulated) and found is not None and isnan(found))


@pytest.mark.parametrize(
    ("fields", "values", "note"),
    [
        (SEVERAL, {"one": 4.0, "two": 5.0}, "one 4 us; two 5 us"),
        (GAIN, {"one": 1.27, "two": 1.0}, "compared as the ratio 1.270"),
        (
            GAIN | {"relation": "~", "measure": EACH},
            {"one": {4: 1.02, 8: 1.10}, "two": {4: 1.0, 8: 1.0}},
            "one / two 2 % at 4, compared as the ratio 1.020",
        ),
        (
            ORDER | {"relation": "<", "measure": EACH},
            {"one": {4: 1.0, 8: 3.0}, "two": {4: 2.0, 8: 4.0}},
            "one / two 0.500 to 0.750",
        ),
        (
            ORDER | {"relation": "<", "measure": PAIR | {"factor": 2}},
            {"one": 3, "two": 2},
            "one / 2 x two 0.750",
        ),
        (
            ORDER
            | {"relation": "<", "measure": {**PAIR, "select": None, "at": 4, "against_at": 8}},
            {"one": {4: 3.0}, "two": {8: 2.0}},
            "one / two 1.500 at 4 / 8",
        ),
        ({"published": [4, 5], "contradiction": "both"}, {"one": 4.5}, "the paper says both"),
    ],
)
def test_the_note_has_all_numbers(fields: Fields, values: Fields, note: str) -> None:
    assert verdict(fields, **values).note == note


def test_the_error_is_relative_to_what_is_compared() -> None:
    assert verdict(GAIN | {"published": 24}, one=1.27, two=1.0).error == pytest.approx(
        1.27 / 1.24 - 1
    )
    assert verdict({"published": [4.0, 5.0], "contradiction": "both"}, one=4.5).error == 0
    alike = verdict(ORDER | {"relation": "~"}, one=0.94, two=1.0)
    assert (alike.error, alike.tolerance) == (pytest.approx(-0.06), 0.05)
    assert verdict(ORDER | {"relation": "<"}, one=0.94, two=1.0).error is None


def test_series_without_a_common_size_have_no_order() -> None:
    with pytest.raises(ValueError, match="share no size"):
        verdict(ORDER | {"relation": "<", "measure": EACH}, one={4: 1.0}, two={8: 1.0})


@pytest.mark.parametrize("select", ["smallest", "all"])
@pytest.mark.parametrize(("relation", "value"), [("<", 1.01), ("<", 1.0), (">", 0.99), (">", 1.0)])
def test_the_wrong_order_and_a_tie_fail(select: str, relation: str, value: float) -> None:
    fields = ORDER | {"relation": relation, "measure": PAIR | {"select": select}}
    assert verdict(fields, one=value, two=1.0).status == "fail"
    assert verdict(fields, one=1.0, two=value).status == ("fail" if value == 1.0 else "pass")


@pytest.mark.parametrize("relation", ["<", ">", "~"])
@pytest.mark.parametrize("place", [4, 8, 16])
def test_an_order_with_a_number_that_is_none_fails(relation: str, place: int) -> None:
    fields = ORDER | {"relation": relation, "measure": EACH}
    one = dict.fromkeys((4, 8, 16), 1.0)
    two = dict.fromkeys(one, {"<": 2.0, ">": 0.5, "~": 1.0}[relation])
    assert verdict(fields, one=one, two=two).status == "pass"
    assert verdict(fields, one={**one, place: nan}, two=two).status == "fail"


@pytest.mark.parametrize(("value", "status"), [(0.991, "pass"), (1.009, "pass"), (1.011, "fail")])
def test_a_limit_of_a_difference_holds_both_ways_and_at_each_size(
    value: float, status: str
) -> None:
    fields = {"kind": "threshold", "published": 1, "unit": "%", "relation": "<", "measure": EACH}
    found = verdict(fields, one={4: 1.0, 8: value, 16: 1.001}, two=dict.fromkeys((4, 8, 16), 1.0))
    assert found.status == status
    assert found.simulated == pytest.approx(100 * abs(value - 1))
    assert found.note.endswith("% at 8")


def test_a_documented_miss_is_a_deviation_with_its_mechanism_and_stale_if_it_is_none() -> None:
    fields = {"deviation": {"error": 1.0, "reason": "too slow", "mechanism": "nobody knows"}}
    found = verdict(fields, one=8.0)
    assert (found.status, found.error, found.note) == ("deviation", 1.0, "too slow; nobody knows")
    found = verdict(fields, one=4.0)
    assert (found.status, found.note) == ("pass", STALE)


@pytest.mark.parametrize(
    "fields",
    [
        {"tolerance": 0.051},
        {"tolerance": 0.031, "kind": "ratio", "measure": PAIR},
        {"tolerance": 0.031, "quantity": "bandwidth"},
        {"tolerance": 0.26, "quantity": "memory"},
        {"tolerance": 0.01, "kind": "threshold", "relation": "<="},
    ],
)
def test_a_claim_cannot_ask_for_less_than_its_kind(fields: Fields) -> None:
    with pytest.raises(ValueError, match="tolerance"):
        a_claim(**fields)


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


def test_the_tolerances_are_those_of_the_design() -> None:
    usual = dict.fromkeys(("latency", "time", "overhead", "run", "communication"), 0.05)
    usual |= dict.fromkeys(("bandwidth", "ratio", "overlap"), 0.03)
    assert usual | {"rate": 0.15, "memory": 0.25} == TOLERANCES
