"""Packets weigh what the InfiniBand specification says, volume 1, chapter 9."""

import pytest

from hcasim.fabric import Opcode, Packet
from hcasim.fabric.packet import (
    AETH,
    ATOMIC_ETH,
    BTH,
    ICRC,
    IMMDT,
    LRH,
    RETH,
    VCRC,
    packet_size,
)

ATOMIC_ACK_ETH = 8
CARRIERS = (Opcode.SEND, Opcode.RDMA_WRITE, Opcode.RDMA_READ_RESPONSE)


def test_headers_have_the_sizes_of_the_specification() -> None:
    sizes = {"LRH": LRH, "BTH": BTH, "RETH": RETH, "AETH": AETH, "AtomicETH": ATOMIC_ETH}
    sizes |= {"ImmDt": IMMDT, "ICRC": ICRC, "VCRC": VCRC}
    assert sizes == {
        "LRH": 8,
        "BTH": 12,
        "RETH": 16,
        "AETH": 4,
        "AtomicETH": 28,
        "ImmDt": 4,
        "ICRC": 4,
        "VCRC": 2,
    }


@pytest.mark.parametrize(
    ("opcode", "size"),
    [
        (Opcode.SEND, 26),
        (Opcode.RDMA_WRITE, 42),
        (Opcode.RDMA_READ_REQUEST, 42),
        (Opcode.RDMA_READ_RESPONSE, 30),
        (Opcode.ACKNOWLEDGE, 30),
        (Opcode.NAK, 30),
        (Opcode.FETCH_ADD, 54),
        (Opcode.COMPARE_SWAP, 54),
    ],
)
def test_a_packet_alone_carries_all_headers_of_its_operation(opcode: Opcode, size: int) -> None:
    assert packet_size(opcode, 0) == size


def test_the_answer_to_an_atomic_carries_the_word_from_before() -> None:
    assert (
        packet_size(Opcode.ATOMIC_ACKNOWLEDGE, ATOMIC_ACK_ETH) == 26 + AETH + ATOMIC_ACK_ETH == 38
    )


@pytest.mark.parametrize("opcode", CARRIERS)
@pytest.mark.parametrize(
    ("payload", "padded"), [(0, 0), (1, 4), (2, 4), (3, 4), (4, 4), (5, 8), (1023, 1024)]
)
def test_payload_is_padded_to_four_bytes(opcode: Opcode, payload: int, padded: int) -> None:
    assert packet_size(opcode, payload) == packet_size(opcode, 0) + padded


@pytest.mark.parametrize(
    ("opcode", "first", "middle", "last"),
    [
        (Opcode.SEND, 26, 26, 26),
        # Only the first packet of a write says where the message goes.
        (Opcode.RDMA_WRITE, 42, 26, 26),
        # The first and the last packet of a read response carry an AETH.
        (Opcode.RDMA_READ_RESPONSE, 30, 26, 30),
    ],
)
def test_extended_headers_come_on_the_packets_that_need_them(
    opcode: Opcode, first: int, middle: int, last: int
) -> None:
    sizes = [
        packet_size(opcode, 256, first=start, last=end) - 256
        for start, end in ((True, False), (False, False), (False, True))
    ]
    assert sizes == [first, middle, last]


def test_a_packet_knows_its_size() -> None:
    packet = Packet(Opcode.RDMA_WRITE, 1, 2, 3, 1024, first=False, last=False)
    assert packet.size == 1050
    assert repr(packet) == "RDMA_WRITE psn=3 1024 B to qp 2"
