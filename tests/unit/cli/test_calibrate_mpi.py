"""Measured curves of MPI are fitted, with the parameters of the library beside others."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hcasim.calibrate.entries import leaf_at, part_of
from hcasim.calibrate.file.reading import read_calibration
from hcasim.catalog.fields import Leaf

Hcasim = Callable[..., Any]
PACKET, COPY = "stack.mpi.calls.packet", "host.cache.hit_bandwidth"
TRUTH = ("--set", f"{PACKET}=200 ns", "--set", f"{COPY}=1.2 GB/s")
FREE = ("--free", PACKET, "--free", COPY)
QUICK = ("--floor", "0.1", "--intervals", "linear", "-j", "1")


def measure(hcasim_: Hcasim, folder: Path, workload: str, *words: str) -> str:
    """A trace of what a machine with parameters of its own prints as OSU or IMB."""
    text, trace = folder / f"{workload}.txt", folder / f"{workload}.jsonl"
    words = ("--testbed", "liu2004", "-j", "1", *words, *TRUTH, "--format", workload[:3])
    printed = hcasim_("bench", workload, *words)
    assert printed.code == 0, printed.messages
    text.write_text(printed.output)
    read = hcasim_("import", str(text), "-o", str(trace))
    assert read.code == 0, read.messages
    return str(trace)


@pytest.mark.check
def test_parameters_of_the_library_are_recovered_from_what_osu_and_imb_print(
    hcasim_: Hcasim, tmp_path: Path
) -> None:
    pong = measure(hcasim_, tmp_path, "imb_pingpong", "--size", "4,4K", "--iters", "10")
    both = measure(hcasim_, tmp_path, "osu_alltoall", "--size", "64", "--iters", "4")
    file = tmp_path / "mine.toml"
    words = (pong, both, "--testbed", "liu2004", *FREE, *QUICK, "--holdout", "osu_alltoall")
    done = hcasim_("calibrate", *words, "-o", str(file))
    assert done.code == 0, done.messages
    found = read_calibration(file)
    assert found.made is not None
    assert found.made.stack == "mvapich-liu2004"
    for path, truth in (
        ("stacks.mvapich-liu2004.mpi.calls.packet", 200_000),
        ("hosts.xeon-e7520.cache.hit_bandwidth", 1_200_000_000),
    ):
        entry, leaf = found.entries[path], leaf_at(path)
        assert isinstance(leaf, Leaf)
        low, high = (int(leaf.read(end)) for end in entry.interval or ())
        assert low <= truth <= high
        assert high - low < 0.2 * truth
        assert entry.verdict == "identified"
    (held,) = (one for one in found.curves if one.role == "held out")
    assert abs(held.mean_error_percent) < 1

    words = ("bench", "imb_pingpong", "--testbed", "liu2004", "--size", "1K", "--iters", "20")
    told = hcasim_(*words, "--calibration", str(file), "--json", "--no-timing")
    assert told.code == 0, told.messages
    assert told.messages == ""
    calibrated = hcasim_(*words, "--calibration", str(file), "--json").json
    true = hcasim_(*words, *TRUTH, "--json").json
    fitted, measured = (one["rows"][0]["latency_us"] for one in (calibrated, true))
    assert fitted == pytest.approx(measured, rel=0.005)

    # Verbs run on another software there: the library's values are no part of it.
    verbs = hcasim_("bench", "write_lat", "--testbed", "liu2004", "--calibration", str(file))
    assert verbs.code == 0
    assert "is no part of liu2004 with mt25208: stacks.mvapich-liu2004.mpi.calls" in verbs.messages
    shown = hcasim_("show", "liu2004", "--calibration", str(file), "--grep", "calls.packet").output
    assert "calibration" in shown


def test_another_stack_than_the_testbed_s_is_taken_on(hcasim_: Hcasim, tmp_path: Path) -> None:
    """Its id has dots, which paths of a fit have, too."""
    stack = ("--stack", "mvapich-0.9.5")
    trace = measure(hcasim_, tmp_path, "osu_latency", "--size", "4,1K", "--iters", "20", *stack)
    file = tmp_path / "mine.toml"
    words = (trace, "--testbed", "liu2004", *stack, "--free", PACKET, *QUICK)
    done = hcasim_("calibrate", *words, "--set", f"{COPY}=1.2 GB/s", "-o", str(file))
    assert done.code == 0, done.messages
    assert "--stack mvapich-0.9.5" in file.read_text()
    words = ("bench", "osu_latency", "--testbed", "liu2004", "--size", "4", "--iters", "20")
    used = hcasim_(*words, "--calibration", str(file))
    assert "was fitted with --stack mvapich-0.9.5, which holds here, too" in used.messages
    assert "stack.mpi.calls.packet=198.5 ns" in used.output
    other = hcasim_(*words, "--stack", "mvapich-liu2004", "--calibration", str(file))
    assert "no part of liu2004 with mt25208: stacks.mvapich-0.9.5.mpi.calls" in other.messages
    file.write_text(file.read_text().replace('stack = "mvapich-0.9.5"', 'stack = "mvapich-0.9.6"'))
    (fault,) = hcasim_(*words, "--calibration", str(file)).faults
    assert "made.stack: found 'mvapich-0.9.6'; allowed: " in fault


def test_an_id_with_dots_is_found_in_a_path() -> None:
    assert part_of("stacks.lam-7.1.mpi.calls.send") == "stacks.lam-7.1"
    assert part_of("adapters.mt25208.send.latency") == "adapters.mt25208"
    assert isinstance(leaf_at("stacks.lam-7.1.mpi.calls.send"), Leaf)
    assert leaf_at("stacks.lam-7.2.mpi.calls.send") != leaf_at("stacks.lam-7.1.mpi.calls.send")


def test_what_measures_verbs_needs_no_library(hcasim_: Hcasim, tmp_path: Path) -> None:
    trace = tmp_path / "lat.jsonl"
    hcasim_("bench", "write_lat", "--testbed", "liu2004", "--size", "8", "-o", str(trace))
    words = (str(trace), "--testbed", "liu2004", "--free", PACKET, *QUICK)
    (fault,) = hcasim_("calibrate", *words).faults
    assert fault.startswith(f"--free {PACKET}: ")
