"""A queue pair with a static rate sends no faster than that, and holds nobody else up."""

from fractions import Fraction
from itertools import pairwise

import pytest

from hcasim.catalog import resolve
from hcasim.catalog.testbed import OneSwitch
from hcasim.engine import Simulator
from hcasim.engine.state import State
from hcasim.fabric import Opcode, Packet, Transmitter
from hcasim.fabric.packet import Route
from hcasim.hca.qp.pacing import AddressRates, StaticRate
from hcasim.verbs import AH, DCI, DCT, QP, SRQ, AHAttr, QPType, Rate, VerbsError
from tests.rig import (
    SEND,
    WRITE,
    Peer,
    Program,
    Rig,
    check_that_nothing_is_lent,
    joined,
    networked,
    statuses,
    succeeded,
)

LONG = 1 << 20
PACKET = (2048 + 26 + 2) * 1000
"""Time in ps of a full packet on four lanes, which signal 10 Gbit/s."""


def took(exact: bool = False, **options: float) -> tuple[int, int, dict[str, int]]:
    """Picoseconds of one write, how many of them were left out, and all counts."""
    rig = Rig(exact=exact)
    a, b, qp, _ = rig.joined(**options)
    assert succeeded(rig.exchange(qp, a, a.request(WRITE, b, LONG)))
    skipped = 0 if rig.sim.forward is None else rig.sim.forward.skipped_ps
    return int(rig.sim.now), skipped, rig.cluster.counters() | rig.sim.resources.busy_ps()


@pytest.mark.parametrize(("rate", "slower"), [(2.5, 4), (5, 2), (10, 1), (20, 1), (0, 1)])
def test_packets_leave_at_the_static_rate(rate: float, slower: int) -> None:
    assert took(static_rate=rate)[0] == pytest.approx(slower * LONG / 2048 * PACKET, rel=0.03)


def test_what_is_left_out_of_a_paced_message_changes_nothing() -> None:
    end, skipped, counts = took(static_rate=2.5)
    assert skipped > end / 2
    assert (end, 0, counts) == took(static_rate=2.5, exact=True)


def test_a_packet_that_is_held_back_looks_its_data_up_no_more_often() -> None:
    paced, free = (took(static_rate=rate)[2] for rate in (2.5, 0))
    looks = [(one["mtt_access_cnt"], one["mpt_access_cnt"]) for one in (paced, free)]
    assert looks[0] == looks[1]


def test_how_long_a_packet_has_waited_for_its_turn_is_in_the_state() -> None:
    sim = Simulator()
    link = Transmitter(sim, "link", Rig().machine.groups[0].link)
    pacing, packet, states = StaticRate(link, Fraction(4)), Packet(Opcode.SEND, Route(1), 1, 0), []
    for waited in (10, 20):
        pacing.begin()
        sim.run(until=sim.now + waited)
        states.append(State(sim, roots=[pacing]))
    assert states[1].steps_from(states[0]) is None
    pacing.sent(packet)
    assert pacing.next_at == sim.now - 20 + 4 * link.serialisation(packet)


def test_until_when_datagrams_wait_moves_on_with_the_clock() -> None:
    sim = Simulator()
    link = Transmitter(sim, "link", Rig().machine.groups[0].link)
    pacing, states = AddressRates(link), []
    packet = Packet(Opcode.SEND, Route(1, slower=Fraction(4)), 1, 0)
    for _ in range(2):
        sim.run(until=sim.now + 10)
        pacing.begin()
        pacing.sent(packet)
        states.append(State(sim, roots=[pacing]))
    assert states[1].steps_from(states[0]) is not None


def ends(rig: Rig, *posted: tuple[QP, Peer, int]) -> dict[int, list[int]]:
    """When the writes of 4 KiB of each queue pair completed, in ps."""
    a, b = rig.peers
    found: dict[int, list[int]] = {qp.qp_num: [] for qp, _, _ in posted}

    def sender() -> Program:
        for qp, _, count in posted:
            yield from a.post(qp, *[a.request(WRITE, b, 4096) for _ in range(count)])
        return (yield from a.collect(sum(count for _, _, count in posted)))

    (completions,) = rig.run(sender())
    for completion in completions:
        found[completion.qpn].append(completion.timestamp_ps)
    return found


@pytest.mark.parametrize("between", [0, 15])
def test_short_messages_are_paced_and_another_queue_pair_takes_the_rest(between: int) -> None:
    """Also if both belong to the same of the sixteen schedule queues."""
    rig, a, b, paced, _ = joined(static_rate=2.5)
    for _ in range(between):
        rig.connect(a, b)
    free, _ = rig.connect(a, b)
    found = ends(rig, (paced, a, 60), (free, a, 60))
    for qp, slower in ((paced, 4), (free, 4 / 3)):
        times = found[qp.qp_num]
        assert (times[-1] - times[9]) / 50 == pytest.approx(slower * 2 * PACKET, rel=0.05)


