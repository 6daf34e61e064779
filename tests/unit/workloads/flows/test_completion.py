"""Flows take as long as arithmetic says: of each link its flows get the max-min fair share."""

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import pytest

from hcasim.catalog import CatalogError, Machine, Way, Wiring, resolve
from hcasim.catalog.network.topologies import FatTree, Ring
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.runs.benchmark import bench
from hcasim.workloads import Options, run_point
from hcasim.workloads.end import OPCODES
from hcasim.workloads.flows.completion import jain, percentile, run_flows
from hcasim.workloads.flows.patterns import Pairs, into_one, permuted, shifted
from tests.rig import networked
from tests.twin import link_byte, pcie_byte

MTU = 2048
HEADERS = 26
"""Bytes around the data of a packet: LRH, BTH, ICRC and VCRC (InfiniBand volume 1, 5.2)."""
LONG = Options(size=1 << 20, iters=4, tx_depth=4)
BYTES = LONG.size * LONG.iters
GOODPUT = MTU / ((MTU + HEADERS) * link_byte("SDR", 4)) * 10**12
"""Bytes a second that a link of the rig carries."""


def tree(oversubscription: int = 1, arity: int = 4) -> Machine:
    """As many nodes as ports of two levels of switches."""
    network = FatTree(switch="x", levels=2, arity=arity, oversubscription=oversubscription)
    return networked(network, arity**2, mtu=MTU)


def rates(machine: Machine, pairs: Pairs, verb: str = "write", **given: Any) -> list[float]:
    """Bytes a second of each flow while it lasts."""
    options = Options(**vars(LONG) | given)
    cluster = Cluster(Simulator(), machine)
    senders = run_flows(cluster, options, OPCODES[verb], pairs)  # type: ignore[index]
    size = options.size * options.iters
    return [size / (side.ended_ps - side.began_ps) * 1e12 for side in senders]


def links(wiring: Wiring, source: int, target: int) -> list[Hashable]:
    """What a flow passes, from adapter to adapter."""
    switch, found = wiring.places[source][0], [("out", source)]
    while isinstance(way := wiring.out(switch, target + 1), Way):
        found.append((wiring.names[switch], way.port))
        switch = way.neighbour
    return [*found, ("in", target)]


def max_min(paths: Sequence[Sequence[Hashable]]) -> list[Fraction]:
    """The shares of flows of links of capacity 1: all grow together until a link is full."""
    shares = [Fraction(0)] * len(paths)
    growing = set(range(len(paths)))
    while growing:
        room: dict[Hashable, Fraction] = {}
        for link in {link for flow in growing for link in paths[flow]}:
            users = [flow for flow, path in enumerate(paths) if link in path]
            left = 1 - sum(shares[flow] for flow in users)
            room[link] = left / sum(flow in growing for flow in users)
        step = min(room.values())
        for flow in growing:
            shares[flow] += step
        full = {link for link, left in room.items() if left == step}
        growing -= {flow for flow in growing if full.intersection(paths[flow])}
    return shares


def test_the_shares_of_a_few_flows_worked_out_by_hand() -> None:
    paths = [["a"], ["a", "b"], ["a"], ["b", "c"], ["c", "d"], ["d"]]
    third, rest = Fraction(1, 3), Fraction(2, 3)
    half = Fraction(1, 2)
    assert max_min(paths) == [third, third, third, half, half, half]
    assert max_min([["a"], ["a", "b"], ["a"], ["b"]]) == [third, third, third, rest]


def test_one_flow_has_the_link_to_itself() -> None:
    (rate,) = rates(tree(), [(0, 15)])
    assert rate == pytest.approx(float(GOODPUT), rel=0.03)


@pytest.mark.parametrize("verb", ["write", "send"])
@pytest.mark.parametrize("nodes", [3, 5, 9])
def test_into_one_node_each_flow_has_an_equal_part_of_its_link(nodes: int, verb: str) -> None:
    machine = networked(FatTree(switch="x", levels=1, arity=9, oversubscription=1), nodes, mtu=MTU)
    for rate in rates(machine, into_one(nodes), verb, iters=2):
        assert rate == pytest.approx(float(GOODPUT) / (nodes - 1), rel=0.03)


def test_into_one_node_the_bus_of_that_binds_if_it_is_slower() -> None:
    slow = {"adapter.bus.lanes": "2"}
    network = FatTree(switch="x", levels=1, arity=9, oversubscription=1)
    # Writes of 128 B with 20 around them: a header of 12, and 8 of framing, number and LCRC.
    bus = float(128 / ((128 + 20) * pcie_byte(1, 2)) * 10**12)
    assert bus < 0.5 * GOODPUT
    for rate in rates(networked(network, 5, mtu=MTU, overrides=slow), into_one(5), iters=2):
        assert rate == pytest.approx(bus / 4, rel=0.03)


