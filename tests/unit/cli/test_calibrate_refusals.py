"""calibrate says all that is wrong with a request to fit traces, before it simulates."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.fits import FREE, SIZES

Hcasim = Callable[..., Any]


def refused(hcasim_: Hcasim, *words: str) -> list[str]:
    faults: list[str] = hcasim_(*words).faults
    return faults


def test_all_faults_of_a_request_are_said_at_once(hcasim_: Hcasim, words: list[str]) -> None:
    Path("bad.jsonl").write_text("{}\n")
    faults = refused(
        hcasim_,
        *(*words, "bad.jsonl", "nowhere.jsonl", "--free", "adapter.sent.latency"),
        *("--intervals", "profil", "--loss", "cauchy", "--floor", "many", "--budget", "0"),
        *("--seed", "x", "--report", "no/page.pdf", "-o", "nowhere/cal.toml", "--mtu", "1000"),
    )
    text = "\n".join(faults)
    for part in (
        "bad.jsonl:1: record: found None",
        "nowhere.jsonl: cannot be read",
        "--free adapter.sent.latency: unknown parameter",
        "did you mean 'profile'?",
        "--loss: found 'cauchy'",
        "--floor: found 'many'",
        "--budget: found '0'",
        "--seed: found 'x'",
        "--report: found 'no/page.pdf'",
        "no/page.pdf: cannot be written: there is no folder no",
        "nowhere/cal.toml: cannot be written: there is no folder nowhere",
        "--mtu: found 1000; allowed: 256 B, 512 B, 1024 B, 2048 B or 4096 B",
    ):
        assert part in text
    assert [path.name for path in Path().iterdir()] == ["bad.jsonl"]


@pytest.mark.parametrize("floor", ["nan", "inf", "-1", "101"])
def test_a_floor_that_is_none_is_one_fault(hcasim_: Hcasim, words: list[str], floor: str) -> None:
    (fault,) = refused(hcasim_, *words, *FREE, "--floor", floor)
    assert fault == f"--floor: found {floor}; allowed: percent from 0 to 100"


def test_a_larger_mtu_than_the_adapters_is_a_fault_of_the_option(
    hcasim_: Hcasim, words: list[str]
) -> None:
    (fault,) = refused(hcasim_, *words, *FREE, "--mtu", "4096")
    assert fault.startswith("--mtu: found 4096 B; allowed: up to adapter.limits.max_mtu, 2048 B")


def test_a_trace_of_many_faults_says_the_first(hcasim_: Hcasim, words: list[str]) -> None:
    lines = Path(words[1]).read_text().splitlines()
    Path("bad.jsonl").write_text("\n".join([lines[0], *["{}"] * 40]))
    (fault,) = refused(hcasim_, *words, "bad.jsonl", *FREE)
    assert fault.startswith("bad.jsonl:2: ")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((), "--free: found none"),
        ((*FREE, "--holdout", "write_lta"), "did you mean 'write_lat'?"),
        (
            (*FREE, "--holdout", "window_bibw"),
            "--holdout: found 'window_bibw', of which no point is left",
        ),
        (
            (*FREE, *(word for name in SIZES for word in ("--holdout", name))),
            "found nothing to fit: all points are held out",
        ),
        ((*FREE, "--floor", "0"), "its error is not known; allowed: a --floor above 0"),
        ((*FREE, "--set", "adapter.bus.lanes=4"), "adapter.bus.lanes: found 8; mt25208 has 4"),
        ((*FREE, "--adapter", "mt23108"), "adapter: found mt25208; liu2004 has mt23108 here"),
    ],
)
def test_a_fit_that_makes_no_sense_is_refused(
    hcasim_: Hcasim, words: list[str], more: tuple[str, ...], message: str
) -> None:
    assert any(message in fault for fault in refused(hcasim_, *words, *more))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("-o", "a.jsonl"), "-o a.jsonl: found the same file as a.jsonl, which is read"),
        (("-o", "hard.toml"), "-o hard.toml: found the same file as a.jsonl, which is read"),
        (("./a.jsonl",), "a.jsonl: found the same trace as a.jsonl; allowed: once"),
        (("-o", "r.toml", "--report", "r.html"), "--report r.html: found the same file as -o"),
        (("-o", "x.json"), "-o: found 'x.json'; allowed endings: .toml"),
    ],
)
def test_no_file_is_written_over_another(
    hcasim_: Hcasim, exact: Path, in_empty_folder: Path, more: tuple[str, ...], message: str
) -> None:
    trace = (exact / "write_lat.jsonl").read_bytes()
    Path("a.jsonl").write_bytes(trace)
    Path("r.html").symlink_to("r.toml")
    os.link("a.jsonl", "hard.toml")
    faults = refused(
        hcasim_, "calibrate", "a.jsonl", *more, "--testbed", "liu2004", *FREE, "-j", "1"
    )
    assert any(message in fault for fault in faults)
    assert Path("a.jsonl").read_bytes() == trace


def test_a_trace_without_a_testbed_is_refused(hcasim_: Hcasim, exact: Path) -> None:
    (fault,) = refused(hcasim_, "calibrate", str(exact / "write_lat.jsonl"), *FREE)
    assert fault.startswith("--testbed: missing")


def test_what_is_for_traces_is_refused_for_a_paper(hcasim_: Hcasim) -> None:
    faults = refused(hcasim_, "calibrate", "liu2004", *FREE[:2], "--seed", "1")
    assert [fault.partition(":")[0] for fault in faults] == ["--free", "--seed"]
