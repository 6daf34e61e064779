"""Flows between many nodes get of links and switches what arithmetic says, and end when it says."""

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import CatalogError, Machine, Way, Wiring, resolve
from hcasim.catalog.testbed import FatTree, Ring
from hcasim.cluster import Cluster
from hcasim.engine import Event, Simulator
from hcasim.runs.benchmark import bench
from hcasim.runs.experiment import Experiment
from hcasim.runs.point import PACKET
from hcasim.workloads import Options, flows
from hcasim.workloads.end import OPCODES
from hcasim.workloads.flows import (
    Pairs,
    each_to_each,
    into_one,
    measure,
    neighbours,
    percentile,
    permuted,
    run_flows,
    torus,
)
from hcasim.workloads.laps import UNPROVEN
from hcasim.workloads.options import Verb
from hcasim.workloads.perftest.stream import Span
from hcasim.workloads.roles import clients_and_server, first_nodes
from hcasim.workloads.run import Nodes, Run
from tests.buses import pcie_byte
from tests.patterns import flows_of
from tests.rig import networked
from tests.twin import link_byte
from tests.unit.runs.test_options import faults_of

OPTIONS = Options(size=32768, iters=40, tx_depth=8)


def tree(oversubscription: int, link: dict[str, str] | None = None, **trunk: object) -> Machine:
    """Sixteen nodes on four switches, which have four uplinks or fewer."""
    network = FatTree(switch="x", levels=2, arity=4, oversubscription=oversubscription)
    return networked(network, 16, trunk=trunk, overrides=link)


def rates(machine: Machine, pairs: list[tuple[int, int]], verb: Verb = "write") -> list[float]:
    """Bytes a second of flows from node to node, all at once, each of another source."""
    nodes = sorted({node for pair in pairs for node in pair})
    places = [(nodes.index(source), nodes.index(target)) for source, target in pairs]
    run = Run("incast", Simulator(), machine, OPTIONS, lambda *_: nodes)
    return measure(run, OPCODES[verb], places)[0]


def alone(machine: Machine) -> float:
    return rates(machine, [(0, 4)])[0]


@pytest.mark.parametrize("oversubscription", [1, 2, 4])
def test_oversubscription_divides_what_one_switch_sends_to_another(oversubscription: int) -> None:
    machine = tree(oversubscription)
    found = rates(machine, [(n, n + 4) for n in range(4)])
    assert sum(found) == pytest.approx(4 * alone(machine) / oversubscription, rel=0.01)
    assert max(found) == pytest.approx(min(found), rel=0.01)


def test_into_one_node_each_input_of_its_switch_has_the_same_share() -> None:
    # Node 5 has an input of its own; the others share that of the trunk.
    local, *remote = rates(tree(4), [(5, 4), (0, 4), (1, 4), (8, 4)])
    whole = alone(tree(4))
    assert local == pytest.approx(whole / 2, rel=0.02)
    assert sum(remote) == pytest.approx(whole / 2, rel=0.02)
    # Where they meet, in the upper switch, they come by two inputs: of nodes 0 and 1, and of 8.
    assert remote[2] == pytest.approx(whole / 4, rel=0.03)
    assert remote[0] == pytest.approx(remote[1], rel=0.03)


def test_more_flows_take_no_more_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "PACKETS", 2000)
    machine, options = tree(4), Options(size=4096, iters=5000, tx_depth=16)
    together = []
    for count in (4, 8):
        run = Run("incast", Simulator(), machine, replace(options, nodes=count + 1), first_nodes)
        pairs = [(n, count) for n in range(count)]
        together.append(sum(measure(run, OPCODES["write"], pairs)[0]))
        # Those with data, and an acknowledgement of each.
        assert run.cluster.counters()["port_xmit_packets"] < 2 * 1.5 * 2000
    assert together[1] == pytest.approx(together[0], rel=0.02)


