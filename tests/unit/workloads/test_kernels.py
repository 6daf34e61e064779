"""Kernels of the NAS benchmarks as workloads: their iterations are run until they repeat."""

from dataclasses import replace
from typing import Any

import pytest

import hcasim as hc
from hcasim.apps.nas import KERNELS
from hcasim.workloads import Options, run_point
from hcasim.workloads.mpi.kernels import LapPace
from tests.mpi_jobs import job

RATE = 200_000_000
CHECK = pytest.mark.check


def measured(kernel: str, class_: str, **options: Any) -> dict[str, Any]:
    machine = hc.machine(
        "liu2004",
        stack="mvapich-liu2004",
        overrides={f"host.computing.nas_{kernel}": f"{RATE} op/s"},
    )
    chosen = replace(Options(nas_class=class_), **options)  # type: ignore[arg-type]
    return run_point(f"nas_{kernel}", machine, chosen).row


@pytest.mark.parametrize(
    ("kernel", "class_"),
    [("is", "S"), *(pytest.param(one, "S", marks=CHECK) for one in ("mg", "lu", "cg"))],
)
def test_what_is_left_out_would_have_taken_as_long(kernel: str, class_: str) -> None:
    short, exact = (measured(kernel, class_, exact=exact) for exact in (False, True))
    assert short["run_s"] == pytest.approx(exact["run_s"], rel=3e-3)
    assert exact["error_percent"] == 0


def test_the_run_is_computing_and_communication() -> None:
    row = measured("ft", "S", processes=2)
    computing = KERNELS["ft"].operations("S") / RATE / 8
    assert row["run_s"] == pytest.approx(computing + row["communication_s"])
    assert row["communication_s"] > 0.05 * computing


def test_processes_stop_behind_the_same_iteration() -> None:
    one = job(2)
    pace = LapPace(one.sim, 100, exact=False)
    pace.start(0)
    for step in range(1, 6):
        pace.begins(step)
        pace.begins(step + 1)
        one.sim.run(until=one.sim.timeout(1000))
        pace.ends(1)
        pace.ends(0)
    # The other process has begun the sixth already.
    assert pace.last == 7
    assert pace.left_out_ps() == 93 * 1000


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"nodes": 3}, "nodes: found 3 with 1 processes on each; lu: found 3 processes; allowed"),
        ({"nas_class": "D"}, "nas_class: found 'D'; allowed: S, W, A, B or C"),
        ({"size": 8}, "size: nas_lu has no such option"),
    ],
)
def test_what_cannot_be_run_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(hc.CatalogError, match=said):
        hc.bench("nas_lu", "liu2004", jobs=1, **options)


def test_a_host_has_to_say_how_fast_it_computes() -> None:
    with pytest.raises(hc.CatalogError, match=r"which has no host\.computing\.nas_lu; needed: --s"):
        hc.bench("nas_lu", "infinihost3-ddr", nodes=2, jobs=1)
