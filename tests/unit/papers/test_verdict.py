"""Each kind of claim is judged by what was measured, and can fail."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.papers.claim import Claim
from hcasim.papers.loader import load_scenario
from hcasim.papers.roles import Standing
from hcasim.papers.scenario import Scenario
from hcasim.papers.verdict import STALE, Verdict, judge
from hcasim.runs.curve import Curve

ONE = {"series": "one", "select": "smallest"}
PAIR = {"series": "one", "against": "two", "select": "smallest"}


def a_claim(**fields: Any) -> Claim:
    given_fields = {
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
    return Claim.model_validate(given_fields | fields)


def a_scenario() -> Scenario:
    return load_scenario("liu2004/fig03")


def curves(**values: Mapping[int, float]) -> dict[str, Curve]:
    return {
        f"liu2004/fig03:{name}": Curve(
            name,
            name,
            tuple(
                {"size": size, "qps": 1, "latency_us": one, "bandwidth_MBps": one, "total_KiB": one}
                | {"overhead_percent": one}
                for size, one in points.items()
            ),
        )
        for name, points in values.items()
    }


def verdict(claim: Claim, **values: Mapping[int, float]) -> Verdict:
    return judge(claim, a_scenario(), curves(**values), Standing("predicted", claim.id))


@given(st.floats(min_value=-0.5, max_value=0.5).filter(lambda x: abs(abs(x) - 0.05) > 1e-6))
def test_a_latency_passes_within_five_percent_only(perturbation: float) -> None:
    found = verdict(a_claim(), one={4: 4.0 * (1 + perturbation)})
    assert found.status == ("pass" if abs(perturbation) < 0.05 else "fail")
    assert found.error == pytest.approx(perturbation, abs=1e-12)
    assert found.tolerance == 0.05


@given(st.floats(min_value=-0.5, max_value=0.5).filter(lambda x: abs(abs(x) - 0.03) > 1e-6))
def test_a_bandwidth_passes_within_three_percent_only(perturbation: float) -> None:
    claim = a_claim(quantity="bandwidth", published=972, measure=ONE | {"select": "peak"})
    found = verdict(claim, one={4: 1.0, 8: 972 * (1 + perturbation)})
    assert found.status == ("pass" if abs(perturbation) < 0.03 else "fail")


def test_the_smallest_size_the_largest_and_the_peak_are_told_apart() -> None:
    values = {8: 2.0, 4: 5.0, 16: 3.0}

    def read(quantity: str, select: str) -> float | None:
        claim = a_claim(quantity=quantity, measure=ONE | {"select": select})
        return verdict(claim, one=values).simulated

    assert read("latency", "smallest") == 5.0
    assert read("latency", "largest") == 3.0
    assert read("latency", "peak") == 2.0
    assert read("bandwidth", "peak") == 5.0


def test_of_several_series_the_best_counts() -> None:
    measure = {"series": ["one", "two"], "select": "peak"}
    values = {"one": {4: 3.0, 8: 1.0}, "two": {4: 2.0, 8: 7.0}}
    claim = a_claim(quantity="bandwidth", measure=measure)
    assert verdict(claim, **values).simulated == 7.0
    assert verdict(a_claim(measure=measure), **values).simulated == 1.0


def test_of_several_readings_the_worst_is_reported_and_all_must_pass() -> None:
    claim = a_claim(measure=[ONE, ONE | {"series": "two"}])
    found = verdict(claim, one={4: 4.0}, two={4: 5.0})
    assert (found.status, found.simulated) == ("fail", 5.0)
    assert "one 4 us; two 5 us" in found.note


def test_a_published_range_passes_inside_and_just_beside_it() -> None:
    claim = a_claim(published=[4.0, 5.0], contradiction="both")
    assert verdict(claim, one={4: 4.5}).error == 0
    assert verdict(claim, one={4: 5.2}).status == "pass"
    assert verdict(claim, one={4: 5.3}).status == "fail"
    assert verdict(claim, one={4: 3.7}).status == "fail"


def test_a_ratio_divides_the_first_series_by_the_second() -> None:
    claim = a_claim(kind="ratio", published=2.0, unit="x", measure=PAIR)
    found = verdict(claim, one={4: 6.0}, two={4: 3.0})
    assert (found.status, found.simulated, found.tolerance) == ("pass", 2.0, 0.03)
    assert verdict(claim, one={4: 3.0}, two={4: 6.0}).status == "fail"


def test_a_gain_is_compared_as_the_ratio_that_it_states() -> None:
    claim = a_claim(kind="percent", change="gain", published=24, unit="%", measure=PAIR)
    found = verdict(claim, one={4: 1.27}, two={4: 1.0})
    assert found.status == "pass"
    assert found.simulated == pytest.approx(27)
    assert found.error == pytest.approx(1.27 / 1.24 - 1)
    assert found.note == "compared as the ratio 1.270"
    assert verdict(claim, one={4: 1.28}, two={4: 1.0}).status == "fail"
    assert verdict(claim, one={4: 0.76}, two={4: 1.0}).status == "fail"


def test_a_reduction_says_less() -> None:
    claim = a_claim(kind="percent", change="reduction", published=[20, 30], measure=PAIR)
    found = verdict(claim, one={4: 0.75}, two={4: 1.0})
    assert (found.status, found.simulated, found.error) == ("pass", 25.0, 0.0)
    assert verdict(claim, one={4: 1.25}, two={4: 1.0}).status == "fail"
    assert verdict(claim, one={4: 0.66}, two={4: 1.0}).status == "fail"


def test_overheads_have_an_order_below_zero_too() -> None:
    at = {"series": "one", "against": "one", "at": 4, "against_at": 8}
    fields = {"quantity": "overhead", "kind": "ordering", "published": "a", "measure": at}
    claim = a_claim(**fields, relation="<")
    ends = ((-3, -2), (-1, 2), (-2, -3), (0, 0))
    found = [verdict(claim, one={4: left, 8: right}).status for left, right in ends]
    assert found == ["pass", "pass", "fail", "fail"]
    assert "one / one 1.500 at 4 / 8" in verdict(claim, one={4: 3, 8: 2}).note


def test_an_order_must_hold_at_each_size_that_both_have() -> None:
    claim = a_claim(kind="ordering", published="a", relation="<", measure=PAIR | {"select": "all"})
    assert verdict(claim, one={4: 1.0, 8: 2.0}, two={4: 2.0, 8: 3.0, 16: 0.1}).status == "pass"
    found = verdict(claim, one={4: 1.0, 8: 3.0}, two={4: 2.0, 8: 3.0})
    assert (found.status, found.simulated, found.error) == ("fail", 1.0, None)


def test_an_order_may_hold_below_a_size_only() -> None:
    measure = PAIR | {"select": "all", "below": "8"}
    claim = a_claim(kind="ordering", published="a", relation=">", measure=measure)
    assert verdict(claim, one={4: 2.0, 8: 1.0}, two={4: 1.0, 8: 1.0}).status == "pass"


def test_an_order_may_hold_against_a_multiple() -> None:
    claim = a_claim(kind="ordering", published="a", relation="<", measure=PAIR | {"factor": 2.0})
    assert verdict(claim, one={4: 1.9}, two={4: 1.0}).status == "pass"
    assert verdict(claim, one={4: 2.1}, two={4: 1.0}).status == "fail"
    assert verdict(claim, one={4: 3.0}, two={4: 2.0}).simulated == 0.75
    assert verdict(claim, one={4: 3.0}, two={4: 2.0}).note == "one / 2 x two 0.750"


def test_series_without_a_common_size_have_no_order() -> None:
    claim = a_claim(kind="ordering", published="a", relation="<", measure=PAIR | {"select": "all"})
    with pytest.raises(ValueError, match="share no size"):
        verdict(claim, one={4: 1.0}, two={8: 1.0})


ALIKE = [(0.94, "fail"), (0.96, "pass"), (1.04, "pass"), (1.06, "fail")]


@pytest.mark.parametrize(("value", "status"), ALIKE)
def test_alike_means_within_the_tolerance_of_the_quantity(value: float, status: str) -> None:
    claim = a_claim(kind="ordering", published="a", relation="~", measure=PAIR)
    found = verdict(claim, one={4: value}, two={4: 1.0})
    assert found.status == status
    assert found.error == pytest.approx(value - 1)
    assert found.tolerance == 0.05


@pytest.mark.parametrize("select", ["smallest", "all"])
@pytest.mark.parametrize(("relation", "value"), [("<", 1.01), ("<", 1.0), (">", 0.99), (">", 1.0)])
def test_the_wrong_order_and_a_tie_fail(select: str, relation: str, value: float) -> None:
    claim = a_claim(
        kind="ordering", published="a", relation=relation, measure=PAIR | {"select": select}
    )
    assert verdict(claim, one={4: value}, two={4: 1.0}).status == "fail"
    assert verdict(claim, one={4: 1.0}, two={4: value}).status == (
        "fail" if value == 1.0 else "pass"
    )


def test_the_note_of_an_order_has_the_span_of_the_ratios() -> None:
    claim = a_claim(kind="ordering", published="a", relation="<", measure=PAIR | {"select": "all"})
    assert verdict(claim, one={4: 1.0, 8: 3.0}, two={4: 2.0, 8: 4.0}).note == (
        "one / two 0.500 to 0.750"
    )


def test_the_worst_of_several_limits_is_reported() -> None:
    measure = [ONE, ONE | {"series": "two"}, ONE | {"series": "three"}]
    values = {"one": {4: 3.0}, "two": {4: 9.0}, "three": {4: 5.0}}
    below = a_claim(kind="threshold", published=10, relation="<=", measure=measure)
    assert verdict(below, **values).simulated == 9.0
    above = a_claim(kind="threshold", published=1, relation=">=", measure=measure)
    assert verdict(above, **values).simulated == 3.0
    assert verdict(above, one={4: 1.0}, two={4: 2.0}, three={4: 2.0}).status == "pass"
    assert verdict(above, one={4: 0.9}, two={4: 2.0}, three={4: 2.0}).status == "fail"


def test_a_number_that_is_too_small_may_be_the_worst() -> None:
    claim = a_claim(measure=[ONE, ONE | {"series": "two"}])
    assert verdict(claim, one={4: 3.9}, two={4: 4.05}).simulated == 3.9


def test_a_reading_that_is_not_a_number_is_the_worst() -> None:
    claim = a_claim(measure=[ONE, ONE | {"series": "two"}])
    found = verdict(claim, one={4: 40.0}, two={4: float("nan")})
    assert found.status == "fail"
    assert found.simulated != found.simulated


def test_a_limit_holds_exactly() -> None:
    claim = a_claim(kind="threshold", published=14, relation="<=")
    assert verdict(claim, one={4: 14.0}).status == "pass"
    assert verdict(claim, one={4: 14.001}).status == "fail"


DEVIATION = {"error": 1.0, "reason": "too slow", "mechanism": "nobody knows"}


def test_a_documented_miss_is_a_deviation_with_its_mechanism() -> None:
    found = verdict(a_claim(deviation=DEVIATION), one={4: 8.0})
    assert (found.status, found.error) == ("deviation", 1.0)
    assert found.note == "too slow; nobody knows"


def test_a_deviation_that_is_none_is_stale() -> None:
    found = verdict(a_claim(deviation=DEVIATION), one={4: 4.0})
    assert (found.status, found.note) == ("pass", STALE)


def test_a_verdict_becomes_plain_data() -> None:
    data = verdict(a_claim(published=[4.0, 5.0], contradiction="both"), one={4: 4.0})
    data = data.model_dump(mode="json")
    assert data["published"] == [4.0, 5.0]
    assert data["id"] == "X-1"


def test_a_memory_passes_within_a_quarter_only() -> None:
    def status(value: float) -> str:
        claim = a_claim(quantity="memory", published=1, unit="MiB")
        return verdict(claim, one={4: value}).status

    assert [status(v) for v in (767.0, 769.0, 1279.0, 1281.0)] == ["fail", "pass", "pass", "fail"]


def test_the_unit_of_a_claim_decides_the_factor() -> None:
    claim = a_claim(quantity="bandwidth", published=926, unit="MiB/s", tolerance=0.001)
    found = verdict(claim, one={4: 971.0})
    assert (found.status, found.unit) == ("pass", "MiB/s")
    assert found.simulated == pytest.approx(971e6 / 2**20)
    assert verdict(claim, one={4: 926.0}).status == "fail"
    plain = a_claim(quantity="bandwidth", published=926, unit="MB/s")
    assert verdict(plain, one={4: 926.0}).simulated == 926.0


def test_a_ratio_does_not_depend_on_the_unit() -> None:
    claim = a_claim(quantity="bandwidth", kind="ratio", published=2.0, unit="x", measure=PAIR)
    assert verdict(claim, one={4: 6.0}, two={4: 3.0}).simulated == 2.0


@pytest.mark.parametrize(("value", "status"), [(3.03, "pass"), (3.05, "fail"), (2.97, "pass")])
def test_a_claim_may_ask_for_more_than_its_kind(value: float, status: str) -> None:
    claim = a_claim(published=3.0, tolerance=0.0125)
    found = verdict(claim, one={4: value})
    assert (found.status, found.tolerance) == (status, 0.0125)
    alike = a_claim(kind="ordering", published="a", relation="~", tolerance=0.0125, measure=PAIR)
    assert verdict(alike, one={4: value}, two={4: 3.0}).status == status


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
def test_a_claim_cannot_ask_for_less_than_its_kind(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="tolerance"):
        a_claim(**fields)


def test_a_difference_is_what_the_first_series_has_more() -> None:
    claim = a_claim(
        quantity="memory", kind="difference", published=4, unit="MiB", relation="<=", measure=PAIR
    )
    found = verdict(claim, one={4: 10240.0}, two={4: 6144.0})
    assert (found.status, found.simulated, found.tolerance) == ("pass", 4.0, 0.25)
    assert verdict(claim, one={4: 9000.0}, two={4: 6144.0}).status == "fail"
    assert verdict(claim, one={4: 6144.0}, two={4: 10240.0}).status == "fail"


AT = {"series": "one", "at": 8}


def test_a_measure_may_read_at_one_point() -> None:
    claim = a_claim(measure=AT)
    assert verdict(claim, one={4: 9.0, 8: 4.0, 16: 9.0}).status == "pass"
    assert verdict(claim, one={4: 4.0, 8: 9.0, 16: 4.0}).status == "fail"


def test_two_points_of_one_series_may_be_compared() -> None:
    measure = {"series": "one", "at": 8, "against": "one", "against_at": 4}
    claim = a_claim(kind="ratio", published=2.0, unit="x", measure=measure)
    assert verdict(claim, one={4: 3.0, 8: 6.0}).simulated == 2.0
    both = a_claim(kind="ratio", published=2.0, unit="x", measure={**AT, "against": "two"})
    assert verdict(both, one={4: 0.0, 8: 6.0}, two={4: 0.0, 8: 3.0}).simulated == 2.0


def test_an_order_may_hold_above_a_size_only() -> None:
    measure = PAIR | {"select": "all", "above": "8"}
    claim = a_claim(kind="ordering", published="a", relation=">", measure=measure)
    values = {"one": {4: 1.0, 8: 1.0, 16: 2.0}, "two": {4: 1.0, 8: 1.0, 16: 1.0}}
    assert verdict(claim, **values).status == "pass"
    assert verdict(claim, one={8: 2.0, 16: 1.0}, two={8: 1.0, 16: 1.0}).status == "fail"


EACH = PAIR | {"select": "all"}


def test_around_a_percentage_means_at_each_size() -> None:
    claim = a_claim(
        kind="percent", change="gain", published=10, unit="%", relation="~", measure=EACH
    )
    two = {4: 1.0, 8: 1.0}
    assert verdict(claim, one={4: 1.08, 8: 1.12}, two=two).status == "pass"
    found = verdict(claim, one={4: 1.02, 8: 1.10}, two=two)
    assert found.status == "fail"
    assert found.simulated == pytest.approx(2)
    assert "one / two 2 % at 4, compared as the ratio 1.020" in found.note


def test_up_to_a_percentage_means_at_the_largest_change() -> None:
    claim = a_claim(
        kind="percent", change="gain", published=10, unit="%", relation="<=", measure=EACH
    )
    two = {4: 1.0, 8: 1.0}
    assert verdict(claim, one={4: 1.02, 8: 1.10}, two=two).status == "pass"
    assert verdict(claim, one={4: 1.02, 8: 1.05}, two=two).status == "fail"
    assert verdict(claim, one={4: 1.10, 8: 1.20}, two=two).status == "fail"
    assert verdict(claim, one={4: float("nan"), 8: 1.10}, two=two).status == "fail"
    assert verdict(claim, one={4: 1.10, 8: float("nan")}, two=two).status == "fail"
    least = a_claim(
        kind="percent", change="gain", published=10, unit="%", relation=">=", measure=EACH
    )
    assert verdict(least, one={4: 1.10, 8: 1.90}, two=two).status == "pass"


def test_ten_percent_are_seven_to_thirteen_if_the_claim_says_so() -> None:
    def status(ratio: float) -> str:
        claim = a_claim(
            kind="percent",
            change="gain",
            published=10,
            unit="%",
            relation="~",
            tolerance=0.027,
            measure=PAIR,
        )
        return verdict(claim, one={4: ratio}, two={4: 1.0}).status

    assert [status(v) for v in (1.07, 1.071, 1.129, 1.13)] == ["fail", "pass", "pass", "fail"]


@pytest.mark.parametrize(("value", "status"), [(0.991, "pass"), (1.009, "pass"), (1.011, "fail")])
def test_a_limit_of_a_difference_holds_both_ways_and_at_each_size(
    value: float, status: str
) -> None:
    claim = a_claim(kind="threshold", published=1, unit="%", relation="<", measure=EACH)
    found = verdict(claim, one={4: 1.0, 8: value, 16: 1.001}, two={4: 1.0, 8: 1.0, 16: 1.0})
    assert found.status == status
    assert found.simulated == pytest.approx(100 * abs(value - 1))
    assert found.note.endswith("% at 8")


def test_a_limit_below_excludes_the_limit() -> None:
    below = a_claim(kind="threshold", published=14, relation="<")
    assert verdict(below, one={4: 13.9}).status == "pass"
    assert verdict(below, one={4: 14.0}).status == "fail"


@pytest.mark.parametrize("relation", ["<", ">", "~"])
@pytest.mark.parametrize("place", [4, 8, 16])
def test_an_order_with_a_number_that_is_none_fails(relation: str, place: int) -> None:
    right = {"<": 2.0, ">": 0.5, "~": 1.0}[relation]
    claim = a_claim(kind="ordering", published="a", relation=relation, measure=EACH)
    one = {4: 1.0, 8: 1.0, 16: 1.0}
    two = dict.fromkeys(one, right)
    assert verdict(claim, one=one, two=two).status == "pass"
    assert verdict(claim, one={**one, place: float("nan")}, two=two).status == "fail"
