"""Causes that are one part of the machine."""

from math import isclose

import pytest

import hcasim as hc
from hcasim.catalog import CatalogError
from hcasim.study.comparison.why import Answer

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
    assert (adapter.cause, adapter.a, adapter.b) == (
        "adapter",
        "mt23108",
        "mt25208",
    )
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
    ("group", "names"),
    [(None, {*OWN, "structure"}), ("part", {"adapter", "host", "structure"})],
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