def test_only_what_packets_pass_is_built() -> None:
    run = Run("incast", Simulator(), resolve("fat-tree-64"), OPTIONS, lambda *_: [0, 63])
    cluster = run.cluster
    ends = ["level1.switch0", "level1.switch3"]
    assert [switch.name for switch in cluster.fabric.switches] == ends
    measure(run, OPCODES["write"], [(0, 1)])
    # There and back, by the numbers of the nodes.
    above = ["level2.switch0", "level2.switch7"]
    assert [switch.name for switch in cluster.fabric.switches] == ends + above
    assert len(cluster.fabric.transmitters()) == 2 + 2 * 4


def test_packets_that_block_each_other_for_good_are_reported() -> None:
    ring = networked(Ring(switch="x", switches=6), 24, overrides={"switch.buffer": "2304 B"})
    across = [(n, (n + 8) % 24) for n in range(24)]
    with pytest.raises(CatalogError, match="packets that wait for each other in a circle"):
        rates(ring, across)


@pytest.mark.parametrize(
    ("given", "nodes"),
    [
        ({}, [0, 1]),
        ({"clients": 3}, [0, 1, 2, 3]),
        ({"clients": 2, "server": "storage"}, [0, 1, 48]),
        ({"clients": 2, "client": "storage", "server": "storage"}, [49, 50, 48]),
        ({"clients": 2, "client": "storage"}, [48, 49, 0]),
        ({"client": "compute[47]", "server": "storage[15]"}, [47, 63]),
    ],
)
def test_roles_are_given_in_order_or_by_group(given: dict[str, Any], nodes: list[int]) -> None:
    assert clients_and_server(resolve("fat-tree-64"), Options(**given)) == nodes


@pytest.mark.parametrize(
    ("roles", "given", "fault"),
    [
        (
            clients_and_server,
            {"clients": 4, "client": "compute[8:12]", "server": "compute[9]"},
            "clients: found 4; allowed: up to 3, ",
        ),
        (clients_and_server, {"clients": 64}, "clients: found 64; allowed: up to 63, "),
        (
            clients_and_server,
            {"client": "compute[3]", "server": "compute[3]"},
            "server: found compute[3], which is also the only client; allowed: another",
        ),
        (
            first_nodes,
            {"nodes": 65},
            (
                "nodes: found 65; allowed: up to 64, as fat-tree-64 has; "
                "more with --set nodes.storage.count=N"
            ),
        ),
    ],
)
def test_nodes_that_are_not_there_are_refused(
    roles: Nodes, given: dict[str, Any], fault: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(fault)}"):
        roles(resolve("fat-tree-64"), Options(**given))


MTU = 2048
HEADERS = 26
"""Bytes around the data of a packet: LRH, BTH, ICRC and VCRC (InfiniBand volume 1, 5.2)."""
LONG = Options(size=1 << 20, iters=4, tx_depth=4)
BYTES = LONG.size * LONG.iters
GOODPUT = MTU / ((MTU + HEADERS) * link_byte("SDR", 4)) * 10**12
"""Bytes a second that a link of the rig carries."""


def fat_tree(oversubscription: int = 1, arity: int = 4) -> Machine:
    """As many nodes as ports of two levels of switches."""
    network = FatTree(switch="x", levels=2, arity=arity, oversubscription=oversubscription)
    return networked(network, arity**2, mtu=MTU)


def whole_rates(machine: Machine, pairs: Pairs, verb: str = "write", **given: Any) -> list[float]:
    """Bytes a second of each flow while it lasts."""
    options = Options(**vars(LONG) | given)
    cluster = Cluster(Simulator(), machine)
    each = [(pair, 0, options) for pair in pairs]
    senders, _ = run_flows(cluster, OPCODES[verb], each)
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


@pytest.mark.parametrize("verb", ["write", "send"])
@pytest.mark.parametrize("nodes", [3, 5, 9])
def test_into_one_node_each_flow_has_an_equal_part_of_its_link(nodes: int, verb: str) -> None:
    machine = networked(FatTree(switch="x", levels=1, arity=9, oversubscription=1), nodes, mtu=MTU)
    for rate in whole_rates(machine, into_one(nodes), verb, iters=2):
        assert rate == pytest.approx(float(GOODPUT) / (nodes - 1), rel=0.03)


