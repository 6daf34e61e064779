"""What requesters and responders do about packets that a link loses, corrupts or repeats."""

from functools import cache
from random import Random

import pytest

from hcasim.fabric import Packet
from hcasim.fabric.loss import (
    ChosenLosses,
    Fate,
    ListedLosses,
    Losses,
    LossyWay,
    RandomLosses,
    lose,
)
from hcasim.fabric.packet import Opcode, Route
from hcasim.verbs import WROpcode
from tests import iwarp
from tests.rig import (
    FETCH_ADD,
    READ,
    SEND,
    WRITE,
    Rig,
    check_that_nothing_is_lent,
    joined,
    machine,
    run,
    statuses,
    succeeded,
)

DROP, CORRUPT, DUPLICATE = Fate.DROP, Fate.CORRUPT, Fate.DUPLICATE
EXPIRY = 4_096_000 << 14
MTU = 1024


def always(psn: int) -> Losses:
    """Each packet of this number is lost, as often as it is sent."""
    return ChosenLosses(lambda packet: DROP if packet.psn == psn else None)


def lossy(rig: Rig, node: int, losses: Losses | dict[int, Fate]) -> LossyWay:
    """Let the link on which a node sends do this to its packets, counted from 1."""
    way = rig.cluster.nodes[node].adapter.ports[0].transmitter
    return lose(way, ListedLosses(losses) if isinstance(losses, dict) else losses)


@pytest.mark.parametrize("fate", [DROP, CORRUPT])
@pytest.mark.parametrize("lost", [1, 5, 9])
def test_a_lost_packet_is_refused_once_and_all_from_it_on_are_sent_again(
    lost: int, fate: Fate
) -> None:
    rig = Rig(data=True)
    a, b, qp, remote = rig.joined()
    a.mr.write(bytes(range(256)) * 48)
    way = lossy(rig, 0, {lost: fate})
    requests = a.request(WRITE, b, 10 * MTU), a.request(WRITE, b, 64, offset=20480)
    done = rig.exchange(qp, a, *requests)
    assert statuses(done) == ["SUCCESS"] * 2
    assert b.mr.read(10 * MTU, 0) == a.mr.read(10 * MTU, 0)
    assert rig.counter("naks") == 1
    assert rig.counter("retransmissions") in (1, 2)
    assert done[1].timestamp_ps < 10**9
    assert way.dropped + way.corrupted == 1
    # It begins with the very packet: what was lost, and what the port had staged behind it.
    sent = rig.peers[0].adapter.ports[0].transmitter.packets
    assert sent <= 11 + (12 - lost)
    check_that_nothing_is_lent(rig, (qp, remote))


def test_a_message_that_begins_again_does_not_wait_for_the_end_of_what_was_cut_off() -> None:
    rig = Rig(machine({"adapter.order": "queue_pair"}))
    a, b, qp, _ = rig.joined()
    lossy(rig, 0, {1: DROP})
    done = rig.exchange(qp, a, *[a.request(WRITE, b, 100 * MTU)] * 2)
    assert statuses(done) == ["SUCCESS"] * 2
    assert done[-1].timestamp_ps < 10**9


def test_an_answer_that_comes_twice_is_taken_once() -> None:
    rig = Rig(data=True)
    a, b, qp, _ = rig.joined()
    b.mr.write(bytes(range(250)) * 50)
    lossy(rig, 1, dict.fromkeys(range(1, 60), DUPLICATE))
    done = rig.exchange(qp, a, *[a.request(READ, b, 5 * MTU, offset=5 * MTU * n) for n in (0, 1)])
    assert statuses(done) == ["SUCCESS"] * 2
    assert a.adapter.dma.scattered == 10 * MTU
    assert a.mr.read(10 * MTU, 0) == b.mr.read(10 * MTU, 0)


