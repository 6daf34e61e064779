"""A receiver that is not ready or does not answer: the sender tries again, as often as it may."""

from functools import partial

import pytest

from hcasim.engine import Stuck
from hcasim.hca import State
from hcasim.verbs import QP, SGE, QPType, VerbsError, WROpcode
from tests.iwarp import machine as iwarp
from tests.rig import (
    FETCH_ADD,
    READ,
    SEND,
    WRITE,
    Peer,
    Program,
    Rig,
    check_that_nothing_is_lent,
    ids,
    joined,
    statuses,
)

EXPIRY = 4_096_000 << 14
"""Of the transport timer with the usual timeout, in ps."""


def late_receive(rig: Rig, delay_ps: int, **options: int) -> tuple[list, list]:
    a, b, qp, remote = rig.joined(**options)

    receiving = b.take(remote, b.receive(4096, wr_id=6), after=delay_ps)
    return tuple(rig.run(a.send(qp, a.request(SEND, b, 3000, wr_id=5)), receiving))


@pytest.mark.parametrize("delay_us", [1, 15, 45, 333])
def test_a_send_is_delivered_once_a_receive_is_posted(rig: Rig, delay_us: int) -> None:
    sent, received = late_receive(rig, delay_us * 10**6, min_rnr_timer_ps=10**7)
    assert statuses(sent) == statuses(received) == ["SUCCESS"]
    assert (ids(sent), ids(received)) == ([5], [6])
    assert received[0].byte_len == 3000
    assert received[0].timestamp_ps >= delay_us * 10**6
    # A try costs at least the pause, and the last of them comes soon after the receive.
    assert rig.counter("naks") == rig.counter("retransmissions")
    assert rig.counter("naks") <= delay_us // 10 + 1
    if delay_us > 15:
        assert rig.counter("naks") >= 2
    assert received[0].timestamp_ps <= (delay_us + 40) * 10**6


@pytest.mark.parametrize("retries", [0, 1, 3, 6])
def test_a_receiver_that_is_never_ready_exhausts_the_retries(rig: Rig, retries: int) -> None:
    a, b, qp, _ = rig.joined(rnr_retry=retries, min_rnr_timer_ps=10**7)
    done = rig.exchange(qp, a, a.request(SEND, b, 64))
    assert statuses(done) == ["RNR_RETRY_EXC_ERR"]
    assert rig.counter("naks") == retries + 1
    assert rig.counter("retransmissions") == retries
    assert done[0].timestamp_ps > retries * 10**7


def test_a_run_ends_that_only_sends_again_without_end(rig: Rig) -> None:
    a, b, qp, remote = rig.joined(rnr_retry=7, min_rnr_timer_ps=10**7)
    sending = rig.sim.process(a.send(qp, a.request(SEND, b, 64)))
    with pytest.raises(Stuck, match=r"^nothing can go on: no receive .*: node0\.hca qp 1$"):
        rig.sim.run()
    taking = rig.sim.process(b.take(remote, b.receive(64)))
    rig.sim.run()
    assert statuses(sending.value) == statuses(taking.value) == ["SUCCESS"]


def test_two_who_send_to_each_other_without_end_are_both_named(rig: Rig) -> None:
    a, b, qp, remote = rig.joined(rnr_retry=7, min_rnr_timer_ps=10**7)
    both = [a.send(qp, a.request(SEND, b, 64)), b.send(remote, b.request(SEND, a, 64))]
    with pytest.raises(Stuck, match=r"node0\.hca qp 1, node1\.hca qp 1$"):
        rig.run(*both)


def test_a_run_goes_on_while_a_program_may_still_post_a_receive(rig: Rig) -> None:
    sent, received = late_receive(rig, 10**9, rnr_retry=7, min_rnr_timer_ps=10**7)
    assert statuses(sent) == statuses(received) == ["SUCCESS"]


