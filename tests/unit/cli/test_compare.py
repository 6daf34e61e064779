"""`hcasim compare` and `hcasim why` print what sets two machines apart."""

import csv
import io
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Hcasim

PAIR = ("liu2004", "liu2004", "write_lat", "--size", "8,1K", "-j", "1")
SLOWER = ("--b", "adapter.send.latency=1 us")


def test_tables_show_what_differs_and_both_curves(hcasim_: Hcasim, tmp_path: Path) -> None:
    figure = tmp_path / "both.svg"
    found = hcasim_("compare", *PAIR, *SLOWER, "--plot", str(figure))
    assert found.code == 0
    lines = found.output.splitlines()
    assert lines[0] == "1 parameter differs"
    assert lines[2].split()[0] == "adapter.send.latency"
    assert lines[5].split() == ["Size", "A", "B", "B/A", "Beyond", "bands"]
    assert figure.read_text().startswith("<?xml")


def test_sources_say_where_each_value_comes_from(hcasim_: Hcasim) -> None:
    found = hcasim_("compare", "liu2004", "liu2004", *SLOWER, "--sources")
    assert found.code == 0
    _, table = found.output.split("Where the values come from\n")
    a, b = [line for line in table.splitlines() if line.startswith("adapter.send.latency")]
    assert a.split()[1] == "A"
    assert "fitted" in a
    assert "fit liu2004" in a
    assert b.split()[1:5] == ["B", "1", "us", "assumed"]
    assert "Where the values" not in hcasim_("compare", "liu2004", "liu2004", *SLOWER).output


def test_bands_stand_behind_each_number(hcasim_: Hcasim) -> None:
    found = hcasim_("compare", *PAIR, *SLOWER, "--uncertainty", "4")
    assert found.code == 0
    assert "Beyond bands" in found.output
    assert " to " in found.output.splitlines()[-1]
    assert found.output.splitlines()[-1].endswith(("yes", "no"))
    assert "Bands: 5 to 95 % over 4 samples" in found.messages


def test_it_says_where_what_binds_is_known_differently_well(hcasim_: Hcasim) -> None:
    words = ("compare", "liu2004", "pair", "write_bw", "--size", "2K", "--iters", "100", "-j", "1")
    last = hcasim_(*words).output.splitlines()[-1]
    link = "node0.hca.port1.link (published)"
    rest = "node0.hca.port1.requests.rest.lid2.qp1 (assumed)"
    assert last == f"They differ in evidence at 2K: A is bound by {link}, B by {rest}."


def test_values_with_a_space_between_them_are_told_their_comma(hcasim_: Hcasim) -> None:
    found = hcasim_("compare", *PAIR, "--qps", "1", "2")
    assert found.code == 2
    assert "Several values have commas between them: --qps 1,2" in found.messages


def test_equal_machines_are_said_to_be_equal(hcasim_: Hcasim) -> None:
    assert "are the same." in hcasim_("compare", "liu2004", "liu2004").output


def test_a_result_is_compared_with_a_machine(hcasim_: Hcasim, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    bench = ("bench", "write_lat", "--testbed", "liu2004", "--size", "8", "-j", "1")
    assert hcasim_(*bench, "-o", str(file)).code == 0
    words = ("compare", str(file), "liu2004", "--size", "8", "--json", "-j", "1")
    document = hcasim_(*words).json
    assert document["schema"] == "hcasim-compare"
    assert document["points"][0]["ratio"]["latency_us"] == 1


@pytest.mark.parametrize("command", ["compare", "why"])
def test_the_result_is_written_and_drawn(hcasim_: Hcasim, tmp_path: Path, command: str) -> None:
    file, figure = tmp_path / "result.md", tmp_path / "result.svg"
    found = hcasim_(command, *PAIR, *SLOWER, "-o", str(file), "--plot", str(figure))
    assert (found.code, found.messages) == (0, f"Wrote {file}\nWrote {figure}\n")
    assert "latency_us" in file.read_text().replace("\\", "")
    assert figure.read_text().endswith("</svg>\n")


def test_why_prints_shares_and_words(hcasim_: Hcasim) -> None:
    found = hcasim_("why", *PAIR, *SLOWER)
    assert found.code == 0
    assert found.output.startswith("latency_us at Size 8: ")
    assert "adapter.send.latency 100 %" in found.output
    assert "Where the time goes at Size 8\n" in found.output
    rows = [*csv.DictReader(io.StringIO(hcasim_("why", *PAIR, *SLOWER, "--csv").output))]
    assert {row["output"] for row in rows} == {"latency_us at Size 8", "latency_us at Size 1K"}
    document = hcasim_("why", *PAIR, *SLOWER, "--json").json
    assert document["schema"] == "hcasim-why"
    stages = document["answers"][0]["breakdown"]["stages"]
    assert [one["stage"] for one in stages if one["difference"]] == ["send pipeline"]
