"""Two machines or results side by side, also from files of other tools, and with bands."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import hcasim as hc
from hcasim.catalog import CatalogError
from hcasim.runs.foreign import printed, to_trace
from hcasim.study.comparison.compare import Comparison
from hcasim.study.comparison.sides import Side, is_result, parts, read_result
from hcasim.traces import render

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


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("a.json", text) for text in ("", "{}", "[1]", "nothing", '{"schema": "hcasim-run"}')),
        *((f"x.{ending}", "size,latency_us\n8,1\n") for ending in ("csv", "jsonl", "parquet")),
    ],
)
def test_a_file_that_holds_no_result_is_refused(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    assert is_result(file)
    with pytest.raises(
        CatalogError, match=rf"{name}: .*allowed: a testbed by id or file, a \.json"
    ):
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


SMALL = {"size": "8,1K", "jobs": 1}


def test_equal_machines_have_the_bands_of_a_sweep_and_a_ratio_of_one_in_every_sample() -> None:
    found = hc.compare("liu2004", "liu2004", "write_lat", uncertainty=6, **SMALL)
    alone = hc.sweep("write_lat", testbed="liu2004", uncertainty=6, **SMALL)
    names = ("latency_us", "latency_us_low", "latency_us_high")
    assert [[row[name] for name in names] for row in found.a.rows] == [
        [row[name] for name in names] for row in alone.rows
    ]
    assert found.drawn == alone.drawn
    for one in found.pairs:
        assert one.bands == {"latency_us": (1, 1)}
        assert one.beyond["latency_us"] is False
        assert one.a["latency_us_low"] < one.a["latency_us"] < one.a["latency_us_high"]


def test_what_both_have_alike_is_no_reason_to_doubt_a_difference() -> None:
    """Both bands overlap, as both share what is unknown; the ratio is never near 1."""
    found = hc.compare(
        "liu2004",
        "liu2004",
        "write_lat",
        with_b={"link.cable_length": "40 m"},
        uncertainty=8,
        **SMALL,
    )
    one = found.pairs[0]
    low, high = one.bands["latency_us"]
    assert 1 < low <= one.ratio["latency_us"] <= high
    assert one.beyond["latency_us"] is True
    assert one.a["latency_us_high"] > one.b["latency_us_low"]
    document = found.to_dict()["points"][0]
    assert document["beyond"] == {"latency_us": True}
    assert document["bands"] == {"latency_us": [low, high]}
    row = found.rows[0]
    assert (row["latency_us_low_ratio"], row["latency_us_beyond"]) == (low, True)


@pytest.mark.parametrize(
    ("a", "b", "beyond"), [((1, 2), (3, 4), True), ((3, 4), (1, 2), True), ((1, 3), (2, 4), False)]
)
def test_bands_without_common_samples_have_to_lie_apart(
    a: tuple[int, int], b: tuple[int, int], beyond: bool
) -> None:
    rows = [
        {"size": 8, "latency_us": x, "latency_us_low": x, "latency_us_high": y} for x, y in (a, b)
    ]
    ours, theirs = (Side(None, "write_lat", (row,)) for row in rows)
    assert Comparison(ours, theirs).pairs[0].beyond == {"latency_us": beyond}
    same = (replace(one, rows=({**one.rows[0], "bound_by": "link"},)) for one in (ours, theirs))
    assert Comparison(*same).pairs[0].beyond == ({"latency_us": True} if beyond else {})
    alone = Side(None, "write_lat", ({"size": 8, "latency_us": 1},))
    assert Comparison(ours, alone).pairs[0].beyond == {}


def test_sides_may_differ_in_evidence() -> None:
    sides = (
        Side(None, "write_lat", ({"size": 8, "latency_us": 1, "bound_by": by, "evidence": why},))
        for by, why in (("link", "published"), ("node0.cpu0", "assumed"))
    )
    found = Comparison(*sides)
    (one,) = found.pairs
    assert one.differ
    assert one.to_dict()["rests_on"]["b"] == {"bound_by": "node0.cpu0", "evidence": "assumed"}
    assert {"bound_by_a": "link", "evidence_b": "assumed"}.items() <= found.rows[0].items()
    assert not Comparison(found.b, found.b).pairs[0].differ
    assert not Comparison(found.a, Side(None, "write_lat", ({"size": 8},))).pairs[0].differ


@pytest.mark.parametrize(
    ("a", "workload", "samples", "fault"),
    [
        ("liu2004", None, 5, "uncertainty: found without two testbeds and a workload"),
        ("liu2004", "write_lat", 1, "uncertainty: found 1; allowed: 2 to"),
        ("liu2004", "write_lat", True, "uncertainty: found True"),
        (hc.machine("liu2004"), "write_lat", 4, "found with a machine of Python"),
    ],
)
def test_bands_of_nothing_are_refused(
    a: object, workload: str | None, samples: int, fault: str
) -> None:
    with pytest.raises(CatalogError, match=fault):
        hc.compare(a, "liu2004", workload, uncertainty=samples)


def test_series_of_a_scenario_are_compared(tmp_path: Path) -> None:
    ran = tmp_path / "run.json"
    ran.write_text(json.dumps(hc.run("liu2004/fig03", jobs=1).to_dict()))
    found = hc.compare(f"{ran}#pcix", f"{ran}#pcie")
    assert found.labels == ("A: mt23108", "B: mt25208")
    ratios = {pair.at["size"]: pair.ratio["latency_us"] for pair in found.pairs}
    assert 0.7 < ratios[8] < 0.9
    for which in ("", "#pci"):
        with pytest.raises(CatalogError, match="allowed: FILE#NAME with pcie or pcix"):
            read_result(f"{ran}{which}")


def test_a_part_of_a_file_of_bench_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    file.write_text(json.dumps(hc.bench("write_lat", "liu2004", **SMALL).to_dict()))
    assert read_result(file).workload == "write_lat"
    with pytest.raises(CatalogError, match="allowed: a file of run with it"):
        read_result(f"{file}#x")


def test_a_machine_beside_a_result_is_measured_where_that_was(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    found = hc.bench("write_lat", "liu2004", size=[8, 64], qps=1, jobs=1)
    file.write_text(json.dumps(found.to_dict()))
    every = hc.compare(str(file), "liu2004", jobs=1).pairs
    assert [one.at["size"] for one in every] == [8, 64]
    assert all(one.ratio["latency_us"] == 1 for one in every)
    (chosen,) = (
        one for one in hc.compare(str(file), "liu2004", size=64, jobs=1).pairs if one.a and one.b
    )
    assert chosen.at["size"] == 64


def test_settings_beside_two_results_are_refused(tmp_path: Path) -> None:
    found = hc.bench("write_lat", "liu2004", size=8, jobs=1)
    with pytest.raises(hc.CatalogError, match="size: found with two results, which were measured"):
        hc.compare(found, found, size=8)


@pytest.mark.parametrize("form", ["txt", "jsonl"])
def test_what_a_tool_printed_is_compared_with_the_model_at_its_points(
    tmp_path: Path, form: str
) -> None:
    was = hc.bench("write_bw", "liu2004", size=[64, 4096], qps=2, tx_depth=16, jobs=1)
    file = tmp_path / f"ib_write_bw.{form}"
    file.write_text(printed(was, "perftest") if form == "txt" else render(to_trace(was)))
    found = hc.compare(file, "liu2004", jobs=1)
    assert found.labels == (f"A: {found.a.tool}", "B: liu2004, mt25208")
    assert [pair.at for pair in found.pairs] == [{"size": 64}, {"size": 4096}]
    for pair, row in zip(found.pairs, was.rows, strict=True):
        assert pair.b["bandwidth_MBps"] == row["bandwidth_MBps"]
        assert pair.ratio["bandwidth_MBps"] == pytest.approx(1, rel=0.01)
    assert found.parts == {}
    assert found.to_dict()["differences"] == []
    assert found.a.tool in found.to_html()
    slower = hc.compare(file, "liu2004", with_b={"adapter": "mt23108"}, jobs=1)
    assert slower.labels[1] == "B: liu2004, mt23108"
    assert slower.pairs[1].ratio["bandwidth_MBps"] < 0.9


def test_of_several_measured_workloads_one_is_named(tmp_path: Path) -> None:
    file = tmp_path / "three.jsonl"
    depths = (("write_bw", 64, 16), ("write_bw", 4096, 4), ("send_bw", 64, 4))
    runs = [hc.bench(n, "liu2004", size=size, tx_depth=depth, jobs=1) for n, size, depth in depths]
    traces = [to_trace(one) for one in runs]
    points = tuple(point for one in traces for point in one.points)
    file.write_text(render(replace(traces[0], points=points)))
    found = hc.compare(f"{file}#send_bw", "liu2004", jobs=1)
    assert found.pairs[0].b["bandwidth_MBps"] == runs[2].rows[0]["bandwidth_MBps"]
    # An option that differs between points is none of all.
    assert "tx_depth" not in read_result(f"{file}#write_bw").options
    with pytest.raises(CatalogError, match="allowed: FILE#NAME with send_bw or write_bw"):
        read_result(file)