def test_a_lost_last_packet_is_sent_again_when_the_timer_expires() -> None:
    rig = Rig()
    a, b, qp, _ = rig.joined()
    lossy(rig, 0, {10: DROP})
    (done,) = rig.exchange(qp, a, a.request(WRITE, b, 10 * MTU))
    assert EXPIRY < done.timestamp_ps < EXPIRY + 40 * 10**6
    assert rig.counter("naks") == 0
    # Nothing has been said of the first nine: they are sent again, and the responder knows them.
    assert rig.peers[0].adapter.ports[0].transmitter.packets == 20
    assert b.adapter.dma.scattered == 10 * MTU


@pytest.mark.parametrize("opcode", [WRITE, SEND, READ, FETCH_ADD])
def test_a_lost_answer_starts_the_timer_and_the_request_is_known_when_it_comes_again(
    opcode: object,
) -> None:
    rig = Rig()
    a, b, qp, remote = rig.joined()
    rig.run(b.post_receives(remote, *[b.receive(8)] * 2))
    lossy(rig, 1, {1: DROP})
    (done,) = rig.exchange(qp, a, a.request(opcode, b, 8, compare_add=1))
    assert EXPIRY < done.timestamp_ps < EXPIRY + 40 * 10**6
    assert rig.counter("retransmissions") == 1
    if opcode is FETCH_ADD:
        assert (b.mr.word(b.mr.addr), a.mr.word(a.mr.addr)) == (1, 0)
    assert sum(completion.is_receive for completion in b.cq.queue.entries) == (opcode is SEND)


def test_lost_acknowledgements_are_contained_in_the_next() -> None:
    rig = Rig()
    a, b, qp, _ = rig.joined()
    lossy(rig, 1, dict.fromkeys(range(1, 5), DROP))
    done = rig.exchange(qp, a, *[a.request(WRITE, b)] * 5)
    assert succeeded(done)
    assert done[-1].timestamp_ps < 10**8
    assert rig.counter("retransmissions") == 0


@pytest.mark.parametrize("lost", [1, 4, 9])
def test_a_read_that_misses_a_response_asks_for_the_rest_at_once(lost: int) -> None:
    rig = Rig(data=True)
    a, b, qp, _ = rig.joined()
    b.mr.write(bytes(range(256)) * 44)
    lossy(rig, 1, {lost: DROP})
    done = rig.exchange(qp, a, a.request(READ, b, 10 * MTU), a.request(READ, b, 64, offset=10240))
    assert statuses(done) == ["SUCCESS"] * 2
    assert done[1].timestamp_ps < 10**9
    assert a.mr.read(10 * MTU + 64, 0) == b.mr.read(10 * MTU + 64, 0)
    # The second is asked for with a remaining length: what has arrived does not come again.
    assert a.adapter.dma.scattered == 10 * MTU + 64
    assert b.adapter.dma.gathered <= 20 * MTU + 128 - (lost - 1) * MTU


@pytest.mark.parametrize("opcode", [WRITE, SEND, READ, FETCH_ADD])
def test_what_comes_twice_is_done_once(opcode: object) -> None:
    rig = Rig()
    a, b, qp, remote = rig.joined()
    rig.run(b.post_receives(remote, *[b.receive(8)] * 6))
    for node in (0, 1):
        lossy(rig, node, dict.fromkeys(range(1, 40), DUPLICATE))
    done = rig.exchange(qp, a, *[a.request(opcode, b, 8, compare_add=1)] * 3)
    assert statuses(done) == ["SUCCESS"] * 3
    assert b.mr.word(b.mr.addr) == (3 if opcode is FETCH_ADD else 0)
    assert sum(completion.is_receive for completion in b.cq.queue.entries) == (
        3 if opcode is SEND else 0
    )


