"""bench prints what was measured, in the form asked for."""

import contextlib
import csv
import io
import json
import os
import re
import signal
import threading
import time
from pathlib import Path

import jsonschema
import pytest

import hcasim as hc
from hcasim import __version__
from tests.unit.cli.conftest import Hcasim

LIU = ("--testbed", "liu2004")
SUR = ("--testbed", "sur2005")
UNKNOWN = {"bound_by": "", "evidence": "unknown"}
invented = pytest.mark.usefixtures("invented")


def test_a_real_benchmark_runs(process: Hcasim) -> None:
    found = process("bench", "write_lat", *LIU, "--size", "8", "--format", "json")
    (row,) = found.json["rows"]
    assert (found.code, found.messages, row["size"]) == (0, "", 8)
    assert 1 < row["latency_us"] < 20


@invented
def test_text_is_aligned_when_it_is_not_for_a_terminal(hcasim_: Hcasim) -> None:
    found = hcasim_("bench", "window_bw", *LIU, "--size", "4K,1M")
    assert found.output.splitlines() == [
        "window_bw on liu2004, mt25208",
        "Size  Bandwidth (MB/s)        Rate",
        "  4K           1048.58  0.5000 M/s",
        "  1M           1048.58  0.5000 M/s",
        "How far off this may be is not known.",
    ]


def test_a_result_says_how_far_off_it_may_be_and_why(hcasim_: Hcasim) -> None:
    words = ("bench", "write_lat", *LIU, "--size")
    head, titles, row, told = hcasim_(*words, "8").output.splitlines()
    assert head == "write_lat on liu2004, mt25208"
    names = ["Size", "Latency (us)", "Low", "High", "Bound by", "Evidence"]
    assert re.split(r"\s{2,}", titles) == names
    _, value, low, high, *_ = row.split()
    assert float(low) < float(value) < float(high)
    assert told == f"{value} us ({low} to {high} at 90 %: bound by receive pipeline, fitted)"
    several = hcasim_(*words, "8,64").output.splitlines()
    assert len(several) == 4
    assert several[2].split() == row.split()


def test_a_table_says_how_well_rates_are_known_that_were_averaged(hcasim_: Hcasim) -> None:
    words = ("bench", "read_bw", *LIU, "--qps", "4", "--iters", "400", "--size")
    last = hcasim_(*words, "8K,64K").output.splitlines()[-1]
    assert (
        last == "Averaged, and known to ± 1.7 % at 64 KiB, better elsewhere; --exact runs it all."
    )
    few = ("bench", "read_bw", *LIU, "--qps", "4", "--iters", "20", "--size", "9K")
    assert "Averaged" not in hcasim_(*few, "--exact").output


@invented
@pytest.mark.parametrize("words", [("--format", "json"), ("--json",)])
def test_json_has_the_fields_of_the_design(hcasim_: Hcasim, words: tuple[str, ...]) -> None:
    what_if = ("--set", "adapter.bus.lanes=4", "--set", "link.width=1")
    found = hcasim_("bench", "window_bw", *LIU, "--size", "8", *what_if, *words)
    data = found.json
    assert data.pop("wall_seconds") >= 0
    assert data.pop("hcasim") == __version__
    used = {"mtu": 1024, "switch": "infiniscale", "size": 8, "window": 64}
    assert used.items() <= data.pop("options").items()
    assert data == {
        "schema": "hcasim-bench",
        "version": 1,
        "points": [{}],
        "workload": "window_bw",
        "testbed": "liu2004",
        "adapter": "mt25208",
        "firmware_mode": "tavor",
        "overrides": {"adapter.bus.lanes": "4", "link.width": "1"},
        "rows": [{"size": 8, "qps": 1, "bandwidth_MBps": 1048.576, "rate_Mps": 0.5, **UNKNOWN}],
        "counters": {"sqpc_access_cnt": 4, "sqpc_miss_cnt": 1, "sqpc_wait_ps": 2_500_000},
        "breakdown": {},
    }


