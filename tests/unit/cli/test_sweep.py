"""`hcasim sweep` from the command line."""

import csv
from io import StringIO
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Hcasim

FILE = """
title = "Lanes"
workload = "write_lat"
testbed = "liu2004"
size = [8, 64]
zip = [["size", "qps"]]
qps = "1,2"
[set]
adapter.bus.lanes = [4, 8]
[let]
warmup = "10 * qps"
"""


def test_a_table_is_printed_and_written(hcasim_: Hcasim, tmp_path: Path) -> None:
    words = ("sweep", "write_lat", "--testbed", "liu2004", "--size", "8,64", "-j", "1")
    csv_file = tmp_path / "table.csv"
    done = hcasim_(*words, "--set", "adapter.bus.lanes=4,8", "-o", str(csv_file))
    assert done.code == 0
    told = ["latency_us", "latency_us_low", "latency_us_high", "error_percent"]
    head = ["size", "adapter.bus.lanes", *told, "bound_by", "evidence"]
    assert done.output.splitlines()[1].split() == head
    printed = hcasim_(*words, "--set", "adapter.bus.lanes=4,8", "--csv").output
    assert csv_file.read_text() == printed
    rows = list(csv.DictReader(StringIO(printed)))
    found = hcasim_(*words, "--set", "adapter.bus.lanes=4,8", "--json").json
    assert found["axes"] == ["size", "adapter.bus.lanes"]
    latencies = [row["latency_us"] for row in found["rows"]]
    assert [float(row["latency_us"]) for row in rows] == latencies
    for ending in (".jsonl", ".json", ".parquet"):
        assert hcasim_(*words, "-o", str(tmp_path / f"table{ending}")).code == 0
        assert (tmp_path / f"table{ending}").stat().st_size > 100
    drawn = tmp_path / "table.svg"
    assert hcasim_(*words, "--plot", str(drawn), "--x", "size").code == 0
    assert "<svg" in drawn.read_text()
    assert hcasim_(*words, "--x", "size").code == 2


def test_a_file_says_it_all_and_options_replace_what_it_says(
    hcasim_: Hcasim, tmp_path: Path
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(FILE)
    found = hcasim_("sweep", str(file), "-j", "1", "--json").json
    seen = [(row["size"], row["qps"], row["adapter.bus.lanes"]) for row in found["rows"]]
    assert seen == [(8, 1, 4), (8, 1, 8), (64, 2, 4), (64, 2, 8)]
    assert {row["warmup"] for row in found["rows"]} == {10, 20}
    other = hcasim_("sweep", str(file), "--size", "16,32", "-j", "1", "--json").json
    assert {row["size"] for row in other["rows"]} == {16, 32}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sise = 8", "found the key 'sise'"),
        ("set = 3", "set: found 3; allowed: a table"),
        ("zip = ['size']", "zip: found"),
        ("where = 3", "where: found 3; allowed: text"),
        ("size = {a = 1}", "size: found a table"),
        ("workload = 'write_lat'", "--testbed: found none"),
        ("size = [[1]]\nworkload='write_lat'\ntestbed='liu2004'", "size: found [1] in a list"),
        ("workload = 3\ntestbed = 'liu2004'", "workload: found 3"),
        ("[let]\nqps = true", "let.qps"),
        ("=", "study.toml"),
    ],
)
def test_a_faulty_file_is_refused_in_words(
    hcasim_: Hcasim, tmp_path: Path, text: str, told: str
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(text)
    assert any(told in fault for fault in hcasim_("sweep", str(file)).faults)
