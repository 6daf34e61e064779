"""How benchmarks use two ports: parts of a message, or a port for each process and direction."""

from typing import Any

import pytest

from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import WROpcode
from hcasim.workloads import Options
from hcasim.workloads.run import Run
from hcasim.workloads.windows import bandwidth
from tests.rig import machine


def processes(both_ways: bool = True, **options: Any) -> tuple[Cluster, list[bandwidth.Process]]:
    """Connected processes, in pairs of sender and receiver."""
    run = Run("window_bibw", Simulator(), machine(), Options(**options))
    found: list[bandwidth.Process] = []
    for index in range(run.options.processes):
        pair = [bandwidth.Process(run, node, index, WROpcode.RDMA_WRITE) for node in range(2)]
        bandwidth._pair(*pair, index, run.options, both_ways)
        found += pair
    return run.cluster, found


@pytest.mark.parametrize("size", [8193, 8194, 10_001, 65536, 1 << 20, (1 << 20) + 1])
def test_stripes_are_even_and_cover_the_message(size: int) -> None:
    _, (sender, _) = processes(size=size, ports=2, mode="striping")
    parts = sender.message_parts()
    assert [offset for _, offset, _ in parts] == [0, parts[0][2]]
    lengths = [length for _, _, length in parts]
    assert sum(lengths) == size
    assert max(lengths) - min(lengths) <= 1
    assert len({lane.qp.lid for lane, _, _ in parts}) == 2


@pytest.mark.parametrize("size", [1, 4096, 8192])
def test_a_message_up_to_the_threshold_stays_whole(size: int) -> None:
    _, (sender, _) = processes(size=size, ports=2, mode="striping")
    assert [(offset, length) for _, offset, length in sender.message_parts()] == [(0, size)]


def test_the_threshold_is_the_authors() -> None:
    _, (sender, _) = processes(size=8192, ports=2, mode="striping", threshold=8191)
    assert [length for _, _, length in sender.message_parts()] == [4096, 4096]


def test_binding_gives_each_process_and_direction_a_port_of_its_own() -> None:
    cluster, found = processes(ports=2, mode="binding", processes=2)
    first, second = (
        {port.lid: index for index, port in enumerate(node.adapter.ports)} for node in cluster.nodes
    )
    out = [
        (first if index % 2 == 0 else second)[process.lanes_out[0].qp.lid]
        for index, process in enumerate(found)
    ]
    # Two processes of a node send through different ports, as do the two ends of a pair.
    assert out[0] != out[2]
    assert out[1] != out[3]
    for index, process in enumerate(found):
        ports = first if index % 2 == 0 else second
        arriving = {ports[process.qps[qpn].lid] for qpn in process._data_qps}
        assert arriving == {1 - out[index]}


def test_without_a_mode_every_lane_is_on_the_first_port() -> None:
    cluster, (sender, _) = processes(size=64, qps=3)
    assert {lane.qp.lid for lane in sender.lanes_out} == {cluster.nodes[0].adapter.ports[0].lid}
    turns = [sender.message_parts()[0][0].qp.qp_num for _ in range(6)]
    assert turns[:3] == turns[3:]
    assert len(set(turns)) == 3


@pytest.mark.parametrize(("size", "share"), [(65536, 0.5), (4096, 0.0)])
def test_striping_uses_both_ports_alike_and_whole_messages_only_one(
    size: int, share: float
) -> None:
    options = Options(size=size, ports=2, mode="striping", window=8, iters=2, warmup=0)
    run = Run("window_bw", Simulator(), machine(), options)
    bandwidth.measure(run)
    ports = run.cluster.nodes[0].adapter.ports
    first, second = (port.transmitter.payload_bytes for port in ports)
    assert second / (first + second) == pytest.approx(share, abs=0.01)


def test_striping_gives_each_queue_pair_of_a_port_its_turn() -> None:
    _, (sender, _) = processes(size=32768, ports=2, mode="striping", qps=3)
    turns = [[lane.qp.qp_num for lane, _, _ in sender.message_parts()] for _ in range(4)]
    assert len({number for turn in turns[:3] for number in turn}) == 6
    assert turns[3] == turns[0]
