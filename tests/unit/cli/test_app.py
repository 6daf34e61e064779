"""The command answers at once, and ends without a traceback however it ends."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from hcasim import __version__
from hcasim.cli.app import COMMANDS, app

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


def slow(root: Path, *words: str) -> "subprocess.Popen[str]":
    """Start a command that says when it simulates, in a group of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", SLOW, *words],
        cwd=root,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_ends_with_130_and_leaves_no_file(root: Path, tmp_path: Path, times: int) -> None:
    words = ("reproduce", "liu2004", "--no-cache", "-o", str(tmp_path / "out"))
    child = slow(root, *words)
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
    child = slow(root, *words)
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
    assert (child.returncode, errors.strip()) == (143, "Terminated.")
    assert list((tmp_path / "out").iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.killpg(child.pid, 0)


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
