"""Ethernet links: their nominal rate, the gap behind a frame, and room known to the byte."""

from fractions import Fraction

import pytest

from hcasim.catalog import EthernetLink, InfinibandLink
from hcasim.catalog.link import Fec
from hcasim.fabric import Opcode, Packet
from hcasim.fabric.medium import correction, medium
from hcasim.fabric.packet import Route
from hcasim.fabric.wire import IwarpFormat
from tests.unit.fabric.test_link import Pair
from tests.unit.fabric.test_link import link as infiniband

WIRE = IwarpFormat(markers=False, timestamps=False)
FULL = 1518
BYTE = 800
"""Time of a byte at 10 Gbit/s in ps."""


def link(gigabits: int = 10, metres: int = 0) -> EthernetLink:
    return EthernetLink(gigabits=gigabits, cable_length=metres * 1000, propagation=5000)


def frame(payload: int = 1440) -> Packet:
    return Packet(Opcode.RDMA_WRITE, Route(1), 1, 0, payload, sizes=WIRE)


@pytest.mark.parametrize("gigabits", [1, 10, 25, 40, 50, 100, 200, 400])
def test_the_rate_is_the_nominal_one(gigabits: int) -> None:
    assert medium(link(gigabits)).ps_per_byte == Fraction(8000, gigabits)


@pytest.mark.pure
def test_a_frame_occupies_the_link_for_its_preamble_and_gap_too() -> None:
    pair = Pair(link())
    pair.send(frame(), frame())
    pair.sim.run()
    assert pair.left == [(FULL + 20) * BYTE, 2 * (FULL + 20) * BYTE]
    assert pair.there.busy_ps == pair.left[-1]
    assert pair.there.wire_bytes == 2 * (FULL + 20)


@pytest.mark.pure
def test_nobody_waits_for_the_gap_behind_a_frame() -> None:
    pair = Pair(link(metres=10))
    pair.send(frame())
    pair.sim.run()
    ((head, tail, _),) = pair.far.arrivals
    assert (head, tail) == (50_000, 50_000 + (8 + FULL) * BYTE)


@pytest.mark.pure
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


@pytest.mark.pure
def test_a_frame_waits_for_room_to_the_byte() -> None:
    for buffer, arrive in ((2 * FULL, 2), (2 * FULL - 1, 1)):
        pair = Pair(link(), buffer)
        pair.send(frame(), frame())
        pair.sim.run()
        assert len(pair.far.arrivals) == arrive
    pair.buffer.free(frame(), int(pair.sim.now))
    pair.sim.run()
    assert len(pair.far.arrivals) == 2


@pytest.mark.parametrize(
    ("of", "code", "bits", "signalled"),
    [
        # Bits of a code word over what the lanes signal in Gbit/s.
        (infiniband("FDR"), "firecode", 2112, Fraction("14.0625")),
        (infiniband("EDR"), "rs528", 5280, 4 * Fraction("25.78125")),
        (infiniband("HDR"), "rs544", 5440, 4 * Fraction("53.125")),
        (infiniband("HDR"), "rs272", 2720, 4 * Fraction("53.125")),
        (infiniband("NDR"), "rs544", 5440, 4 * Fraction("106.25")),
        (link(25), "rs528", 5280, Fraction("25.78125")),
        (link(25), "firecode", 2112, Fraction("25.78125")),
        (link(100), "rs528", 5280, 4 * Fraction("25.78125")),
        (link(100), "rs544", 5440, 2 * Fraction("53.125")),
        (link(200), "rs544", 2 * 5440, 4 * Fraction("53.125")),
        (link(400), "rs544", 2 * 5440, 8 * Fraction("53.125")),
    ],
)
def test_error_correction_waits_for_a_code_word_and_its_decoder(
    of: EthernetLink | InfinibandLink, code: str, bits: int, signalled: Fraction
) -> None:
    fec = Fec(code=code, decoding=40_000)
    found = correction(of.model_copy(update={"fec": fec}))
    assert found == 40_000 + round(bits * 1000 / signalled)


@pytest.mark.pure
def test_error_correction_delays_frames_and_slows_none() -> None:
    """All of a frame comes later by the same time, and the next one right behind it."""
    plain, corrected = Pair(link(100)), Pair(link(100).model_copy(update={"fec": FEC}))
    for pair in (plain, corrected):
        pair.send(frame(), frame())
        pair.sim.run()
    late = 51_200 + 40_000
    arrivals, delayed = ([one[:2] for one in pair.far.arrivals] for pair in (plain, corrected))
    assert delayed == [(head + late, tail + late) for head, tail in arrivals]
    assert corrected.left == plain.left


def test_a_link_without_error_correction_waits_for_none() -> None:
    assert correction(link()) == 0
    assert correction(link().model_copy(update={"fec": Fec(code="none", decoding=40_000)})) == 0


FEC = Fec(code="rs528", decoding=40_000)
