"""What holds queue pairs back from their first packet on: windows, and rates by what comes back."""

from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hcasim.catalog import CatalogError, Machine, resolve
from hcasim.catalog.congestion import DCTCP, SWIFT, TIMELY
from hcasim.fabric.loss import ChosenLosses, Fate, lose
from hcasim.fabric.packet import Opcode, Packet, Route
from hcasim.fabric.telemetry import Hop, Telemetry
from hcasim.hca.egress import Egress
from hcasim.hca.qp.congestion.control import Gate, RateControl
from hcasim.hca.qp.congestion.dctcp import Dctcp
from hcasim.hca.qp.congestion.hpcc import Hpcc
from hcasim.hca.qp.congestion.notifications import HeldBack
from hcasim.hca.qp.congestion.swift import Swift
from hcasim.hca.qp.congestion.timely import Timely
from tests.rig import WRITE, Rig, check_that_nothing_is_lent, succeeded

US = 10**6
MEGABIT = 10**6
TRIP = 4_160_000
WORST = [(600 * US, 60_000, True, 0.0, 10**7)] * 40
KINDS = ["fixed_window", "dctcp", "timely", "hpcc", "swift"]


def acting(algorithm: str, testbed: str = "ideal-100g-marks", **settings: str) -> Machine:
    changes = {f"adapter.roce_cc.{name}": value for name, value in settings.items()}
    return resolve(testbed, overrides={"adapter.roce_cc.algorithm": algorithm} | changes)


@cache
def port() -> Egress:
    """A port that nothing uses."""
    return Rig(resolve("ideal-100g")).peers[0].adapter.egresses[0]


class Heard:
    """A control that hears of the packets of one queue pair what a test says."""

    def __init__(self, kind: str) -> None:
        egress = port()
        self.sim, link, held = egress.sim, egress.transmitter, HeldBack()
        self._begun_at = self.sim.now
        self.control: RateControl
        if kind == "hpcc":
            changes = {"adapter.roce_cc.round_trip": f"{TRIP // 1000} ns"}
            described = resolve("ideal-100g", overrides=changes).groups[0].adapter.roce_cc
            assert described is not None
            self.control = Hpcc(link, described, held, self._never)
        elif kind == "dctcp":
            self.control = Dctcp(link, DCTCP, held, self._never)
        elif kind == "swift":
            self.control = Swift(link, SWIFT, held, self._never)
        else:
            self.control = Timely(link, TIMELY, held, self._never)
        self.line = self.control.line_rate
        self.gate = Gate(egress.requests, self._never, 52_000, False, 16)
        self._sent = 0

    def _never(self) -> None:
        raise AssertionError("it is neither released nor resumed")

    def hears(self, at_ps: int, acknowledged: int, left_at: int = 0, **seen: Any) -> int:
        """The rate behind an acknowledgement; a window is in flight."""
        self.sim.run(until=self._begun_at + at_ps)
        self.gate.acknowledged, self.gate.in_flight = acknowledged, 52_000
        header = Telemetry(0)
        header.left_at = self._begun_at + left_at
        for name, value in seen.items():
            setattr(header, name, value)
        self.control.heard(self.gate, header)
        return self.control.rate

    def hop(self, at_ps: int, share: float, queue: int, output: str = "a") -> list[Hop]:
        """An output that has sent a share of what it carries since the last was read."""
        last, self._sent = self._sent, self._sent + int(self.line * share * TRIP / 8e12)
        assert last <= self._sent
        return [Hop(at_ps, self._sent, queue, self.line, output)]