@pytest.mark.parametrize("retry_cnt", [0, 2, 7])
@pytest.mark.parametrize("kind", ["go_back_n", "selective_repeat"])
def test_a_packet_that_never_arrives_ends_its_request_and_flushes_the_rest(
    kind: str, retry_cnt: int
) -> None:
    rig = Rig(machine({"adapter.recovery": kind}))
    a, b, qp, remote = rig.joined(timeout=5, retry_cnt=retry_cnt)
    lossy(rig, 0, always(psn=4))
    done = rig.exchange(qp, a, *[a.request(WRITE, b, 2 * MTU)] * 4)
    assert statuses(done) == ["SUCCESS"] * 2 + ["RETRY_EXC_ERR", "WR_FLUSH_ERR"]
    assert done[2].timestamp_ps >= (retry_cnt or 1) * 4_096_000 << 5 or not retry_cnt
    check_that_nothing_is_lent(rig, (qp, remote))


def test_a_long_read_may_lose_more_responses_than_a_request_has_tries() -> None:
    rig, a, b, qp, _ = joined(timeout=10, retry_cnt=2)
    lossy(rig, 1, dict.fromkeys(range(5, 200, 9), DROP))
    assert statuses(rig.exchange(qp, a, a.request(READ, b, 60 * MTU))) == ["SUCCESS"]
    assert rig.counter("retransmissions") > 3


def test_what_is_lost_and_corrupted_at_random_has_its_share_and_its_own_stream() -> None:
    packet = Packet(Opcode.SEND, Route(1), 1, 0, 8)

    def fates(seed: int, name: str, drops: float = 0.02) -> list[Fate | None]:
        losses = RandomLosses(drops, 0.01, seed, name)
        return [losses.fate(packet) for _ in range(20_000)]

    found = fates(1, "a")
    assert found == fates(1, "a")
    assert found != fates(2, "a") != fates(1, "b")
    assert found.count(DROP) == pytest.approx(400, rel=0.15)
    assert found.count(CORRUPT) == pytest.approx(200, rel=0.2)
    assert set(fates(1, "a", drops=0.99)) == {DROP, CORRUPT}


def test_a_description_says_what_its_links_lose() -> None:
    on = machine({"link.loss": "0.5 %", "link.corruption": "1000 ppm", "link.loss_seed": "4"})
    assert on.loses
    assert not machine().loses
    assert not machine({"link.loss": "0 %"}).loses
    clean, one, other = (
        run("write_bw", m, size=1 << 16, iters=60)
        for m in (machine(), on, machine({"link.loss": "0.5 %", "link.loss_seed": "5"}))
    )
    again = run("write_bw", on, size=1 << 16, iters=60)
    assert clean.row["bandwidth_MBps"] > one.row["bandwidth_MBps"] != other.row["bandwidth_MBps"]
    assert again.row == one.row
    assert one.row["error_percent"] == 0


BUFFER = (("adapter.receive.buffer", "1 MiB"),)
LONG = {"link.cable_length": "11 km", "adapter.receive.buffer": "1 MiB"}
MESSAGES, SIZE = 50, 1 << 16
PACKETS = MESSAGES * SIZE // MTU


@cache
def stream(kind: str, losses: tuple[float, int] | int) -> tuple[int, int]:
    """(duration in ps, losses) of a stream of writes over a long cable without a switch.

    Args:
        losses: share and seed, or the only packet that is lost; 0 for none.
    """
    rig = Rig(machine(LONG | {"adapter.recovery": kind}, switch=False))
    a, b, qp, _ = rig.joined(timeout=6)
    if isinstance(losses, tuple):
        way = lossy(rig, 0, RandomLosses(losses[0], 0, losses[1], "x"))
    else:
        way = lossy(rig, 0, {losses: DROP})
    done = rig.exchange(qp, a, *[a.request(WRITE, b, SIZE)] * MESSAGES)
    assert succeeded(done)
    return done[-1].timestamp_ps, rig.counter("naks") if kind == "go_back_n" else way.dropped