@pytest.mark.check
@pytest.mark.parametrize("by", [1, 4, 11])
def test_any_shift_has_the_full_rate_at_full_bisection(by: int) -> None:
    machine = tree()
    (alone,) = rates(machine, [(0, 15)])
    for rate in rates(machine, shifted(16, by)):
        assert rate == pytest.approx(alone, rel=0.03)


@pytest.mark.parametrize("oversubscription", [2, pytest.param(4, marks=pytest.mark.check)])
def test_a_shift_to_the_next_switch_shares_its_uplinks(oversubscription: int) -> None:
    for rate in rates(tree(oversubscription), shifted(16, 4)):
        assert rate == pytest.approx(float(GOODPUT) / oversubscription, rel=0.03)


@pytest.mark.check
@pytest.mark.parametrize(("oversubscription", "seed"), [(1, 1), (2, 2)])
def test_drawn_permutations_have_the_shares_of_the_links_that_they_meet_on(
    oversubscription: int, seed: int
) -> None:
    machine, pairs = tree(oversubscription), permuted(16, seed)
    shares = max_min([links(machine.wiring, *pair) for pair in pairs])
    # Fixed routes let flows meet even where there would be a way for each.
    assert min(shares) < 1
    for rate, share in zip(rates(machine, pairs), shares, strict=True):
        assert rate == pytest.approx(float(share * GOODPUT), rel=0.03)


def test_percentiles_are_of_the_nearest_rank() -> None:
    assert [percentile(range(1, 101), one) for one in (1, 50, 99, 100)] == [1, 50, 99, 100]
    assert [percentile([30, 10, 20], one) for one in (33, 34, 50, 99)] == [10, 20, 20, 30]
    assert percentile([7], 50) == 7


def test_fairness_is_one_of_equals_and_one_over_n_of_one_that_has_all() -> None:
    assert jain([3.0] * 5) == pytest.approx(1, rel=1e-12)
    assert jain([1, 0, 0, 0]) == pytest.approx(0.25, rel=1e-12)
    # Jain, Chiu and Hawe: k of n have equal parts, the others nothing.
    assert jain([1, 1, 0, 0, 0]) == pytest.approx(0.4, rel=1e-12)


@pytest.mark.parametrize(
    ("workload", "flows"),
    [("all_to_all", 12), ("incast", 3), ("permutation", 4), ("neighbour", 8)],
)
def test_a_row_says_of_flows_what_follows_from_their_times(workload: str, flows: int) -> None:
    row = bench(workload, "liu2004", size=4096, iters=2, nodes=4, jobs=1).curve.rows[0]
    assert row["flows"] == flows
    assert row["nodes"] == 4
    times = [row[f"completion_{one}_us"] for one in ("p50", "mean", "p99", "max")]
    assert times[0] <= times[2] == times[3]
    assert times[1] <= times[3]
    # All begin at once, so that the last one ends the whole.
    assert row["bandwidth_MBps"] == pytest.approx(flows * 2 * 4096 / times[3], rel=1e-9)
    assert row["rate_Mps"] == pytest.approx(flows * 2 / times[3], rel=1e-9)
    assert 1 / flows < row["fairness"] <= 1 + 1e-12


def test_all_to_all_is_run_whole_if_asked_for_or_if_its_flows_are_short() -> None:
    given: dict[str, Any] = {"size": 4096, "nodes": 3, "jobs": 1}
    short = bench("all_to_all", "liu2004", iters=4, **given)
    assert short.counters["cqes_written"] == 6 * 4 / 4
    whole = bench("all_to_all", "liu2004", iters=8, exact=True, **given).curve.rows[0]
    steady = bench("all_to_all", "liu2004", iters=100, **given).curve.rows[0]
    assert "completion_mean_us" in short.curve.rows[0]
    assert "completion_mean_us" in whole
    assert "completion_mean_us" not in steady
    assert steady["node_min_MBps"] <= steady["node_max_MBps"]


def test_each_message_is_sent_once() -> None:
    found = run_point(
        "permutation", resolve("fat-tree-64"), Options(size=5000, iters=3, nodes=64, tx_depth=2)
    )
    assert found.counters["port_rcv_data"] == found.counters["port_xmit_data"] == 64 * 3 * 5000


def test_packets_that_block_each_other_for_good_are_reported() -> None:
    ring = networked(Ring(switch="x", switches=6), 24, overrides={"switch.buffer": "2304 B"})
    options = Options(size=1 << 16, iters=4, nodes=24, shift=8)
    with pytest.raises(CatalogError, match="packets that wait for each other in a circle"):
        run_point("permutation", ring, options)