def test_who_has_sent_nothing_for_long_may_not_send_faster_then() -> None:
    rig, a, _, qp, _ = joined(static_rate=2.5)
    first = ends(rig, (qp, a, 3))[qp.qp_num]
    rig.sim.run(until=int(rig.sim.now) + 5 * PACKET)
    second = ends(rig, (qp, a, 3))[qp.qp_num]
    for times in (first, second):
        assert times[2] - times[1] == pytest.approx(8 * PACKET, rel=0.02)


@pytest.mark.parametrize("retries", [0, 7])
def test_a_paced_queue_pair_pauses_for_its_receiver_and_fails_like_others(retries: int) -> None:
    rig, a, b, qp, remote = joined(static_rate=2.5, rnr_retry=retries, min_rnr_timer_ps=10**7)

    sending = a.send(qp, *[a.request(SEND, b, 9000)] * 3)
    receiving = b.take(remote, *[b.receive(9000)] * 3, after=10**8)
    found = rig.run(sending, *([receiving] if retries else []))[0]
    refused = ["RNR_RETRY_EXC_ERR", "WR_FLUSH_ERR", "WR_FLUSH_ERR"]
    assert statuses(found) == (["SUCCESS"] * 3 if retries else refused)
    assert not rig.peers[0].adapter.send_engines[0].scheduler.members


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("rate", "slower"), [(Rate.RATE_2_5_GBPS, 4), (Rate.MAX, 1)])
def test_datagrams_leave_at_the_rate_of_their_address(rate: Rate, slower: int, exact: bool) -> None:
    rig = Rig(exact=exact)
    a, b = rig.peers
    qp, remote = (QP(peer.pd, peer.cq, peer.cq, qp_type=QPType.UD) for peer in rig.peers)
    for end in (qp, remote):
        end.activate()
    way = AH(a.pd, AHAttr(dlid=remote.lid, static_rate=rate))
    assert way.route.within(0x8001).slower == way.route.slower == (slower if slower > 1 else None)
    request = a.request(SEND, b, 1024, ah=way, remote_qpn=remote.qp_num)
    times = [one.timestamp_ps for one in rig.exchange(qp, a, *[request] * 60)]
    # 1024 B of data and 34 B around them on four lanes, which signal 10 Gbit/s.
    assert (times[-1] - times[9]) / 50 == pytest.approx(slower * 1_058_000, rel=0.02)
    check_that_nothing_is_lent(rig, (qp, remote))


def test_a_datagram_waits_for_none_that_goes_elsewhere() -> None:
    rig = Rig(networked(OneSwitch(switch="x"), 3), 3)
    a, b, c = rig.peers
    qp = QP(a.pd, a.cq, a.cq, qp_type=QPType.UD)
    qp.activate()
    lids = [peer.adapter.ports[0].lid for peer in (b, c)]
    slow, fast = (
        AH(a.pd, AHAttr(dlid=lid, static_rate=rate))
        for lid, rate in zip(lids, (Rate.RATE_2_5_GBPS, Rate.MAX), strict=True)
    )
    order = [slow, fast, fast, fast, slow, slow]
    requests = [a.request(SEND, b, 1024, ah=way, remote_qpn=1) for way in order]
    times = [one.timestamp_ps for one in rig.exchange(qp, a, *requests)]
    gaps = [(after - before) / 1_058_000 for before, after in pairwise(times)]
    assert max(gaps[:4]) < 1.2
    assert gaps[4] == pytest.approx(4, rel=0.15)


def test_an_initiator_has_the_rate_of_the_address_that_it_sends_to() -> None:
    rig = Rig(resolve("cloud-hdr"))
    a, b = rig.peers
    dct = DCT(b.pd, b.cq, SRQ(b.pd), 7)
    dci = DCI(a.pd, a.cq)
    for end in (dci, dct):
        end.activate()
    took = []
    for rate in (Rate.RATE_10_GBPS, Rate.MAX):
        way = AH(a.pd, AHAttr(dlid=dct.lid, static_rate=rate))
        more = {"ah": way, "remote_qpn": dct.dctn, "dc_key": 7}
        begin = int(rig.sim.now)
        (found,) = rig.exchange(dci, a, a.request(WRITE, b, LONG, **more))
        took.append(found.timestamp_ps - begin)
    # Lanes signal 10 Gbit/s, or 206.25; the last packet has left when it is paced.
    assert took[0] == pytest.approx(LONG * 8 * 100, rel=0.08)
    assert took[1] < took[0] / 10


@pytest.mark.parametrize(
    ("testbed", "rate", "said"),
    [
        ("liu2004", 3, "static_rate is 3; allowed: 0, 2.5, 5, 10, 14, 20"),
        ("pair-roce", 10, "static_rate is 10; Ethernet has none"),
    ],
)
def test_a_rate_that_does_not_exist_is_refused(testbed: str, rate: float, said: str) -> None:
    rig = Rig(resolve(testbed))
    one, other = (QP(peer.pd, peer.cq, peer.cq) for peer in rig.peers)
    with pytest.raises(VerbsError) as caught:
        one.connect(other, static_rate=rate)
    assert said in str(caught.value)
