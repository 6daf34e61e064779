"""Jobs that reduce around rings take what their steps take, and longer where rings share a link."""

from typing import Any

import pytest

from hcasim.runs.benchmark import bench
from tests.unit.runs.test_options import faults_of


def training(testbed: str = "ideal-100g", **options: Any) -> Any:
    usual = {"cache": False, "jobs": 1, "iters": 2, "compute": 10, "size": "64K"}
    return bench("training", testbed, **(usual | options)).rows[0]


@pytest.mark.parametrize("verb", ["write", "send"])
@pytest.mark.parametrize("nodes", [2, 4])
def test_an_iteration_alone_takes_its_computing_and_the_steps_of_its_ring(
    nodes: int, verb: str
) -> None:
    row = training(nodes=nodes, rings=1, verb=verb)
    part = {"size": 65536 // nodes, "nodes": nodes, "shift": 1, "verb": verb}
    step = bench("permutation", "ideal-100g", cache=False, **part).rows[0]["completion_max_us"]
    assert row["network_us"] == pytest.approx(2 * (nodes - 1) * step, rel=0.01)
    assert row["iteration_mean_us"] == pytest.approx(10 + row["network_us"])
    assert row["slowdown_times"] == pytest.approx(1)


def test_rings_that_share_a_link_divide_it() -> None:
    # Each ring has a node on both sides of the link.
    row = training("ideal-dumbbell", nodes=8, rings=4)
    on_the_link = 4 * 2 * 32 * (1024 + 82) * 80 / 1e6
    more = row["iteration_mean_us"] - row["alone_us"]
    assert more == pytest.approx(on_the_link * 3 / 4, rel=0.05)
    assert row["slowdown_times"] == pytest.approx(row["iteration_mean_us"] / row["alone_us"])


def test_what_a_network_with_memory_did_is_told() -> None:
    row = training("ideal-100g-4mb", nodes=4, rings=2, size="16K")
    assert row["amplification_times"] == pytest.approx(1 + (82 + 84) / 1024, rel=0.01)


def test_nodes_are_dealt_evenly() -> None:
    assert faults_of("training", "ideal-100g", nodes=6, rings=4) == [
        "nodes: found 6; allowed: multiples of rings, 4, from 8 on"
    ]
