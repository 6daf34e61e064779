"""Nodes are built from a machine and joined by its switch, or back to back."""

import pytest

from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from tests.rig import WRITE, Rig, joined, machine, succeeded


def test_every_port_of_every_node_has_an_identifier_of_its_own() -> None:
    cluster = Cluster(Simulator(), machine())
    lids = [port.lid for node in cluster.nodes for port in node.adapter.ports]
    assert lids == [1, 2, 3, 4, 5, 6, 7, 8]
    (switch,) = cluster.fabric.switches
    assert [switch.find(lid) for lid in lids] == switch.outputs


def test_a_machine_has_no_more_nodes_than_it_says() -> None:
    with pytest.raises(ValueError, match=r"^liu2004 has 4 nodes, not 5$"):
        Cluster(Simulator(), machine(), 5)


def test_without_a_switch_there_are_two_nodes_or_one_that_sends_nothing() -> None:
    alone = machine(switch=False)
    assert len(Cluster(Simulator(), alone).nodes) == 2
    assert len(Cluster(Simulator(), alone, 1).nodes) == 1


def test_back_to_back_the_ports_are_joined_in_order() -> None:
    rig = Rig(machine(switch=False))
    a, b = rig.peers
    for port in (1, 2):
        qp, _ = rig.connect(a, b, ports=(port, port))
        assert succeeded(rig.exchange(qp, a, a.request(WRITE, b, 1000)))
        assert b.adapter.ports[port - 1].payload_received == 1000
    assert rig.cluster.fabric.switches == []


def test_counters_of_the_nodes_are_added_up() -> None:
    rig, a, b, qp, _ = joined()
    rig.exchange(qp, a, a.request(WRITE, b, 3000))
    one, two = (node.adapter.counters() for node in rig.cluster.nodes)
    assert rig.cluster.counters() == {name: one[name] + two[name] for name in one}
    assert (one["port_xmit_data"], two["port_rcv_data"]) == (3000, 3000)
    assert (one["doorbells"], one["wqes_fetched"], one["cqes_written"]) == (2, 1, 1)


@pytest.mark.parametrize("adapter", ["mt25208", "mt23108"])
def test_resources_of_different_nodes_have_different_names(adapter: str) -> None:
    cluster = Cluster(Simulator(), machine(adapter=adapter))
    for named in (cluster.sim.resources.busy_ps(), cluster.sim.resources.waiting_ps()):
        of = [[one for one in named if one.startswith(f"{node.name}.")] for node in cluster.nodes]
        first, *others = ([one.partition(".")[2] for one in names] for names in of)
        assert others == [first] * 3
        assert len(first) > 5
        rest = len(named) - 4 * len(first)
        # Beside the nodes there are the ports of the switch, or nothing.
        assert rest == sum(one.startswith("switch") for one in named)
