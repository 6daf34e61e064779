"""check says whether the model gives what was measured, and ends with 1 if it does not."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hcasim as hc
from hcasim.runs.foreign import to_trace
from hcasim.traces import LOOPBACK, read_trace, render

Hcasim = Callable[..., Any]
SLOW = ("--set", "adapter.send.latency=1 us")


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Two points of latency, as the model gives them."""
    monkeypatch.chdir(tmp_path)
    Path("lat.jsonl").write_text(render(to_trace(hc.bench("write_lat", "liu2004", size="8,64"))))
    return "lat.jsonl"


def test_a_measurement_agrees_with_the_machine_it_was_made_on_and_with_no_other(
    hcasim_: Hcasim, trace: str
) -> None:
    asked = ("check", trace, "--testbed", "liu2004", "-j", "1")
    good = hcasim_(*asked, "--json")
    assert good.code == 0
    assert [one["agrees"] for one in json.loads(good.output)["points"]] == [True, True]
    slow = hcasim_(*asked, *SLOW, "--plot", "both.png", "-o", "both.csv")
    assert slow.code == 1
    assert slow.output.startswith("hcasim on liu2004, mt25208: 2 of 2 points missed (!)\n")
    assert Path("both.png").read_bytes().startswith(b"\x89PNG")
    assert Path("both.csv").read_text().startswith("point,published,simulated,unit,error,")
    assert hcasim_(*asked, *SLOW, "--within", "20").code == 0


def test_a_file_of_a_tool_is_measured_and_a_loopback_is_told(hcasim_: Hcasim, trace: str) -> None:
    other = read_trace(trace)
    header = other.header.model_copy(update={"notes": (LOOPBACK,)})
    Path("loop.jsonl").write_text(render(replace(other, header=header)))
    asked = ("--testbed", "liu2004", "-j", "1")
    for file, told in ((trace, False), ("loop.jsonl", True)):
        found = hcasim_("check", file, *asked)
        assert found.code == 0
        assert found.output.splitlines()[1].split()[:3] == ["point", "measured", "simulated"]
        assert (LOOPBACK in found.output) == told


def test_a_table_is_compared_with_the_benchmark_that_is_named(hcasim_: Hcasim, trace: str) -> None:
    Path("lat.csv").write_text("qps,latency_us\n1,3.8\n4,4.5\n")
    asked = ("check", "lat.csv", "--testbed", "liu2004", "-j", "1")
    assert "workload: missing; a curve that is no trace does not tell it" in hcasim_(*asked).faults
    found = hcasim_(*asked, "--workload", "ib_write_lat", "--over", "qps", "--size", "8")
    assert found.code == 1
    assert "latency: 1 of 2 points missed (!)" in found.output


def test_a_notebook_has_the_rows(trace: str) -> None:
    found = hc.check(trace, "liu2004", jobs=1)
    assert not found.missed
    assert [row["point"] for row in found.rows] == ["write_lat 8", "write_lat 64"]
    assert "<table" in found.to_html()


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--size", "8"), "size: found beside a trace without workload; allowed: adapter, "),
        (("--within", "five"), "within: found 'five %'; allowed: a number"),
        (("--set", "adapter.bus.lanes=4"), "another machine; see also --allow-mismatch"),
        (("-o", "lat.jsonl"), "--output lat.jsonl: found the same file as lat.jsonl, which is"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    hcasim_: Hcasim, trace: str, words: tuple[str, ...], fault: str
) -> None:
    found = hcasim_("check", trace, "--testbed", "liu2004", *words).faults
    assert any(fault in one for one in found), found
