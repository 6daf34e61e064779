"""`hcasim import` as a user meets it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hcasim.traces import read_trace
from hcasim.workloads import WORKLOADS
from tests.unit.traces.outputs import imb, probe

Hcasim = Callable[..., Any]
DATA = Path(__file__).parent.parent / "traces" / "data"
LAT = DATA / "perftest" / "rxe_write_lat_8B.txt"
BW = DATA / "perftest" / "rxe_write_bw_gbits.txt"
SIW = DATA / "perftest" / "siw_write_lat_8B.txt"
NP_OUT = DATA / "netpipe" / "netpipe3_np.out"
OSU = DATA / "osu" / "osu_latency_v7.2_hpcx_ib.txt"


def from_stdin(data: bytes, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "hcasim", "import", *words],
        input=data,
        capture_output=True,
        check=False,
    )


def test_without_a_file_to_write_it_shows_what_it_read(hcasim_: Hcasim) -> None:
    found = hcasim_("import", str(BW))
    assert found.code == 0
    assert found.output.splitlines() == [
        f"{BW}: perftest, rxe0 over roce",
        ("Workload  Size  Measured      Value  Unit  As printed    Options"),
        (
            "write_bw  4096  bandwidth        75  MB/s  0.60 Gbit/s   "
            "iters 300, qps 1, mtu 4096, tx_depth 16, cq_mod 16, inline no"
        ),
        (
            "write_bw  4096  rate       0.018269  M/s   0.018269 M/s  "
            "iters 300, qps 1, mtu 4096, tx_depth 16, cq_mod 16, inline no"
        ),
    ]


def test_json_holds_the_records_of_the_trace(hcasim_: Hcasim) -> None:
    found = hcasim_("import", str(LAT), str(NP_OUT), "--json")
    one, other = json.loads(found.output)["traces"]
    assert (one["file"], other["file"]) == (str(LAT), str(NP_OUT))
    assert one["points"][0]["workload"] == "write_lat"
    assert one["points"][0]["measured"][0]["statistics"]["median"] == 10250
    assert one["header"]["device"]["name"] == "rxe0"
    assert len(other["points"]) == other["end"]["points"] == 124


def test_files_of_one_adapter_are_written_as_one_trace(hcasim_: Hcasim, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    found = hcasim_("import", str(LAT), str(BW), "-o", str(file))
    assert (found.code, found.output) == (0, "")
    assert found.messages == f"Wrote 2 points to {file}\n"
    trace = read_trace(file)
    assert [point.workload for point in trace.points] == ["write_lat", "write_bw"]
    again = tmp_path / "again.jsonl"
    assert hcasim_("import", str(file), "-o", str(again)).code == 0
    assert again.read_text() == file.read_text()


def test_into_a_folder_each_file_becomes_a_trace(hcasim_: Hcasim, tmp_path: Path) -> None:
    assert hcasim_("import", str(LAT), str(SIW), str(NP_OUT), "-o", f"{tmp_path}/").code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "netpipe3_np.out.jsonl",
        "rxe_write_lat_8B.txt.jsonl",
        "siw_write_lat_8B.txt.jsonl",
    ]


def test_notes_go_where_they_do_not_disturb_data(hcasim_: Hcasim, tmp_path: Path) -> None:
    found = hcasim_("import", str(NP_OUT), "-o", str(tmp_path / "t.jsonl"))
    assert found.messages.splitlines()[1] == (
        "Note: np.out does not say what was measured, nor over what; read as a ping-pong"
    )


def test_standard_input_is_read() -> None:
    done = from_stdin(LAT.read_bytes(), "-", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["traces"][0]["file"] == "<stdin>"


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "<stdin>: found an empty file"),
        (b"\x00\x01", "<stdin>: found binary data"),
        (LAT.read_bytes()[:-80], "<stdin>:21: found no line of dashes behind the table"),
        (LAT.read_bytes() + OSU.read_bytes(), "<stdin>: found perftest's text (line 2) and an OSU"),
        (LAT.read_bytes().replace(b"9.91", b"-9.9"), "<stdin>:22: t_min: found '-9.9'; it cannot"),
        (BW.read_bytes().replace(b"Gb/sec", b"MB/sec"), "do not fit together at 4096 bytes"),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(data: bytes, fault: str, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    done = from_stdin(data, "-", "-o", str(file))
    assert (done.returncode, done.stdout) == (2, b"")
    assert fault in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_one_bad_file_keeps_the_others_from_being_written(hcasim_: Hcasim, tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text("nothing\n")
    out = tmp_path / "out"
    out.mkdir()
    missing = tmp_path / "missing.txt"
    found = hcasim_("import", str(LAT), str(bad), str(missing), "-o", f"{out}/")
    assert found.faults[0].startswith(f"{bad}: found no output of a known tool")
    assert found.faults[1] == f"{missing}: cannot be read: no such file or directory"
    assert list(out.iterdir()) == []


def test_a_file_of_many_faults_says_the_first_and_counts_the_others(
    hcasim_: Hcasim, tmp_path: Path
) -> None:
    bad, other = tmp_path / "twice.out", tmp_path / "empty"
    bad.write_text(NP_OUT.read_text() * 2)
    other.write_text("")
    found = hcasim_("import", str(bad), str(other)).faults
    assert found[0] == f"{bad}:127: found 1 bytes again, as in line 2"
    assert found[9:] == [
        f"{bad}:136: found 19 bytes again, as in line 11",
        f"{bad}: ... and 114 more lines that cannot be read",
        f"{other}: found an empty file; allowed: a tool's output",
    ]
    assert len(hcasim_("import", str(bad), "--json").faults) == 124


@pytest.mark.parametrize("words", [[], ["-o", "t.jsonl"]])
def test_a_trace_that_says_nothing_or_not_all_is_noted(
    words: list[str], hcasim_: Hcasim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    header, point, end = probe.TRACE.splitlines(keepends=True)
    for lines, told in (
        ((header, end.replace("1", "0")), "Note: found no points"),
        ((header, point), "Note: incomplete: the trace has no end"),
    ):
        Path("file.jsonl").write_text("".join(lines))
        found = hcasim_("import", "file.jsonl", *words)
        assert found.code == 0
        assert found.messages.splitlines()[-1] == told
    Path("file.jsonl").write_text(probe.TRACE)
    assert "Note" not in hcasim_("import", "file.jsonl", *words).messages


def test_all_wrong_options_are_named_at_once(hcasim_: Hcasim, tmp_path: Path) -> None:
    found = hcasim_(
        *("import", str(LAT), str(LAT), "--format", "perftst", "--unit", "MB", "--cpu-mhz", "0"),
        *("--transport", "rocee", "-o", str(tmp_path / "t.json")),
    )
    assert [fault.split(":")[0] for fault in found.faults] == [
        "--unit",
        "--transport",
        "--cpu-mhz",
        "--format",
        str(LAT),
        "--output",
    ]
    assert "did you mean 'roce'?" in found.faults[1]
    assert "did you mean 'perftest'?" in found.faults[3]


def test_a_file_that_is_read_is_not_written(hcasim_: Hcasim, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    assert hcasim_("import", str(LAT), "-o", str(file)).code == 0
    before = file.read_text()
    assert hcasim_("import", str(file), "-o", str(file)).faults == [
        f"--output {file}: found the same file as {file}, which is read; allowed: one of its own"
    ]
    assert hcasim_("import", str(file), "-o", f"{tmp_path}/").code == 2
    assert file.read_text() == before


def test_files_of_one_name_do_not_overwrite_each_other(hcasim_: Hcasim, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "np.out").write_text(NP_OUT.read_text())
    found = hcasim_("import", f"{tmp_path}/a/np.out", f"{tmp_path}/b/np.out", "-o", f"{tmp_path}/")
    assert found.faults == [
        f"--output: {tmp_path}/np.out.jsonl would be written 2 times; rename a file"
    ]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no/such/folder/t.jsonl", "there is no folder no/such/folder"),
        ("no/such/folder/", "there is no folder no/such/folder"),
        (f"{300 * 'n'}.jsonl", "file name too long"),
        (f"{300 * 'n'}/", "file name too long"),
        ("loop.jsonl", "too many levels of symbolic links"),
    ],
)
def test_what_cannot_be_written_is_found_before_reading(
    in_empty_folder: Path, hcasim_: Hcasim, name: str, reason: str
) -> None:
    Path("loop.jsonl").symlink_to("loop.jsonl")
    (fault,) = hcasim_("import", "missing.txt", "-o", name).faults
    assert fault.startswith("--output ")
    assert fault.endswith(f": cannot be written: {reason}")


def test_a_folder_is_no_output_of_a_tool(hcasim_: Hcasim, tmp_path: Path) -> None:
    assert hcasim_("import", str(tmp_path)).faults == [
        f"{tmp_path}: found a folder; allowed: a regular file, or -, which is standard input"
    ]


def test_a_pipe_and_a_device_are_no_output_of_a_tool(hcasim_: Hcasim, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    allowed = "allowed: a regular file, or -, which is standard input"
    assert hcasim_("import", str(pipe), "/dev/zero").faults == [
        f"{pipe}: found a pipe; {allowed}",
        f"/dev/zero: found a device; {allowed}",
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_disk_is_an_error_without_traceback(hcasim_: Hcasim, tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.symlink_to("/dev/full")
    assert "no space left" in hcasim_("import", str(LAT), "-o", str(file)).faults[0]


@pytest.mark.parametrize(
    ("workload", "form", "printed"),
    [
        ("write_lat", "perftest", ["4.00 us"]),
        ("write_bibw", "perftest", ["1000.00 MiB/s"]),
        ("netpipe", "netpipe", ["4.00 us", "8000.00 Mibit/s"]),
    ],
)
def test_what_bench_prints_is_read_back(
    workload: str,
    form: str,
    printed: list[str],
    hcasim_: Hcasim,
    invented: None,
    tmp_path: Path,
) -> None:
    # The invented numbers are those of 4194 bytes: 4 us at 2^20 bytes in a millisecond.
    size = "4194" if workload == "netpipe" else "2K"
    testbed = "benjegerdes2004" if workload == "netpipe" else "liu2004"
    words = ("bench", workload, "--testbed", testbed, "--size", size, "-j", "1")
    file = tmp_path / "output"
    file.write_text(hcasim_(*words, "--format", form).output)
    found = hcasim_("import", str(file), "--json")
    assert found.code == 0, found.messages
    (point,) = json.loads(found.output)["traces"][0]["points"]
    assert point["workload"] == workload
    assert [one["printed"] for one in point["measured"]][: len(printed)] == printed
    depths = {name: point["options"].get(name) for name in ("tx_depth", "cq_mod")}
    assert depths == (
        {"tx_depth": 128, "cq_mod": 100} if "bw" in workload else dict.fromkeys(depths)
    )


def test_help_says_what_several_files_become(hcasim_: Hcasim) -> None:
    found = hcasim_("import", "--help")
    assert "Several files become one trace" in found.output
    assert os.linesep in found.output


def test_a_name_that_is_no_text_is_shown_all_the_same(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/lat\xff.txt"
    Path(os.fsdecode(name)).write_bytes(LAT.read_bytes())
    out = tmp_path / "t.jsonl"
    for words in ([], ["--json"], ["-o", str(out)]):
        done = subprocess.run(
            [sys.executable, "-m", "hcasim", "import", name, *words],
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert read_trace(out).header.source.startswith("lat\\udcff.txt ")


def test_names_in_a_trace_do_not_steer_the_terminal(hcasim_: Hcasim, tmp_path: Path) -> None:
    name = "a\nError: b\x1b[2J\x9b1m"
    records = [json.loads(line) for line in probe.TRACE.splitlines()]
    header, point, end = records
    header["device"]["name"] = name
    header["notes"] = [name]
    point["workload"] = name
    point["options"] = {"connection": name}
    failure = {"record": "failure", "workload": name, "error": name}
    file = tmp_path / f"{name[:5]}.jsonl"
    file.write_text("".join(f"{json.dumps(one)}\n" for one in (header, point, failure, end)))
    shown = hcasim_("import", str(file))
    assert shown.code == 0
    # A heading, the head of the table, a point, a failure; a note.
    assert len(shown.output.splitlines()) == 4
    assert len(shown.messages.splitlines()) == 1
    told = hcasim_("import", str(file), "--json")
    assert json.loads(told.output)["traces"][0]["points"][0]["workload"] == name
    refused = hcasim_("import", f"{file}x")
    escaped = str(file).replace("\n", "\\n")
    assert refused.faults == [f"{escaped}x: cannot be read: no such file or directory"]
    for text in (shown.output, shown.messages, told.output, refused.messages):
        assert "\x1b" not in text
        assert "\x9b" not in text


@pytest.mark.parametrize(
    ("form", "workload", "field"),
    [
        *(("perftest", one, "latency_us") for one in ("write_lat", "read_lat", "send_lat")),
        *(("perftest", one, "bandwidth_MBps") for one in ("write_bw", "send_bibw")),
        *(("osu", one, "latency_us") for one in ("write_lat", "qp_lat")),
        *(("osu", one, "bandwidth_MBps") for one in ("window_bw", "read_bw")),
        ("netpipe", "netpipe", "latency_us"),
    ],
)
def test_what_bench_prints_as_a_tool_is_read_without_being_told_the_workload(
    form: str, workload: str, field: str, hcasim_: Hcasim, tmp_path: Path
) -> None:
    qps = () if workload == "netpipe" else ("--qps", "1,2")
    words = (workload, "--testbed", "liu2004", "--size", "64,4K", *qps, "--iters", "20")
    file = tmp_path / "printed"
    file.write_text(hcasim_("bench", *words, "--format", form).output)
    rows = json.loads(hcasim_("bench", *words, "--format", "json").output)["rows"]
    (trace,) = json.loads(hcasim_("import", str(file), "--json").output)["traces"]
    assert {point["workload"] for point in trace["points"]} == {workload}
    found = {
        (point["options"]["size"], point["options"].get("qps")): point["measured"][0]
        for point in trace["points"]
    }
    assert len(found) == len(rows)
    for row in rows:
        measured = found[row["size"], row.get("qps") if qps else None]
        statistics = measured["statistics"]
        number = statistics.get("median", statistics.get("mean"))
        scale = 1000 if field == "latency_us" else 1
        assert abs(number / scale - row[field]) <= 0.0051 * 1.05


MPI = sorted(one.name for one in WORKLOADS.values() if one.name.startswith(("osu_", "imb_")))


@pytest.mark.parametrize("workload", MPI)
def test_what_bench_prints_of_mpi_is_read_back_with_all_that_it_is_of(
    workload: str, hcasim_: Hcasim, tmp_path: Path
) -> None:
    known, form = WORKLOADS[workload], workload[:3]
    rows, file = tmp_path / "rows.json", tmp_path / "printed"
    sizes = ("--size", "8,4K") if "size" in known.options else ()
    nodes = ("--nodes", "2,4") if "nodes" in known.options else ()
    window = ("--window", "8") if "window" in known.options else ()
    words = (workload, "--testbed", "liu2004", "--iters", "5", "--set", "stack.post_send=1 us")
    ran = hcasim_("bench", *words, *sizes, *nodes, *window, "-o", str(rows), "--format", form)
    assert ran.code == 0, ran.messages
    file.write_text(ran.output)
    document = json.loads(rows.read_text())
    (trace,) = json.loads(hcasim_("import", str(file), "--json").output)["traces"]
    assert trace["header"]["tool"]["name"] == form
    assert trace["header"]["device"]["name"] == "hcasim-mt25208"
    (note,) = trace["header"]["notes"]
    assert note.startswith(
        "simulated: liu2004, adapter mt25208, stack mvapich-liu2004, stack.post_send=1 us"
    )
    # A run of the tool has one number of nodes.
    rows_of_runs = sorted(document["rows"], key=lambda row: row.get("nodes", 0))
    for point, row in zip(trace["points"], rows_of_runs, strict=True):
        options = point["options"]
        assert (point["workload"], options["mtu"], options["iters"]) == (workload, 1024, 5)
        for name in ("size", "nodes", "processes"):
            assert name not in row or options[name] == row[name]
        for one in point["measured"]:
            field, scale = {
                "latency": ("latency_us", 1000),
                "bandwidth": ("bandwidth_MBps", 1),
                "rate": ("rate_Mps", 1),
            }[one["quantity"]]
            number = one["statistics"]["mean"] / scale
            assert abs(number - row[field]) <= 0.00501, (field, number, row)
        # What counts is there, whatever follows from it.
        assert point["measured"][0]["quantity"] in known.fields[0]


@pytest.mark.parametrize(("workload", "axis"), [("write_bw", "clients"), ("all_to_all", "nodes")])
def test_what_osu_s_form_says_of_nodes_is_read(
    workload: str, axis: str, hcasim_: Hcasim, tmp_path: Path
) -> None:
    words = (workload, "--testbed", "liu2004", "--size", "64,4K", f"--{axis}", "2,3")
    file = tmp_path / "printed"
    file.write_text(hcasim_("bench", *words, "--iters", "20", "--format", "osu").output)
    (trace,) = json.loads(hcasim_("import", str(file), "--json").output)["traces"]
    found = [(one["options"][axis], one["options"]["size"]) for one in trace["points"]]
    assert found == [(2, 64), (2, 4096), (3, 64), (3, 4096)]


def test_what_osu_s_form_says_of_several_pairs_is_read(hcasim_: Hcasim, tmp_path: Path) -> None:
    """osu_mbw_mr prints bandwidth and message rate, which have to fit together."""
    words = ("osu_mbw_mr", "--testbed", "rashti2007", "--size", "8,1K", "--processes", "2")
    words = (*words, "--window", "8", "--iters", "4", "--warmup", "1")
    file = tmp_path / "printed"
    file.write_text(hcasim_("bench", *words, "--format", "osu").output)
    assert file.read_text().splitlines()[-3].split() == ["#", "Size", "MB/s", "Messages/s"]
    (trace,) = json.loads(hcasim_("import", str(file), "--json").output)["traces"]
    rows = json.loads(hcasim_("bench", *words, "--json").output)["rows"]
    for point, row in zip(trace["points"], rows, strict=True):
        assert point["options"] == {
            "size": row["size"],
            "nodes": 2,
            "processes": 2,
            "window": 8,
            "mtu": 1500,
            "iters": 4,
            "warmup": 1,
        }
        rate = point["measured"][1]
        assert (rate["quantity"], rate["unit"]) == ("rate", "M/s")
        assert rate["statistics"]["mean"] == pytest.approx(row["rate_Mps"], rel=1e-4)


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--nodes", "0"), "--nodes: found '0'; allowed: a whole number from 1"),
        (("--nodes", "many"), "--nodes: found 'many'; allowed: a whole number from 1"),
        (("--processes", "-1"), "--processes: found '-1'; allowed: a whole number from 1"),
        (("--nodes", "9" * 20), "--nodes: found '9999"),
    ],
)
def test_where_processes_were_is_a_whole_number(
    words: tuple[str, ...], fault: str, hcasim_: Hcasim, tmp_path: Path
) -> None:
    file = tmp_path / "imb.txt"
    file.write_text(imb.PMB_2_2)
    done = hcasim_("import", str(file), *words)
    assert done.code == 2
    (found,) = done.faults
    assert found.startswith(fault)
    (needless,) = hcasim_("import", str(LAT), "--nodes", "2").faults
    assert needless.startswith("--nodes: has no meaning for ")
