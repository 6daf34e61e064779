"""The command answers at once, and ends without a traceback however it ends."""

import contextlib
import logging
import multiprocessing
import os
import queue
import re
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import click
import pytest

import hcasim.workloads
from hcasim import __version__
from hcasim.catalog import CatalogError
from hcasim.cli.app import COMMANDS, app
from hcasim.runs import pool

Hcasim = Callable[..., Any]

HEAVY = {"matplotlib", "numpy", "pandas", "pydantic", "rich", "scipy", "simpy"}


@pytest.mark.parametrize("words", [(), ("bench",), ("reproduce",)], ids=["hcasim", "bench", "rep"])
def test_help_imports_nothing_heavy(root: Path, words: tuple[str, ...]) -> None:
    code = (
        "import atexit, sys; from hcasim.cli import main;"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr));"
        f"main([*{words!r}, '--help'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Usage: hcasim")
    assert HEAVY & set(done.stderr.split()) == set()


def test_each_command_has_a_line_in_the_help_and_a_help_of_its_own(hcasim_: Hcasim) -> None:
    listing = hcasim_("--help").output
    context = click.Context(app)
    for name in COMMANDS:
        command = app.get_command(context, name)
        assert command is not None
        assert command.name == name
        assert command.get_short_help_str(limit=200) in " ".join(listing.split())
        assert hcasim_(name, "-h").code == 0


def test_the_version_is_that_of_the_package(hcasim_: Hcasim) -> None:
    assert hcasim_("--version").output == f"hcasim {__version__}\n"


def test_a_misspelt_command_is_answered_with_the_nearest(hcasim_: Hcasim) -> None:
    assert "found no command 'shwo'" in hcasim_("shwo").messages
    assert "did you mean 'show'?" in hcasim_("shwo").messages
    assert hcasim_("shwo").code == 2


def test_a_misspelt_option_is_answered_with_the_nearest(hcasim_: Hcasim) -> None:
    found = hcasim_("bench", "write_lat", "--testbed", "liu2004", "--sizes", "8")
    assert found.code == 2
    assert "--size" in found.messages


def test_the_module_is_the_command(process: Hcasim) -> None:
    assert process("--version").output == f"hcasim {__version__}\n"


def test_a_reader_that_leaves_ends_the_command_quietly(root: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "hcasim", "show", "liu2004", "--json"],
        cwd=root,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (done.stderr, done.returncode) == ("", 141)


@contextlib.contextmanager
def slow(root: Path, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """Start a command that says when it simulates, in a group of its own, which is ended."""
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, *words],
        cwd=root,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        try:
            yield child
        finally:
            # What failed is said first, and nothing is left that would be warned of instead.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_ends_with_130_and_leaves_no_file(root: Path, tmp_path: Path, times: int) -> None:
    words = ("reproduce", "liu2004", "--no-cache", "-o", str(tmp_path / "out"))
    with slow(root, *words) as child:
        assert child.stdout is not None
        assert child.stdout.readline().startswith("started")
        for _ in range(times):
            os.killpg(child.pid, signal.SIGINT)
            time.sleep(0.05)
        output, errors = child.communicate(timeout=30)
    assert (child.returncode, errors.strip()) == (130, "Interrupted.")
    assert output.replace("started", "").split() == []
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("group", [False, True], ids=["parent alone", "whole group"])
def test_termination_ends_with_143_and_leaves_neither_file_nor_worker(
    root: Path, tmp_path: Path, group: bool
) -> None:
    words = ("reproduce", "liu2004", "--no-cache", "-j", "2", "-o", str(tmp_path / "out"))
    with slow(root, *words) as child:
        assert child.stdout is not None
        # Two workers may write at once.
        seen = child.stdout.readline()
        while seen.count("started") < 2:
            line = child.stdout.readline()
            assert line
            seen += line
        for _ in range(2):
            if group:
                os.killpg(child.pid, signal.SIGTERM)
            else:
                child.terminate()
            time.sleep(0.01)
        _, errors = child.communicate(timeout=30)
        with pytest.raises(ProcessLookupError):
            os.killpg(child.pid, 0)
    assert (child.returncode, errors.strip()) == (143, "Terminated.")
    assert list((tmp_path / "out").iterdir()) == []


def test_another_ctrl_c_before_the_first_is_caught_still_ends_the_workers(
    hcasim_: Hcasim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hcasim.workloads, "run_point", lambda *words: time.sleep(60))
    held_back = pool._interruption_held_back
    held: list[bool] = []

    def interrupted() -> AbstractContextManager[None]:
        # The first time, workers are started; then they are to be ended.
        if held:
            signal.raise_signal(signal.SIGINT)
        held.append(True)
        return held_back()

    class Interrupting(queue.SimpleQueue[Any]):
        def get(self, block: bool = True, timeout: float | None = None) -> Any:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(pool, "_interruption_held_back", interrupted)
    monkeypatch.setattr(pool, "SimpleQueue", Interrupting)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        found = hcasim_("bench", "write_lat", "--testbed", "liu2004", "--size", "8,64", "-j", "2")
    finally:
        signal.signal(signal.SIGINT, before)
    assert (found.code, found.messages.strip()) == (130, "Interrupted.")
    assert not multiprocessing.active_children()


