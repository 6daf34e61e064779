"""Where `hcasim import` writes to, and what it does not write over."""

from pathlib import Path

import pytest

from hcasim.traces import read_trace
from tests.unit.cli.conftest import Hcasim
from tests.unit.traces.conftest import DATA

LAT = DATA / "perftest" / "rxe_write_lat_8B.txt"
BW = DATA / "perftest" / "rxe_write_bw_gbits.txt"
SIW = DATA / "perftest" / "siw_write_lat_8B.txt"
NP_OUT = DATA / "netpipe" / "netpipe3_np.out"


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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_disk_is_an_error_without_traceback(hcasim_: Hcasim, tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.symlink_to("/dev/full")
    assert "no space left" in hcasim_("import", str(LAT), "-o", str(file)).faults[0]
