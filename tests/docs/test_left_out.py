"""A source is predicted without what only it determined: its values are put back to their bases."""

import pytest

from hcasim.catalog import CatalogError
from hcasim.papers.plan import plan_papers
from tests.docs.site.left_out import LeftOut, leave_out, plans_of

SOURCE = "starcloud-ai/kube-ansible"


@pytest.fixture(scope="module")
def found() -> LeftOut:
    (found,) = leave_out([SOURCE], jobs=1)
    return found


def test_values_of_one_source_are_put_back_to_their_base(found: LeftOut) -> None:
    assert found.source == SOURCE
    back = {one.value.parameter.path: one.base for one in found.values}
    assert [*back] == ["send.latency", "receive.latency"]
    assert {base.inherited_from for base in back.values() if base} == {"connectx3"}


def test_both_sides_judge_the_same_claims(found: LeftOut) -> None:
    assert [one.id for one in found.own] == [one.id for one in found.based]
    assert all(one.role == two.role for one, two in zip(found.own, found.based, strict=True))


def test_without_its_own_values_a_source_is_predicted_worse(found: LeftOut) -> None:
    assert found.medians is not None
    own, based = found.medians
    assert own < based
    latency = {one.id: one.simulated for one in found.own}
    without = {one.id: one.simulated for one in found.based}
    # 80 ns in the adapter, each way, become 10 ns.
    assert without["N349"] == pytest.approx(latency["N349"] - 0.14, abs=0.01)


def test_series_of_others_that_claims_read_are_simulated_too() -> None:
    plans = plans_of("benjegerdes2004", plan_papers())
    others = [one for one in plans if one.scenario.paper != "benjegerdes2004"]
    assert [(one.scenario.id, *(line.name for line in one.lines)) for one in others] == [
        ("liu2004/fig06", "pcie")
    ]


def test_a_source_that_nobody_is_is_refused() -> None:
    with pytest.raises(CatalogError, match="found 'nobody'; allowed: AtlanticBob"):
        leave_out(["nobody"])