@pytest.mark.parametrize(
    "words",
    [
        ("bench", "write_lat", *LIU, "--size", "8,64", "--json"),
        ("reproduce", "rashti2007/fig4", "--json"),
        ("run", "rashti2007/fig4", "--json"),
    ],
    ids=lambda words: words[0],
)
def test_without_timing_json_is_the_same_each_time(hcasim_: Hcasim, words: tuple[str, ...]) -> None:
    one = hcasim_(*words, "-j", "1", "--no-timing").output
    assert "wall_seconds" not in one
    assert hcasim_(*words, "-j", "2", "--no-timing").output == one
    timed = hcasim_(*words, "-j", "1").output
    assert re.sub(r'(,?)\s*"wall_seconds": [0-9.e-]+(,?)', r"\2", timed) == one


@invented
@pytest.mark.parametrize(
    ("words", "head", "rows"),
    [
        (
            ("write_lat", "--size", "8", "--iters", "1000", "--format", "perftest"),
            "#bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec] t_stdev[usec]",
            ["8 1000 4.00 4.00 4.00 4.00 0.00 4.00 4.00"],
        ),
        (
            ("write_bw", "--size", "1M", "--qps", "2", "--format", "perftest"),
            "#bytes #iterations BW peak[",
            ["1048576 10000 1000.00 1000.00 0.001000"],
        ),
        (
            ("osu_bw", "--size", "1M", "--format", "osu"),
            "# Size Bandwidth (MB/s)",
            ["1048576 1048.58"],
        ),
        (
            ("netpipe", "--size", "1,8M", "--iters", "7", "--format", "netpipe"),
            "# [ mtu: 1024 ]",
            [
                "0: 1 bytes 7 times --> 8000.00 Mbps in 4.00 usec",
                "1: 8388608 bytes 7 times --> 8000.00 Mbps in 4.00 usec",
            ],
        ),
    ],
    ids=lambda one: one[0],
)
def test_numbers_are_in_the_columns_and_units_of_the_tool(
    hcasim_: Hcasim, words: tuple[str, ...], head: str, rows: list[str]
) -> None:
    output = hcasim_("bench", *words, *LIU, "-j", "1").output
    lines = [" ".join(line.split()) for line in output.splitlines()]
    (start,) = (place for place, line in enumerate(lines, 1) if line.startswith(head))
    assert [line for line in lines[start:] if line.strip("-")] == rows


@invented
def test_each_moderation_of_completions_is_a_run_of_perftest(hcasim_: Hcasim) -> None:
    words = ("--size", "8K,16K", "--tx-depth", "64", "--format", "perftest")
    lines = hcasim_("bench", "write_bw", *LIU, *words).output.splitlines()
    settings = [line for line in lines if line.startswith((" TX depth", " CQ Mod"))]
    assert [line.split()[-1] for line in settings] == ["64", "64", "64", "1"]


def test_an_explained_message_of_mpi_is_a_sum_of_steps(hcasim_: Hcasim) -> None:
    words = ("--size", "64K", "--iters", "4", "--warmup", "4", "--explain")
    output = hcasim_("bench", "osu_latency", *LIU, *words).output
    for step in ("0 +call send", "0 > 1 +RTS", "1 +registration hit", "0 > 1 +data", " +total"):
        assert re.search(rf"^{step} +\d+\.\d{{3}} +\d+\.\d %$", output, re.MULTILINE)
    lines = output.splitlines()
    start = lines.index("What adapters and links do of it")
    assert " ".join(lines[start + 1].split()) == "Stage RTS (us) CTS (us) data (us) FIN (us)"
    steps = hcasim_("bench", "osu_latency", *LIU, *words, "--json").json
    sent = [one for one in steps["breakdown"]["steps"] if "to" in one]
    told = [f"{one['rank']}{one['to']} {one['step']}" for one in sent]
    assert told == ["01 RTS", "10 CTS", "01 data", "01 FIN"]
    assert sent[0]["stages"][0]["stage"] == "doorbell"


