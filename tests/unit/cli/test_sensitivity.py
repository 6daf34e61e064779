"""`hcasim sensitivity` prints and writes what a study has found."""

import csv
import io
import json
from pathlib import Path

from tests.unit.cli.conftest import Hcasim

BUS = ("sensitivity", "bw_rd", "--testbed", "pcie-bench-haswell", "--size", "512", "-j", "1")
FEW = ("--only", "host.root_port.nonposted_header_credits", "--only", "host.memory.read_latency")


def test_a_table_and_words_name_what_the_result_rests_on(hcasim_: Hcasim) -> None:
    found = hcasim_(*BUS, *FEW)
    assert found.code == 0
    lines = found.output.splitlines()
    assert lines[0].startswith("bandwidth_MBps at Size 512, ")
    assert lines[2].split()[0] == "host.memory.read_latency"
    assert "It rests most on host.memory.read_latency (" in found.output


def test_json_and_csv_are_printed_and_written(hcasim_: Hcasim, tmp_path: Path) -> None:
    data, table = tmp_path / "s.json", tmp_path / "s.csv"
    printed = hcasim_(*BUS, *FEW, "--json", "-o", str(data))
    document = printed.json
    assert document == json.loads(data.read_text())
    assert document["schema"] == "hcasim-sensitivity"
    chart = tmp_path / "tornado.svg"
    rows = hcasim_(*BUS, *FEW, "--csv", "-o", str(table), "--plot", str(chart)).output
    assert chart.read_text().startswith("<?xml")
    assert rows == table.read_text()
    names = [row["parameter"] for row in csv.DictReader(io.StringIO(rows))]
    assert set(names) == {one["name"] for one in document["parameters"]}
    assert len(names) == 2


def test_all_at_once_has_indices_with_intervals(hcasim_: Hcasim) -> None:
    found = hcasim_(*BUS, *FEW, "--method", "sobol", "--samples", "4")
    assert "Total ±" in found.output
    assert "samples give" in found.output
