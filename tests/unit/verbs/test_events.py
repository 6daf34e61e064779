"""Shared receive queues, completion channels, and what an adapter tells of its own accord."""

import pytest

from hcasim.verbs import CQ, QP, SRQ, CompChannel, EventType, RecvWR, VerbsError, WROpcode
from tests.rig import Program, Rig, statuses

WRITE, SEND = WROpcode.RDMA_WRITE, WROpcode.SEND
US = 10**6


@pytest.fixture
def rig() -> Rig:
    return Rig(size=1 << 20, data=True)


def shared(rig: Rig, number: int, **options: int) -> tuple[SRQ, list[tuple[QP, QP]]]:
    """A shared receive queue of the second peer, and queue pairs that take from it."""
    a, b = rig.peers
    srq = SRQ(b.pd, **options)
    pairs = [(QP(a.pd, a.cq, a.cq), QP(b.pd, b.cq, b.cq, srq=srq)) for _ in range(number)]
    for near, far in pairs:
        near.connect(far)
        far.connect(near)
    return srq, pairs


def test_messages_of_several_queue_pairs_take_entries_in_turn(rig: Rig) -> None:
    a, b = rig.peers
    srq, pairs = shared(rig, 3, max_wr=8)
    for number in range(6):
        srq.prepost_recv(b.receive(8, wr_id=number, offset=64 * number))
    a.mr.write(b"12345678")

    def sender() -> Program:
        for turn in range(2):
            for near, _ in pairs:
                yield from near.post_send(a.request(SEND, b, 8 - turn))
        return (yield from a.collect(6))

    (_, done) = rig.run(sender(), b.collect(6))
    assert [one.wr_id for one in done] == list(range(6))
    assert sorted(one.qpn for one in done) == sorted(2 * [far.qp_num for _, far in pairs])
    assert b.mr.read(8, 64) == b"12345678"


def test_a_shared_queue_is_full_until_completions_are_taken(rig: Rig) -> None:
    a, b = rig.peers
    srq, ((near, _),) = shared(rig, 1, max_wr=2)
    rig.run(srq.post_recv_list([b.receive(8), b.receive(8)]))
    with pytest.raises(VerbsError, match="the receive queue is full: 2 requests"):
        rig.run(srq.post_recv(b.receive(8)))
    rig.run(a.send(near, a.request(SEND, b)), b.collect(1))
    rig.run(srq.post_recv(b.receive(8)))


def test_a_queue_pair_with_a_shared_queue_takes_no_receives(rig: Rig) -> None:
    _, ((_, far),) = shared(rig, 1)
    with pytest.raises(VerbsError, match="has a shared receive queue"):
        far.prepost_recv(RecvWR())


def test_a_limit_is_told_once_when_fewer_entries_are_left(rig: Rig) -> None:
    a, b = rig.peers
    srq, ((near, _),) = shared(rig, 1, max_wr=8, srq_limit=3)
    for _ in range(4):
        srq.prepost_recv(b.receive(8))
    rig.run(a.send(near, *[a.request(SEND, b)] * 4), b.collect(4))
    (event,) = rig.run(b.context.get_async_event())
    assert (event.event_type, event.element) == (EventType.SRQ_LIMIT_REACHED, srq)
    assert (len(b.context.events), srq.srq_limit) == (0, 0)
    with pytest.raises(VerbsError, match="srq_limit is 9; allowed: 0 to 8"):
        srq.modify(9)


def test_a_queue_pair_in_error_leaves_the_shared_entries(rig: Rig) -> None:
    a, b = rig.peers
    srq, pairs = shared(rig, 2)
    for _ in range(2):
        srq.prepost_recv(b.receive(8))
    (near, far), (other, _) = pairs
    assert statuses(rig.exchange(near, a, a.request(WRITE, b, rkey=999))) == ["REM_ACCESS_ERR"]
    events = [rig.run(b.context.get_async_event())[0] for _ in range(2)]
    assert [(one.event_type.name, one.element) for one in events] == [
        ("QP_ACCESS_ERR", far),
        ("QP_LAST_WQE_REACHED", far),
    ]
    rig.run(a.send(other, a.request(SEND, b)), b.collect(1))


def armed(rig: Rig, *, solicited_only: bool = False) -> tuple[CompChannel, CQ, QP, QP]:
    a, b = rig.peers
    channel = CompChannel(b.context)
    cq = CQ(b.context, 16, channel)
    near, far = QP(a.pd, a.cq, a.cq), QP(b.pd, cq, cq)
    near.connect(far)
    far.connect(near)
    for _ in range(8):
        far.prepost_recv(b.receive(8))
    cq.req_notify(solicited_only)
    return channel, cq, near, far


