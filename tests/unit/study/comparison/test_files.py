"""Results in files of bench and run, and measurements, are compared like machines."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import hcasim as hc
from hcasim.catalog import CatalogError
from hcasim.runs.foreign import printed, to_trace
from hcasim.study.comparison.sides import is_result, read_result
from hcasim.traces import render

SIZES = {"size": "8,1K", "jobs": 1}


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet"])
def test_other_tables_are_refused_as_results(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text("size,latency_us\n8,1\n")
    assert is_result(file)
    with pytest.raises(CatalogError, match=r"allowed: a testbed by id or file, a \.json file"):
        hc.compare(file, "liu2004")


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
    file.write_text(json.dumps(hc.bench("write_lat", "liu2004", **SIZES).to_dict()))
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