def test_hpcc_divides_by_the_utilisation_that_a_round_trip_has_shown() -> None:
    one = Heard("hpcc")
    window = int(one.line * TRIP / 8e12)
    assert one.hears(TRIP, 1000, hops=one.hop(TRIP, 0, window)) == one.line
    # As much as it carries has left it, and a window waits: twice what it carries.
    rate = one.hears(2 * TRIP, 53_001, hops=one.hop(2 * TRIP, 1, window))
    assert rate == pytest.approx(one.line * 0.95 / 2 + 40 * MEGABIT, rel=0.01)
    # Within the round trip each acknowledgement counts from the same rate.
    again = one.hears(3 * TRIP, 54_000, hops=one.hop(3 * TRIP, 1, window))
    assert again == pytest.approx(rate * 0.95 / 2 + 40 * MEGABIT, rel=0.01)
    # The first of the next one, too, and those behind it from what that has brought.
    third = one.hears(4 * TRIP, 106_000, hops=one.hop(4 * TRIP, 1, window))
    assert third == pytest.approx(again, rel=0.01)
    fourth = one.hears(5 * TRIP, 160_000, hops=one.hop(5 * TRIP, 1, window))
    assert fourth == pytest.approx(third * 0.95 / 2 + 40 * MEGABIT, rel=0.01)


@pytest.mark.parametrize("switch", [True, False])
def test_hpcc_wants_a_switch_that_writes_into_packets(switch: bool) -> None:
    fault = "algorithm: found hpcc; allowed: with switch.memory.telemetry, which no switch here has"
    with pytest.raises(CatalogError, match=f"adapter.roce_cc.{fault}"):
        resolve("ideal-100g", switch=switch, overrides={"adapter.roce_cc.algorithm": "hpcc"})


def test_hpcc_does_not_compare_outputs_of_two_ways() -> None:
    one = Heard("hpcc")
    for trip, output, share in ((1, "a", 0), (2, "b", 1), (3, "a", 1)):
        hops = one.hop(trip * TRIP, share, 10**6, output)
        assert one.hears(trip * TRIP, 52_000 * trip, hops=hops) == one.line


def test_what_fills_a_window_asks_for_an_acknowledgement() -> None:
    # The window is of a packet, and the adapter asks at the end of a message alone.
    changes = {"algorithm": "fixed_window", "round_trip": "50 ns"}
    overrides = {f"adapter.roce_cc.{name}": value for name, value in changes.items()}
    rig = Rig(resolve("ideal-100g", overrides={**overrides, "adapter.ack.interval": "1000"}))
    a, b, qp, _ = rig.joined()
    assert succeeded(rig.exchange(qp, a, a.request(WRITE, b, 1 << 16)))


def test_dctcp_cuts_by_half_of_the_share_of_marks_once_in_a_round_trip() -> None:
    one = Heard("dctcp")
    assert one.hears(1 * US, 1000, marked=False) == one.line
    half = one.hears(2 * US, 2000, marked=True)
    assert half == one.line // 2
    assert one.hears(3 * US, 30_000, marked=True) == half
    # The next round trip: alpha has 1/16 of the share, which is all, and there is another cut.
    assert one.hears(4 * US, 55_000, marked=True) == half // 2
    grown = one.hears(5 * US, 200_000, marked=False)
    assert grown == half // 2 + 615 * MEGABIT


def test_timely_follows_the_gradient_between_its_bounds() -> None:
    one = Heard("timely")
    one.hears(100 * US, 1000, left_at=0)
    # Ten microseconds more than the last: 87.5 % of that, of 20 us, is the gradient.
    share = 1 - 0.8 * 0.875 * 10 / 20
    rate = one.hears(210 * US, 60_000, left_at=100 * US)
    assert rate == pytest.approx(one.line * share, rel=1e-6)
    assert one.hears(220 * US, 61_000, left_at=0) == rate
    grown = one.hears(240 * US, 120_000, left_at=200 * US)
    assert grown == rate + 100 * MEGABIT
    above = one.hears(1200 * US, 180_000, left_at=200 * US)
    assert above == pytest.approx(grown * (1 - 0.8 * (1 - 500 / 1000)), rel=1e-6)