def test_each_message_has_all_its_retries(rig: Rig) -> None:
    a, b, qp, remote = rig.joined(rnr_retry=3, min_rnr_timer_ps=10**7)

    def receiver() -> Program:
        for _ in range(4):
            yield b.sim.timeout(25 * 10**6)
            yield from b.post_receives(remote, b.receive(64))
        return (yield from b.collect(4))

    sending = a.send(qp, *(a.request(SEND, b, 64, wr_id=i) for i in range(4)))
    sent, received = rig.run(sending, receiver())
    assert statuses(sent) == statuses(received) == ["SUCCESS"] * 4
    assert ids(sent) == [0, 1, 2, 3]


def test_the_receiver_says_how_long_to_wait(rig: Rig) -> None:
    a, b, qp, remote = rig.joined()
    qp.connect(remote, min_rnr_timer_ps=10**6)
    remote.connect(qp, min_rnr_timer_ps=10**9)

    receiving = b.take(remote, b.receive(64), after=10**8)
    _, received = rig.run(a.send(qp, a.request(SEND, b, 64)), receiving)
    assert rig.counter("naks") == 1
    assert received[0].timestamp_ps > 10**9


def test_requests_behind_one_that_waits_are_sent_again_in_order(rig: Rig) -> None:
    a, b, qp, remote = rig.joined(min_rnr_timer_ps=10**7)
    word = b.mr.addr + 8192
    opcodes = [WRITE, READ, SEND, WRITE, READ, FETCH_ADD, SEND, WRITE]
    lengths = [8, 3000, 2000, 5000, 8, 8, 8, 2500]

    requests = [
        a.request(op, b, n, wr_id=i, compare_add=5, remote_offset=8192 * (op is FETCH_ADD))
        for i, (op, n) in enumerate(zip(opcodes, lengths, strict=True))
    ]

    def receiver() -> Program:
        for _ in range(2):
            yield b.sim.timeout(35 * 10**6)
            yield from b.post_receives(remote, b.receive(4096))
        return (yield from b.collect(2))

    sent, received = rig.run(a.send(qp, *requests), receiver())
    assert ids(sent) == list(range(len(opcodes)))
    assert statuses(sent) == ["SUCCESS"] * len(opcodes)
    assert [c.byte_len for c in received] == [2000, 8]
    assert b.mr.word(word) == 5, "added once"
    assert rig.counter("retransmissions") > 0


def fail(rig: Rig, qp: QP, peer: Peer, remote: Peer) -> None:
    """Bring a queue pair into the error state, by local memory that it may not read."""
    bad = peer.request(WRITE, remote, sg_list=(SGE(peer.mr.addr, 8, 999),))
    assert statuses(rig.exchange(qp, peer, bad)) == ["LOC_PROT_ERR"]
    assert qp.state is State.ERR


@pytest.mark.parametrize("opcode", [WRITE, SEND, READ, FETCH_ADD])
@pytest.mark.parametrize("state", [State.ERR, State.RESET])
def test_requests_to_a_queue_pair_that_is_not_ready_are_never_answered(
    rig: Rig, opcode: WROpcode, state: State
) -> None:
    a, b = rig.peers
    qp, remote = (QP(peer.pd, peer.cq, peer.cq) for peer in (a, b))
    qp.connect(remote)
    if state is State.ERR:
        remote.connect(qp)
        fail(rig, remote, b, a)
    begin = rig.sim.now
    done = rig.exchange(qp, a, *[a.request(opcode, b, wr_id=i, compare_add=1) for i in range(2)])
    assert statuses(done) == ["RETRY_EXC_ERR", "WR_FLUSH_ERR"]
    assert ids(done) == [0, 1]
    assert qp.state is State.ERR
    assert 8 * EXPIRY < done[0].timestamp_ps - begin < 8 * EXPIRY + 20 * 10**6
    assert rig.counter("dropped") == 2 * 8
    assert rig.counter("retransmissions") == 2 * 7
    assert rig.counter("naks") == 0
    assert b.mr.word(b.mr.addr) == 0
    check_that_nothing_is_lent(rig, (qp, remote))


def test_a_read_that_waited_for_others_waits_no_more_when_all_are_given_up(rig: Rig) -> None:
    a, b = rig.peers
    qp, remote = (QP(peer.pd, peer.cq, peer.cq) for peer in (a, b))
    qp.connect(remote, timeout=5)
    done = rig.exchange(qp, a, *[a.request(READ, b)] * 6)
    assert statuses(done) == ["RETRY_EXC_ERR"] + ["WR_FLUSH_ERR"] * 5
    check_that_nothing_is_lent(rig, (qp, remote))