def test_what_a_switch_keeps_has_not_been_moved() -> None:
    # The 4 MB of the switch hold all that three nodes send.
    each: dict[str, Any] = {"size": 65536, "clients": 3, "iters": 8}
    row = bench("write_bw", testbed="ideal-100g-4mb", **each).curve.rows[0]
    assert row["bandwidth_MBps"] < 100_000 / 8


def test_into_one_node_the_bus_of_that_binds_if_it_is_slower() -> None:
    slow = {"adapter.bus.lanes": "2"}
    network = FatTree(switch="x", levels=1, arity=9, oversubscription=1)
    # Writes of 128 B with 20 around them: a header of 12, and 8 of framing, number and LCRC.
    bus = float(128 / ((128 + 20) * pcie_byte(1, 2)) * 10**12)
    assert bus < 0.5 * GOODPUT
    for rate in whole_rates(networked(network, 5, mtu=MTU, overrides=slow), into_one(5), iters=2):
        assert rate == pytest.approx(bus / 4, rel=0.03)


@pytest.mark.check
@pytest.mark.parametrize(("oversubscription", "seed"), [(1, 1), (2, 2)])
def test_drawn_permutations_have_the_shares_of_the_links_that_they_meet_on(
    oversubscription: int, seed: int
) -> None:
    machine, pairs = fat_tree(oversubscription), permuted(16, seed)
    shares = max_min([links(machine.wiring, *pair) for pair in pairs])
    # Fixed routes let flows meet even where there would be a way for each.
    assert min(shares) < 1
    for rate, share in zip(whole_rates(machine, pairs), shares, strict=True):
        assert rate == pytest.approx(float(share * GOODPUT), rel=0.03)


def test_percentiles_are_of_the_nearest_rank() -> None:
    assert [percentile(range(1, 101), one) for one in (1, 50, 99, 100)] == [1, 50, 99, 100]
    assert [percentile([30, 10, 20], one) for one in (33, 34, 50, 99)] == [10, 20, 20, 30]
    assert percentile([7], 50) == 7
    assert percentile(range(1, 1001), 999, 1000) == 999


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


@pytest.mark.parametrize(
    ("testbed", "given", "cut"),
    [
        ("h20", {"size": 65536, "iters": 200, "nodes": 2}, True),
        # The last burst is not full.
        ("h20", {"size": 4096, "iters": 1048, "nodes": 2, "burst": 16}, True),
        ("roce-400g", {"size": 1024, "iters": 400, "nodes": 2, "connection": "UC"}, True),
        # Whatever is run of these, longer flows go on otherwise.
        ("fat-tree-64", {"size": 8, "iters": 60, "nodes": 4, "verb": "send"}, False),
    ],
)
def test_all_to_all_tells_the_same_of_a_part_as_of_all(
    testbed: str, given: dict[str, Any], cut: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flows, "PACKETS", 400)
    found = [
        bench("all_to_all", testbed, exact=exact, jobs=1, cache=False, **given)
        for exact in (False, True)
    ]
    part, whole = (one.curve.rows[0] for one in found)
    assert part.keys() == whole.keys()
    assert whole["error_percent"] == 0
    assert (part["error_percent"] > 0) == cut
    for name in ("rate_Mps", "bandwidth_MBps", "completion_mean_us", "completion_max_us"):
        assert 100 * abs(part[name] / whole[name] - 1) <= part["error_percent"] + 0.1, name
    sent = [one.counters["port_xmit_packets"] for one in found]
    assert (sent[0] < 0.7 * sent[1]) == cut


