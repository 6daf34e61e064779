"""Packets weigh what the InfiniBand specification says, volume 1, chapter 9."""

import pytest

from hcasim.fabric import Opcode, Packet
from hcasim.fabric.packet import (
    AETH,
    BASE,
    DETH,
    RETH,
    Aeth,
    AtomicEth,
    Deth,
    Header,
    Reth,
    Route,
    Syndrome,
    packet_size,
)

ATOMIC_ACK_ETH = 8
CARRIERS = (Opcode.SEND, Opcode.RDMA_WRITE, Opcode.RDMA_READ_RESPONSE)


ACK = Aeth(Syndrome.ACK, 1)


@pytest.mark.parametrize(
    ("opcode", "header", "size"),
    [
        (Opcode.SEND, None, 26),
        (Opcode.RDMA_WRITE, Reth(0, 1, 0), 42),
        (Opcode.RDMA_READ_REQUEST, Reth(0, 1, 0), 42),
        (Opcode.RDMA_READ_RESPONSE, ACK, 30),
        (Opcode.ACKNOWLEDGE, ACK, 30),
        (Opcode.NAK, Aeth(Syndrome.RNR_NAK, 1, rnr_timer_ps=5), 30),
        (Opcode.FETCH_ADD, AtomicEth(0, 1, 5, 0), 54),
        (Opcode.COMPARE_SWAP, AtomicEth(0, 1, 5, 4), 54),
    ],
)
def test_a_packet_weighs_what_its_headers_do(
    opcode: Opcode, header: Header | None, size: int
) -> None:
    headers = () if header is None else (header,)
    packet = Packet(opcode, Route(1), 2, 3, 0, headers)
    assert packet_size(opcode, 0, headers) == packet.size == size


def test_a_packet_has_the_headers_that_it_is_given_and_weighs_as_much() -> None:
    target, datagram = Reth(0, 1, 8), Deth(3, 1)
    packet = Packet(Opcode.RDMA_WRITE, Route(1), 2, 3, 0, (datagram, target))
    assert packet.size == BASE + DETH + RETH
    assert [packet.header(Deth), packet.header(Reth)] == [datagram, target]
    assert packet.header(Aeth) is None


def test_the_answer_to_an_atomic_carries_the_word_from_before() -> None:
    header = Aeth(Syndrome.ACK, 1, original=7)
    size = packet_size(Opcode.ATOMIC_ACKNOWLEDGE, ATOMIC_ACK_ETH, (header,))
    assert size == 26 + AETH + ATOMIC_ACK_ETH == 38


def test_payload_is_padded_to_four_bytes() -> None:
    for payload, padded in [(0, 0), (1, 4), (2, 4), (3, 4), (4, 4), (5, 8), (1023, 1024)]:
        for opcode in CARRIERS:
            assert packet_size(opcode, payload, ()) == packet_size(opcode, 0, ()) + padded