def test_an_armed_queue_interrupts_once(rig: Rig) -> None:
    channel, cq, near, _ = armed(rig)
    a, b = rig.peers

    def receiver() -> Program:
        told = yield from channel.get_cq_event()
        found = yield from cq.poll(16)
        return told, rig.sim.now - found[0].timestamp_ps

    (_, (told, delay)) = rig.run(a.send(near, *[a.request(SEND, b)] * 4), receiver())
    assert told is cq
    assert delay >= b.context.stack.event
    assert len(channel.events) == 0


def test_only_what_is_solicited_interrupts_if_that_is_wanted(rig: Rig) -> None:
    channel, cq, near, _ = armed(rig, solicited_only=True)
    a, b = rig.peers
    rig.exchange(near, a, a.request(SEND, b))
    assert (len(channel.events), len(cq.queue.entries)) == (0, 1)
    rig.exchange(near, a, a.request(SEND, b, solicited=True))
    assert len(channel.events) == 1


@pytest.mark.parametrize(("sends", "told"), [(2, 0), (3, 1)])
def test_moderation_waits_for_so_many_entries(rig: Rig, sends: int, told: int) -> None:
    channel, cq, near, _ = armed(rig)
    a, b = rig.peers
    cq.modify(3, 0)
    rig.exchange(near, a, *[a.request(SEND, b)] * sends)
    assert len(channel.events) == told


def test_moderation_waits_no_longer_than_its_period(rig: Rig) -> None:
    channel, cq, near, _ = armed(rig)
    a, b = rig.peers
    cq.modify(3, 50)

    def receiver() -> Program:
        yield from channel.get_cq_event()
        return rig.sim.now - cq.queue.entries[0].timestamp_ps

    (_, delay) = rig.run(a.send(near, a.request(SEND, b)), receiver())
    assert delay == 50 * US + b.context.stack.event


def test_a_period_of_an_arming_before_does_not_count(rig: Rig) -> None:
    channel, cq, near, _ = armed(rig)
    a, b = rig.peers
    cq.modify(2, 50)

    def receiver() -> Program:
        yield from channel.get_cq_event()
        last = (yield from cq.poll(16))[-1].timestamp_ps
        yield rig.sim.timeout(last + 30 * US - rig.sim.now)
        cq.req_notify()
        yield from near.post_send(a.request(SEND, b))
        yield from channel.get_cq_event()
        return rig.sim.now - cq.queue.entries[0].timestamp_ps

    (_, delay) = rig.run(a.send(near, *[a.request(SEND, b)] * 2, collect=3), receiver())
    assert delay == 50 * US + b.context.stack.event


def test_a_queue_without_a_channel_cannot_be_armed(rig: Rig) -> None:
    with pytest.raises(VerbsError, match="has no channel"):
        rig.peers[0].cq.req_notify()


def test_a_resized_queue_holds_what_was_in_it(rig: Rig) -> None:
    _, cq, near, _ = armed(rig)
    a, b = rig.peers
    rig.exchange(near, a, *[a.request(SEND, b)] * 4)
    with pytest.raises(VerbsError, match="cqe is 3, but the queue holds 4 entries"):
        cq.resize(3)
    cq.resize(4)
    assert (cq.cqe, len(cq.queue.entries)) == (4, 4)
    rig.run(cq.poll(2))
    cq.resize(64)
    rig.exchange(near, a, *[a.request(SEND, b)] * 4)
    assert len(cq.queue.entries) == 6


def test_a_queue_is_resized_with_what_is_in_it_when_the_command_is_there(rig: Rig) -> None:
    _, cq, near, _ = armed(rig)
    a, b = rig.peers
    cost = b.context.stack.registration
    registering = cost.call + cost.pin_page + cost.table_entry

    def resize(cqe: int, after: int = 0, found: int = 4) -> Program:
        yield rig.sim.timeout(after)
        assert len(cq.queue.entries) == found
        began = rig.sim.now
        try:
            yield from cq.timed_resize(cqe)
        except VerbsError as error:
            return error.errno, rig.sim.now - began
        return cq.cqe, rig.sim.now - began

    sends = a.post(near, *[a.request(SEND, b)] * 4)
    assert rig.run(sends, resize(3, 5 * US, 0))[1] == ("EINVAL", registering)
    # A page holds 128 entries of 32 B.
    assert rig.run(resize(128)) == [(128, registering)]
    assert rig.run(resize(129)) == [(129, registering + cost.pin_page + cost.table_entry)]
    assert rig.run(resize(0)) == [("EINVAL", 0)]


def test_an_overrun_gives_up_the_queue_pairs(rig: Rig) -> None:
    _, cq, near, far = armed(rig)
    a, b = rig.peers
    cq.resize(2)
    rig.exchange(near, a, *[a.request(SEND, b)] * 3)
    events = [rig.run(b.context.get_async_event())[0] for _ in range(2)]
    assert [(one.event_type.name, one.element) for one in events] == [
        ("CQ_ERR", cq),
        ("QP_FATAL", far),
    ]
    assert len(cq.queue.entries) == 2