@pytest.mark.parametrize(
    ("testbed", "given"),
    [
        ("h20", {"size": 65536, "iters": 200, "nodes": 2}),
        ("h20", {"size": 65536, "iters": 4, "nodes": 2, "exact": True}),
        # Shorter runs do not tell of these, so that all are run.
        ("fat-tree-64", {"size": 8, "iters": 60, "nodes": 4, "verb": "send"}),
    ],
)
def test_listeners_hear_the_run_of_all_to_all_that_is_its_result(
    testbed: str, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flows, "PACKETS", 400)
    sent: Counter[bool] = Counter()

    def note(time_ps: int, block: str, event: str, operation: int, details: str) -> None:
        sent[event == "link" and "hca" in block] += 1

    (point,) = Experiment.of("all_to_all", testbed, **given).benchmark()
    quiet = point.run(profile=True)
    found = point.run(lambda sim: sim.listeners.append(note))
    assert (found.row, found.counters) == (quiet.row, quiet.counters)
    packets = found.counters["port_xmit_packets"]
    assert sent[True] == packets
    # A profile counts the shorter runs, too.
    assert quiet.cost is not None
    assert (quiet.cost.packets + quiet.cost.left_out > packets) == ("exact" not in given)


def test_a_rate_is_timed_although_all_had_moved_at_the_first_look() -> None:
    """Senders that wait for a timer are looked at rarely, and then go on all at once."""
    sim = Simulator()
    moved = [0.0]

    def steps() -> Iterator[Event]:
        yield sim.timeout(100_000_000_000)
        moved[0] = 10_000
        for _ in range(10_000):
            moved[0] += 1
            yield sim.timeout(50_000_000)

    sim.process(steps())
    span = Span(sim, [lambda: moved[0]], 100)
    sim.run(until=span.over)
    assert span.rates() == [pytest.approx(20_000, rel=0.05)]


def test_a_pace_is_known_to_some_error_however_long_a_message_is() -> None:
    """Of a message of many packets, a look sees all of the time's part at once."""
    sim = Simulator()
    sim.timeout(1_000_000_000_000)
    span = Span(sim, [lambda: sim.now], 20_000_000_000, packets=4096)
    sim.run(until=span.over)
    assert span.rates() == [1e12]
    assert span.error == UNPROVEN


NODES = st.integers(2, 60)


@given(NODES)
def test_each_sends_once_to_each_other(nodes: int) -> None:
    pairs = each_to_each(nodes)
    assert len(set(pairs)) == len(pairs) == nodes * (nodes - 1)
    assert all(a != b for a, b in pairs)


@given(NODES, st.integers(0, 2**31 - 1))
def test_a_drawn_permutation_leaves_no_node_by_itself(nodes: int, seed: int) -> None:
    pairs = permuted(nodes, seed)
    assert [a for a, _ in pairs] == sorted(b for _, b in pairs) == list(range(nodes))
    assert all(a != b for a, b in pairs)
    assert permuted(nodes, seed) == pairs


def test_all_permutations_without_a_fixed_place_come_equally_often() -> None:
    found = Counter(tuple(permuted(4, seed)) for seed in range(3600))
    assert len(found) == 9
    assert all(300 < count < 500 for count in found.values())


@pytest.mark.parametrize(
    ("nodes", "dimensions", "shape"),
    [
        # Those of MPI_Dims_create (MPI 4.0, example 8.1), and of some machines.
        (6, 2, (3, 2)),
        (7, 2, (7, 1)),
        (1024, 1, (1024,)),
        (1024, 2, (32, 32)),
        (1024, 3, (16, 8, 8)),
        (36, 3, (4, 3, 3)),
        (2, 3, (2, 1, 1)),
    ],
)
def test_a_torus_is_as_equal_as_it_can_be(
    nodes: int, dimensions: int, shape: tuple[int, ...]
) -> None:
    assert torus(nodes, dimensions) == shape


@given(NODES, st.integers(1, 6))
def test_neighbours_send_to_each_other_along_each_dimension(nodes: int, dimensions: int) -> None:
    shape = torus(nodes, dimensions)
    assert prod(shape) == nodes
    assert sorted(shape, reverse=True) == list(shape)
    pairs = neighbours(nodes, dimensions)
    assert len(set(pairs)) == len(pairs)
    assert {(b, a) for a, b in pairs} == set(pairs)
    each = sum(min(2, length - 1) for length in shape)
    assert set(Counter(a for a, _ in pairs).values()) == {each}


