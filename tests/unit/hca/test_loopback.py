"""Two queue pairs of one port reach each other inside the adapter."""

import pytest

from hcasim.verbs import QP, SGE
from tests.rig import (
    ALL,
    CMP_SWAP,
    FETCH_ADD,
    READ,
    SEND,
    WRITE,
    Peer,
    Rig,
    check_that_nothing_is_lent,
    machine,
    succeeded,
)


def looped(rig: Rig, ports: tuple[int, int] = (1, 1)) -> tuple[Peer, QP, QP]:
    """Queue pairs of the first node that are connected to each other."""
    (a,) = rig.peers[:1]
    return a, *rig.connect(a, a, ports=ports)


def on_links(rig: Rig) -> int:
    """Packets that any adapter or switch has put onto a link, flow control included."""
    transmitters = [
        *rig.cluster.fabric.transmitters(),
        *(port.transmitter for node in rig.cluster.nodes for port in node.adapter.ports),
    ]
    return sum(each.packets + each.flow_control_packets for each in transmitters)


@pytest.mark.parametrize("opcode", [WRITE, SEND, READ, FETCH_ADD, CMP_SWAP])
@pytest.mark.parametrize("adapter", ["mt25208", "mt23108"])
def test_each_operation_stays_inside_the_adapter(opcode: object, adapter: str) -> None:
    rig = Rig(machine(adapter=adapter))
    a, qp, other = looped(rig)
    length = 8 if opcode in (FETCH_ADD, CMP_SWAP) else 40_000
    if opcode is SEND:
        rig.run(a.post_receives(other, a.receive(length, wr_id=7)))
    found = rig.exchange(qp, a, a.request(opcode, a, length, remote_offset=1 << 20))
    found += list(a.cq.queue.entries)
    assert succeeded(found)
    assert [c.byte_len for c in found] == [length] * (2 if opcode is SEND else 1)
    assert on_links(rig) == 0
    assert rig.counter("port_xmit_packets") == rig.counter("port_xmit_data") == 0
    port = a.adapter.ports[0]
    # A read is asked for once; writes and sends are acknowledged at the 32nd packet and the last.
    packets = 2 if length == 8 else 41 if opcode is READ else 42
    assert port.payload_received == port.egress.payload_bytes == length
    assert port.packets_received == port.egress.loopback.packets == packets


def test_two_ports_of_a_node_reach_each_other_over_the_switch() -> None:
    rig = Rig()
    a, qp, _ = looped(rig, (1, 2))
    assert succeeded(rig.exchange(qp, a, a.request(WRITE, a, 5000, remote_offset=1 << 20)))
    # A write of five packets and its acknowledgement.
    assert rig.counter("port_xmit_packets") == 5 + 1
    assert all(not port.egress.loopback.packets for port in a.adapter.ports)


def test_room_comes_back_to_where_it_was_taken() -> None:
    rig = Rig()
    a, b = rig.peers
    ends = [*rig.connect(a, a), *rig.connect(a, b)]

    def program(qp: QP, target: Peer) -> object:
        yield from a.post(qp, *[a.request(WRITE, target, 100_000, remote_offset=1 << 20)] * 4)

    rig.run(program(ends[0], a), program(ends[2], b), a.collect(8))
    check_that_nothing_is_lent(rig, ends)
    for port in a.adapter.ports:
        credits = port.egress.loopback.credits
        assert credits.available == credits.capacity


def test_a_buffer_of_the_adapter_to_another_needs_no_bus_for_its_data() -> None:
    rig = Rig(machine(adapter="mt25218"))
    a, qp, _ = looped(rig)
    source, target = (a.pd.reg_mr(1 << 16, ALL, memory="adapter") for _ in range(2))
    request = a.request(
        WRITE,
        a,
        sg_list=(SGE(source.addr, 1 << 16, source.lkey),),
        remote_addr=target.addr,
        rkey=target.rkey,
    )
    assert succeeded(rig.exchange(qp, a, request))
    # A request of 64 B is read, a completion of 32 B written.
    assert (rig.counter("bus_read_bytes"), rig.counter("bus_write_bytes")) == (64, 32)