def test_how_long_and_how_often_to_try_are_attributes_of_the_connection(rig: Rig) -> None:
    a, b = rig.peers
    qp, remote = (QP(peer.pd, peer.cq, peer.cq) for peer in (a, b))
    for wrong in ({"timeout": 32}, {"timeout": -1}, {"retry_cnt": 8}, {"service_level": 16}):
        with pytest.raises(VerbsError, match=r"allowed: 0 to (31|7|15)"):
            qp.connect(remote, **wrong)
    qp.connect(remote, timeout=5, retry_cnt=2)
    (found,) = rig.exchange(qp, a, a.request(WRITE, b))
    assert found.status.name == "RETRY_EXC_ERR"
    assert 3 * 4_096_000 << 5 < found.timestamp_ps < (3 * 4_096_000 << 5) + 20 * 10**6
    never, _ = (QP(peer.pd, peer.cq, peer.cq) for peer in (a, b))
    never.connect(remote, timeout=0)
    rig.run(a.post(never, a.request(WRITE, b)))
    assert not a.cq.queue.entries
    assert never.state is State.RTS


def test_who_is_connected_late_gets_what_was_sent_before_when_it_is_sent_again(rig: Rig) -> None:
    a, b = rig.peers
    qp, remote = (QP(peer.pd, peer.cq, peer.cq) for peer in (a, b))
    qp.connect(remote)
    rig.sim.call_after(10**9, partial(remote.connect, qp))
    requests = [a.request(op, b, n) for op, n in ((WRITE, 3000), (READ, 3000), (WRITE, 8))]
    done = rig.exchange(qp, a, *requests)
    assert statuses(done) == ["SUCCESS"] * 3
    assert EXPIRY < done[0].timestamp_ps < EXPIRY + 50 * 10**6
    assert rig.counter("retransmissions") == 3
    check_that_nothing_is_lent(rig, (qp, remote))


def test_a_queue_pair_that_fails_while_it_receives_gives_back_what_it_has(rig: Rig) -> None:
    a, b, qp, remote = rig.joined()
    rig.run(b.post_receives(remote, b.receive(1 << 20, wr_id=7)))
    bad = b.request(WRITE, a, sg_list=(SGE(b.mr.addr, 8, 999),), wr_id=8)

    breaking = b.send(remote, bad, after=100 * 10**6, collect=2)
    received, sent = rig.run(breaking, a.send(qp, a.request(SEND, b, 1 << 20)))
    assert {(found.wr_id, found.status.name) for found in received} == {
        (7, "WR_FLUSH_ERR"),
        (8, "LOC_PROT_ERR"),
    }
    assert statuses(sent) == ["RETRY_EXC_ERR"]
    check_that_nothing_is_lent(rig, (qp, remote))


def test_a_lost_connection_of_iwarp_fails_what_is_sent_over_it() -> None:
    rig, a, b, qp, remote = joined(iwarp())
    fail(rig, remote, b, a)
    assert statuses(rig.exchange(qp, a, a.request(WRITE, b))) == ["RETRY_EXC_ERR"]
    assert qp.state is State.ERR


@pytest.mark.parametrize("kind", [QPType.UC, QPType.UD])
def test_what_nobody_acknowledges_succeeds_although_it_is_dropped(rig: Rig, kind: QPType) -> None:
    a, b = rig.peers
    qp, remote = (QP(peer.pd, peer.cq, peer.cq, qp_type=kind) for peer in (a, b))
    places: list[dict[str, int]] = [{}]
    if kind is QPType.UD:
        qp.activate()
        places = [{"dlid": remote.lid, "remote_qpn": n} for n in (remote.qp_num, 99)]
    else:
        qp.connect(remote)
    done = rig.exchange(qp, a, *[a.request(SEND, b, **place) for place in places])
    assert set(statuses(done)) == {"SUCCESS"}
    assert done[-1].timestamp_ps < 10**8
    assert rig.counter("dropped") == len(places)
    check_that_nothing_is_lent(rig, (qp, remote))
