"""calibrate fits a machine to traces, and says what they do not tell."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hcasim.calibrate import descent
from hcasim.calibrate.file.reading import read_calibration
from hcasim.runs.point import Work
from hcasim.runs.store import Store
from hcasim.traces import read_trace
from hcasim.workloads import Result
from tests.unit.cli.fits import FREE, LINEAR, SIZES, TRUTH
from tests.unit.traces.conftest import DATA

Hcasim = Callable[..., Any]
PERFTEST = DATA / "perftest" / "rxe_write_lat_8B.txt"


@pytest.mark.check
def test_the_truth_comes_back_with_all_that_a_file_should_say(
    hcasim_: Hcasim, words: list[str], tmp_path: Path
) -> None:
    found = hcasim_(*words, *FREE, "--holdout", "window_bw", "-o", "cal.toml", "--report", "r.html")
    assert found.code == 0
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["cal.toml", "r.html"]
    file = read_calibration(Path("cal.toml"))
    overrides = file.overrides("liu2004", "mt25208")
    assert {path: overrides[path] for path in TRUTH} == {
        **TRUTH,
        "adapter.responder.latency": "2.2 us",
    }
    assert file.made.converged
    assert file.made.command.startswith("hcasim calibrate read_lat.jsonl send_lat.jsonl")
    assert {one.name for one in file.traces} == {f"{name}.jsonl" for name in SIZES}
    assert all(len(one.sha256) == 64 for one in file.traces)
    roles = {one.curve: one.role for one in file.curves}
    assert roles == {
        "write_lat": "fitted",
        "send_lat": "fitted",
        "read_lat": "fitted",
        "window_bw, window 8": "held out",
    }
    lines = found.output.splitlines()
    assert sum(line.endswith("identified") for line in lines) == 3
    assert any(line.startswith("window_bw, ") and " held out " in line for line in lines)
    page = Path("r.html").read_text()
    assert page.count("<svg") == 4
    assert "adapters.mt25208.send.latency is determined by" in page


def test_the_same_words_give_the_same_file_also_after_an_interruption(
    hcasim_: Hcasim, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [*words, *FREE[:2], *LINEAR, "--seed", "3"]
    monkeypatch.setenv("HCASIM_CACHE", "kept")
    assert hcasim_(*few, "-o", "one.toml").code == 0
    every = len([*Path("kept/points").iterdir()])
    keep, count = Store.keep, 0

    def interrupted(store: Store, point: Work, result: Result) -> None:
        nonlocal count
        keep(store, point, result)
        count += 1
        if count == every // 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Store, "keep", interrupted)
    monkeypatch.setenv("HCASIM_CACHE", "again")
    asked = [*few, "-o", "two.toml"]
    assert hcasim_(*asked).code == 130
    assert not Path("two.toml").exists()
    assert hcasim_(*asked).code == 0
    # What was simulated is not simulated again.
    assert count == len([*Path("again/points").iterdir()]) == every
    assert Path("one.toml").read_bytes() == Path("two.toml").read_bytes()


def test_what_a_tool_printed_is_fitted_as_it_is_and_said_to_be_no_adapter(
    hcasim_: Hcasim, in_empty_folder: Path
) -> None:
    machine = ("--testbed", "liu2004", "--allow-mismatch", "--mtu", "1024", "-j", "1")
    found = hcasim_("calibrate", str(PERFTEST), *machine, *FREE[:2], *LINEAR, "-o", "cal.toml")
    assert found.code == 0
    assert "rxe_write_lat_8B.txt: rxe0 is software: what is fitted says nothing" in found.messages
    assert "rxe_write_lat_8B.txt: both ends are one port, a loopback" in found.messages
    (trace,) = read_calibration(Path("cal.toml")).traces
    assert (trace.name, trace.tool, trace.points) == (PERFTEST.name, "perftest", 1)
    assert trace.sha256 == hashlib.sha256(PERFTEST.read_bytes()).hexdigest()


def test_linear_intervals_say_what_they_are(hcasim_: Hcasim, exact: Path) -> None:
    words = ("calibrate", str(exact / "write_lat.jsonl"), "--testbed", "liu2004", "-j", "1")
    found = hcasim_(*words, *FREE[:2], *LINEAR, "--json")
    data = json.loads(found.output)
    (one,) = data["parameters"]
    low, high = (float(end.removesuffix(" ns")) for end in one["interval"])
    assert low < 900 < high
    assert data["made"]["intervals"] == "linear"


@pytest.mark.check
def test_what_the_traces_do_not_tell_is_said(hcasim_: Hcasim, words: list[str]) -> None:
    free = ["--free", "adapter.send.latency", "--free", "adapter.receive.latency"]
    found = hcasim_(*words, *free, "--free", "adapter.icm.victims=1..9", *LINEAR)
    lines = found.output.splitlines()
    assert any(
        "send.latency" in line and "only in combination with adapters.mt25208.receive" in line
        for line in lines
    )
    assert any("icm.victims" in line and line.endswith("not at all") for line in lines)


def test_a_search_that_finds_no_end_is_no_fit(
    hcasim_: Hcasim, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descent, "JUMPS", 0)
    monkeypatch.setattr(descent, "ROUNDS", 1)
    found = hcasim_(*words, *FREE, "-o", "cal.toml", "--report", "r.html")
    assert found.code == 2
    why = "the search did not end; allowed: narrower bounds or fewer free parameters"
    assert f"Error: cal.toml: not written: {why}\n" in found.messages
    assert [*Path().iterdir()] == []
    assert "the search did not end by itself: these values are not a fit" in found.output
    # What was not fitted says nothing against the model.
    assert "does not describe" not in found.output
    assert "the errors are" not in found.output
    assert found.output.count("unknown: the search did not end") == 3
    assert "identified" not in found.output


# Python looks for it when it starts, in workers too.
ENDLESS = """
import os
import time
from dataclasses import replace

