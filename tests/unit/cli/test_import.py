"""`hcasim import` as a user meets it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hcasim.traces import read_trace
from tests.unit.cli.conftest import Hcasim
from tests.unit.traces.conftest import DATA
from tests.unit.traces.outputs import probe

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
    one, other = found.json["traces"]
    assert (one["file"], other["file"]) == (str(LAT), str(NP_OUT))
    assert one["points"][0]["workload"] == "write_lat"
    assert one["points"][0]["measured"][0]["statistics"]["median"] == 10250
    assert one["header"]["device"]["name"] == "rxe0"
    assert len(other["points"]) == other["end"]["points"] == 124


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


def test_of_each_file_the_first_fault_is_said(hcasim_: Hcasim, tmp_path: Path) -> None:
    bad, other = tmp_path / "twice.out", tmp_path / "empty"
    bad.write_text(NP_OUT.read_text() * 2)
    other.write_text("")
    for words in ([], ["--json"]):
        assert hcasim_("import", str(bad), str(other), *words).faults == [
            f"{bad}:127: found 1 bytes a second time in the same table",
            f"{other}: found an empty file; allowed: a tool's output",
        ]


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
        *("import", str(LAT), str(LAT), "--format", "perftst", "--unit", "MB", "--nodes", "0"),
        *("--transport", "rocee", "-o", str(tmp_path / "t.json")),
    )
    assert [fault.split(":")[0] for fault in found.faults] == [
        "--unit",
        "--transport",
        "--nodes",
        "--format",
        str(LAT),
        "--output",
    ]
    assert "did you mean 'roce'?" in found.faults[1]
    assert "did you mean 'perftest'?" in found.faults[3]


def test_a_folder_a_pipe_and_a_device_are_no_output_of_a_tool(
    hcasim_: Hcasim, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    allowed = "allowed: a regular file, or -, which is standard input"
    assert hcasim_("import", str(tmp_path), str(pipe), "/dev/zero").faults == [
        f"{tmp_path}: found a folder; {allowed}",
        f"{pipe}: found a pipe; {allowed}",
        f"/dev/zero: found a device; {allowed}",
    ]


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
    assert told.json["traces"][0]["points"][0]["workload"] == name
    refused = hcasim_("import", f"{file}x")
    escaped = str(file).replace("\n", "\\n")
    assert refused.faults == [f"{escaped}x: cannot be read: no such file or directory"]
    for text in (shown.output, shown.messages, told.output, refused.messages):
        assert "\x1b" not in text
        assert "\x9b" not in text


def test_files_of_one_adapter_are_written_as_one_trace(hcasim_: Hcasim, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    found = hcasim_("import", str(LAT), str(BW), "-o", str(file))
    assert (found.code, found.output) == (0, "")
    assert found.messages.splitlines()[0] == f"Wrote 2 points to {file}"
    assert found.messages.count("a loopback") == 2
    trace = read_trace(file)
    assert [point.workload for point in trace.points] == ["write_lat", "write_bw"]
    again = tmp_path / "again.jsonl"
    assert hcasim_("import", str(file), "-o", str(again)).code == 0
    assert again.read_text() == file.read_text()


def test_one_bad_file_keeps_the_others_from_being_written(hcasim_: Hcasim, tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text("nothing\n")
    out = tmp_path / "out.jsonl"
    missing = tmp_path / "missing.txt"
    found = hcasim_("import", str(LAT), str(bad), str(missing), "-o", str(out))
    assert found.faults[0].startswith(f"{bad}: found no output of a known tool")
    assert found.faults[1] == f"{missing}: cannot be read: no such file or directory"
    assert not out.exists()


def test_a_file_that_is_read_is_not_written(hcasim_: Hcasim, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    assert hcasim_("import", str(LAT), "-o", str(file)).code == 0
    before = file.read_text()
    assert hcasim_("import", str(file), "-o", str(file)).faults == [
        f"--output {file}: found the same file as {file}, which is read; allowed: one of its own"
    ]
    assert file.read_text() == before


def test_where_processes_were_has_no_meaning_for_a_benchmark_of_two_nodes(hcasim_: Hcasim) -> None:
    (needless,) = hcasim_("import", str(LAT), "--nodes", "2").faults
    assert needless.startswith("--nodes: has no meaning for ")
