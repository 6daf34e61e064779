"""Ethernet links: their nominal rate, the gap behind a frame, and room known to the byte."""

from fractions import Fraction

import pytest

from hcasim.catalog import EthernetLink
from hcasim.engine import Simulator
from hcasim.fabric import Opcode, Packet, Transmitter, connect_ports
from hcasim.fabric.iwarp import IwarpFormat
from hcasim.fabric.link import ReceiveBuffer
from hcasim.fabric.medium import medium

WIRE = IwarpFormat(markers=False, timestamps=False)
FULL = 1518
BYTE = 800
"""Time of a byte at 10 Gbit/s in ps."""


def link(gigabits: int = 10, metres: int = 0) -> EthernetLink:
    return EthernetLink(gigabits=gigabits, cable_length=metres * 1000, propagation=5000)


def frame(payload: int = 1440) -> Packet:
    return Packet(Opcode.RDMA_WRITE, 1, 1, 0, payload, size_of=WIRE.size)


class Sink:
    """Takes frames and notes when."""

    def __init__(self) -> None:
        self.arrivals: list[tuple[int, int]] = []

    def receive(self, packet: Packet, head_at: int, tail_at: int) -> None:
        self.arrivals.append((head_at, tail_at))


class Pair:
    """Two transmitters that make one link."""

    def __init__(self, of: EthernetLink, buffer: int = 1 << 20) -> None:
        self.sim = Simulator()
        self.there, self.back = (Transmitter(self.sim, name, of, 1) for name in ("a", "b"))
        self.near, self.far = Sink(), Sink()
        connect_ports(self.there, self.near, buffer, self.back, self.far, buffer)
        self.buffer = ReceiveBuffer(self.there, self.back)
        self.left: list[int] = []

    def leave(self, _packet: Packet, end: int) -> None:
        self.left.append(end)

    def send(self, *packets: Packet, on: Transmitter | None = None) -> None:
        for each in packets:
            (on or self.there).send(0, each, int(self.sim.now), self.leave)


@pytest.mark.parametrize("gigabits", [1, 10, 25, 40, 100])
def test_the_rate_is_the_nominal_one(gigabits: int) -> None:
    assert medium(link(gigabits)).ps_per_byte == Fraction(8000, gigabits)


def test_a_frame_occupies_the_link_for_its_preamble_and_gap_too() -> None:
    pair = Pair(link())
    pair.send(frame(), frame())
    pair.sim.run()
    assert pair.left == [(FULL + 20) * BYTE, 2 * (FULL + 20) * BYTE]
    assert pair.there.busy_ps == pair.left[-1]
    assert pair.there.wire_bytes == 2 * (FULL + 20)


def test_nobody_waits_for_the_gap_behind_a_frame() -> None:
    pair = Pair(link(metres=10))
    pair.send(frame())
    pair.sim.run()
    assert pair.far.arrivals == [(50_000, 50_000 + (8 + FULL) * BYTE)]


def test_no_flow_control_packets_are_sent() -> None:
    pair = Pair(link())
    for _ in range(20):
        pair.send(frame())
        pair.sim.run()
        pair.buffer.free(frame(), int(pair.sim.now))
    assert pair.back.flow_control_packets == pair.there.flow_control_packets == 0
    pair.send(frame(), on=pair.back)
    pair.sim.run()
    assert pair.back.busy_ps == (FULL + 20) * BYTE


def test_a_frame_waits_for_room_to_the_byte() -> None:
    for buffer, arrive in ((2 * FULL, 2), (2 * FULL - 1, 1)):
        pair = Pair(link(), buffer)
        pair.send(frame(), frame())
        pair.sim.run()
        assert len(pair.far.arrivals) == arrive
    pair.buffer.free(frame(), int(pair.sim.now))
    pair.sim.run()
    assert len(pair.far.arrivals) == 2