def test_an_explained_collective_names_who_waits_for_whom(hcasim_: Hcasim) -> None:
    words = ("--size", "64", "--nodes", "4", "--algorithm", "ring", "--iters", "2", "--explain")
    lines = hcasim_("bench", "osu_allgather", *LIU, *words).output.splitlines()
    start = lines.index("Critical path of 64 B, ring, begun by all at once")
    first, *waiting = (re.split(" {2,}", line) for line in lines[start + 2 : start + 6])
    assert [row[1] for row in waiting] == [
        f"eager of rank {row[0]}" for row in (first, *waiting[:-1])
    ]
    total = next(line for line in lines if line.startswith("total "))
    assert total.split()[1] == waiting[-1][-1]


@pytest.mark.parametrize(
    ("words", "titles"),
    [
        (
            "osu_bcast --testbed liu2004 --size 8 --nodes 2,4 --iters 2",
            [f"Critical path of 8 B, {nodes} nodes, binomial, begun" for nodes in (2, 4)],
        ),
        (
            "bw_rd --testbed pcie-bench-haswell --size 64 --window-bytes 4K,8K --iters 10",
            [f"What limits 64 B, window of {size}: " for size in ("4096 B", "8 KiB")],
        ),
    ],
)
def test_what_is_explained_is_named_by_all_that_varies(
    hcasim_: Hcasim, words: str, titles: list[str]
) -> None:
    asked = ("bench", *words.split(), "--explain")
    output = hcasim_(*asked).output
    assert [title in output for title in titles] == [True, True]
    found = hcasim_(*asked, "--json").json
    jsonschema.validate(found, hc.schema("bench"))
    assert len(found["breakdown"]["points"]) == 2


def test_an_explained_overlap_is_an_iteration_without_computing(hcasim_: Hcasim) -> None:
    words = ("--size", "64K", "--iters", "4", "--warmup", "4", "--explain")
    found = hcasim_("bench", "overlap_irecv", *LIU, *words, "--json").json
    steps = found["breakdown"]["steps"]
    took = sum(step["us"] for step in steps)
    assert took == pytest.approx(found["rows"][0]["communication_us"], rel=0.01)
    sent = [(one["rank"], one["to"]) for one in steps if "to" in one]
    assert (sent[0], steps[-1]["rank"]) == ((0, 1), 0)
    output = hcasim_("bench", "overlap_irecv", *LIU, *words).output
    assert "Where the time of 64 KiB goes, an iteration without computing" in output


@invented
def test_an_explained_result_says_what_binds_and_how_the_caches_fared(hcasim_: Hcasim) -> None:
    lines = hcasim_("bench", "window_bw", *LIU, "--size", "4K", "--explain").output.splitlines()
    start = lines.index("What limits 4096 B: bus")
    assert lines[start + 1].split("  ")[-2:] == ["Busy (% of time)", "Waited for (% of time)"]
    rows = [line.split() for line in lines[start + 2 : start + 5]]
    assert rows == [["bus", "100.0"], ["tags", "25.0"], []]
    words = ("--size", "8", "--firmware-mode", "memfree", "--explain")
    output = hcasim_("bench", "write_lat", *SUR, *words).output
    assert re.search(r"^(post_send|total) +4\.000 +100\.0 %$", output, re.MULTILINE)
    assert "write_lat on sur2005, mt25218 (memfree)" in output
    assert "Caches of the adapters, 8 B" in output
    assert re.search(r"^sqpc +host +4 +1 +75\.0 % +0\.000 +2\.500$", output, re.MULTILINE)
    data = hcasim_("bench", "write_lat", *SUR, *words, "--json").json
    (sqpc,) = data["breakdown"]["caches"]
    found = [data["firmware_mode"], *(sqpc[one] for one in ("name", "hit_rate", "waited_us"))]
    assert found == ["memfree", "sqpc", 0.75, 2.5]


