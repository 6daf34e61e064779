"""Who has to wait for minutes is told before."""

from typing import Any

import pytest

from hcasim.runs import point
from hcasim.runs.benchmark import bench
from hcasim.runs.experiment import Experiment
from hcasim.runs.point import PACKET, long_wait


def wait(workload: str, jobs: int | None = 1, testbed: str = "liu2004", **options: Any) -> str:
    return long_wait(Experiment.of(workload, testbed, **options).benchmark(), jobs)


@pytest.mark.parametrize(
    ("workload", "options"),
    [
        ("write_lat", {"size": "8..1M"}),
        ("write_bw", {"size": "4M", "iters": 10**9}),
        ("netpipe", {}),
        ("reg_mr", {"size": "1G"}),
        ("host_memory", {"qps": "1..4096"}),
    ],
)
def test_nothing_is_said_of_what_is_soon_done(workload: str, options: dict[str, Any]) -> None:
    assert wait(workload, **options) == ""


def test_a_size_that_takes_minutes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(point, "PACKET", 1e-4)
    assert wait("window_bw", size="8,2G") == "takes about 21 min, most for size 2G"
    assert wait("write_lat", size=8, exact=True, iters=10**6) == (
        "takes about 2 min, most for size 8 and all 1000000 iterations"
    )
    assert wait("write_bibw", size="2G,1G", testbed="liu2004").startswith("takes about 63 min")
    behind = {"adapter": "connectx7", "switch": "spectrum-3", "testbed": "pair-roce"}
    assert wait("read_lat", size="2M", **behind) == (
        "takes about 38 min, most for size 2M and all 10000 iterations, "
        "because links or switches may lose, mark or pause, or a bus is shared"
    )
    assert wait("all_to_all", size="16M", testbed="fat-tree-64", nodes=16).endswith("size 16M")


def test_windows_of_many_processes_are_told_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(point, "PACKET", 2.5e-5)
    given = {"testbed": "ucx-hdr", "size": "4M"}
    assert wait("osu_mbw_mr", processes=16, **given) == "takes about 1 min, most for size 4M"
    assert wait("osu_mbw_mr", processes=2, **given) == ""


def test_processes_share_the_work_but_not_a_point() -> None:
    points = Experiment.of("window_bw", "liu2004", size="512M", qps=[1, 2, 4, 8]).benchmark()
    one = PACKET * points[0].packets
    assert long_wait(points, 1) == f"takes about {4 * one / 60:.0f} min, most for size 512M"
    assert long_wait(points, 2) == f"takes about {2 * one / 60:.0f} min, most for size 512M"
    assert long_wait(points, 64) == f"takes about {one / 60:.0f} min, most for size 512M"


@pytest.mark.parametrize(
    ("workload", "size"),
    [
        pytest.param("window_bw", "2M", marks=pytest.mark.check),
        ("write_lat", "1M"),
        ("read_bw", "1M"),
    ],
)
def test_the_guess_is_of_the_order_of_the_packets(workload: str, size: str) -> None:
    """Of its order only: how long one takes differs between computers anyway."""
    found = bench(workload, "liu2004", size=size, jobs=1, profile=True)
    (one,) = Experiment.of(workload, "liu2004", size=size).benchmark()
    assert 0.1 < one.packets / found.costs[0].packets < 10
