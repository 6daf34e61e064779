"""bench prints what was measured, in the form asked for, and refuses what makes no sense."""

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Hcasim = Callable[..., Any]
LIU = ("--testbed", "liu2004")

invented = pytest.mark.usefixtures("invented")


def test_a_real_benchmark_runs(process: Hcasim) -> None:
    found = process("bench", "write_lat", *LIU, "--size", "8", "--format", "json")
    assert (found.code, found.messages) == (0, "")
    (row,) = json.loads(found.output)["rows"]
    assert row["size"] == 8
    assert 1 < row["latency_us"] < 20


@invented
def test_text_is_aligned_when_it_is_not_for_a_terminal(hcasim_: Hcasim) -> None:
    found = hcasim_("bench", "write_bw", *LIU, "--size", "4K,1M")
    assert found.output.splitlines() == [
        "write_bw on liu2004, mt25208",
        "Size  Bandwidth (MB/s)  Rate (M/s)",
        "  4K           1048.58      0.5000",
        "  1M           1048.58      0.5000",
    ]


@invented
@pytest.mark.parametrize("words", [("--format", "json"), ("--json",)])
def test_json_has_the_fields_of_the_design(hcasim_: Hcasim, words: tuple[str, ...]) -> None:
    what_if = ("--set", "adapter.bus.lanes=4", "--set", "link.width=1")
    found = hcasim_("bench", "write_bw", *LIU, "--size", "8", *what_if, *words)
    data = json.loads(found.output)
    assert data.pop("wall_seconds") >= 0
    assert data == {
        "workload": "write_bw",
        "testbed": "liu2004",
        "adapter": "mt25208",
        "overrides": {"adapter.bus.lanes": "4", "link.width": "1"},
        "rows": [{"size": 8, "qps": 1, "bandwidth_MBps": 1048.576, "rate_Mps": 0.5}],
        "counters": {"sqpc_miss_cnt": 1},
        "breakdown": {},
    }


@invented
def test_csv_has_a_line_per_size(hcasim_: Hcasim) -> None:
    found = hcasim_("bench", "write_lat", *LIU, "--size", "4..16", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(found.output)))
    assert [row["size"] for row in rows] == ["4", "8", "16"]
    assert rows[0]["latency_us"] == "4.0"


@invented
def test_perftest_latencies_have_its_nine_columns(hcasim_: Hcasim) -> None:
    words = ("--size", "8", "--iters", "1000", "--format", "perftest")
    lines = hcasim_("bench", "write_lat", *LIU, *words).output.splitlines()
    assert lines[1].strip() == "RDMA_Write Latency Test"
    values = "4.00 4.00 4.00 4.00 0.00 4.00 4.00"
    assert lines[-2].split() == ["8", "1000", *values.split()]
    assert lines[-3].startswith(" #bytes #iterations    t_min[usec]")


@invented
def test_perftest_bandwidths_are_in_two_to_the_twenty(hcasim_: Hcasim) -> None:
    words = ("--size", "1M", "--format", "perftest")
    lines = hcasim_("bench", "write_bw", *LIU, *words).output.splitlines()
    assert lines[-2].split() == ["1048576", "100", "1000.00", "1000.00", "0.001000"]
    assert lines[-3].split()[:2] == ["#bytes", "#iterations"]


@invented
def test_osu_bandwidths_are_in_ten_to_the_six(hcasim_: Hcasim) -> None:
    words = ("--size", "1M", "--format", "osu")
    lines = hcasim_("bench", "write_bw", *LIU, *words).output.splitlines()
    assert lines[1] == "# Size      Bandwidth (MB/s)"
    assert lines[2] == "1048576              1048.58"


@invented
def test_an_explained_latency_is_a_sum_of_stages(hcasim_: Hcasim) -> None:
    output = hcasim_("bench", "write_lat", *LIU, "--size", "8", "--explain").output
    assert re.search(r"^post_send +4\.000 +100\.0 %$", output, re.MULTILINE)
    assert re.search(r"^total +4\.000 +100\.0 %$", output, re.MULTILINE)