@invented
def test_columns_appear_when_they_vary(hcasim_: Hcasim) -> None:
    words = ("--size", "4K", "--qps", "1,128", "--reuse", "100,0")
    assert hcasim_("bench", "window_bw", *SUR, *words).output.splitlines() == [
        "window_bw on sur2005, mt25218 (mem)",
        "Size  QPs  Reuse (%)  Bandwidth (MB/s)        Rate",
        "  4K    1        100           1048.58  0.5000 M/s",
        "  4K    1          0           1048.58  0.5000 M/s",
        "  4K  128        100           1048.58  0.5000 M/s",
        "  4K  128          0           1048.58  0.5000 M/s",
        "How far off this may be is not known.",
    ]


@invented
def test_each_row_says_what_varies(hcasim_: Hcasim) -> None:
    words = ("bench", "window_bw", *SUR, "--qps", "1..4", "--reuse", "100,0")
    found = [*csv.DictReader(io.StringIO(hcasim_(*words, "--format", "csv").output))]
    assert found[0]["bandwidth_MBps"] == "1048.576"
    known = {"testbed": "sur2005", "adapter": "mt25218", "firmware_mode": "mem", "window": "64"}
    assert known.items() <= found[0].items()
    rows = [(row["qps"], row["reuse"]) for row in found]
    assert rows == [(qps, reuse) for qps in "124" for reuse in ("100", "0")]
    data = hcasim_(*words, "--json").json
    assert [(str(row["qps"]), str(row["reuse"])) for row in data["rows"]] == rows


@invented
def test_a_run_of_a_tool_has_one_number_of_queue_pairs_or_of_nodes(hcasim_: Hcasim) -> None:
    words = ("--size", "8,16", "--qps", "1,128", "--format", "perftest")
    output = hcasim_("bench", "write_lat", *SUR, *words).output
    assert re.findall(r"Number of qps   : (\d+)", output) == ["1", "128"]
    assert re.findall(r"^ (8|16) ", output, re.MULTILINE) == ["8", "16"] * 2
    words = ("--size", "8,16", "--nodes", "2,4", "--format", "osu")
    lines = hcasim_("bench", "osu_bcast", *LIU, *words).output.splitlines()
    assert [one for one in lines if "nodes" in one] == ["# [ nodes: 2 ]", "# [ nodes: 4 ]"]
    assert len(lines) == 2 * 9


@invented
@pytest.mark.parametrize(
    ("form", "workload", "stack"),
    [
        ("osu", "osu_latency", "mvapich2"),
        ("imb", "imb_pingpong", "mvapich2"),
        ("netpipe", "netpipe", "thca"),
    ],
)
def test_the_forms_of_tools_say_on_what_was_simulated(
    form: str, workload: str, stack: str, hcasim_: Hcasim
) -> None:
    words = ("--size", "8", "--no-switch", "--mtu", "512", "--set", "adapter.send.latency=1 us")
    words = (*words, "--firmware-mode", "memfree", "--stack", stack, "--format", form)
    lines = hcasim_("bench", workload, *SUR, *words).output.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("# simulated"))
    assert lines[start : start + 2] == [
        (
            f"# simulated: sur2005, adapter mt25218, stack {stack}, firmware mode memfree, "
            "no switch, adapter.send.latency=1 us"
        ),
        "# [ mtu: 512 ]",
    ]


def test_the_memory_of_queue_pairs_has_no_size(hcasim_: Hcasim) -> None:
    words = ("--qps", "1,128", "--explain")
    lines = hcasim_("bench", "host_memory", *SUR, *words).output.splitlines()
    assert lines[1].split()[0] == "QPs"
    assert "Where the memory of 128 QPs goes" in lines
    assert any(line.startswith("work_queues ") for line in lines)