def test_the_neighbours_of_a_ring_and_of_a_torus_in_numbers() -> None:
    assert neighbours(4, 1) == [(0, 1), (0, 3), (1, 2), (1, 0), (2, 3), (2, 1), (3, 0), (3, 2)]
    # Three rows of two.
    assert [b for a, b in neighbours(6, 2) if a == 3] == [5, 1, 2]


SHIFT = "allowed: up to"


@pytest.mark.parametrize(
    ("workload", "given", "fault"),
    [
        ("permutation", {"shift": 8, "nodes": 8}, f"shift: found 8 with 8 nodes; {SHIFT} 7, or 0 "),
        ("permutation", {"shift": 3, "nodes": "2,8"}, f"shift: found 3 with 2 nodes; {SHIFT} 1, "),
        ("permutation", {"seed": -1}, "seed: found -1; allowed: 0 to 2147483647"),
        ("neighbour", {"dimensions": 7}, "dimensions: found 7; allowed: 1 to 6"),
        ("incast", {"verb": "read"}, "verb: found 'read'; allowed: write or send"),
        ("incast", {"nodes": 3000}, "nodes: found 3000; allowed: up to 64, as fat-tree-64 has"),
        ("all_to_all", {"shift": 1}, "shift: all_to_all has no such option; it has "),
    ],
)
def test_flows_that_cannot_be_are_refused(workload: str, given: dict[str, Any], fault: str) -> None:
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


WRITE = OPCODES["write"]
WIRE_PS = (1024 * (1024 + 82) + 16) * 80
"""What 1 MiB takes at 100 Gbit/s: packets with Ethernet's framing and gap and RoCE's headers, and
the address and key of the first."""


@pytest.mark.parametrize("senders", [4, pytest.param(16, marks=pytest.mark.check)])
def test_of_an_incast_that_loses_nothing_the_last_flow_ends_when_all_are_on_the_wire(
    senders: int,
) -> None:
    machine = resolve("ideal-100g")
    (alone,) = completions(machine, into_one(2))
    last = max(completions(machine, into_one(senders + 1)))
    # Four cables of 1 us, a packet that is stored and an acknowledgement before and behind that.
    assert alone - WIRE_PS == pytest.approx(4_000_000 + 100_000, rel=0.01)
    assert last == pytest.approx(alone + (senders - 1) * WIRE_PS, rel=0.001)


def completions(machine: Machine, pairs: Pairs) -> list[int]:
    """What flows of 1 MiB take, in ps."""
    options = Options(size=2**20, iters=1)
    cluster = Cluster(Simulator(), machine, len({node for pair in pairs for node in pair}))
    each = [(pair, 0, options) for pair in pairs]
    return [side.ended_ps - side.began_ps for side in run_flows(cluster, WRITE, each)[0]]


def test_the_first_nodes_alone_send_and_each_flow_begins_behind_the_one_before() -> None:
    _, found = flows_of("permutation", size=8, nodes=8, shift=4, senders=3, stagger=50)
    assert [(one["source"], one["target"]) for one in found] == [(0, 4), (1, 5), (2, 6)]
    assert [one["began_us"] for one in found] == [0, 50, 100]
    assert len({one["completion_us"] for one in found}) == 1


def test_between_bursts_nothing_is_sent() -> None:
    usual = {"size": 2**13, "nodes": 3, "shift": 1, "tx_depth": 4}
    once, _ = flows_of("permutation", iters=4, **usual)
    several, _ = flows_of("permutation", iters=12, burst=4, pause=70, **usual)
    took = several["completion_max_us"]
    assert took == pytest.approx(3 * once["completion_max_us"] + 2 * 70, rel=0.01)
    # Messages that are left when all are sent end without a pause.
    assert flows_of("permutation", iters=4, burst=4, **usual)[0] == once


def test_bursts_that_cannot_be_are_refused() -> None:
    assert faults_of("incast", pause=5) == [
        "pause: found without burst, behind which it is; add burst"
    ]
    assert faults_of("incast", iters=4, burst=3, post_list=2) == [
        "burst: found 3; allowed: multiples of post_list, 2, or 0"
    ]