@pytest.mark.parametrize("pw", [0.01, 0.1, 0.3, 1.0])
def test_goodput_is_what_arithmetic_says(pw: float) -> None:
    """(1-p)/(1+p(W-1)) of go-back-N, where W packets fit the loop, and 1-p of selective repeat.

    Source: Bertsekas and Gallager, Data Networks, 2.4. p is the share of losses that happened.
    """
    clean, _ = stream("go_back_n", 0)
    packet = clean / PACKETS
    window = (stream("go_back_n", 500)[0] - clean) / packet
    assert window == pytest.approx(2 * 55 * 10**6 / packet, rel=0.12)
    taken, lost = stream("go_back_n", (pw / window, 5))
    p = lost / (PACKETS + lost)
    assert clean / taken == pytest.approx((1 - p) / (1 + p * (window - 1)), rel=0.03)
    clean, _ = stream("selective_repeat", 0)
    taken, lost = stream("selective_repeat", (pw / window, 5))
    p = lost / (PACKETS + lost)
    assert clean / taken == pytest.approx(1 - p, rel=0.01)


def test_three_acknowledgements_of_the_same_make_tcp_send_a_segment_again_at_once() -> None:
    rig = Rig(iwarp.machine(), data=True)
    a, b, qp, _ = rig.joined()
    a.mr.write(bytes(range(250)) * 4000)
    lossy(rig, 0, {100: DROP})
    done = rig.exchange(qp, a, *[a.request(WRITE, b, 50_000, offset=50_000 * n) for n in range(10)])
    assert succeeded(done)
    assert done[-1].timestamp_ps < 10**9
    assert b.mr.read(500_000, 0) == a.mr.read(500_000, 0)
    assert rig.counter("retransmissions") == 1
    # What came meanwhile has been placed.
    assert b.adapter.dma.scattered == 500_000


def test_the_window_of_tcp_is_halved_by_a_loss_and_grows_again() -> None:
    def end(lost: dict[int, Fate]) -> tuple[int, float]:
        rig = Rig(iwarp.machine(switch=False, metres=11_000, changes=BUFFER))
        a, b, qp, _ = rig.joined()
        lossy(rig, 0, lost)
        done = rig.exchange(qp, a, *[a.request(WRITE, b, 72_000)] * 20)
        assert succeeded(done)
        pacing = qp._qp.requester.pacing
        return done[-1].timestamp_ps, getattr(pacing, "cwnd", 0)

    clean, without = end({})
    halved, window = end({300: DROP})
    assert without == 0, "no window without a loss"
    # 300 in flight: half of them, and one more after each time around.
    assert 40 < window < 160
    assert 1.2 < halved / clean < 2.5


def test_what_fills_the_window_of_tcp_is_acknowledged_also_amid_a_message() -> None:
    rig = Rig(iwarp.machine())
    a, b, qp, remote = rig.joined(timeout=6, retry_cnt=1)
    rig.run(b.post_receives(remote, *[b.receive(6000)] * 6))
    # All behind the lost packet is dropped, and goes again one by one when the timer expires.
    lossy(rig, 0, {2: DROP})
    done = rig.exchange(qp, a, *[a.request(SEND, b, 6000)] * 6)
    assert succeeded(done)
    assert rig.counter("out_of_sequence") > 0


def test_each_timeout_of_tcp_takes_twice_as_long() -> None:
    rig = Rig(iwarp.machine())
    a, b, qp, _ = rig.joined(timeout=6, retry_cnt=3)
    lossy(rig, 0, always(psn=0))
    (done,) = rig.exchange(qp, a, a.request(WRITE, b))
    assert statuses([done]) == ["RETRY_EXC_ERR"]
    assert done.timestamp_ps == pytest.approx((1 + 2 + 4 + 8) * (4_096_000 << 6), rel=0.02)


