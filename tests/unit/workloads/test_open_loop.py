"""Flows of drawn sizes begin at a load, and are slower than alone where they meet."""

from collections import Counter

import pytest

from hcasim.catalog import resolve
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.workloads import Options
from hcasim.workloads.end import OPCODES
from hcasim.workloads.flow_sizes import SIZES, mean_size, size_at
from hcasim.workloads.flows import (
    alone_ps,
    drawn,
    likeness,
    run_flows,
)
from hcasim.workloads.roles import first_nodes
from hcasim.workloads.run import Run
from tests.patterns import flows_of


@pytest.mark.parametrize(
    ("name", "mean"), [("websearch", 1_710_000), ("hadoop", 120_000), ("storage", 40_870)]
)
def test_sizes_that_are_drawn_have_the_distribution(name: str, mean: float) -> None:
    sizes = SIZES[name]
    for size, share in sizes[1:]:
        assert size_at(sizes, share / 100) == size
    assert mean_size(sizes) == pytest.approx(mean, rel=0.01)
    found = [size_at(sizes, (number + 0.5) / 10_000) for number in range(10_000)]
    assert sum(found) / len(found) == pytest.approx(mean_size(sizes), rel=0.001)


def test_flows_begin_as_often_as_the_load_says() -> None:
    found = drawn(8, 20_000, SIZES["hadoop"], 1000.0, 3)
    assert found[-1][1] / len(found) == pytest.approx(1000, rel=0.03)
    ends = Counter(end for pair, _, _ in found for end in pair)
    assert len(ends) == 8
    assert all(one == pytest.approx(5000, rel=0.05) for one in ends.values())
    assert all(source != target for (source, target), _, _ in found)


@pytest.mark.parametrize("testbed", ["ideal-100g", "ideal-fat-tree"])
def test_a_flow_that_meets_no_other_takes_as_long_as_alone(testbed: str) -> None:
    row, (flow,) = flows_of("open_loop", testbed, nodes=16, iters=1)
    assert flow["slowdown"] == pytest.approx(1, abs=0.01)
    assert row["slowdown_p999_times"] == flow["slowdown"]


@pytest.mark.parametrize("size", [1, 1024, 40_000])
def test_a_flow_is_alone_at_its_own_size(size: int) -> None:
    machine = resolve("ideal-fat-tree")
    run = Run("open_loop", Simulator(), machine, Options(), first_nodes)
    cluster = Cluster(Simulator(), machine, (0, 15))
    (side,), _ = run_flows(cluster, OPCODES["write"], [((0, 1), 0, Options(size=size, iters=1))])
    # First use costs next to nothing there.
    assert alone_ps(run, (0, 15), size) == pytest.approx(side.took_ps, abs=100)


@pytest.mark.parametrize("more", [{}, {"verb": "send"}, {"connection": "UC"}])
@pytest.mark.parametrize("testbed", ["roce-400g", "liu2004"])
def test_no_flow_is_quicker_than_alone_on_a_warm_machine(
    testbed: str, more: dict[str, str]
) -> None:
    usual = {"nodes": 2, "iters": 12, "flow_sizes": "storage"}
    _, flows = flows_of("open_loop", testbed, load=10, **usual, **more)
    assert min(one["slowdown"] for one in flows) >= 1


def test_chance_loses_nothing_of_a_flow_that_is_alone() -> None:
    machine = resolve("pair-roce", overrides={"link.loss": "10 %"})
    whole = resolve("pair-roce")
    took = [
        alone_ps(Run("open_loop", Simulator(), one, Options(), first_nodes), (0, 1), 40_000)
        for one in (machine, whole)
    ]
    assert took[0] == took[1]


def test_flows_over_as_many_switches_are_alike() -> None:
    machine = resolve("ideal-fat-tree")
    over = [len(likeness(machine, 0, other)[2]) for other in (1, 2, 3, 4, 15)]
    assert over == [1, 3, 3, 5, 5]
    assert likeness(resolve("fat-tree-64"), 47, 48)[:2] == ("compute", "storage")
    assert likeness(resolve("fault-direct"), 0, 1)[2] == ()


def test_flows_that_meet_are_slower_the_more_there_are() -> None:
    usual = {"nodes": 4, "iters": 60}
    low, high = (flows_of("open_loop", load=load, **usual) for load in (5, 80))
    assert min(one["slowdown"] for one in (*low[1], *high[1])) > 0.98
    assert 1 < low[0]["slowdown_p99_times"] < high[0]["slowdown_p99_times"]
