"""Where the time goes on two machines, side by side."""

from fractions import Fraction

import pytest

import hcasim as hc
from hcasim.study.comparison.breakdown import MEAN, Breakdown, side_by_side

OTHER_BUS = {"with_a": {"adapter": "mt23108"}, "jobs": 1}


def ps(microseconds: float | None) -> int:
    return round(Fraction(microseconds or 0) * 10**6)


def breakdown(workload: str, **settings: object) -> tuple[Breakdown, float, float]:
    (answer,) = hc.why("liu2004", "liu2004", workload, **OTHER_BUS, **settings).answers
    assert answer.breakdown is not None
    return answer.breakdown, answer.a, answer.b


@pytest.mark.parametrize(
    ("workload", "settings"),
    [
        ("write_lat", {"size": 8}),
        ("read_lat", {"size": "4K"}),
        ("osu_latency", {"size": "64K"}),
        ("osu_allreduce", {"size": 8}),
    ],
)
def test_stages_add_up_to_both_latencies_and_to_their_difference(
    workload: str, settings: dict[str, object]
) -> None:
    found, a, b = breakdown(workload, **settings)
    assert sum(ps(one.a) for one in found.stages) == ps(a) == ps(found.totals.a)
    assert sum(ps(one.b) for one in found.stages) == ps(b) == ps(found.totals.b)
    assert sum(ps(one.difference) for one in found.stages) == ps(b) - ps(a) != 0


def test_another_bus_shows_where_the_adapter_reads_and_nowhere_else() -> None:
    found, *_ = breakdown("write_lat", size=8)
    faster = {one.name for one in found.stages if one.difference}
    assert faster == {"doorbell", "WQE fetch", "gather data", "data write"}
    assert "WQE fetch" in found.words()


def test_stages_are_those_that_explain_gives_for_each_machine() -> None:
    found, *_ = breakdown("write_lat", size=8)
    for side, adapter in (("a", "mt23108"), ("b", "mt25208")):
        alone = hc.bench("write_lat", "liu2004", adapter=adapter, size=8, explain=True, jobs=1)
        told = [(one["stage"], one["us"]) for one in alone.breakdowns[0]["stages"]]
        assert [(s.name, us) for s in found.stages if (us := getattr(s, side)) is not None] == told


@pytest.mark.check
def test_a_bandwidth_has_the_blocks_that_limit_each_machine() -> None:
    found, *_ = breakdown("write_bw", size="1M")
    assert found.stages == ()
    assert "splits" in found.binds[0]
    assert found.binds[1].endswith("link")
    (split,) = [one for one in found.blocks if one.name == found.binds[0]]
    assert split.waited
    assert split.b is None
    assert found.words() == f"{found.binds[0]} limits A, {found.binds[1]} limits B."


def test_nothing_limits_a_machine_on_which_nothing_is_saturated() -> None:
    found = side_by_side({"binds": "", "resources": []}, {"binds": "link", "resources": []}, None)
    assert found.words() == "Nothing limits A, link limits B."
    assert side_by_side({"binds": ""}, {}, None).words() == ""


def test_a_workload_that_explains_nothing_has_no_breakdown() -> None:
    (answer,) = hc.why("liu2004", "liu2004", "lat_rd", size=64, **OTHER_BUS).answers
    assert answer.breakdown is None
    assert [*answer.tables()] == []


def test_stages_are_only_told_of_what_they_are_stages_of() -> None:
    found, a, b = breakdown("reg_mr", size="4K", quantity="registration_us")
    assert [(one.name, one.a, one.b) for one in found.stages] == [("register", a, b)]
    assert not breakdown("reg_mr", size="4K", quantity="deregistration_us")[0].stages


def test_what_only_one_has_stands_where_it_happens() -> None:
    ways = [("post", "link", "switch", "poll"), ("post", "link", "poll")]
    told = [{"stages": [{"stage": name, "us": 1.0} for name in way]} for way in ways]
    found = side_by_side(*told, (4.0, 3.5))
    assert [(one.name, one.a, one.b) for one in found.stages] == [
        ("post", 1.0, 1.0),
        ("link", 1.0, 1.0),
        ("switch", 1.0, None),
        ("poll", 1.0, 1.0),
        (MEAN, None, 0.5),
    ]
