"""A port's receive pipeline works in order, however long the line."""

import sys

import pytest

from hcasim.hca.port import Arrival
from tests.rig import WRITE, Program, Rig, machine, succeeded


@pytest.mark.pure
def test_packets_that_piled_up_behind_a_slow_context_are_all_dealt_with() -> None:
    slow = {
        "adapter.memory.latency": "1 ms",
        **{f"adapter.{other}.location": "host" for other in ("sqpc", "cqc", "mpt", "mtt")},
        "adapter.receive.buffer": "256 KiB",
        "adapter.scheduler.queues": "64",
    }
    rig = Rig(machine(slow))
    a, b = rig.peers
    pairs = [rig.connect(a, b)[0] for _ in range(10)]
    port = b.adapter.ports[0]
    longest = 0
    through = port.through

    def noted(arrival: Arrival) -> None:
        nonlocal longest
        through(arrival)
        longest = max(longest, len(arrival.line.waiting))

    port.through = noted

    def program() -> Program:
        for _ in range(100):
            for qp in pairs:
                yield from a.post(qp, a.request(WRITE, b, 0))
        return (yield from a.collect(1000))

    (found,) = rig.run(program())
    assert succeeded(found)
    assert rig.counter("rqpc_miss_cnt") == 10
    # The line behind the first context was longer than calls could be nested, at several each.
    assert longest > sys.getrecursionlimit() // 4


@pytest.mark.parametrize("service", ["50 ns", "80 ns"])
def test_the_pipeline_is_busy_for_its_service_time_on_each_packet(service: str) -> None:
    rig = Rig(machine({"adapter.receive.packet_service": service}))
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    rig.exchange(qp, a, a.request(WRITE, b, 10 * 1024))
    port = b.adapter.ports[0]
    assert port.packets_received == 10
    assert (
        port.sim.resources.busy_ps()["node1.hca.port1.receive_pipeline"]
        == 10 * int(service[:2]) * 1000
    )
