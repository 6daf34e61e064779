"""Packets say in their headers all that the other end needs, and no more."""

import pytest

from hcasim.fabric import Opcode
from hcasim.fabric.packet import Aeth, AtomicEth, Packet, Reth, Syndrome
from tests.rig import CMP_SWAP, FETCH_ADD, READ, SEND, WRITE, Rig, succeeded
from tests.unit.hca.test_requester import Tap


def seen(opcode: object, length: int, **more: object) -> tuple[Rig, list[Packet], list[Packet]]:
    """One request: what the requester sends, and what the responder does."""
    rig = Rig()
    a, b = rig.peers
    qp, remote = rig.connect(a, b)
    if opcode is SEND:
        rig.run(b.post_receives(remote, b.receive(length)))
    out, back = Tap(rig, 0), Tap(rig, 1)
    assert succeeded(rig.exchange(qp, a, a.request(opcode, b, length, **more)))
    return rig, list(out.packets), list(back.packets)


@pytest.mark.pure
@pytest.mark.parametrize(
    ("opcode", "there", "back"),
    [
        (SEND, [26, 26, 26], [30]),
        # Only the first packet of a write says where the message goes.
        (WRITE, [42, 26, 26], [30]),
        # The first and the last packet of a read response carry an AETH.
        (READ, [42], [30, 26, 30]),
    ],
)
def test_extended_headers_come_on_the_packets_that_need_them(
    opcode: object, there: list[int], back: list[int]
) -> None:
    _, out, answers = seen(opcode, 2560)
    assert [packet.size - packet.payload for packet in out] == there
    assert [packet.size - packet.payload for packet in answers] == back


@pytest.mark.pure
@pytest.mark.parametrize("opcode", [WRITE, READ])
def test_a_reth_says_where_in_remote_memory(opcode: object) -> None:
    rig, (first, *rest), _ = seen(opcode, 2560, remote_offset=4096)
    b = rig.peers[1]
    (reth,) = first.headers
    assert isinstance(reth, Reth)
    found = reth.address, reth.rkey, reth.length
    assert found == (b.mr.addr + 4096, b.mr.rkey, 2560)
    assert [packet.headers for packet in rest] == [()] * len(rest)


@pytest.mark.pure
@pytest.mark.parametrize(("opcode", "swap_add", "compare"), [(FETCH_ADD, 5, 0), (CMP_SWAP, 9, 5)])
def test_an_atomic_eth_carries_the_operands(opcode: object, swap_add: int, compare: int) -> None:
    _, (request,), (answer,) = seen(opcode, 8, compare_add=5, swap=9)
    (operands,), (aeth,) = request.headers, answer.headers
    assert isinstance(operands, AtomicEth)
    assert (operands.swap_add, operands.compare) == (swap_add, compare)
    assert isinstance(aeth, Aeth)
    assert aeth.original == 0


@pytest.mark.pure
def test_a_response_takes_the_sequence_numbers_that_its_request_has_reserved() -> None:
    rig = Rig()
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    out, back = Tap(rig, 0), Tap(rig, 1)
    reads = [a.request(READ, b, 3000), a.request(READ, b, 1000), a.request(WRITE, b, 8)]
    assert succeeded(rig.exchange(qp, a, *reads))
    assert [packet.psn for packet in out.packets] == [0, 3, 4]
    assert [packet.psn for packet in back.of(Opcode.RDMA_READ_RESPONSE)] == [0, 1, 2, 3]
    assert [packet.psn for packet in back.of(Opcode.ACKNOWLEDGE)] == [4]


@pytest.mark.pure
def test_acknowledgements_count_the_messages_completed() -> None:
    rig = Rig()
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    back = Tap(rig, 1)
    mixed = [a.request(WRITE, b, 40 * 1024), a.request(READ, b, 8), a.request(FETCH_ADD, b)]
    assert succeeded(rig.exchange(qp, a, *mixed))
    counted = [(packet.opcode.name, packet.header(Aeth).msn) for packet in back.packets]
    assert counted[:2] == [("ACKNOWLEDGE", 0), ("ACKNOWLEDGE", 1)]
    # The responses are made when the last request has been accepted.
    assert {msn for _, msn in counted[2:]} <= {2, 3}


@pytest.mark.pure
def test_a_refusal_says_why_and_how_long_to_wait() -> None:
    rig = Rig()
    a, b = rig.peers
    qp, _ = rig.connect(a, b, rnr_retry=0, min_rnr_timer_ps=7_000_000)
    back = Tap(rig, 1)
    rig.exchange(qp, a, a.request(SEND, b))
    (nak,) = back.packets
    (aeth,) = nak.headers
    assert (aeth.syndrome, aeth.rnr_timer_ps) == (Syndrome.RNR_NAK, 7_000_000)


@pytest.mark.pure
def test_a_send_that_is_too_long_is_refused_at_the_packet_that_does_not_fit() -> None:
    rig = Rig()
    a, b = rig.peers
    qp, remote = rig.connect(a, b)
    rig.run(b.post_receives(remote, b.receive(2500)))
    back = Tap(rig, 1)
    rig.exchange(qp, a, a.request(SEND, b, 5000))
    (nak,) = back.packets
    assert (nak.psn, nak.header(Aeth).syndrome) == (2, Syndrome.INVALID_REQUEST)
    assert b.adapter.dma.scattered == 2048


@pytest.mark.parametrize("opcode", [WRITE, SEND, READ])
def test_each_packet_is_placed_behind_the_one_before_it(opcode: object) -> None:
    rig = Rig()
    a, b = rig.peers
    qp, remote = rig.connect(a, b)
    if opcode is SEND:
        rig.run(b.post_receives(remote, b.receive(2560, offset=4096)))
    target = a if opcode is READ else b
    placed: list[int] = []
    listeners = target.mr.region.listeners
    listeners.append(lambda address, _: placed.append(address - target.mr.addr))
    where = {"offset": 4096, "remote_offset": 4096}
    assert succeeded(rig.exchange(qp, a, a.request(opcode, b, 2560, **where)))
    assert placed == [4096, 5120, 6144]