# A shell may have started the tests in the background, and then SIGINT is ignored.
SLOW = """
import signal, sys, time
import hcasim.workloads

def sleep(*arguments):
    print("started", flush=True)
    time.sleep(60)

signal.signal(signal.SIGINT, signal.default_int_handler)
hcasim.workloads.run_point = sleep
from hcasim.cli import main
main(sys.argv[1:])
"""


def test_a_full_disk_behind_the_output_is_a_message(root: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    with full.open("w") as stream:
        done = subprocess.run(
            [sys.executable, "-m", "hcasim", "list", "workloads"],
            cwd=root,
            stdout=stream,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "Error: standard output: cannot be written: No space left on device\n"


INVENTED = """
import sys
import hcasim.workloads
from hcasim.workloads import WORKLOADS, Result

def invent(name, machine, options, listener=None):
    fields = dict.fromkeys(WORKLOADS[name].fields, 1.0)
    return Result({"size": options.size, "qps": options.qps, **fields}, {}, {})

hcasim.workloads.run_point = invent
from hcasim.cli import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("words", "written"),
    [
        (("bench", "write_lat", "--testbed", "liu2004", "--plot", "p.png"), "p.png"),
        (("run", "liu2004/fig05", "--plot", "p.svg"), "p.svg"),
        (("reproduce", "liu2004/fig05", "-o", "out"), "out/liu2004-fig05.png"),
    ],
    ids=["bench", "run", "reproduce"],
)
def test_figures_are_drawn_whatever_display_the_environment_names(
    tmp_path: Path, words: tuple[str, ...], written: str
) -> None:
    environment = os.environ | {"MPLBACKEND": "nonsense", "HCASIM_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", INVENTED, *words, "-j", "1"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert (tmp_path / written).stat().st_size > 1000


def limited(root: Path, megabytes: int, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in a process with so much address space."""
    return with_limit(root, resource.RLIMIT_AS, megabytes * 2**20, *words)


def with_limit(root: Path, kind: int, most: int, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in a process that has a limit."""
    return subprocess.run(
        [sys.executable, "-m", "hcasim", *words],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(kind, (most, most)),
    )


def assert_memory_ran_out(done: "subprocess.CompletedProcess[str]") -> None:
    told = [line for line in done.stderr.splitlines() if not line.startswith(("free: ", "Bounds"))]
    assert done.returncode == 71, done.stderr
    assert len(told) == 1
    assert told[0].startswith("Error: memory ran out; allowed: ")


# OpenBLAS ends a process with 1 or waits for ever where it finds too little: NumPy's as it is
# loaded and first used, then SciPy's.
@pytest.mark.parametrize(
    ("megabytes", "jobs"),
    [(96, 1), (120, 2), (140, 1), (200, 1), (212, 2), (256, 1), (290, 1), (512, 2)],
)
def test_a_fit_is_right_or_says_that_memory_ran_out_whatever_its_address_space(
    root: Path, exact: Path, megabytes: int, jobs: int
) -> None:
    fit = ("--testbed", "liu2004", "--free", "adapter.send.latency", "-j", str(jobs))
    done = limited(root, megabytes, "calibrate", str(exact / "write_lat.jsonl"), *fit)
    if megabytes < 512:
        assert_memory_ran_out(done)
    else:
        assert done.returncode == 0
        assert re.search(r"write_lat  fitted +2 .* 0\.\d\d\n", done.stdout)


@pytest.mark.parametrize(
    ("megabytes", "words"),
    [
        (38, ("bench", "write_lat", "--testbed", "liu2004", "--size", "8,64", "-j", "2")),
        (58, ("bench", "write_lat", "--testbed", "liu2004", "--size", "8,64", "-j", "2")),
        (96, ("run", "liu2004/fig05", "--plot", "m.svg", "-j", "1")),
        (116, ("run", "liu2004/fig05", "--plot", "m.svg", "-j", "1")),
        (195, ("run", "liu2004/fig05", "--plot", "m.svg", "-j", "1")),
    ],
)
def test_a_command_with_too_little_address_space_says_so_and_writes_nothing(
    root: Path, in_empty_folder: Path, megabytes: int, words: tuple[str, ...]
) -> None:
    assert_memory_ran_out(limited(in_empty_folder, megabytes, *words))
    assert list(in_empty_folder.iterdir()) == []


@pytest.mark.parametrize("files", [5, 8, 12])
def test_a_command_that_may_open_too_few_files_says_so(root: Path, files: int) -> None:
    words = ("run", "liu2004/fig03", "--no-cache", "-j", "2")
    done = with_limit(root, resource.RLIMIT_NOFILE, files, *words)
    assert (done.returncode, done.stdout) == (71, "")
    (line,) = done.stderr.splitlines()
    allowed = f"allowed: {files}; `ulimit -n` allows more"
    assert line == f"Error: too many files would be open; {allowed}"


def test_what_nobody_expected_is_a_line_and_a_code_of_its_own(
    hcasim_: Hcasim, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*words: Any, **more: Any) -> None:
        raise LookupError("\x1b[31mno\nsuch\n")

    monkeypatch.setattr("hcasim.runs.benchmark.prepare", fail)
    words = ("bench", "write_lat", "--testbed", "liu2004")
    found = hcasim_(*words)
    assert (found.code, found.output) == (70, "")
    (line,) = found.messages.splitlines()
    assert line.startswith(r"Error: hcasim has failed: LookupError: \x1b[31mno\nsuch\n; please ")
    assert "--debug" in line
    for where in (("--debug", *words), (*words, "--debug")):
        found = hcasim_(*where)
        assert found.code == 70
        assert found.messages.startswith("Traceback (most recent call last):\n")
        assert "in fail\n" in found.messages
        assert "\x1b" not in found.messages


def test_memory_that_runs_out_in_a_worker_is_a_line_and_a_code_of_its_own(
    hcasim_: Hcasim, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*words: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(hcasim.workloads, "run_point", fail)
    found = hcasim_("bench", "write_lat", "--testbed", "liu2004", "--size", "8,64", "-j", "2")
    assert (found.code, found.output) == (71, "")
    assert found.messages.startswith("Error: memory ran out; allowed: ")
    assert found.messages.count("\n") == 1


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
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / "models" / "adapters").mkdir(parents=True)
    (tmp_path / "models" / "adapters" / "odd.toml").write_text(
        'id = "odd"\nbased_on = "mt25208"\ntitle = "ł"'
    )
    done = subprocess.run(
        [sys.executable, "-m", "hcasim", "list", "models"],
        cwd=root,
        env=os.environ | {"PYTHONIOENCODING": "latin-1", "HCASIM_PATH": str(tmp_path)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert rb"\u0142" in done.stdout


@pytest.mark.parametrize("words", [("--adapter", ""), ("--adapter=",), ("--plot", "")])
def test_an_option_that_was_left_empty_is_refused(hcasim_: Hcasim, words: tuple[str, ...]) -> None:
    found = hcasim_("bench", "write_lat", "--testbed", "liu2004", *words)
    option = words[0].removesuffix("=")
    assert found.faults == [f"{option}: found ''; allowed: one that is not empty"]


def test_an_argument_that_was_left_empty_is_refused(hcasim_: Hcasim) -> None:
    assert hcasim_("show", "").faults == ["ID: found ''; allowed: one that is not empty"]


def test_words_of_the_command_line_steer_no_terminal(hcasim_: Hcasim) -> None:
    found = hcasim_("bench", "write_lat", "--testbed", "liu2004", "--\x1b]0;title\x07")
    assert found.code == 2
    assert r"\x1b]0;title\x07" in found.messages
    assert "\x1b" not in found.messages


@pytest.mark.parametrize("raised", ["warning", "logged"])
def test_what_libraries_warn_of_is_a_line_that_steers_no_terminal(
    hcasim_: Hcasim, monkeypatch: pytest.MonkeyPatch, raised: str
) -> None:
    def warn(*words: Any, **more: Any) -> None:
        if raised == "logged":
            logging.getLogger("library").warning("odd %s", "\x1b[31mlabel\n")
        else:
            warnings.simplefilter("always")
            warnings.warn("odd \x1b[31mlabel\n", stacklevel=1)
        raise CatalogError(["enough"])

    monkeypatch.setattr("hcasim.runs.benchmark.prepare", warn)
    found = hcasim_("bench", "write_lat", "--testbed", "liu2004")
    assert found.faults == ["Warning: odd \\x1b[31mlabel\\n", "enough"]


@pytest.mark.parametrize("name", [300 * "n", f"./{300 * 'n'}.toml", "~nobody-of-that-name/x.toml"])
@pytest.mark.parametrize(
    "words",
    [
        ("show",),
        ("calibrate",),
        ("run",),
        ("bench", "write_lat", "--testbed"),
        ("bench", "write_lat", "--testbed", "liu2004", "--adapter"),
        ("show", "mt25208", "--calibration"),
    ],
)
def test_an_id_that_no_file_can_have_is_refused(
    hcasim_: Hcasim, words: tuple[str, ...], name: str
) -> None:
    assert hcasim_(*words, name).faults


def test_a_current_folder_that_was_removed_is_said(root: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    words = f"{sys.executable} -m hcasim bench write_lat --testbed liu2004 -o x.json"
    done = subprocess.run(
        ["sh", "-c", f"cd {gone} && rmdir {gone} && exec {words}"],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "Error: the current folder has been removed" in done.stderr