def test_a_write_that_comes_early_ends_no_message_before_it() -> None:
    rig = Rig(machine({"adapter.recovery": "selective_repeat"}), data=True)
    a, b, qp, remote = rig.joined()
    a.mr.write(bytes(range(250)) * 40)
    rig.run(b.post_receives(remote, b.receive(3 * MTU)))
    lossy(rig, 0, {2: DROP})
    requests = a.request(SEND, b, 3 * MTU), a.request(WRITE, b, 8, offset=8192)
    assert succeeded(rig.exchange(qp, a, *requests))
    (found,) = b.cq.queue.entries
    assert found.byte_len == 3 * MTU
    assert b.mr.read(3 * MTU, 0) == a.mr.read(3 * MTU, 0)
    assert b.mr.read(8, 8192) == a.mr.read(8, 8192)


def moved(rig: Rig, opcode: WROpcode, size: int, losses: list[Losses]) -> int:
    """Have a message moved over two ways that lose packets; when it has completed, in ps."""
    a, b, qp, remote = rig.joined(timeout=10)
    source, goal = (b, a) if opcode is READ else (a, b)
    source.mr.write(Random(1).randbytes(size))
    remote.prepost_recv(b.receive(size))
    for node, one in enumerate(losses):
        lossy(rig, node, one)
    (done,) = rig.exchange(qp, a, a.request(opcode, b, size))
    assert done.status.name == "SUCCESS"
    assert goal.mr.read(size, 0) == source.mr.read(size, 0)
    return done.timestamp_ps


SELECTIVE = machine({"adapter.recovery": "selective_repeat"})
MESSAGE = 1 << 20


@pytest.mark.parametrize("opcode", [WRITE, SEND])
def test_a_long_message_whose_first_packet_and_its_refusal_are_lost_costs_few_timeouts(
    opcode: WROpcode,
) -> None:
    """Selective repeat drops what is behind its window, which one timeout sends again."""
    rig = Rig(SELECTIVE, size=2 * MESSAGE, data=True)
    end = moved(rig, opcode, 2 * MESSAGE, [ListedLosses({1: DROP}), ListedLosses({1: DROP})])
    assert end < 3 * (4_096_000 << 10)


def test_selective_repeat_goes_back_once_to_each_packet_of_a_send_that_is_lost() -> None:
    lost = dict.fromkeys([*range(100, 120), 500, 502], DROP)
    rig = Rig(SELECTIVE, size=MESSAGE, data=True)
    moved(rig, SEND, MESSAGE, [ListedLosses(lost)])
    assert rig.counter("retransmissions") == 2
    assert rig.peers[0].adapter.ports[0].transmitter.packets < MESSAGE // MTU + 60


def test_selective_repeat_asks_for_a_send_that_it_dropped_behind_a_write() -> None:
    """Nothing follows from which it could see that the send is missing."""
    rig = Rig(SELECTIVE, data=True)
    a, b, qp, remote = rig.joined(timeout=14)
    remote.prepost_recv(b.receive(64))
    lossy(rig, 0, {2: DROP})
    requests = [a.request(WRITE, b, 3 * MTU), a.request(SEND, b, 64)]
    done = rig.exchange(qp, a, *requests)
    assert statuses(done) == ["SUCCESS"] * 2
    assert done[-1].timestamp_ps < EXPIRY


def test_a_read_may_break_off_more_often_than_it_may_be_tried() -> None:
    rig = Rig(size=MESSAGE, data=True)
    end = moved(rig, READ, MESSAGE, [ListedLosses({}), RandomLosses(0.02, 0, 2, "x")])
    assert rig.counter("retransmissions") > 7
    # What is asked for again is not sent behind the rest of what was asked for before.
    assert end < 2 * moved(Rig(size=MESSAGE, data=True), READ, MESSAGE, [])


@pytest.mark.parametrize("opcode", [WRITE, SEND])
def test_the_only_packet_in_flight_over_iwarp_is_acknowledged_at_once(opcode: WROpcode) -> None:
    rig = Rig(iwarp.machine(), size=MESSAGE, data=True)
    moved(rig, opcode, MESSAGE, [RandomLosses(0.02, 0, node, "x") for node in (0, 1)])
    assert rig.counter("retransmissions") > 7
