"""Many nodes at once get of switches and trunks what arithmetic says."""

from typing import Any

import pytest

from hcasim.catalog import CatalogError, Machine, resolve
from hcasim.catalog.network.topologies import FatTree, Ring
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.workloads import Options
from hcasim.workloads.end import OPCODES
from hcasim.workloads.options import Verb
from hcasim.workloads.perftest import flows
from hcasim.workloads.perftest.flows import measure
from hcasim.workloads.roles import clients_and_server, first_nodes
from tests.rig import networked

OPTIONS = Options(size=32768, iters=40, tx_depth=8)


def tree(oversubscription: int, link: dict[str, str] | None = None, **trunk: object) -> Machine:
    """Sixteen nodes on four switches, which have four uplinks or fewer."""
    network = FatTree(switch="x", levels=2, arity=4, oversubscription=oversubscription)
    return networked(network, 16, trunk=trunk, overrides=link)


def rates(machine: Machine, pairs: list[tuple[int, int]], verb: Verb = "write") -> list[float]:
    """Bytes a second of flows from node to node, all at once, each of another source."""
    nodes = sorted({node for pair in pairs for node in pair})
    places = [(nodes.index(source), nodes.index(target)) for source, target in pairs]
    return measure(Cluster(Simulator(), machine, nodes), OPTIONS, OPCODES[verb], places)[0]


def alone(machine: Machine) -> float:
    return rates(machine, [(0, 4)])[0]


@pytest.mark.parametrize("verb", ["write", "send", "read"])
def test_two_flows_over_one_trunk_get_half_of_it_each(verb: Verb) -> None:
    machine = tree(4)
    whole = rates(machine, [(0, 4)], verb)[0]
    for share in rates(machine, [(0, 4), (1, 5)], verb):
        assert share == pytest.approx(whole / 2, rel=0.01)


@pytest.mark.parametrize("oversubscription", [1, 2, 4])
def test_oversubscription_divides_what_one_switch_sends_to_another(oversubscription: int) -> None:
    machine = tree(oversubscription)
    found = rates(machine, [(n, n + 4) for n in range(4)])
    assert sum(found) == pytest.approx(4 * alone(machine) / oversubscription, rel=0.01)
    assert max(found) == pytest.approx(min(found), rel=0.01)


def test_a_trunk_at_half_the_speed_carries_half() -> None:
    link = {"link.speed": "DDR", "link.width": "1"}
    fast, slow = tree(1, link), tree(1, link, speed="SDR")
    assert alone(slow) == pytest.approx(alone(fast) / 2, rel=0.01)


def test_flows_within_a_switch_are_not_in_the_way_of_each_other() -> None:
    machine = tree(4)
    whole = alone(machine)
    for share in rates(machine, [(0, 1), (2, 3)]):
        assert share == pytest.approx(whole, rel=0.01)


def test_into_one_node_each_input_of_its_switch_has_the_same_share() -> None:
    # Node 5 has an input of its own; the others share that of the trunk.
    local, *remote = rates(tree(4), [(5, 4), (0, 4), (1, 4), (8, 4)])
    whole = alone(tree(4))
    assert local == pytest.approx(whole / 2, rel=0.02)
    assert sum(remote) == pytest.approx(whole / 2, rel=0.02)
    # Where they meet, in the upper switch, they come by two inputs: of nodes 0 and 1, and of 8.
    assert remote[2] == pytest.approx(whole / 4, rel=0.03)
    assert remote[0] == pytest.approx(remote[1], rel=0.03)


def test_into_one_node_of_one_switch_all_have_the_same_share() -> None:
    found = rates(tree(1), [(1, 0), (2, 0), (3, 0)])
    assert max(found) == pytest.approx(min(found), rel=0.01)
    assert sum(found) == pytest.approx(alone(tree(1)), rel=0.01)


def test_more_flows_take_no_more_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "PACKETS", 2000)
    machine, options = tree(4), Options(size=4096, iters=5000, tx_depth=16)
    together = []
    for count in (4, 8):
        cluster = Cluster(Simulator(), machine, count + 1)
        pairs = [(n, count) for n in range(count)]
        together.append(sum(measure(cluster, options, OPCODES["write"], pairs)[0]))
        # Those with data, and an acknowledgement of each.
        assert cluster.counters()["port_xmit_packets"] < 2 * 1.5 * 2000
    assert together[1] == pytest.approx(together[0], rel=0.02)


def test_only_what_packets_pass_is_built() -> None:
    cluster = Cluster(Simulator(), resolve("fat-tree-64"), [0, 63])
    assert [switch.name for switch in cluster.fabric.switches] == [
        "level1.switch0",
        "level1.switch3",
    ]
    measure(cluster, OPTIONS, OPCODES["write"], [(0, 1)])
    # There and back, by the numbers of the nodes.
    assert [switch.name for switch in cluster.fabric.switches] == [
        "level1.switch0",
        "level1.switch3",
        "level2.switch0",
        "level2.switch7",
    ]
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
        ({"clients": 4, "client": "compute[8:12]", "server": "compute[9]"}, None),
        ({"clients": 64}, None),
    ],
)
def test_roles_are_given_in_order_or_by_group(
    given: dict[str, Any], nodes: list[int] | None
) -> None:
    machine, options = resolve("fat-tree-64"), Options(**given)
    if nodes is None:
        with pytest.raises(ValueError, match=r"^clients: found (4|64); allowed: up to (3|63), "):
            clients_and_server(machine, options)
    else:
        assert clients_and_server(machine, options) == nodes


def test_no_node_is_client_and_server_at_once() -> None:
    options = Options(client="compute[3]", server="compute[3]")
    fault = r"^server: found compute\[3\], which is also the only client; allowed: another"
    with pytest.raises(ValueError, match=fault):
        clients_and_server(resolve("fat-tree-64"), options)


def test_there_are_no_more_nodes_than_the_machine_has() -> None:
    machine = resolve("fat-tree-64")
    assert first_nodes(machine, Options(nodes=3)) == [0, 1, 2]
    with pytest.raises(
        ValueError, match=r"^nodes: found 65; allowed: up to 64, as fat-tree-64 has"
    ):
        first_nodes(machine, Options(nodes=65))
