"""What many nodes cost: time to build them, memory, and time for each message beside few nodes.

Nothing here fails because a machine is slow: the figures are printed for people to read. Where
memory is asked for, each measurement has a process of its own.
"""

import gc
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median

import pytest

from hcasim.catalog import Machine, resolve
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.runs import executor
from hcasim.runs.point import Point
from hcasim.verbs import WROpcode
from hcasim.workloads import Options, Result
from hcasim.workloads.flows import Pairs, neighbours, permuted
from hcasim.workloads.perftest.side import join, start
from hcasim.workloads.registry import Listen

Show = Callable[[str], None]
BUILT = """
import resource, time
from hcasim.catalog import resolve
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begin = time.perf_counter()
Cluster(Simulator(), resolve("fat-tree-1024"))
seconds = time.perf_counter() - begin
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(f"{seconds:.2f} s, {(after - before) / 1024:.0f} MiB, {after / 1024:.0f} with Python")
"""


@pytest.fixture(scope="module")
def machine() -> Machine:
    return resolve("fat-tree-1024")


def flows(machine: Machine, pairs: Pairs, nodes: int, options: Options) -> tuple[float, int]:
    """Seconds of the processor that flows take with their set-up, and the calls made for them."""
    gc.collect()
    sim = Simulator()
    cluster = Cluster(sim, machine, nodes)
    begin = time.process_time()
    sides = [side for pair in pairs for side in join(cluster, pair, options, WROpcode.RDMA_WRITE)]
    sim.run(until=start(sim, sides))
    return time.process_time() - begin, sim.calls


def test_a_thousand_nodes_are_built(show: Show) -> None:
    found = subprocess.run(
        [sys.executable, "-c", BUILT], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    show(f"1024 nodes in a fat tree: {found.strip()}")


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("neighbour", lambda nodes: neighbours(nodes, 1)), ("permutation", lambda n: permuted(n, 1))],
)
@pytest.mark.parametrize(("size", "iters"), [(8, 16), (1 << 16, 1)])
def test_a_message_among_many_nodes_beside_one_among_few(
    machine: Machine,
    name: str,
    pattern: Callable[[int], Pairs],
    size: int,
    iters: int,
    show: Show,
) -> None:
    options = Options(size=size, iters=iters, tx_depth=4)

    def cost(nodes: int, rounds: int) -> tuple[float, float]:
        pairs = pattern(nodes)
        found = [flows(machine, pairs, nodes, options) for _ in range(rounds)]
        messages = len(pairs) * iters
        return min(seconds for seconds, _ in found) / messages, found[0][1] / messages

    few, few_calls = cost(8, 20)
    for nodes, rounds in ((64, 4), (1024, 1)):
        many, calls = cost(nodes, rounds)
        show(
            f"{name}, {size} B: a message among {nodes} nodes {many * 1e6:.0f} us, "
            f"{many / few:.2f} times one among 8; "
            f"{calls / few_calls:.2f} times its {few_calls:.0f} calls"
        )


@dataclass(frozen=True)
class Short(Point):
    """Takes 5 ms of the processor."""

    def run(self, listen: Listen | None = None, profile: bool = False) -> Result:
        end = time.process_time() + 0.005
        while time.process_time() < end:
            pass
        return Result({})


def test_a_thousand_short_points_cost_little_more_than_their_own_time(show: Show) -> None:
    """Two processes are at a point for nearly all of the time, whatever else the machine does."""
    first = Short("window_bw", resolve("liu2004"), Options())
    points = [replace(first, options=Options(size=size)) for size in range(1, 1001)]
    executor.run_points(points, workers=2)
    ratios = []
    for _ in range(3):
        hand_out = executor._HandOut(executor._processes(2, 2), points, lambda *done: None, False)
        begin = time.perf_counter()
        hand_out.run()
        ratios.append((time.perf_counter() - begin) * 2 / hand_out._seconds)
    show(f"1000 points of 5 ms in two processes: {median(ratios):.2f} of their own time")
    assert median(ratios) < 1.15
