"""Wire formats weigh what the RFCs of iWARP and the specification of InfiniBand say."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import IwarpProtocol, resolve
from hcasim.catalog.link import InfinibandProtocol, Rocev2Protocol
from hcasim.fabric import Opcode
from hcasim.fabric.packet import (
    FRAME_DELIMITERS,
    MTUS,
    Aeth,
    AtomicEth,
    Header,
    Reth,
    Syndrome,
    packet_size,
)
from hcasim.fabric.wire import FCS, FRAME_HEADER, IwarpFormat, wire_format
from hcasim.workloads import Options
from hcasim.workloads.registry import run_point

DATA = (Opcode.SEND, Opcode.RDMA_WRITE, Opcode.RDMA_READ_RESPONSE)
TEN_GIGABITS = 1250
FORMATS = st.builds(IwarpFormat, st.booleans(), st.booleans())
MTU = st.integers(576, 9216)
PLAIN = IwarpFormat(markers=False, timestamps=False)


@pytest.mark.parametrize(
    ("mtu", "markers", "payload", "goodput"),
    [
        (1500, False, 1440, 1170),
        (1500, True, 1428, 1161),
        (9000, False, 8940, 1236),
        (9000, True, 8868, 1227),
    ],
)
def test_ten_gigabit_ethernet_carries_the_known_goodput(
    mtu: int, markers: bool, payload: int, goodput: int
) -> None:
    wire = IwarpFormat(markers, timestamps=False)
    assert wire.payload(mtu) == payload
    frame = wire.size(Opcode.RDMA_WRITE, payload) + wire.around
    assert frame == mtu + 38
    assert TEN_GIGABITS * payload / frame == pytest.approx(goodput, abs=0.6)


@pytest.mark.parametrize(
    ("opcode", "payload", "frame"),
    [
        # 14 + 20 + 20 + MPA 2 + header + data, padded to 4, + CRC 4 + FCS 4
        (Opcode.RDMA_WRITE, 1440, 1518),
        (Opcode.RDMA_WRITE, 8, 86),
        (Opcode.RDMA_WRITE, 0, 78),
        (Opcode.RDMA_WRITE, 1, 82),
        (Opcode.SEND, 8, 90),
        (Opcode.SEND, 1436, 1518),
        (Opcode.RDMA_READ_REQUEST, 0, 110),
        (Opcode.RDMA_READ_RESPONSE, 4, 82),
        (Opcode.NAK, 0, 106),
        # TCP alone, in the shortest of frames.
        (Opcode.ACKNOWLEDGE, 0, 64),
        (Opcode.RESPONSE_ACKNOWLEDGE, 0, 64),
    ],
)
def test_a_frame_has_the_size_of_all_its_headers(opcode: Opcode, payload: int, frame: int) -> None:
    assert PLAIN.size(opcode, payload) == frame


def test_timestamps_lengthen_each_segment_by_twelve_bytes() -> None:
    stamped = IwarpFormat(markers=False, timestamps=True)
    assert stamped.payload(1500) == 1440 - 12
    assert stamped.size(Opcode.SEND, 100) == PLAIN.size(Opcode.SEND, 100) + 12
    # 14 + 52 + 4: beyond the shortest frame.
    assert stamped.size(Opcode.ACKNOWLEDGE, 0) == 70


@given(wire=FORMATS, mtu=MTU, opcode=st.sampled_from(DATA))
def test_a_full_frame_fills_the_mtu_and_never_exceeds_it(
    wire: IwarpFormat, mtu: int, opcode: Opcode
) -> None:
    frame = wire.size(opcode, wire.payload(mtu, opcode))
    around = FRAME_HEADER + FCS
    assert mtu - 4 - 3 <= frame - around <= mtu


@pytest.mark.parametrize("mtu", MTUS)
def test_infiniband_counts_data_only(mtu: int) -> None:
    wire = wire_format(InfinibandProtocol())
    assert wire.around == FRAME_DELIMITERS == 2
    for opcode in DATA:
        assert wire.payload(mtu, opcode) == mtu
        for headers in ((), (Reth(0, 1, 8),), (Aeth(Syndrome.ACK, 0),)):
            assert wire.size(opcode, mtu, headers) == packet_size(opcode, mtu, headers)


ROCE = wire_format(Rocev2Protocol())
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
    found = ROCE.size(opcode, payload, () if header is None else (header,)) + ROCE.around
    assert found == ON_THE_WIRE + payload + beside


def test_a_larger_mtu_never_carries_less() -> None:
    """Over any protocol, each packet of a long message has the same headers around more data."""
    iwarp = IwarpProtocol(markers=False, timestamps=True)
    for wire in map(wire_format, (InfinibandProtocol(), Rocev2Protocol(), iwarp)):
        sizes = MTUS if wire.payload(576) == 576 else range(576, 9217, 4)
        full = [wire.payload(mtu) for mtu in sizes]
        sent = [wire.size(Opcode.RDMA_WRITE, data, ()) + wire.around for data in full]
        shares = [Fraction(*each) for each in zip(full, sent, strict=True)]
        assert shares == sorted(shares)


@pytest.mark.parametrize(
    ("ip", "vlan", "more"), [("ipv4", None, 0), ("ipv4", 0, 4), ("ipv6", None, 20), ("ipv6", 7, 24)]
)
def test_a_tag_and_ipv6_take_their_bytes_of_the_link(ip: str, vlan: int | None, more: int) -> None:
    """Two flows into one link, at 100 Gbit/s: each of their packets takes so much longer."""
    protocol = Rocev2Protocol(ip=ip, vlan=vlan)
    assert wire_format(protocol).size(Opcode.SEND, 1024) == 14 + 20 + 8 + 12 + 1024 + 4 + 4 + more
    took = []
    settings = {"adapter.protocol.ip": ip}
    settings |= {} if vlan is None else {"adapter.protocol.vlan": str(vlan)}
    for overrides in ({}, settings):
        machine = resolve("ideal-100g-4mb", overrides=overrides)
        result = run_point("incast", machine, Options(nodes=3, size=1 << 18, iters=1))
        took.append(result.row["completion_max_us"])
    packets = 2 * (1 << 18) / 1024
    assert took[1] - took[0] == pytest.approx(packets * more * 80e-6, rel=0.01)
