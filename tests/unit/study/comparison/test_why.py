"""Which parameters, or parts of the machine, explain a difference."""

from itertools import permutations
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hcasim as hc
from hcasim.catalog import CatalogError
from hcasim.study.comparison.why import Answer, shapley

HOST = {"host.root_port.completion": "128 B", "adapter.bus.read_tags": 4}
BIDIRECTIONAL = {"size": "1M", "jobs": 1, "iters": 8}


@given(
    st.integers(0, 4).flatmap(
        lambda n: st.lists(st.floats(-1e6, 1e6), min_size=1 << n, max_size=1 << n)
    )
)
def test_shares_are_the_mean_over_all_orders_and_sum_up(worth: list[float]) -> None:
    players = range(len(worth).bit_length() - 1)
    found = shapley(worth)
    orders = [*permutations(players)]
    for one in players:
        joined = 0.0
        for order in orders:
            before = sum(1 << other for other in order[: order.index(one)])
            joined += worth[before | 1 << one] - worth[before]
        assert isclose(found[one], joined / len(orders), rel_tol=1e-9, abs_tol=1e-6)
    assert isclose(sum(found), worth[-1] - worth[0], rel_tol=1e-9, abs_tol=1e-6)


@pytest.mark.check
def test_shares_add_up_to_what_both_machines_differ_by() -> None:
    found = hc.why("liu2004", "liu2004", "write_bibw", with_b=HOST, **BIDIRECTIONAL)
    (answer,) = found.answers
    ends = [
        hc.bench("write_bibw", "liu2004", overrides=more, **BIDIRECTIONAL).curve.rows[0]
        for more in ({}, HOST)
    ]
    assert [answer.a, answer.b] == [one["bandwidth_MBps"] for one in ends]
    assert {one.cause for one in answer.shares} >= set(HOST)
    total = sum(one.share for one in answer.shares)
    assert isclose(total, answer.difference, rel_tol=1e-9)
    assert answer.difference != 0
    alone = {one.cause: one.alone for one in answer.shares}
    only = hc.bench(
        "write_bibw", "liu2004", overrides={"adapter.bus.read_tags": 4}, **BIDIRECTIONAL
    ).curve.rows[0]
    assert alone["adapter.bus.read_tags"] == only["bandwidth_MBps"] - answer.a


@pytest.mark.check
def test_the_way_back_has_the_opposite_shares() -> None:
    there, back = (
        hc.why("liu2004", "liu2004", "write_bibw", **{side: HOST}, **BIDIRECTIONAL)
        for side in ("with_b", "with_a")
    )
    shares = {one.cause: one for one in there.answers[0].shares}
    for one in back.answers[0].shares:
        same = shares[one.cause]
        assert isclose(one.share, -same.share, rel_tol=1e-9, abs_tol=1e-9)
        assert isclose(one.alone, -same.last, rel_tol=1e-9, abs_tol=1e-9)


def test_equal_machines_have_nothing_to_explain() -> None:
    (answer,) = hc.why("liu2004", "liu2004", "write_lat", size=8, jobs=1).answers
    assert answer.difference == 0
    assert all(one.share == 0 for one in answer.shares)
    assert "on both" in answer.words


def test_what_a_parameter_means_is_told() -> None:
    found = hc.why(
        "liu2004", "liu2004", "write_lat", with_b={"adapter.send.latency": "1 us"}, size=8, jobs=1
    )
    shares = {one["cause"]: one["meaning"] for one in found.to_dict()["answers"][0]["shares"]}
    said = "delay of a packet through the pipeline"
    assert shares == {"adapter.send.latency": said, "structure": ""}
    assert said in found.to_html()


def test_what_no_parameter_says_is_the_structure() -> None:
    found = hc.why("liu2004", "liu2004", "write_lat", with_b={"adapter": "mt23108"}, size=8, jobs=1)
    assert found.together["adapter.bus.lanes"] == "only one of both has it"
    first = found.answers[0].shares[0]
    assert first.cause == "structure"
    assert "adapter.bus.lanes" in first.members


