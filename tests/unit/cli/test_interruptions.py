"""Whoever is interrupted or terminated ends at once, and leaves neither files nor workers."""

import contextlib
import functools
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

import hcasim.workloads
from hcasim.runs import executor
from tests.unit.cli.conftest import Hcasim
from tests.unit.runs.points import wait_for_end

WORDS = ("bench", "write_lat", "--testbed", "liu2004", "--size", "8,64", "-j", "2", "--no-cache")
# A shell may have started the tests in the background, and then SIGINT is ignored.
SLOW = """
import signal, sys
from hcasim.runs import executor
from hcasim.cli import main

signal.signal(signal.SIGINT, signal.default_int_handler)
executor.FIRST = 0
main(sys.argv[1:])
"""
# Python looks for it when it starts, in workers too.
SLEEPY = """
import time

def sleep(*arguments):
    print("started", flush=True)
    time.sleep(60)

import hcasim.workloads
hcasim.workloads.run_point = sleep
"""


@contextlib.contextmanager
def slow(root: Path, tmp_path: Path, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """Start a command that says when it simulates, in a group of its own, which is ended."""
    (tmp_path / "sitecustomize.py").write_text(SLEEPY)
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, *words],
        cwd=root,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"},
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


@pytest.mark.parametrize(
    ("number", "code", "said", "group", "times"),
    [
        (signal.SIGINT, 130, "Interrupted.", True, 1),
        pytest.param(signal.SIGINT, 130, "Interrupted.", True, 2, marks=pytest.mark.check),
        pytest.param(signal.SIGTERM, 143, "Terminated.", False, 2, marks=pytest.mark.check),
        pytest.param(signal.SIGTERM, 143, "Terminated.", True, 2, marks=pytest.mark.check),
    ],
)
def test_a_signal_ends_with_its_code_and_leaves_neither_file_nor_worker(
    root: Path, tmp_path: Path, number: int, code: int, said: str, group: bool, times: int
) -> None:
    words = ("reproduce", "liu2004", "--no-cache", "-j", "2", "-o", str(tmp_path / "out"))
    with slow(root, tmp_path, *words) as child:
        assert child.stdout is not None
        # Two workers may write at once.
        seen = child.stdout.readline()
        while seen.count("started") < 2:
            line = child.stdout.readline()
            assert line
            seen += line
        for _ in range(times):
            (os.killpg if group else os.kill)(child.pid, number)
            time.sleep(0.02)
        output, errors = child.communicate(timeout=300)
        wait_for_end(child.pid)
    assert (child.returncode, errors.strip()) == (code, said)
    assert output.replace("started", "").split() == []
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("usual_signals")
def test_another_ctrl_c_before_the_first_is_caught_still_ends_the_workers(
    hcasim_: Hcasim, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt = functools.partial(signal.raise_signal, signal.SIGINT)
    monkeypatch.setattr(hcasim.workloads, "run_point", lambda *words: interrupt())
    monkeypatch.setattr(executor, "FIRST", 0)
    held_back = executor._interruption_held_back
    held: list[bool] = []

    def interrupted() -> AbstractContextManager[None]:
        # The first time, workers are started; then they are to be ended.
        if held:
            interrupt()
        held.append(True)
        return held_back()

    monkeypatch.setattr(executor, "_interruption_held_back", interrupted)
    found = hcasim_(*WORDS)
    assert (found.code, found.messages.strip()) == (130, "Interrupted.")
    assert not multiprocessing.active_children()


def test_the_interpreter_does_not_look_through_what_was_simulated_before_it_ends(
    root: Path,
) -> None:
    told = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 0))"
    command = f"{told}\nfrom hcasim.cli import main\nmain()"
    words = [sys.executable, "-c", command, "--version"]
    ended = subprocess.run(words, cwd=root, capture_output=True, text=True, check=True)
    assert ended.stdout.split()[-1] == "True"
