"""Two machines or results side by side."""

import json
from pathlib import Path

import pytest

import hcasim as hc
from hcasim.catalog import CatalogError
from hcasim.study.comparison.sides import parts

OTHER = {"adapter.send.latency": "1 us", "adapter": "mt25208"}


def test_what_differs_is_told_and_what_that_does() -> None:
    found = hc.compare("liu2004", "liu2004", "write_lat", with_b=OTHER, size=[8, 64], jobs=1)
    (one,) = found.differences
    assert one.path == "adapter.send.latency"
    assert one.texts[1] == "1 us"
    assert found.parts == {}
    both = [
        hc.bench("write_lat", "liu2004", size=[8, 64], overrides=more, jobs=1).curve.rows
        for more in ({}, {"adapter.send.latency": "1 us"})
    ]
    for pair, a, b in zip(found.pairs, *both, strict=True):
        assert pair.at == {"size": a["size"]}
        assert pair.a["latency_us"] == a["latency_us"]
        assert pair.ratio["latency_us"] == b["latency_us"] / a["latency_us"] > 1


def test_without_a_benchmark_descriptions_are_compared() -> None:
    found = hc.compare("liu2004", "liu2004", with_b={"adapter": "mt23108"})
    assert found.parts == {"adapter": ("mt25208", "mt23108")}
    only = {one.path: (one.a is None, one.b is None) for one in found.differences}
    assert only["adapter.bus.lanes"] == (False, True)
    assert only["adapter.bus.clock"] == (True, False)
    assert found.pairs == []
    assert "mt23108" in found.labels[1]
    with pytest.raises(CatalogError, match="without a benchmark"):
        found.plot()


def test_results_are_compared_as_they_were_and_measured_on_the_other_side(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    was = hc.bench(
        "write_lat", "liu2004", size=[8, 16], overrides={"adapter.send.latency": "2 us"}, jobs=1
    )
    document = was.to_dict()
    document["rows"][0]["latency_us"] = 77.0
    file.write_text(json.dumps(document))
    found = hc.compare(file, "liu2004", size=[8, 32], jobs=1)
    assert [one.path for one in found.differences] == ["adapter.send.latency"]
    assert [one.at["size"] for one in found.pairs] == [8, 16, 32]
    assert found.pairs[0].a["latency_us"] == 77.0
    assert found.pairs[1].b == found.pairs[2].a == {}
    assert found.pairs[2].ratio["latency_us"] is None
    assert len(hc.compare(was, file).differences) == 0


def test_the_figure_has_both_curves() -> None:
    found = hc.compare("liu2004", "sur2005", "write_lat", size=[8, 64], jobs=1)
    (axes,) = found.plot().axes
    assert [len(line.get_xdata()) for line in axes.get_lines()] == [2, 2]


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"with_b": {"adaptr": "x"}}, "b: found 'adaptr'; allowed: adapter,"),
        ({"with_b": {"adapter.sned.latency": "1 us"}}, "adapter.sned.latency"),
        ({"workload": "write_lta"}, "write_lta"),
        ({"a": "liu2005"}, "liu2005"),
        ({"a": "missing.json"}, "missing.json"),
    ],
)
def test_faults_name_the_side_or_what_is_unknown(given: dict[str, object], fault: str) -> None:
    with pytest.raises(CatalogError) as caught:
        hc.compare(**{"a": "liu2004", "b": "liu2004", **given})  # type: ignore[arg-type]
    assert any(fault in one for one in caught.value.faults)


@pytest.mark.parametrize("text", ["", "{}", "[1]", "nothing", '{"schema": "hcasim-run"}'])
def test_a_file_that_holds_no_result_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.json"
    file.write_text(text)
    with pytest.raises(CatalogError, match=r"a\.json: .*allowed: a testbed by id or file"):
        hc.compare(file, "liu2004")


def test_each_group_of_nodes_has_its_own_parts() -> None:
    several = hc.machine("fat-tree-64")
    found = parts(several, hc.machine("fat-tree-64", adapter="mt25208"))
    assert found == {"storage.adapter": ("mt23108", "mt25208")}
    found = parts(hc.machine("liu2004"), several)
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
    assert [one.cause for one in answer.shares] == ["structure"]
    assert answer.shares[0].share == answer.difference != 0
    assert answer.breakdown is not None
    assert answer.breakdown.totals.difference == pytest.approx(answer.difference, abs=1e-6)
    assert "adapter.responder.latency" in found.together
