"""Links: rates by the specification, credits in blocks of 64 bytes, flow control sent back."""

from fractions import Fraction
from typing import get_args

import pytest

from hcasim.catalog import InfinibandLink, Link
from hcasim.catalog.link import LANES
from hcasim.catalog.testbed import Arbitration
from hcasim.engine import CreditPool, Simulator
from hcasim.engine.state import State
from hcasim.fabric import Opcode, Packet, Transmitter, connect_ports
from hcasim.fabric.arbitration import ARBITRATIONS, OldestFirst, RoundRobin
from hcasim.fabric.link import Holder, Receiver
from hcasim.fabric.medium import CREDIT_BLOCK, ps_per_byte
from hcasim.fabric.packet import Route
from tests.twin import link_byte

SKIP = Fraction(4484, 4480)
FLOW_CONTROL = 8
NOTICE = round(FLOW_CONTROL * 1000 * SKIP)
"""Time of a flow-control packet at single rate on four lanes, in ps."""


def link(
    speed: str = "SDR", width: int = 4, metres: int = 0, credit_update: int = 1024
) -> InfinibandLink:
    return InfinibandLink(
        speed=speed,
        width=width,
        cable_length=metres * 1000,
        propagation=5000,
        credit_update=credit_update,
    )


def packet(payload: int = 1024, lid: int = 1) -> Packet:
    return Packet(Opcode.SEND, Route(lid), 1, 0, payload)


class Sink(Receiver):
    """Takes packets and notes when; it frees their room when it is told to."""

    def __init__(self) -> None:
        self.arrivals: list[tuple[int, int, Packet]] = []

    def receive(self, packet: Packet, head_at: int, tail_at: int) -> None:
        self.arrivals.append((head_at, tail_at, packet))


class Pair(Holder):
    """Two transmitters that make one link, with a sink at each end."""

    def __init__(
        self, of: Link, buffer: int = 1 << 20, arbitration: RoundRobin | None = None
    ) -> None:
        self.sim = Simulator()
        self.there = Transmitter(self.sim, "there", of, arbitration)
        self.back = Transmitter(self.sim, "back", of)
        self.near, self.far = Sink(), Sink()
        connect_ports(self.there, self.near, buffer, self.back, self.far, buffer)
        self.buffer = self.far.buffer
        self.left: list[int] = []

    def free(self, packet: Packet, at_ps: int) -> None:
        self.left.append(at_ps)

    def send(
        self, *packets: Packet, source: int = 0, at: int = 0, on: Transmitter | None = None
    ) -> None:
        for each in packets:
            (on or self.there).send(source, each, max(at, int(self.sim.now)), self)


def test_a_link_of_any_speed_is_as_fast_as_its_lanes_less_coding_and_skips() -> None:
    assert set(get_args(InfinibandLink.model_fields["speed"].annotation)) == set(LANES)
    for speed in LANES:
        for width in (1, 2, 4, 8, 12):
            assert ps_per_byte(speed, width) == link_byte(speed, width)


@pytest.mark.pure
@pytest.mark.parametrize(("size", "expected"), [(26, 1), (30, 1), (62, 1), (66, 2), (1050, 17)])
def test_buffers_are_counted_in_blocks_of_64_bytes(size: int, expected: int) -> None:
    assert CREDIT_BLOCK == 64
    pair = Pair(link(), buffer=100 * 64)
    sent = packet(size - 26)
    assert sent.size == size
    pair.send(sent)
    pair.sim.run()
    assert pair.there.credits.available == 100 - expected
    pair.buffer.free(sent, pair.sim.now)
    pair.sim.run(until=pair.sim.now + NOTICE + 1)
    assert pair.there.credits.available == 100


@pytest.mark.pure
def test_packets_follow_each_other_without_a_gap() -> None:
    pair = Pair(link())
    pair.send(*[packet()] * 5)
    pair.sim.run()
    duration = round(1052 * 1000 * SKIP)
    assert [head for head, _, _ in pair.far.arrivals] == [i * duration for i in range(5)]
    assert pair.there.busy_ps == 5 * duration
    assert pair.there.wire_bytes == 5 * 1052
    assert pair.there.payload_bytes == 5 * 1024


