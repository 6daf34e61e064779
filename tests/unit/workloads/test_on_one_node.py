"""Both processes of perftest on one node: their messages stay inside its adapter."""

from typing import Any

import pytest

from hcasim.workloads import WORKLOADS
from tests.rig import machine, run
from tests.unit.runs.test_options import faults_of

TESTS = sorted(name for name, one in WORKLOADS.items() if "loopback" in one.options)
FEW: dict[str, Any] = {"iters": 200, "loopback": True}


def given(name: str, **more: Any) -> dict[str, Any]:
    options = {**FEW, "size": 8 if "atomic" in name else 4096, **more}
    if name.endswith("_lat"):
        options["warmup"] = 10
    return options


@pytest.mark.parametrize("name", TESTS)
def test_nothing_leaves_the_adapter(name: str) -> None:
    found = run(name, machine(), **given(name))
    assert found.counters["port_xmit_packets"] == found.counters["port_xmit_data"] == 0
    assert found.counters["port_rcv_data"] > 0
    if name.endswith("bw"):
        # Reads and atomics both ways, too, share the one way back into the port.
        assert 0 < found.row["bandwidth_MBps"] < 1000


@pytest.mark.parametrize("name", [name for name in TESTS if name.endswith("_lat")])
def test_the_latency_is_that_of_two_nodes_without_what_is_between_them(name: str) -> None:
    """Two nodes with a cable of no length have the same, but for what each has to itself."""
    joined = run(
        name, machine({"link.cable_length": "0 m"}, switch=False), **given(name, loopback=False)
    )
    alone = run(name, machine(), **given(name))
    assert alone.row["latency_us"] == pytest.approx(joined.row["latency_us"], rel=0.02)


def test_each_process_has_a_processor_of_its_own_where_there_are_two() -> None:
    options = given("send_bw", size=8, explain=True)
    found = run("send_bw", machine(), **options).breakdown["resources"]
    busy = {one["name"] for one in found if ".cpu" in one["name"]}
    assert busy == {"node0.cpu0", "node0.cpu1"}
    alone = run("send_bw", machine({"host.cpus": "1"}), **options).breakdown["resources"]
    assert {one["name"] for one in alone if ".cpu" in one["name"]} == {"node0.cpu0"}


def test_a_server_elsewhere_or_several_clients_are_refused() -> None:
    assert faults_of("write_bw", loopback=True, clients=2) == [
        "clients: found 2 with loopback, which has 1"
    ]
    (fault,) = faults_of("write_bw", "fat-tree-64", loopback=True, server="storage")
    assert fault.startswith("server: found with loopback, whose server is on the client's node")