def test_swift_keeps_the_delay_at_its_target() -> None:
    one = Heard("swift")
    packet = Packet(Opcode.SEND, Route(1), 1, 0, 1000)
    one.control.begin()
    one.control.sent(packet)
    assert isinstance(one.control, Swift)
    one.control.gate = one.gate
    target = 20 * US + 3_053_000
    # The window is that of the gate, 52 packets, and grows by one in a round trip.
    one.hears(20 * US, 1000, left_at=0)
    assert one.control.window == pytest.approx(52 + 1 / 52)
    one.hears(40 * US, 53_000, left_at=20 * US)
    assert one.control.window == pytest.approx(53, rel=1e-3)
    assert one.gate.window == int(1000 * one.control.window)
    # Then a delay of 40 us: the target is longer by what flows of 53 packets have.
    scaling = 100 * US * (53**-0.5 - 0.1) / (0.1**-0.5 - 0.1)
    one.hears(80 * US, 54_000, left_at=40 * US)
    cut = 53 * (1 - 0.8 * (1 - (target + scaling) / (40 * US)))
    assert one.control.window == pytest.approx(cut, rel=1e-3)
    # There is one cut in a round trip, and none is by more than half.
    one.hears(119 * US, 55_000, left_at=79 * US)
    assert one.control.window == pytest.approx(cut, rel=1e-3)
    one.hears(10_000 * US, 56_000, left_at=0)
    assert one.control.window == pytest.approx(cut / 2, rel=1e-3)
    # A window of less than a packet spaces packets by a round trip over it.
    for trip in range(2, 8):
        rate = one.hears(trip * 10_000 * US, 56_000, left_at=(trip - 1) * 10_000 * US)
    assert one.control.window < 1
    assert one.gate.window == int(1000 * one.control.window)
    one.control.begin()
    one.control.sent(packet)
    gap = one.control.next_at - one.sim.now
    assert gap == pytest.approx(10_000 * US / one.control.window, rel=1e-3)
    assert rate < one.line


@given(
    kind=st.sampled_from(["dctcp", "timely", "hpcc"]),
    steps=st.lists(
        st.tuples(
            st.integers(1, 10**9),
            st.sampled_from([0, 1000, 60_000]),
            st.booleans(),
            st.floats(0, 1),
            st.integers(0, 10**7),
        ),
        max_size=30,
    ),
)
@example("dctcp", WORST)
@example("timely", WORST)
@example("hpcc", WORST)
@example("timely", [(US, 60_000, False, 1.0, 0)] * 3)
@example("hpcc", [(600 * US, 60_000, False, 0.1, 0)] * 3)
def test_rates_are_between_the_least_and_that_of_the_line(
    kind: str, steps: list[tuple[int, int, bool, float, int]]
) -> None:
    one = Heard(kind)
    now = acknowledged = 0
    for later, more, marked, share, queue in steps:
        now, acknowledged = now + later, acknowledged + more
        left_at, hops = int(now * share), one.hop(now, share, queue)
        rate = one.hears(now, acknowledged, marked=marked, left_at=left_at, hops=hops)
        assert 1000 * MEGABIT <= rate <= one.line


class Incast:
    """Nodes that write so many bytes each to the first, all at once."""

    def __init__(self, on: Machine, senders: int, size: int) -> None:
        self.rig = rig = Rig(on, senders + 1)
        self.ended_at, self.queue = 0, list[int]()
        to, *others = rig.peers
        pairs = [rig.connect(peer, to)[0] for peer in others]
        rig.run(
            self._look(),
            *[
                self._write(peer.send(qp, peer.request(WRITE, to, size)))
                for peer, qp in zip(others, pairs, strict=True)
            ],
        )

    def _write(self, program: Any) -> Any:
        assert succeeded((yield from program))
        self.ended_at = self.rig.sim.now

    def _look(self) -> Any:
        (switch,) = self.rig.cluster.fabric.switches
        while not self.ended_at:
            yield self.rig.sim.timeout(US)
            self.queue.append(max(queue.length for queue in switch.queues.values()))

    @property
    def longest(self) -> int:
        (switch,) = self.rig.cluster.fabric.switches
        return max(queue.longest for queue in switch.queues.values())


def test_a_window_is_what_is_in_flight_in_a_round_trip() -> None:
    size = 400 * 1024
    free = Incast(acting("none"), 1, size)
    half = Incast(acting("fixed_window", round_trip="2080 ns"), 1, size)
    # 26000 B, and what goes while they are not quite there: 26 packets in each of 15 round trips.
    assert half.ended_at == pytest.approx(16 * 4.21 * US + 10 * 88_000, rel=0.01)
    assert free.ended_at == pytest.approx(400 * 88 * US / 1000 + 4 * US, rel=0.03)
    whole = Incast(acting("fixed_window", round_trip="4400 ns"), 1, size)
    assert whole.ended_at == pytest.approx(free.ended_at, rel=0.01)


