"""RoCEv2: InfiniBand's packets without its link layer, in UDP over IPv4 in Ethernet frames."""

from fractions import Fraction

import pytest

from hcasim.catalog import InfinibandProtocol, IwarpProtocol, Rocev2Protocol
from hcasim.fabric import Opcode
from hcasim.fabric.packet import MTUS, Aeth, AtomicEth, Header, Reth, Syndrome
from hcasim.fabric.wire import wire_format

WIRE = wire_format(Rocev2Protocol())
ON_THE_WIRE = 8 + 14 + 20 + 8 + 12 + 4 + 4 + 12
"""Preamble, addresses, IPv4, UDP, BTH, ICRC, FCS and gap."""


@pytest.mark.parametrize(
    ("opcode", "payload", "header", "beside"),
    [
        (Opcode.RDMA_WRITE, 4096, None, 0),
        (Opcode.RDMA_WRITE, 4096, Reth(0, 1, 8), 16),
        (Opcode.RDMA_READ_RESPONSE, 1024, Aeth(Syndrome.ACK, 0), 4),
        (Opcode.FETCH_ADD, 0, AtomicEth(0, 1, 1, 0), 28),
        (Opcode.ACKNOWLEDGE, 0, Aeth(Syndrome.ACK, 0), 4),
        # Padded to 4 B.
        (Opcode.SEND, 5, None, 3),
    ],
)
def test_a_packet_takes_82_bytes_beside_its_data(
    opcode: Opcode, payload: int, header: Header | None, beside: int
) -> None:
    assert ON_THE_WIRE == 82
    found = WIRE.size(opcode, payload, () if header is None else (header,)) + WIRE.around
    assert found == ON_THE_WIRE + payload + beside


def test_a_hundred_gigabits_carry_98_of_data_at_mtu_4096() -> None:
    goodput = Fraction(4096, WIRE.size(Opcode.RDMA_WRITE, 4096) + WIRE.around)
    assert float(100 * goodput) == pytest.approx(98.03, abs=0.01)


def test_a_larger_mtu_never_carries_less() -> None:
    """Over any protocol, each packet of a long message has the same headers around more data."""
    iwarp = IwarpProtocol(markers=False, timestamps=True)
    for wire in map(wire_format, (InfinibandProtocol(), Rocev2Protocol(), iwarp)):
        sizes = MTUS if wire.payload(576) == 576 else range(576, 9217, 4)
        full = [wire.payload(mtu) for mtu in sizes]
        sent = [wire.size(Opcode.RDMA_WRITE, data, ()) + wire.around for data in full]
        shares = [Fraction(*each) for each in zip(full, sent, strict=True)]
        assert shares == sorted(shares)
