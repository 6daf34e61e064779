"""Packets pass a port in order; each gives its turn and its room back exactly once."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcasim.hca.port import Arrival
from tests.rig import FETCH_ADD, READ, SEND, WRITE, Program, Rig, joined, machine, succeeded

OPERATIONS = st.lists(
    st.tuples(st.sampled_from([WRITE, SEND, READ, FETCH_ADD]), st.sampled_from([0, 8, 3000])),
    min_size=1,
    max_size=8,
)


@pytest.mark.pure
@settings(max_examples=25)
@given(
    operations=OPERATIONS,
    receives=st.integers(0, 8),
    room=st.sampled_from([8, 4096]),
    rkey=st.sampled_from([None, 999]),
)
def test_whatever_comes_of_it_every_packet_leaves_the_port_and_its_buffer(
    operations: list[Any], receives: int, room: int, rkey: int | None
) -> None:
    """Also what is refused, repeated, out of sequence or too long, and what answers that."""
    rig = Rig(machine())
    a, b = rig.peers
    held: dict[int, list[str]] = {}

    def noted(method: Callable[[Arrival], None], word: str) -> Callable[[Arrival], None]:
        def call(self: Arrival) -> None:
            held.setdefault(id(self.packet), [self.packet]).append(word)
            method(self)

        return call

    qp, remote = rig.connect(a, b, rnr_retry=1, min_rnr_timer_ps=1000)
    rig.run(b.post_receives(remote, *[b.receive(room)] * receives))
    wrong = {} if rkey is None else {"rkey": rkey}
    requests = [
        a.request(opcode, b, 8 if opcode is FETCH_ADD else length, **wrong)
        for opcode, length in operations
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Arrival, "finish", noted(Arrival.finish, "finish"))
        patch.setattr(Arrival, "free", noted(Arrival.free, "free"))
        rig.exchange(qp, a, *requests)
    assert all(sorted(words[1:]) == ["finish", "free"] for words in held.values())
    assert len(held) == sum(
        port.packets_received for node in rig.cluster.nodes for port in node.adapter.ports
    )


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
    rig, a, b, qp, _ = joined(machine({"adapter.receive.packet_service": service}))
    rig.exchange(qp, a, a.request(WRITE, b, 10 * 1024))
    port = b.adapter.ports[0]
    assert port.packets_received == 10
    assert (
        port.sim.resources.busy_ps()["node1.hca.port1.receive_pipeline"]
        == 10 * int(service[:2]) * 1000
    )
