"""The probes, run on a simulated adapter, measure what the model says of the same plan."""

import tomllib
from pathlib import Path

import pytest

import hcasim as hc
from hcasim.cli import main
from hcasim.launch import launch
from hcasim.runs.machine import find_machine

ROOT = Path(__file__).resolve().parents[2]
SHORT = (ROOT / "calibration/plans/simulated.txt").read_text()
LONG = """
write_lat   size=8,4K iters=20 warmup=5
qp_lat      size=8 qps=4 iters=20 warmup=5
send_lat    size=8,1K iters=20 warmup=5
read_lat    size=8,4K iters=20 warmup=5
atomic_lat  op=fetch_add,cmp_swap iters=20 warmup=5
scatter     size=64  qps=1,4 iters=20 warmup=5
window_bw   size=64K window=16 verb=write,send,read iters=10 warmup=2
window_bibw size=64K window=16 iters=10 warmup=2
"""
ALONE = """
reg_mr       size=4K,64K,1M iters=10 warmup=2
loopback_lat size=8,4K iters=10 warmup=2
"""
UNLIKE = """
id = "unlike"
title = "the adapter that was measured, with latencies that it does not have"
based_on = "mt25208"
send.latency = { value = "300 ns", evidence = "assumed", source = "to be fitted" }
responder.latency = { value = "1 us", evidence = "assumed", source = "to be fitted" }
"""
NEAR = {"us": 0.02, "MB/s": 0.015}
"""One way, bandwidths are within 0.3 %; both ways, within 1.1 %."""


def assert_closed(probes: Path, folder: Path, testbed: str, plan: str, *words: str) -> None:
    """Run a plan, and check its trace; without a server the points need none."""
    (folder / "plan.txt").write_text(plan)
    trace = folder / "trace.jsonl"
    run = [str(probes), "run", str(folder / "plan.txt"), "-o", str(trace), *words]
    programs, servers = [[*run, "--clock", "monotonic"]], []
    if "--server" in words:
        programs, servers = [[str(probes), "serve"], *programs], [0]
    found = launch(find_machine(testbed, {}, mpi=False), programs, servers=servers)
    assert (set(found.codes), found.ended) == ({0}, False)
    assert_agrees(trace, testbed)


def assert_agrees(trace: Path, testbed: str) -> None:
    rows = hc.check(trace, testbed, within=0.02).rows
    assert rows
    assert [one for one in rows if abs(one["error"]) > NEAR[one["unit"]]] == []


def test_closure(probes: Path, tmp_path: Path) -> None:
    assert_closed(probes, tmp_path, "liu2004", SHORT, "--server", "server", "--connect", "manager")


def test_a_fit_to_what_probes_measure_finds_the_latencies_of_the_adapter(
    probes: Path, tmp_path: Path
) -> None:
    """The commands of calibration/README.md, from other values than the adapter has."""
    trace, fit = str(tmp_path / "trace.jsonl"), tmp_path / "mine.toml"
    plan = str(ROOT / "calibration/plans/simulated.txt")
    serve, run = (
        [str(probes), "serve"],
        [str(probes), "run", plan, "--server", "server", "-o", trace],
    )
    free = ("--free", "adapter.send.latency", "--free", "adapter.responder.latency")
    unlike = tmp_path / "unlike.toml"
    unlike.write_text(UNLIKE)
    held = ("--holdout", "send_lat", "--holdout", "window_bw")
    words = ("--testbed", "liu2004", "--adapter", str(unlike), *free, *held)
    for command in (
        ["launch", "--testbed", "liu2004", "--", "server:", *serve, ":", *run],
        ["calibrate", trace, *words, "--intervals", "linear", "-o", str(fit)],
    ):
        with pytest.raises(SystemExit) as ended:
            main(command)
        assert not ended.value.code
    assert_agrees(Path(trace), "liu2004")
    values = {name: one["value"] for name, one in tomllib.loads(fit.read_text())["entries"].items()}
    truth = {"send": 790, "responder": 3074}
    found = {name: float(values[f"adapters.unlike.{name}.latency"][:-3]) for name in truth}
    assert found == pytest.approx(truth, abs=25)
    said = (ROOT / "calibration/README.md").read_text()
    assert "comes to {send:,.0f} and {responder:,.0f} ns".format(**found) in said


def test_closure_of_what_needs_no_other_end(probes: Path, tmp_path: Path) -> None:
    assert_closed(probes, tmp_path, "liu2004", ALONE, "--device", "mthca0:1")


@pytest.mark.check
@pytest.mark.parametrize("testbed", ["liu2004", "cloud-hdr"])
def test_closure_of_all_workloads(probes: Path, tmp_path: Path, testbed: str) -> None:
    assert_closed(probes, tmp_path, testbed, LONG, "--server", "server", "--connect", "hand")
