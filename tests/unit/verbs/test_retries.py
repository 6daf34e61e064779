"""A receiver that is not ready: the sender tries again, as often as it may."""

import pytest

from tests.rig import (
    FETCH_ADD,
    READ,
    SEND,
    WRITE,
    Program,
    Rig,
    ids,
    statuses,
)


def late_receive(rig: Rig, delay_ps: int, **options: int) -> tuple[list, list]:
    a, b = rig.peers
    qp, remote = rig.connect(a, b, **options)

    def sender() -> Program:
        yield from a.post(qp, a.request(SEND, b, 3000, wr_id=5))
        return (yield from a.collect(1))

    def receiver() -> Program:
        yield b.sim.timeout(delay_ps)
        yield from b.post_receives(remote, b.receive(4096, wr_id=6))
        return (yield from b.collect(1))

    return tuple(rig.run(sender(), receiver()))


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
    a, b = rig.peers
    qp, _ = rig.connect(a, b, rnr_retry=retries, min_rnr_timer_ps=10**7)
    done = rig.exchange(qp, a, a.request(SEND, b, 64))
    assert statuses(done) == ["RNR_RETRY_EXC_ERR"]
    assert rig.counter("naks") == retries + 1
    assert rig.counter("retransmissions") == retries
    assert done[0].timestamp_ps > retries * 10**7


def test_each_message_has_all_its_retries(rig: Rig) -> None:
    a, b = rig.peers
    qp, remote = rig.connect(a, b, rnr_retry=3, min_rnr_timer_ps=10**7)

    def sender() -> Program:
        yield from a.post(qp, *(a.request(SEND, b, 64, wr_id=i) for i in range(4)))
        return (yield from a.collect(4))

    def receiver() -> Program:
        for _ in range(4):
            yield b.sim.timeout(25 * 10**6)
            yield from b.post_receives(remote, b.receive(64))
        return (yield from b.collect(4))

    sent, received = rig.run(sender(), receiver())
    assert statuses(sent) == statuses(received) == ["SUCCESS"] * 4
    assert ids(sent) == [0, 1, 2, 3]


def test_the_receiver_says_how_long_to_wait(rig: Rig) -> None:
    a, b = rig.peers
    qp, remote = rig.connect(a, b)
    qp.connect(remote, min_rnr_timer_ps=10**6)
    remote.connect(qp, min_rnr_timer_ps=10**9)

    def receiver() -> Program:
        yield b.sim.timeout(10**8)
        yield from b.post_receives(remote, b.receive(64))
        return (yield from b.collect(1))

    def sender() -> Program:
        yield from a.post(qp, a.request(SEND, b, 64))

    _, received = rig.run(sender(), receiver())
    assert rig.counter("naks") == 1
    assert received[0].timestamp_ps > 10**9


def test_requests_behind_one_that_waits_are_sent_again_in_order(rig: Rig) -> None:
    a, b = rig.peers
    qp, remote = rig.connect(a, b, min_rnr_timer_ps=10**7)
    opcodes = [WRITE, READ, SEND, WRITE, READ, FETCH_ADD, SEND, WRITE]
    lengths = [8, 3000, 2000, 5000, 8, 8, 8, 2500]

    def sender() -> Program:
        requests = zip(opcodes, lengths, strict=True)
        yield from a.post(qp, *(a.request(op, b, n, wr_id=i) for i, (op, n) in enumerate(requests)))
        return (yield from a.collect(len(opcodes)))

    def receiver() -> Program:
        for _ in range(2):
            yield b.sim.timeout(35 * 10**6)
            yield from b.post_receives(remote, b.receive(4096))
        return (yield from b.collect(2))

    sent, received = rig.run(sender(), receiver())
    assert ids(sent) == list(range(len(opcodes)))
    assert statuses(sent) == ["SUCCESS"] * len(opcodes)
    assert [c.byte_len for c in received] == [2000, 8]
    assert b.mr.word(b.mr.addr) == 0  # added nothing, once
    assert rig.counter("retransmissions") > 0


def test_a_retried_atomic_takes_effect_once(rig: Rig) -> None:
    a, b = rig.peers
    qp, remote = rig.connect(a, b, min_rnr_timer_ps=10**7)

    def sender() -> Program:
        yield from a.post(qp, a.request(SEND, b), a.request(FETCH_ADD, b, offset=64, compare_add=5))
        return (yield from a.collect(2))

    def receiver() -> Program:
        yield b.sim.timeout(55 * 10**6)
        yield from b.post_receives(remote, b.receive(64))

    sent, _ = rig.run(sender(), receiver())
    assert statuses(sent) == ["SUCCESS", "SUCCESS"]
    assert b.mr.word(b.mr.addr + 64) == 5