@invented
def test_a_trace_has_a_line_per_event(hcasim_: Hcasim, tmp_path: Path) -> None:
    file = tmp_path / "events.tsv"
    found = hcasim_("bench", "write_lat", *LIU, "--size", "8", "--trace", str(file))
    assert found.messages == f"Wrote 1 events to {file}\n"
    assert file.read_text() == (
        "time_ps\tblock\tevent\toperation\tdetails\n1000\tnode0.hca\tdoorbell\t1\tqp 1\n"
    )


def test_a_timeline_and_packets_are_written_beside_the_result(
    hcasim_: Hcasim, tmp_path: Path
) -> None:
    shown, wire = tmp_path / "run.json", tmp_path / "wire.pcap.gz"
    words = ("--size", "8", "--trace", str(shown), "--pcap", str(wire), "--pcap-link", "1")
    found = hcasim_("bench", "write_lat", *LIU, *words)
    plain = hcasim_("bench", "write_lat", *LIU, "--size", "8")
    assert found.output == plain.output
    packets, records = sorted(found.messages.splitlines())
    assert re.fullmatch(rf"Wrote [1-9]\d* packets to {wire}", packets) is not None
    assert re.fullmatch(rf"Wrote [1-9]\d* records to {shown}", records) is not None
    names = {one["name"] for one in json.loads(shown.read_text())["traceEvents"]}
    assert {"post_send", "doorbell", "packet", "poll memory"} <= names


def test_a_timeline_of_what_comes_after_the_run_is_said_to_be_empty(
    hcasim_: Hcasim, tmp_path: Path
) -> None:
    words = ("--size", "8", "--trace", str(tmp_path / "run.json"), "--trace-time")
    assert (
        "The timeline is empty" not in hcasim_("bench", "write_lat", *LIU, *words, "1us..").messages
    )
    found = hcasim_("bench", "write_lat", *LIU, *words, "1s..2s")
    assert re.search(r"is empty: the run ended at [\d.]+ us, before --trace-time", found.messages)


@pytest.mark.usefixtures("usual_signals")
@pytest.mark.parametrize(
    ("number", "code", "file"),
    [
        (signal.SIGINT, 130, "events"),
        (signal.SIGTERM, 143, "run.json.gz"),
        (signal.SIGHUP, 129, "events"),
    ],
    ids=["Ctrl-C", "SIGTERM", "SIGHUP"],
)
def test_a_signal_ends_a_simulation_inside_and_leaves_no_part_of_a_trace(
    hcasim_: Hcasim, tmp_path: Path, number: int, code: int, file: str
) -> None:
    """A message of 2 GiB takes minutes; its trace is under way when the signal comes."""
    beginnings: list[int] = []

    def sizes() -> list[int]:
        # Whether the trace can be written is tried with a file that goes again.
        with contextlib.suppress(FileNotFoundError):
            return [file.stat().st_size for file in tmp_path.iterdir()]
        return []

    def send() -> None:
        while not any(seen := sizes()):
            time.sleep(0.05)
        beginnings.extend(seen)
        os.kill(os.getpid(), number)

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    words = ("--size", "2G", "--trace", str(tmp_path / file))
    found = hcasim_("bench", "window_bw", *LIU, *words)
    assert (found.code, found.output) == (code, "")
    assert beginnings != [0]
    assert list(tmp_path.iterdir()) == []


@invented
def test_a_size_that_takes_minutes_is_said_before(hcasim_: Hcasim) -> None:
    found = hcasim_("bench", "window_bw", *LIU, "--size", "8,2G", "-j", "1")
    assert found.messages == "takes about 21 min, most for size 2G\n"
    assert hcasim_("bench", "window_bw", *LIU, "--size", "8").messages == ""


def test_a_result_is_printed_with_what_it_leaves_out(hcasim_: Hcasim) -> None:
    words = ("bench", "incast", "--testbed", "pair-roce", "--adapter", "connectx5", "--iters", "2")
    (said,) = hcasim_(*words, "--json").json["notes"]
    assert "neither drop, pause nor mark" in said
    assert hcasim_(*words).output.endswith(f"{said}\n")
