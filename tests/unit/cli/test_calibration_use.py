"""bench and show take what calibrate has found, and bands of it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hcasim.calibrate.file.reading import read_calibration
from tests.unit.cli.fits import FREE, LINEAR, TRUTH

Hcasim = Callable[..., Any]


def refused(hcasim_: Hcasim, *words: str) -> list[str]:
    faults: list[str] = hcasim_(*words).faults
    return faults


def only(words: list[str], *workloads: str) -> list[str]:
    """The words of a fit to fewer traces, which takes less time."""
    kept = [f"{one}.jsonl" for one in workloads]
    return [one for one in words if not one.endswith(".jsonl") or Path(one).name in kept]


def test_bench_and_show_take_a_calibration(hcasim_: Hcasim, words: list[str]) -> None:
    assert hcasim_(*words, *FREE, *LINEAR, "-o", "cal.toml").code == 0
    shown = json.loads(hcasim_("show", "liu2004", "--calibration", "cal.toml", "--json").output)
    send = next(p for p in shown["parameters"] if p["path"] == "adapter.send.latency")
    assert (send["text"], send["evidence"]) == ("900 ns", "fitted")
    assert send["interval"][0] < 900 < send["interval"][1]
    machine = ["--testbed", "liu2004", "--size", "8", "--json", "-j", "1"]
    calibrated = hcasim_("bench", "send_lat", *machine, "--calibration", "cal.toml")
    sets = [word for path, value in TRUTH.items() for word in ("--set", f"{path}={value}")]
    by_hand = hcasim_("bench", "send_lat", *machine, *sets)
    (one,), (other,) = (json.loads(out.output)["rows"] for out in (calibrated, by_hand))
    assert one == other
    measured = (
        "check",
        *only(words, "send_lat")[1:2],
        "--testbed",
        "liu2004",
        "--within",
        "0.5",
        "-j",
        "1",
    )
    assert [hcasim_(*measured, *more).code for more in ((), ("--calibration", "cal.toml"))] == [
        1,
        0,
    ]
    sweep = ("sweep", "send_lat", *machine, "--calibration", "cal.toml")
    (row,) = json.loads(hcasim_(*sweep).output)["rows"]
    assert row["latency_us"] == one["latency_us"]
    for command in ("compare", "why"):
        sides = (command, "liu2004", "liu2004", "send_lat", "--size", "8", "--json", "-j", "1")
        by_hand = hcasim_(*sides, "--calibration", "cal.toml", "--a", "adapter.send.latency=790 ns")
        (point,) = by_hand.json["points" if command == "compare" else "answers"]
        ours, theirs = point["a"], point["b"]
        if command == "compare":
            ours, theirs = ours["latency_us"], theirs["latency_us"]
        assert theirs == one["latency_us"] > ours
    (fault,) = refused(hcasim_, *sweep, "--adapter", "mt25208,mt23108")
    assert fault.startswith("--calibration: found with several of adapter; allowed: one workload")
    # What is set by hand goes before what was fitted.
    changed = hcasim_(
        *("bench", "send_lat", *machine, "--calibration", "cal.toml"),
        *("--set", "adapter.send.latency=0 ns"),
    )
    assert json.loads(changed.output)["rows"][0]["latency_us"] < one["latency_us"]


def test_bench_takes_on_the_switch_of_a_calibration(hcasim_: Hcasim, words: list[str]) -> None:
    other = ("--switch", "infiniscale-iii")
    free = ("--free", "adapter.send.latency")
    assert hcasim_(*words, *free, *LINEAR, *other, "-o", "cal.toml").code == 0
    made = read_calibration(Path("cal.toml")).made
    assert (made.no_switch, made.switch) == (False, other[1])
    assert " ".join(other) in made.command
    shown = json.loads(hcasim_("show", "liu2004", "--calibration", "cal.toml", "--json").output)
    assert shown["switch"] == other[1]
    run = ("bench", "write_lat", "--size", "1K", "--json", "--testbed", "liu2004")
    by_file = (*run, "--calibration", "cal.toml")
    rows = [json.loads(hcasim_(*by_file, *more).output)["rows"] for more in ((), other)]
    assert rows[0] == rows[1]
    assert f"fitted with {' '.join(other)}, which holds here" in hcasim_(*by_file).messages
    (fault,) = refused(hcasim_, *words, *free, *other, "--no-switch", "-o", "cal.toml")
    assert fault == "--no-switch: contradicts --switch; leave one out"


def test_bench_takes_on_the_mtu_and_the_missing_switch_of_a_calibration(
    hcasim_: Hcasim, words: list[str]
) -> None:
    back = ("--no-switch", "--mtu", "512")
    free = ("--free", "adapter.send.latency")
    assert hcasim_(*words, *free, *LINEAR, *back, "-o", "cal.toml").code == 0
    shown = json.loads(hcasim_("show", "liu2004", "--calibration", "cal.toml", "--json").output)
    assert "switch" not in shown
    assert next(p["value"] for p in shown["parameters"] if p["path"] == "mtu") == 512
    made = read_calibration(Path("cal.toml")).made
    assert (made.no_switch, made.mtu) == (True, 512)
    fitted = read_calibration(Path("cal.toml")).overrides("liu2004", "mt25208")
    sets = [word for path, value in fitted.items() for word in ("--set", f"{path}={value}")]
    run = ("bench", "write_lat", "--size", "1K", "--json", "-j", "1", "--testbed", "liu2004")
    by_file = ("--calibration", "cal.toml")

    def time(*more: str) -> float:
        return float(json.loads(hcasim_(*run, *more).output)["rows"][0]["latency_us"])

    assert time(*by_file) == time(*sets, *back)
    assert time(*by_file, "--switch") == time(*sets, "--mtu", "512")
    assert time(*by_file, "--mtu", "2K") == time(*sets, "--no-switch")
    assert "fitted with --mtu 512 --no-switch, which holds here" in hcasim_(*run, *by_file).messages
    assert "fitted" not in hcasim_(*run, *by_file, "--switch", "--mtu", "2K").messages


def test_bench_takes_on_the_host_of_a_calibration(
    hcasim_: Hcasim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    machine = ("--testbed", "pair", "--adapter", "mt25208")
    host, run = ("--host", "xeon-5000p"), ("bench", "write_lat", *machine, "-j", "1")
    truth = ("--set", "host.memory.write_latency=300 ns")
    assert hcasim_(*run, "--size", "8,1K", *host, *truth, "-o", "trace.jsonl").code == 0
    free = ("--free", "host.memory.write_latency=0 ns..1 us")
    fit = ("calibrate", "trace.jsonl", *machine, *host, *free, *LINEAR, "-o", "cal.toml")
    assert hcasim_(*fit).code == 0
    known = read_calibration(Path("cal.toml"))
    assert known.made is not None
    assert known.made.host == "xeon-5000p"
    assert list(known.entries) == ["hosts.xeon-5000p.memory.write_latency"]
    by_file = ("--calibration", "cal.toml")

    def time(*more: str) -> float:
        found = hcasim_(*run, "--size", "8", "--json", *more)
        assert found.code == 0, found.messages
        return float(json.loads(found.output)["rows"][0]["latency_us"])

    assert time(*by_file) == time(*by_file, *host) == time(*host, *truth)
    shown = json.loads(hcasim_("show", "pair", "--adapter", "mt25208", *by_file, "--json").output)
    found = {one["path"]: one for one in shown["parameters"]}
    assert found["host.memory.write_latency"]["text"] == "300 ns"
    assert shown["host"] == "xeon-5000p"
    (fault,) = refused(hcasim_, *run, "--size", "8", "--host", "xeon-e7520", *by_file)
    assert "calibrates hosts.xeon-5000p, which pair with mt25208 does not have" in fault


def test_bench_says_what_of_a_calibration_belongs_to_another_machine(
    hcasim_: Hcasim, words: list[str]
) -> None:
    free = ("--free", "host.memory.write_latency")
    assert hcasim_(*words, *free, *LINEAR, "--no-switch", "-o", "cal.toml").code == 0
    run = ("bench", "write_lat", "--size", "8", "--json", "-j", "1", "--testbed", "liu2004")
    found = hcasim_(*run, "--adapter", "mt23108", "--calibration", "cal.toml")
    assert found.code == 0
    assert (
        "cal.toml: was fitted to liu2004 with mt25208 with --no-switch, which is not taken on here"
    ) in found.messages


@pytest.mark.check
def test_what_of_a_calibration_is_no_part_of_a_machine_is_said(
    hcasim_: Hcasim, words: list[str]
) -> None:
    free = ("--free", "adapter.send.latency", "--set", "host.memory.write_latency=300 ns")
    assert hcasim_(*words, *free, *LINEAR, "-o", "cal.toml").code == 0
    with_file = ("--calibration", "cal.toml")
    other = ("--testbed", "liu2004", "--adapter", "mt23108")
    run = ("bench", "write_lat", "--size", "8", "-j", "1", *with_file)
    foreign = "was fitted and is no part of liu2004 with mt23108: adapters.mt25208.send.latency"
    assert foreign in hcasim_(*run, *other).messages
    assert foreign in hcasim_("show", "liu2004", "--adapter", "mt23108", *with_file).messages
    assert "nothing of mt23108 was fitted" in hcasim_("show", "mt23108", *with_file).messages
    sure = "nothing that is left of the calibration is uncertain"
    bands = ("--uncertainty", "2")
    assert sure in hcasim_(*run, *other, *bands).messages
    own = ("--testbed", "liu2004")
    assert sure in hcasim_(*run, *own, *bands, "--set", "adapter.send.latency=1 us").messages
    assert hcasim_(*run, *own, *bands).messages == ""


def test_what_was_known_only_together_is_not_used_apart_in_silence(
    hcasim_: Hcasim, words: list[str]
) -> None:
    free = ("--free", "adapter.send.latency", "--free", "adapter.receive.latency")
    assert hcasim_(*words, *free, *LINEAR, "-o", "cal.toml").code == 0
    run = ("bench", "write_lat", "--size", "8", "-j", "1", "--testbed", "liu2004")
    with_file = (*run, "--calibration", "cal.toml")
    torn = (
        "adapters.mt25208.receive.latency was known only in combination with "
        "adapters.mt25208.send.latency, which is not used"
    )
    assert torn in hcasim_(*with_file, "--set", "adapter.send.latency=1 us").messages
    assert "known only" not in hcasim_(*with_file).messages


def test_what_a_machine_does_not_have_is_said_of_the_calibration_that_sets_it(
    hcasim_: Hcasim, words: list[str]
) -> None:
    free, few = ("--free", "switch.latency"), only(words, "write_lat")
    cached = ("--set", "adapter.mtt.ways=2", "--allow-mismatch")
    assert hcasim_(*few, *free, *cached, *LINEAR, "-o", "cal.toml").code == 0
    run = ("bench", "write_lat", "--size", "8", "--testbed", "liu2004", "--calibration", "cal.toml")
    none = "there is no switch between two hosts back to back"
    assert refused(hcasim_, *run, "--no-switch") == [f"cal.toml: switch.latency: {none}"]
    (fault,) = refused(hcasim_, *run, "--no-switch", "--set", "switch.latency=1 us")
    assert fault == f"--set switch.latency: {none}"
    (fault,) = refused(hcasim_, *run, "--set", "adapter.mtt.entries=7")
    both = "cal.toml: adapter.mtt.ways, with --set adapter.mtt.entries: adapter.mtt: found 2 ways"
    assert fault.startswith(both)


def test_a_trace_is_no_calibration_and_is_said_to_be_one(
    hcasim_: Hcasim, exact: Path, in_empty_folder: Path
) -> None:
    trace = in_empty_folder / "lat.jsonl"
    trace.write_bytes((exact / "write_lat.jsonl").read_bytes())
    (fault,) = refused(hcasim_, "show", "liu2004", "--calibration", "lat.jsonl")
    assert fault.startswith("lat.jsonl: found a trace; `hcasim calibrate lat.jsonl --testbed ID ")


def test_where_bands_are_lost_is_said(hcasim_: Hcasim, words: list[str]) -> None:
    assert hcasim_(*only(words, "write_lat"), *FREE[:2], *LINEAR, "-o", "cal.toml").code == 0
    machine = ("--testbed", "liu2004", "--calibration", "cal.toml", "-j", "1")
    run = ("bench", "write_lat", "--size", "8", *machine)
    pipe = ("bench", "netpipe", "--size", "8", *machine)
    mpi = ("bench", "osu_latency", "--size", "8", *machine)
    others = "; --json, CSV and tables have"
    bands = ("--uncertainty", "2")
    for command, more, text in (
        (run, ("-o", "u.jsonl"), "u.jsonl: a trace has no bands"),
        (pipe, ("-o", "u.OUT"), "u.OUT: NetPIPE's np.out has no bands"),
        (run, ("--plot", "u.svg"), "u.svg: a figure has no bands"),
        (mpi, ("--format", "osu"), "--format osu: has no bands"),
        (run, ("--format", "perftest"), "--format perftest: has no bands"),
        (pipe, ("--format", "netpipe"), "--format netpipe: has no bands"),
    ):
        assert text + others in hcasim_(*command, *more, *bands).messages.splitlines()
        assert "bands" not in hcasim_(*command, *more).messages
    for file in ("u.json", "u.csv"):
        found = hcasim_(*run, "-o", file, "--format", "csv", *bands)
        assert found.messages == f"Wrote {file}\n"
        assert "latency_us_low" in found.output
        assert "latency_us_low" in Path(file).read_text()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--uncertainty", "1"), "--uncertainty: found 1; allowed: 2 to 10000"),
        (("--uncertainty", "many"), "--uncertainty: found 'many'; allowed: 2 to 10000"),
        (("--calibration", "no.toml"), "no.toml: no such file"),
        (("--calibration", "cal.toml", "--uncertainty", "many"), "found 'many'"),
        (("--calibration", "cal.toml", "--uncertainty", "201"), "allowed: 2 to 200"),
    ],
)
def test_a_band_of_nothing_is_refused(
    hcasim_: Hcasim, words: list[str], more: tuple[str, ...], message: str
) -> None:
    assert hcasim_(*words, *FREE[:2], "--intervals", "linear", "-o", "cal.toml").code == 0
    faults = refused(hcasim_, "bench", "write_lat", "--testbed", "liu2004", *more)
    assert any(message in fault for fault in faults)


def test_bench_has_bands_without_a_calibration(hcasim_: Hcasim) -> None:
    words = ("bench", "write_lat", "--testbed", "liu2004", "--size", "8", "-j", "1")
    found = hcasim_(*words, "--uncertainty", "2", "--json")
    (row,) = json.loads(found.output)["rows"]
    assert row["latency_us_low"] <= row["latency_us"] <= row["latency_us_high"]
    assert row["latency_us_low"] < row["latency_us_high"]
    assert re.search(r"Bands: 5 to 95 % over 2 samples of \d+ values", found.messages)


def test_what_no_trace_holds_is_not_written_as_one(hcasim_: Hcasim) -> None:
    faults = refused(hcasim_, "bench", "host_memory", "--testbed", "liu2004", "-o", "trace.jsonl")
    assert "allowed endings: .json, .csv, .parquet, " in faults[0]