def test_each_keeps_the_queue_as_short_as_it_is_made_for_and_does_the_same_again() -> None:
    found = {kind: Incast(acting(kind), 4, 64 << 10) for kind in ["none", *KINDS]}
    longest = {kind: run.longest for kind, run in found.items()}
    # Windows bound what waits: 52000 B of each, and the last packet.
    assert longest["fixed_window"] <= 4 * 53_248 * 1.09
    # What switches write takes 42 bytes more of each.
    assert longest["hpcc"] <= longest["fixed_window"] * 1148 / 1106
    assert max(longest["hpcc"], longest["dctcp"]) < longest["timely"]
    # A time takes 8 bytes more.
    assert longest["timely"] <= longest["none"] * 1.01
    for kind in KINDS:
        again = Incast(acting(kind), 4, 64 << 10)
        assert (again.ended_at, again.longest) == (found[kind].ended_at, longest[kind])


@pytest.mark.parametrize(("flows", "range_us"), [(8, 0), (4, 100)])
def test_equal_flows_of_swift_keep_the_queue_at_their_target(flows: int, range_us: int) -> None:
    settings = {"swift.base_target": "10 us", "swift.fs_range": f"{range_us} us"}
    run = Incast(acting("swift", **settings), flows, 1 << 18)
    # Their windows are what is on the way at the target, which is longer by what they scale to.
    packet, trip, low, high = 88.6e3, 4.25 * US, 1.0, 100.0
    while high - low > 0.01:
        window = (low + high) / 2
        scaling = range_us * US * (window**-0.5 - 0.1) / (0.1**-0.5 - 0.1)
        target = 13_053_000 + scaling
        low, high = (window, high) if flows * window * packet < target else (low, window)
    steady = run.queue[len(run.queue) * 6 // 10 : len(run.queue) * 9 // 10]
    assert sum(steady) / len(steady) == pytest.approx((target - trip) * 12.5e-3, rel=0.06)


def test_queue_pairs_do_not_fill_the_port_before_their_turn() -> None:
    rig = Rig(acting("timely", ahead="4"))
    a, b = rig.peers
    pairs = [rig.connect(a, b)[0] for _ in range(8)]
    room, least = a.adapter.egresses[0].requests.room, []

    def look() -> Any:
        for _ in range(40):
            yield rig.sim.timeout(US // 2)
            least.append(room.available)

    rig.run(look(), *[a.send(qp, a.request(WRITE, b, 32 << 10)) for qp in pairs])
    assert min(least) >= room.capacity - 8 * 4 * 1024 - 8 * 1024


class Lossy:
    """Two nodes whose ways lose a share of the packets."""

    def __init__(self, on: Machine, share: float) -> None:
        self.rig = Rig(on, data=True)
        draw = Random(1)

        def fate(packet: Packet) -> Fate | None:
            return Fate.DROP if draw.random() < share else None

        for peer in self.rig.peers:
            lose(peer.adapter.ports[0].transmitter, ChosenLosses(fate))


@pytest.mark.parametrize("recovery", ["go_back_n", "selective_repeat"])
@pytest.mark.parametrize("kind", KINDS)
def test_all_arrives_although_packets_are_lost(kind: str, recovery: str) -> None:
    changes = {"adapter.roce_cc.algorithm": kind, "adapter.recovery": recovery}
    testbed = "ideal-100g-marks" if kind == "hpcc" else "ideal-100g"
    run = Lossy(resolve(testbed, overrides=changes), 0.02)
    a, b, qp, remote = run.rig.joined(timeout=4)
    a.mr.write(Random(1).randbytes(1 << 18))
    assert succeeded(run.rig.exchange(qp, a, *[a.request(WRITE, b, 1 << 18)] * 2))
    assert b.mr.read(1 << 18, 0) == a.mr.read(1 << 18, 0)
    assert run.rig.counter("retransmissions")
    if kind != "hpcc":
        # What fills the memory of a switch is not counted by links.
        check_that_nothing_is_lent(run.rig, [qp, remote])