@pytest.mark.pure
@pytest.mark.parametrize(
    ("arbitration", "ready_at", "order"),
    [
        (RoundRobin(), {0: 10, 1: 10, 2: 10}, [0, 1, 2, 0, 1, 2]),
        (RoundRobin(urgent=1), {2: 10, 1: 10, 0: 10}, [0, 0, 1, 2, 1, 2]),
        (
            OldestFirst(urgent=1),
            {4: 10, 2: 30, 3: 20, 1: 30, 0: 40},
            [0, 0, 4, 4, 3, 3, 1, 1, 2, 2],
        ),
    ],
    ids=["in turn", "urgent first", "oldest first"],
)
def test_sources_take_turns_as_the_arbitration_says(
    arbitration: RoundRobin, ready_at: dict[int, int], order: list[int]
) -> None:
    pair = Pair(link(), arbitration=arbitration)
    # The link is taken until all are ready.
    pair.send(packet(lid=9), source=5)
    for source, ready in ready_at.items():
        pair.send(*[packet(64, lid=source)] * 2, source=source, at=ready)
    pair.sim.run()
    assert [p.route.lid for _, _, p in pair.far.arrivals] == [9, *order]


@pytest.mark.pure
@pytest.mark.parametrize(("arbitration", "equal"), [(RoundRobin(), True), (OldestFirst(), False)])
def test_the_ages_of_packets_are_in_the_state_where_they_decide(
    arbitration: RoundRobin, equal: bool
) -> None:
    sim, states = Simulator(), []
    there = Transmitter(sim, "there", link(), arbitration)
    # Packets before them are under way.
    there._free_at = 1000
    packets = packet(), packet()
    for source, each in enumerate(packets):
        there.send(source, each, 10, Holder())
    sim.run(until=30)
    for ages in ((10, 20), (20, 10)):
        for each, ready_at in zip(packets, ages, strict=True):
            each.ready_at = ready_at
        states.append(State(sim, roots=[there]))
    assert (states[1].steps_from(states[0]) is not None) is equal


def test_each_word_for_an_arbitration_has_a_class() -> None:
    assert set(ARBITRATIONS) == set(get_args(Arbitration))


@pytest.mark.pure
def test_the_source_that_is_ready_first_goes_first_when_the_link_is_free() -> None:
    pair = Pair(link())
    first, late, soon = packet(), packet(), packet()
    pair.send(first, source=0)
    pair.send(late, source=0, at=9_000_000)
    pair.send(soon, source=1, at=4_000_000)
    pair.sim.run()
    assert [each for _, _, each in pair.far.arrivals] == [first, soon, late]
    assert [head for head, _, _ in pair.far.arrivals] == [0, 4_000_000, 9_000_000]


@pytest.mark.pure
def test_nothing_is_sent_without_room_at_the_far_end() -> None:
    pair = Pair(link(), buffer=3 * 17 * 64 - 1)
    pair.send(*[packet()] * 3)
    pair.sim.run()
    assert len(pair.far.arrivals) == 2
    assert pair.there.credits is not None
    assert pair.there.credits.available == 16
    pair.buffer.free(pair.far.arrivals[0][2], int(pair.sim.now) + 5000)
    freed = int(pair.sim.now) + 5000
    pair.sim.run()
    assert len(pair.far.arrivals) == 3
    assert pair.far.arrivals[2][0] == freed + NOTICE


@pytest.mark.pure
def test_what_needs_less_room_passes_a_packet_for_which_there_is_too_little() -> None:
    pair = Pair(link(), buffer=18 * 64)
    pair.send(*[packet()] * 2, source=0)
    pair.send(packet(), source=1)
    pair.send(packet(4), source=2)
    pair.sim.run()
    sizes = [each.payload for _, _, each in pair.far.arrivals]
    assert sizes == [1024, 4]
    pair.buffer.free(packet(), int(pair.sim.now))
    pair.sim.run()
    assert [each.payload for _, _, each in pair.far.arrivals[2:]] == [1024]


@pytest.mark.pure
@pytest.mark.parametrize("late", [False, True])
def test_an_acknowledgement_passes_as_soon_as_there_is_room_for_it(late: bool) -> None:
    """Whether it was there when the packet before it began to wait, or came later."""
    pair = Pair(link(), buffer=17 * 64, arbitration=RoundRobin(urgent=1))
    pair.send(*[packet()] * 2, source=1)
    if late:
        pair.sim.run()
    now = int(pair.sim.now)
    pair.send(packet(0), source=0, at=now + 1_500_000)
    pair.sim.run()
    assert len(pair.far.arrivals) == 1
    freed = int(pair.sim.now)
    pair.buffer.free(packet(0), freed)
    pair.sim.run()
    assert [each.payload for _, _, each in pair.far.arrivals] == [1024, 0]
    assert pair.far.arrivals[1][0] == freed + NOTICE