@invented
def test_an_explained_bandwidth_names_what_binds(hcasim_: Hcasim) -> None:
    output = hcasim_("bench", "write_bw", *LIU, "--size", "4K", "--explain").output
    assert "What limits 4K: bus" in output
    assert re.search(r"^bus +100\.0 %$", output, re.MULTILINE)
    assert re.search(r"^tags +25\.0 %$", output, re.MULTILINE)


@invented
def test_a_trace_has_a_line_per_event(hcasim_: Hcasim, tmp_path: Path) -> None:
    file = tmp_path / "events.tsv"
    found = hcasim_("bench", "write_lat", *LIU, "--size", "8", "--trace", str(file))
    assert found.messages == f"Wrote 1 events to {file}\n"
    assert file.read_text() == ("time_ps\tblock\tevent\tdetails\n1000\tnode0.hca\tdoorbell\tqp 1\n")


@invented
def test_the_machine_is_the_one_asked_for(hcasim_: Hcasim) -> None:
    words = ("--adapter", "mt23108", "--mtu", "2K", "--no-switch", "--json")
    data = json.loads(hcasim_("bench", "write_lat", *LIU, "--size", "8", *words).output)
    assert data["adapter"] == "mt23108"


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--size", "0"), "size: found the size '0'"),
        (("--size=-8",), "size: found the size '-8'"),
        (("--size", "3G"), "size: found the size '3G'; allowed are 1 B to 2 GiB"),
        (("--size", "8 ns"), "size: found '8 ns'"),
        (("--adapter", "mt25280"), "did you mean 'mt25208'?"),
        (("--qps", "many"), "qps: found 'many'; allowed: a whole number"),
        (("--qps", "1000000"), "allowed: up to 65536"),
        (("--window", "0"), "window: found 0; allowed: 1 or more"),
        (("--mode", "striping", "--ports", "1"), "ports: found 1 with mode striping"),
        (("--ports", "2"), "choose mode striping or binding"),
        (("--mode", "bindng"), "did you mean 'binding'?"),
        (("--op", "fetch_add"), "op: write_bw has no such option"),
        (("--mtu", "1000"), "mtu: found 1000; allowed: "),
        (("--mtu", "big"), "mtu: found 'big'"),
        (("--set", "adapter.bus.lanes"), "--set: found 'adapter.bus.lanes'; allowed: PATH=VALUE"),
        (("--set", "adapter.bus.lanez=4"), "did you mean 'adapter.bus.lanes'?"),
        (("--set", "adapter.bus.lanes=3"), "adapter.bus.lanes"),
        (("--set", "link.width=1", "--set", "link.width=4"), "found link.width twice"),
        (("--format", "jsno"), "did you mean 'json'?"),
        (("--format", "osu", "--json"), "--json: contradicts --format osu"),
        (("--trace", "/nowhere/file"), "there is no folder /nowhere"),
        (("--size", "4,8", "--trace", "events"), "--trace: records one size, found 2"),
    ],
)
def test_bad_input_is_one_line_that_says_what_is_allowed(
    hcasim_: Hcasim, words: tuple[str, ...], fault: str
) -> None:
    (found,) = hcasim_("bench", "write_bw", *LIU, *words).faults
    assert fault in found


def test_all_faults_are_said_at_once(hcasim_: Hcasim) -> None:
    words = ("--size", "0,x", "--qps", "y", "--mode", "z", "--set", "a", "--format", "b")
    assert len(hcasim_("bench", "wirte_bw", "--testbed", "liu204", *words).faults) == 7


def test_the_bus_alone_has_no_form_of_perftest(hcasim_: Hcasim) -> None:
    (fault,) = hcasim_("bench", "bw_rd", *LIU, "--format", "perftest").faults
    assert "no test of the bus alone" in fault


def test_the_bus_alone_has_no_stages_to_explain(hcasim_: Hcasim) -> None:
    (fault,) = hcasim_("bench", "bw_rd", *LIU, "--explain").faults
    assert "explain: bw_rd has no stages; allowed: write_lat" in fault


def test_a_trace_that_cannot_be_written_is_said(hcasim_: Hcasim, tmp_path: Path) -> None:
    words = ("--size", "8", "--iters", "10", "--trace", str(tmp_path))
    (fault,) = hcasim_("bench", "write_lat", *LIU, *words).faults
    assert "found a folder" in fault