import hcasim.workloads

usual = hcasim.workloads.run_point

def run(name, machine, options, listen=None):
    if name == "write_lat" and options.size == int(os.environ["LONGEST"]):
        time.sleep(60)
        open("slept", "w").close()
    return usual(name, machine, replace(options, iters=3, warmup=1))

hcasim.workloads.run_point = run
"""


@pytest.mark.check
def test_a_budget_of_seconds_ends_a_point_inside_and_the_fit_goes_on_from_there(
    hcasim_: Hcasim,
    words: list[str],
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "sitecustomize.py").write_text(ENDLESS)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{root}")
    monkeypatch.setenv("HCASIM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    trace = next(word for word in words if word.endswith("write_lat.jsonl"))
    asked = ["calibrate", trace, "--testbed", "liu2004", *FREE[:2], "-j", "2", "-o", "cal.toml"]
    longest = max(point.options["size"] for point in read_trace(Path(trace)).points)
    monkeypatch.setenv("LONGEST", str(longest))
    found = hcasim_(*asked, "--budget", "6s")
    remedy = f"allowed: a larger --budget, with which it goes on from {tmp_path / 'cache'}"
    assert found.faults[-1].startswith(f"cal.toml: not written: the search did not end; {remedy}")
    assert [*Path().iterdir()] == []
    monkeypatch.setenv("LONGEST", "0")
    assert hcasim_(*asked).code == 0
    assert [path.name for path in Path().iterdir()] == ["cal.toml"]


def test_other_hardware_may_be_fitted_if_that_is_meant(hcasim_: Hcasim, words: list[str]) -> None:
    more = ["--set", "adapter.bus.lanes=4", "--allow-mismatch", "-o", "cal.toml"]
    found = hcasim_(*words, *FREE[:2], *LINEAR, *more)
    assert found.code == 0
    assert "adapter.bus.lanes: found 8; mt25208 has 4" in found.messages
    file = read_calibration(Path("cal.toml"))
    assert file.settings == {"adapters.mt25208.bus.lanes": "4"}
    assert any("adapter.bus.lanes" in one for one in file.made.notes)


@pytest.mark.check
def test_a_machine_that_the_model_does_not_describe_is_said_to_be_one(
    hcasim_: Hcasim, words: list[str]
) -> None:
    free = ("--free", "adapter.send.latency=0 ns..300 ns")
    found = hcasim_(*words, *free, *LINEAR, "--floor", "0.2")
    assert found.code == 0
    assert "the model does not describe these curves" in found.output
    assert "read_lat is not met: " in found.output
    assert "is at a bound of what was allowed: the model may lack something" in found.output
    (send, value), *others = TRUTH.items()
    known = [word for path, text in others for word in ("--set", f"{path}={text}")]
    ends = hcasim_(*words, *known, "--free", f"{send}={value}..2 us", *LINEAR)
    assert "send.latency is at a bound of what was allowed: all curves are met there" in ends.output
    good = hcasim_(*words, *known, *FREE[:2], *LINEAR)
    assert "the model does not describe" not in good.output
    assert "is not met" not in good.output