@pytest.mark.pure
def test_a_packet_that_was_passed_follows_when_the_other_has_left() -> None:
    pair = Pair(link(), buffer=18 * 64)
    pair.send(*[packet()] * 2, source=0)
    pair.send(packet(4), source=1)
    duration = round(1052 * 1000 * SKIP)
    pair.buffer._credits.release_at(duration + 1000, 17)
    pair.send(packet(4), source=1, at=duration + 1500)
    pair.sim.run()
    (_, first, _), (_, passed, _), (head, _, last) = pair.far.arrivals[:3]
    assert (first, head, last.payload) == (duration, passed, 1024)


def full(metres: int = 0) -> tuple[Pair, int]:
    """A link with room for one packet, which is taken while another waits; and the time."""
    pair = Pair(link(metres=metres), buffer=17 * 64)
    pair.send(*[packet()] * 2)
    pair.sim.run()
    return pair, int(pair.sim.now)


@pytest.mark.pure
def test_news_of_room_travels_back_over_the_cable() -> None:
    pair, now = full(metres=20)
    pair.buffer.free(packet(), now)
    pair.sim.run()
    assert pair.far.arrivals[1][0] == now + NOTICE + 2 * 20 * 5000


@pytest.mark.pure
@pytest.mark.parametrize("known_before", [False, True])
def test_news_of_room_waits_for_the_packet_under_way(known_before: bool) -> None:
    """Also if that begins after it is known when there will be room, as in a switch."""
    pair, now = full()
    if known_before:
        pair.buffer.free(packet(), now + 500_000)
    pair.back.send(0, packet(), now, pair)
    pair.sim.run(until=now + 1)
    if not known_before:
        pair.buffer.free(packet(), now + 1)
    pair.sim.run()
    assert pair.near.arrivals[0][0] == now
    assert pair.far.arrivals[1][0] == pair.near.arrivals[0][1] + NOTICE


@pytest.mark.pure
def test_news_of_room_that_is_free_when_a_packet_ends_goes_behind_it() -> None:
    pair, now = full()
    duration = round(1052 * 1000 * SKIP)
    pair.back.send(0, packet(), now, pair)
    pair.sim.run(until=now + 1)
    pair.buffer.free(packet(), now + duration + 5000)
    pair.sim.run()
    assert pair.far.arrivals[1][0] == now + duration + 5000 + NOTICE


@pytest.mark.pure
def test_flow_control_takes_time_of_the_reverse_direction() -> None:
    pair = Pair(link())
    pair.send(*[packet()] * 3)
    pair.sim.run()
    there, now = pair.there.busy_ps, int(pair.sim.now)
    for _, _, arrived in pair.far.arrivals:
        pair.buffer.free(arrived, now)
    # The link back has been busy until now.
    pair.back._free_at = now
    assert pair.back.flow_control_packets == 3
    pair.back.send(0, packet(), now, pair)
    pair.sim.run()
    assert pair.near.arrivals[0][0] == now + 3 * NOTICE
    assert pair.back.busy_ps == 3 * NOTICE + round(1052 * 1000 * SKIP)
    assert pair.there.busy_ps == there


@pytest.mark.pure
@pytest.mark.parametrize(("update", "packets"), [(1024, 8), (2048, 4), (512, 16), (10**4, 0)])
def test_one_flow_control_packet_goes_for_so_many_bytes_freed(update: int, packets: int) -> None:
    pair = Pair(link(credit_update=update))
    for _ in range(8):
        pair.buffer.free(packet(), 0)
    assert pair.back.flow_control_packets == packets


@pytest.mark.pure
def test_flow_control_goes_out_while_the_link_is_idle() -> None:
    pair = Pair(link())
    pair.buffer.free(packet(), 0)
    pair.back.send(0, packet(), 10**6, pair)
    pair.sim.run()
    assert pair.near.arrivals[0][0] == 10**6


@pytest.mark.parametrize(("idle_ps", "equal"), [(0, False), (NOTICE, False), (1_000_000, True)])
def test_flow_control_packets_that_may_hold_up_the_next_are_in_the_state(
    idle_ps: int, equal: bool
) -> None:
    sim = Simulator()
    back = Transmitter(sim, "back", link())
    back.carries(CreditPool(sim, "credits", 1), 8)
    states = []
    for packets in (1, 2):
        back.announce(packets, sim.now)
        sim.run(until=sim.now + idle_ps)
        states.append(State(sim, roots=[back]))
    assert (states[1].steps_from(states[0]) is not None) is equal
