"""What calibrate writes of a fit to traces, and where."""

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hcasim.calibrate.file.reading import read_calibration
from hcasim.calibrate.request import Request
from hcasim.runs.experiment import Experiment
from tests.unit.cli.fits import FREE, LINEAR

Hcasim = Callable[..., Any]


def refused(hcasim_: Hcasim, *words: str) -> list[str]:
    faults: list[str] = hcasim_(*words).faults
    return faults


def test_a_pipe_takes_the_fit_and_is_left(hcasim_: Hcasim, words: list[str]) -> None:
    os.mkfifo("pipe")
    # Without a reader, a writer would wait.
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    found = hcasim_(*words, *FREE[:2], *LINEAR, "-o", "pipe")
    assert found.code == 0
    assert os.read(reader, 100).startswith(b"# Written by hcasim")
    assert [path.name for path in Path().iterdir()] == ["pipe"]
    os.close(reader)


def test_the_command_in_a_file_can_be_typed_again() -> None:
    names = (Path("of a; b/it's $HOME.jsonl"), Path("plain.jsonl"))
    free = ("adapter.send.latency=0 ns..2 us",)
    base = Experiment("", "liu2004", overrides={"adapter.bus.lanes": "4 & 5"})
    command = Request(names, base, free).command
    assert shlex.split(command)[:9] == [
        *("hcasim", "calibrate", "it's $HOME.jsonl", "plain.jsonl", "--testbed", "liu2004"),
        *("--set", "adapter.bus.lanes=4 & 5", "--free"),
    ]
    assert shlex.split(command)[9] == free[0]


def test_a_command_with_a_strange_name_can_be_typed_again_too() -> None:
    names = (Path("a\nb = 'c'\udcff.jsonl"),)
    command = Request(names, Experiment("", "liu2004"), ("adapter.send.latency",)).command
    assert command.isprintable()
    words = command.removeprefix("hcasim calibrate").partition("--testbed")[0]
    told = subprocess.run(["bash", "-c", f"printf %s {words}"], capture_output=True)
    assert told.stdout == os.fsencode(names[0].name)


@pytest.mark.parametrize("name", ["a\nb = 1\x1b[2J.jsonl", "a\udcff.jsonl"])
def test_the_name_of_a_trace_breaks_no_file(
    name: str, hcasim_: Hcasim, exact: Path, in_empty_folder: Path
) -> None:
    trace = in_empty_folder / name
    trace.write_bytes((exact / "read_lat.jsonl").read_bytes())
    words = ("--testbed", "liu2004", "--free", "adapter.responder.latency", *LINEAR, "-j", "1")
    found = hcasim_("calibrate", name, *words, "-o", "cal.toml", "--report", "r.html")
    assert found.code == 0
    shown = ascii(name)[1:-1]
    assert [one.name for one in read_calibration(Path("cal.toml")).traces] == [shown]
    assert Path("r.html").exists()
    assert "\x1b" not in found.output + found.messages
