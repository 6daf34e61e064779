"""The probes, run on a simulated adapter, measure what the model says of the same plan."""

from pathlib import Path

import pytest

import hcasim as hc
from hcasim.launch import launch
from hcasim.runs.machine import find_machine

SHORT = """
write_lat  size=8,4K  iters=10 warmup=2
read_lat   size=8,4K  iters=10 warmup=2
send_lat   size=8     iters=10 warmup=2
window_bw  size=64K   iters=4  warmup=1 window=16
"""
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
NEAR = {"us": 0.02, "MB/s": 0.015}
"""One way, bandwidths are within 0.3 %; both ways, within 1.1 %."""
SERVE_S = "1"


def assert_closed(probes: Path, folder: Path, testbed: str, plan: str, *words: str) -> None:
    """Run a plan, and check its trace; without a server the points need none."""
    (folder / "plan.txt").write_text(plan)
    trace = folder / "trace.jsonl"
    run = [str(probes), "run", str(folder / "plan.txt"), "-o", str(trace), *words]
    programs = [[*run, "--clock", "monotonic"]]
    if "--server" in words:
        # They serve until a signal comes.
        programs.insert(0, ["timeout", "-s", "INT", SERVE_S, str(probes), "serve"])
    assert launch(find_machine(testbed, {}, mpi=False), programs).codes[-1] == 0
    rows = hc.check(trace, testbed, within=0.02).rows
    assert rows
    assert [one for one in rows if abs(one["error"]) > NEAR[one["unit"]]] == []


@pytest.mark.parametrize("way", ["hand", "manager"])
def test_closure(probes: Path, tmp_path: Path, way: str) -> None:
    assert_closed(probes, tmp_path, "liu2004", SHORT, "--server", "server", "--connect", way)


def test_closure_of_what_needs_no_other_end(probes: Path, tmp_path: Path) -> None:
    assert_closed(probes, tmp_path, "liu2004", ALONE, "--device", "mthca0:1")


@pytest.mark.check
@pytest.mark.parametrize("testbed", ["liu2004", "cloud-hdr"])
def test_closure_of_all_workloads(probes: Path, tmp_path: Path, testbed: str) -> None:
    assert_closed(probes, tmp_path, testbed, LONG, "--server", "server", "--connect", "hand")
