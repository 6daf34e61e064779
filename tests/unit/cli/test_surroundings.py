"""A command copes with the streams, the display and the folder that it is given."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import hcasim.workloads
from tests.unit.cli.conftest import Hcasim


def test_a_reader_that_leaves_ends_the_command_quietly(process: Hcasim) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = process("show", "liu2004", "--json", stdout=writer)
    os.close(writer)
    assert (done.messages, done.code) == ("", 141)


def test_a_full_disk_behind_the_output_is_a_message(process: Hcasim) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    with full.open("w") as stream:
        done = process("list", "workloads", stdout=stream)
    assert done.faults == ["standard output: cannot be written: No space left on device"]


@pytest.mark.parametrize(
    ("words", "closed", "code"),
    [
        (("list", "workloads"), ">&-", 0),
        (("list", "workloads"), "<&- >&- 2>&-", 0),
        (("show", "nothing"), "2>&-", 2),
        (("show", "nothing"), "2>/dev/full", 2),
        (("list", "workloads"), "1</dev/null", 2),
        (("import", "-"), "<&-", 2),
    ],
)
def test_closed_streams_lose_what_is_printed_and_nothing_else(
    root: Path, words: tuple[str, ...], closed: str, code: int
) -> None:
    script = f'"$0" -m hcasim {" ".join(words)} {closed}'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert "Traceback" not in done.stderr


def test_letters_that_a_stream_does_not_know_are_written_in_others(
    process: Hcasim, tmp_path: Path
) -> None:
    (tmp_path / "models" / "adapters").mkdir(parents=True)
    (tmp_path / "models" / "adapters" / "odd.toml").write_text(
        'id = "odd"\nbased_on = "mt25208"\ntitle = "ł"'
    )
    known = os.environ | {"PYTHONIOENCODING": "latin-1", "HCASIM_PATH": str(tmp_path)}
    done = process("list", "models", env=known, encoding="latin-1")
    assert done.code == 0
    assert r"\u0142" in done.output


@pytest.mark.check
def test_figures_are_drawn_whatever_display_the_environment_names(
    process: Hcasim, tmp_path: Path
) -> None:
    file = tmp_path / "p.png"
    words = ("bench", "write_lat", "--testbed", "liu2004", "--size", "8", "--plot", str(file))
    assert process(*words, env=os.environ | {"MPLBACKEND": "nonsense"}).code == 0
    assert file.stat().st_size > 1000


@pytest.mark.parametrize(
    "files", [5, *(pytest.param(one, marks=pytest.mark.check) for one in (8, 12))]
)
def test_a_command_that_may_open_too_few_files_says_so(process: Hcasim, files: int) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    words = ("run", "liu2004/fig09", "--no-cache", "-j", "2")
    done = process(*words, timeout=600, preexec_fn=limit)
    assert (done.code, done.output) == (71, "")
    (line,) = done.messages.splitlines()
    allowed = f"allowed: {files}; `ulimit -n` allows more"
    assert line == f"Error: too many files would be open; {allowed}"


def test_memory_that_runs_out_in_a_worker_is_a_line_and_a_code_of_its_own(
    hcasim_: Hcasim, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*words: object) -> None:
        raise MemoryError

    monkeypatch.setattr(hcasim.workloads, "run_point", fail)
    found = hcasim_(
        *["bench", "write_lat", "--testbed", "liu2004", "--size", "8,64", "-j", "2", "--no-cache"]
    )
    assert (found.code, found.output) == (71, "")
    assert found.messages.startswith("Error: memory ran out; allowed: ")
    assert found.messages.count("\n") == 1
