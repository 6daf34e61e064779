"""What may be asked of flows, and that the same comes out of it everywhere."""

import os
import subprocess
import sys
from typing import Any

import pytest

from hcasim.runs.experiment import Experiment
from hcasim.runs.point import PACKET
from tests.unit.runs.test_options import faults_of


@pytest.mark.parametrize(
    ("workload", "given", "fault"),
    [
        (
            "permutation",
            {"shift": 8, "nodes": 8},
            "shift: found 8 with 8 nodes; allowed: up to 7, or 0 to draw",
        ),
        (
            "permutation",
            {"shift": 3, "nodes": "2,8"},
            "shift: found 3 with 2 nodes; allowed: up to 1, or 0 to draw",
        ),
        ("permutation", {"seed": -1}, "seed: found -1; allowed: 0 to 2147483647"),
        ("neighbour", {"dimensions": 7}, "dimensions: found 7; allowed: 1 to 6"),
        ("incast", {"verb": "read"}, "verb: found 'read' with incast; allowed: write or send"),
        ("incast", {"nodes": 3000}, "nodes: found 3000; allowed: up to 64, as fat-tree-64 has"),
        ("all_to_all", {"shift": 1}, "shift: all_to_all has no such option; it has "),
    ],
)
def test_what_cannot_be_is_refused(workload: str, given: dict[str, Any], fault: str) -> None:
    (found,) = faults_of(workload, "fat-tree-64", **given)
    assert found.startswith(fault)


@pytest.mark.parametrize(
    ("workload", "ends"), [("all_to_all", 14), ("incast", 7), ("permutation", 2), ("neighbour", 4)]
)
def test_a_node_has_a_queue_pair_for_each_end_of_a_flow(workload: str, ends: int) -> None:
    few = {"compute.adapter.limits.max_qp": "100"}
    (fault,) = faults_of(workload, "fat-tree-64", nodes=8, qps=101, overrides=few)
    assert fault.startswith(f"qps: found 101, in all {101 * ends} queue pairs of a node; ")


def test_the_guess_of_the_time_counts_the_flows_of_the_pattern() -> None:
    def seconds(workload: str, **given: Any) -> float:
        (point,) = Experiment.of(workload, "fat-tree-64", size="64K", **given).benchmark()
        return PACKET * point.packets

    assert seconds("permutation", nodes=64) == 2 * seconds("permutation", nodes=32)
    assert seconds("permutation", nodes=64, iters=3) == 3 * seconds("permutation", nodes=64)
    assert seconds("neighbour", nodes=64, dimensions=3) == 6 * seconds("permutation", nodes=64)
    assert seconds("incast", nodes=33) == seconds("permutation", nodes=32)


@pytest.mark.check
def test_neither_hashes_nor_the_number_of_processors_change_anything() -> None:
    arguments = "permutation --testbed fat-tree-64 --nodes 8,16,32 --size 2K,64K --iters 2"

    def printed(seed: str, jobs: str) -> str:
        command = [sys.executable, "-m", "hcasim", "bench", *arguments.split(), "--format", "csv"]
        return subprocess.run(
            [*command, "-j", jobs],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    first, *others = (printed(seed, jobs) for seed, jobs in (("0", "1"), ("1", "2"), ("7", "1")))
    assert first.count("\n") == 1 + 6
    assert others == [first] * 2