def test_options_are_causes_too_and_many_become_others() -> None:
    many = {"qps": 2, "adapter.send.latency": "1 us", "adapter.responder.latency": "1 us"}
    found = hc.why(
        "liu2004", "liu2004", "window_bw", with_b=many, size="4K", window=4, top=1, jobs=1
    )
    names = {one.cause: one.members for one in found.answers[0].shares}
    assert len(names) == 2
    assert len(names["others"]) == 3
    assert {one for members in names.values() for one in members} == {*many, "structure"}


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ({"top": 0}, "top: found 0; allowed: 1 to 11"),
        ({"quantity": "speed"}, "quantity: found 'speed'; allowed: latency_us"),
        ({"a": "x.json"}, "a: found a result; allowed: a testbed"),
        ({"workload": "write_lta"}, "write_lta"),
        ({"with_a": {"size": "8,16"}}, "a and b: found 2 and 1 points; allowed: the same points"),
    ],
)
def test_faults_are_told(words: dict[str, object], fault: str) -> None:
    given = {"a": "liu2004", "b": "liu2004", "workload": "write_lat", "with_b": {"size": 8}}
    with pytest.raises(CatalogError) as caught:
        hc.why(**{**given, **words})  # type: ignore[arg-type]
    assert any(fault in one for one in caught.value.faults)


SMALL = {"size": 8, "jobs": 1}


def answer(a: str, b: str, **settings: object) -> Answer:
    (found,) = hc.why(a, b, "write_lat", **SMALL, **settings).answers
    assert isclose(sum(one.share for one in found.shares), found.difference, rel_tol=1e-9)
    return found


def shares(found: Answer) -> dict[str, float]:
    return {one.cause: one.share for one in found.shares}


def test_another_bus_is_the_share_of_the_adapter_that_has_it() -> None:
    found = answer("liu2004", "liu2004", with_a={"adapter": "mt23108"}, group="part")
    (adapter, structure) = found.shares
    assert (adapter.cause, adapter.a, adapter.b) == ("adapter", "mt23108", "mt25208")
    assert adapter.share == found.difference != 0
    assert (structure.cause, structure.share) == ("structure", 0)


def test_parts_that_are_exchanged_whole_keep_the_settings_of_their_side() -> None:
    slow = {"adapter": "mt23108", "adapter.send.latency": "2 us"}
    found = answer("liu2004", "liu2004", with_a=slow, group="part")
    assert shares(found) == {"adapter": found.difference, "structure": 0}
    plain = answer("liu2004", "liu2004", with_a={"adapter": "mt23108"}, group="part")
    assert found.a > plain.a
    assert found.b == plain.b


OWN = {
    "adapter.send.latency": "2 us",
    "adapter.send.wqe_service": "300 ns",
    "host.memory.read_latency": "1 us",
    "adapter.bus.read_tags": 4,
}


@pytest.mark.parametrize(
    ("group", "names"), [(None, {*OWN, "structure"}), ("part", {"adapter", "host", "structure"})]
)
def test_values_are_put_together_as_asked(group: object, names: set[str]) -> None:
    assert {*shares(answer("liu2004", "liu2004", with_b=OWN, group=group))} == names


@pytest.mark.parametrize("group", [5, "", "prat", ("part",)])
def test_a_group_of_nothing_is_refused(group: object) -> None:
    with pytest.raises(CatalogError, match=r"group: found .*; allowed: part"):
        answer("liu2004", "liu2004", with_b=OWN, group=group)


def test_an_mtu_and_an_option_left_as_they_usually_are_have_their_shares_by_name() -> None:
    found = answer("liu2004", "liu2004", with_b={"mtu": 512, "inline": True})
    causes = {one.cause: (one.a, one.b) for one in found.shares}
    assert causes["mtu"] == ("1024 B", "512 B")
    assert causes["inline"] == ("False", "True")
    assert shares(found)["structure"] == 0
