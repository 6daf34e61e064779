"""What two machines are made of, and what they are given."""

import pytest

import hcasim as hc
from hcasim.catalog import CatalogError
from hcasim.study.comparison.difference import parts


def test_each_group_of_nodes_has_its_own_parts() -> None:
    plain = hc.machine("fat-tree-64")
    other = hc.machine("fat-tree-64", adapter="mt25208")
    found = parts(plain, other)
    assert found == {"storage.adapter": ("mt23108", "mt25208")}


def test_a_machine_of_one_group_stands_beside_those_of_several() -> None:
    found = parts(hc.machine("liu2004"), hc.machine("fat-tree-64"))
    assert found["adapter"] == ("mt25208", "")
    assert found["storage.adapter"] == ("", "mt23108")


@pytest.mark.parametrize("ask", [hc.compare, hc.why])
@pytest.mark.parametrize(
    "settings",
    [
        {"with_b": {"adapter": "mt23108"}},
        {"with_b": {"adapter.send.latency": "1 us"}},
        {"overrides": {"adapter.send.latency": "1 us"}},
    ],
)
def test_settings_beside_a_machine_are_refused_not_ignored(
    ask: object, settings: dict[str, object]
) -> None:
    assert callable(ask)
    machine = hc.machine("liu2004")
    with pytest.raises(CatalogError, match="found beside a machine, which has its own"):
        ask("liu2004", machine, "write_lat", size=8, jobs=1, **settings)


def test_machines_of_python_are_explained_stage_by_stage() -> None:
    """Nothing of them can be exchanged, and the answer says so."""
    machines = [hc.machine("liu2004", adapter=one) for one in ("mt23108", "mt25208")]
    found = hc.why(*machines, "write_lat", size=8, jobs=1)
    (answer,) = found.answers
    assert [one.cause.name for one in answer.shares] == ["structure"]
    assert answer.shares[0].share == answer.difference != 0
    assert answer.breakdown is not None
    assert answer.breakdown.totals.difference == pytest.approx(answer.difference, abs=1e-6)
    assert "adapter.responder.latency" in found.together
