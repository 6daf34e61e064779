"""Queues and their limits, as an application meets them."""

import pytest

from hcasim.catalog import resolve
from hcasim.fabric.packet import MTUS
from hcasim.verbs import CQ, QP, SGE, Access, RecvWR, SendWR, VerbsError, WROpcode
from tests.rig import (
    FETCH_ADD,
    READ,
    SEND,
    WRITE,
    Peer,
    Program,
    Rig,
    extended,
    ids,
    joined,
    machine,
    statuses,
    succeeded,
)


def refused(errno: str, program: Program, rig: Rig) -> str:
    with pytest.raises(VerbsError) as caught:
        rig.run(program)
    assert caught.value.errno == errno
    return str(caught.value)


def fill(peer: Peer, qp: QP, request: SendWR, times: int) -> Program:
    yield from peer.post(qp, *[request] * times)


def test_a_completion_frees_its_place_when_it_is_polled_and_not_before(rig: Rig) -> None:
    a, b, qp, _ = rig.joined(max_send_wr=2)

    def program() -> Program:
        yield from a.post(qp, *[a.request(WRITE, b)] * 2)
        yield rig.sim.timeout(10**8)
        assert len(a.cq.queue.entries) == 2
        full = "ENOMEM: the send queue is full: 2 requests are outstanding"
        with pytest.raises(VerbsError, match=full):
            yield from a.post(qp, a.request(WRITE, b))
        yield from a.collect(1)
        yield from a.post(qp, a.request(WRITE, b))
        with pytest.raises(VerbsError, match="ENOMEM"):
            yield from a.post(qp, a.request(WRITE, b))
        return (yield from a.collect(2))

    (found,) = rig.run(program())
    assert len(found) == 2


def test_a_receive_queue_takes_as_many_requests_as_it_was_made_for(rig: Rig) -> None:
    a, b, qp, remote = rig.joined(max_recv_wr=2)

    def receiver() -> Program:
        yield from b.post_receives(remote, b.receive(8), b.receive(8))
        with pytest.raises(VerbsError, match="ENOMEM: the receive queue is full: 2 requests"):
            yield from b.post_receives(remote, b.receive(8))
        yield from b.collect(1)
        yield from b.post_receives(remote, b.receive(8))

    rig.run(receiver(), fill(a, qp, a.request(SEND, b), 1))


def test_unsignaled_requests_free_the_queue_with_the_next_polled_completion(rig: Rig) -> None:
    a, b, qp, _ = rig.joined(max_send_wr=4)
    quiet = a.request(WRITE, b, signaled=False)

    def program() -> Program:
        for turn in range(5):
            yield from a.post(qp, quiet, quiet, quiet, a.request(WRITE, b, wr_id=turn))
            with pytest.raises(VerbsError, match="ENOMEM"):
                yield from a.post(qp, quiet)
            (done,) = yield from a.collect(1)
            assert done.wr_id == turn

    rig.run(program())
    assert rig.counter("cqes_written") == 5


def test_unsignaled_requests_alone_fill_the_queue_for_good(rig: Rig) -> None:
    a, b, qp, _ = rig.joined(max_send_wr=4)
    rig.run(fill(a, qp, a.request(WRITE, b, signaled=False), 4))
    refused("ENOMEM", fill(a, qp, a.request(WRITE, b), 1), rig)
    assert rig.counter("cqes_written") == 0


def test_a_failed_request_frees_the_unsignaled_ones_before_it(rig: Rig) -> None:
    a, b, qp, _ = rig.joined(max_send_wr=4)
    quiet = a.request(WRITE, b, signaled=False)

    def program() -> Program:
        yield from a.post(qp, quiet, quiet, quiet, a.request(WRITE, b, rkey=999))
        assert statuses((yield from a.collect(1))) == ["REM_ACCESS_ERR"]
        yield from a.post(qp, *[quiet] * 4)
        return (yield from a.collect(4))

    (flushed,) = rig.run(program())
    assert statuses(flushed) == ["WR_FLUSH_ERR"] * 4


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"max_send_wr": -1}, "max_send_wr is -1; allowed: 0 to 65535"),
        ({"max_send_wr": 65536}, "max_send_wr is 65536; allowed: 0 to 65535"),
        ({"max_recv_wr": 65536}, "max_recv_wr is 65536; allowed: 0 to 65535"),
        ({"max_inline_data": 129}, "max_inline_data is 129; allowed: 0 to 128"),
        ({"port_num": 0}, "port_num is 0; allowed: 1 to 2"),
        ({"port_num": 3}, "port_num is 3; allowed: 1 to 2"),
    ],
)
def test_a_queue_pair_beyond_a_limit_is_refused(
    rig: Rig, asked: dict[str, int], message: str
) -> None:
    a, _ = rig.peers
    with pytest.raises(VerbsError) as caught:
        QP(a.pd, a.cq, a.cq, **asked)
    assert str(caught.value) == f"EINVAL: {message}"


@pytest.mark.parametrize("testbed", ["fault-connectx4", None])
def test_a_queue_without_entries_takes_no_request(testbed: str | None) -> None:
    rig = Rig(resolve(testbed) if testbed else None)
    a, b, qp, remote = rig.joined(max_recv_wr=0, max_recv_sge=0)
    remote = QP(b.pd, b.cq, b.cq, max_send_wr=0, max_send_sge=0)
    qp.connect(remote)
    remote.connect(qp)
    for wrong in (a.post_receives(qp, a.receive(8)), a.post_receives(qp, RecvWR())):
        full = refused("ENOMEM", wrong, rig)
        assert full == "ENOMEM: the receive queue is full: 0 requests are outstanding"
    assert "send queue is full: 0" in refused("ENOMEM", b.post(remote, b.request(WRITE, a)), rig)
    attr, _ = qp.query_qp()
    assert (attr.cap.max_recv_wr, attr.cap.max_recv_sge, attr.cap.max_send_wr) == (0, 0, 128)
    sent, received = rig.run(
        a.send(qp, a.request(SEND, b), after=10**8), b.take(remote, b.receive(64))
    )
    assert succeeded([*sent, *received])


def test_a_piece_of_memory_for_a_receive_is_not_shorter_than_nothing(rig: Rig) -> None:
    _, b, _, remote = rig.joined(max_recv_sge=2)
    wrong = RecvWR((b.sge(64), b.sge(-8)))
    said = refused("EINVAL", b.post_receives(remote, b.receive(8), wrong), rig)
    assert said == "EINVAL: a piece of -8 bytes; allowed: from 0 on"
    assert remote.used[1][1] == 0
    with pytest.raises(VerbsError, match="a piece of -8 bytes"):
        remote.prepost_recv(wrong)


def test_the_adapter_limits_inline_data_where_the_stack_does_not() -> None:
    limits = {"adapter.limits.max_inline": "64 B", "stack.max_inline": "128 B"}
    a, _ = Rig(machine(limits)).peers
    with pytest.raises(VerbsError, match="allowed: 0 to 64"):
        QP(a.pd, a.cq, a.cq, max_inline_data=65)


def test_an_adapter_runs_out_of_queue_pairs() -> None:
    rig = Rig(machine({"adapter.limits.max_qp": "3"}))
    a, _ = rig.peers
    for _ in range(3):
        QP(a.pd, a.cq, a.cq)
    with pytest.raises(VerbsError) as caught:
        QP(a.pd, a.cq, a.cq)
    assert caught.value.errno == "ENOMEM"


@pytest.mark.parametrize("opcode", [WRITE, SEND])
def test_inline_data_may_be_as_long_as_was_agreed_and_needs_no_local_key(
    rig: Rig, opcode: WROpcode
) -> None:
    a, b, qp, remote = rig.joined(max_inline_data=100)
    rig.run(b.post_receives(remote, b.receive(4096)))
    request = a.request(opcode, b, inline=True, sg_list=(SGE(0, 100, 12345),))
    assert succeeded(rig.exchange(qp, a, request))
    assert (a.adapter.dma.gathered, b.adapter.dma.scattered) == (0, 100)
    message = refused("EINVAL", fill(a, qp, a.request(opcode, b, 101, inline=True), 1), rig)
    assert message == "EINVAL: 101 bytes inline; this queue pair allows 100"


@pytest.mark.parametrize("opcode", [READ, FETCH_ADD])
def test_what_fetches_data_cannot_be_inline(rig: Rig, opcode: WROpcode) -> None:
    a, b, qp, _ = rig.joined(max_inline_data=100)
    refused("EINVAL", fill(a, qp, a.request(opcode, b, inline=True), 1), rig)


@pytest.mark.parametrize(
    ("opcode", "length", "message"),
    [
        (WRITE, -1, "a message of -1 bytes; allowed: 0 to 2147483648"),
        (SEND, (1 << 31) + 1, "a message of 2147483649 bytes; allowed: 0 to 2147483648"),
        (FETCH_ADD, 4, "an atomic works on 8 bytes, not 4"),
        (FETCH_ADD, 16, "an atomic works on 8 bytes, not 16"),
    ],
)
def test_a_length_that_no_message_has_is_refused(
    rig: Rig, opcode: WROpcode, length: int, message: str
) -> None:
    a, b, qp, _ = rig.joined()
    given = refused("EINVAL", fill(a, qp, a.request(opcode, b, length), 1), rig)
    assert given == f"EINVAL: {message}"


def test_only_the_mtus_of_infiniband_are_taken(rig: Rig) -> None:
    a, b = rig.peers
    # The last one is beyond that of the ports.
    for mtu in (0, 512 + 1, 1500, 8192, 2048):
        with pytest.raises(VerbsError, match=f"path MTU {mtu}; allowed: 256, 512, 1024$"):
            rig.connect(a, b, path_mtu=mtu)
    assert MTUS == (256, 512, 1024, 2048, 4096)


@pytest.mark.parametrize(
    "access", [Access.REMOTE_WRITE, Access.REMOTE_ATOMIC, Access.REMOTE_READ | Access.REMOTE_WRITE]
)
def test_memory_that_others_write_must_be_writable_here(rig: Rig, access: Access) -> None:
    with pytest.raises(VerbsError, match="EINVAL: remote write or atomic access needs local"):
        rig.peers[0].pd.reg_mr(64, access)


def test_there_is_no_completion_queue_without_entries(rig: Rig) -> None:
    with pytest.raises(VerbsError, match="cqe is 0; allowed: 1 to "):
        CQ(rig.peers[0].context, 0)


def test_a_completion_queue_that_overruns_loses_entries_and_says_so() -> None:
    rig = Rig(cqe=3)
    a, b, qp, _ = rig.joined()
    rig.run(fill(a, qp, a.request(WRITE, b), 3))
    assert not a.cq.queue.overrun
    rig.run(fill(a, qp, a.request(WRITE, b), 2))
    assert a.cq.queue.overrun
    assert len(a.cq.queue.entries) == 3
    assert rig.counter("cqes_written") == 5


def test_polling_takes_what_is_there_and_pays_for_each_look(rig: Rig) -> None:
    a, b, qp, _ = rig.joined()

    def poll(number: int) -> Program:
        begin = rig.sim.now
        found = yield from a.cq.poll(number)
        return len(found), rig.sim.now - begin

    rig.run(fill(a, qp, a.request(WRITE, b), 5))
    look = rig.machine.stack.poll_cq
    assert rig.run(poll(1)) == [(1, look)]
    assert rig.run(poll(2)) == [(2, 2 * look)]
    assert rig.run(poll(4)) == [(2, 3 * look)]
    assert rig.run(poll(4)) == [(0, look)]


@pytest.mark.parametrize(("rings", "expected"), [("true", 2), ("false", 0)])
def test_consuming_a_completion_rings_the_doorbell_if_the_stack_does_so(
    rings: str, expected: int
) -> None:
    rig, a, b, qp, _ = joined(machine({"stack.cq_doorbell": rings}))
    rig.exchange(qp, a, a.request(WRITE, b), a.request(WRITE, b))
    assert rig.counter("doorbells") == 2 + expected


def test_two_programs_may_wait_on_one_completion_queue(rig: Rig) -> None:
    a, b, qp, _ = rig.joined()
    requests = [a.request(WRITE, b, wr_id=i) for i in range(6)]
    *found, _ = rig.run(a.collect(3), a.collect(3), a.post(qp, *requests))
    assert sorted(ids(found[0] + found[1])) == list(range(6))


def test_receives_and_sends_may_complete_on_queues_of_their_own(rig: Rig) -> None:
    a, b = rig.peers
    receive_cq = CQ(b.context, 8)
    qp = QP(a.pd, a.cq, a.cq)
    remote = QP(b.pd, b.cq, receive_cq)
    qp.connect(remote)
    remote.connect(qp)
    rig.run(b.post_receives(remote, b.receive(64, wr_id=1)))
    rig.exchange(qp, a, a.request(SEND, b))
    rig.exchange(remote, b, b.request(WRITE, a, wr_id=2))
    assert not b.cq.queue.entries
    assert [c.wr_id for c in receive_cq.queue.entries] == [1]


@pytest.mark.parametrize("ahead", [0, 2, 8])
def test_receives_posted_long_ago_are_taken_in_order_and_need_no_fetch_if_held(ahead: int) -> None:
    on = extended(machine(), adapter={"receive_queue": {"ahead": ahead}})
    rig, a, b, qp, remote = joined(on, max_recv_wr=4)
    remote.fill_recv(3, lambda number: b.receive(8, wr_id=number, offset=8 * number))
    assert b.adapter.counters()["receive_wqes_fetched"] == 0

    def receiver() -> Program:
        yield from b.post_receives(remote, b.receive(8, wr_id=3))
        with pytest.raises(VerbsError, match="ENOMEM: the receive queue is full: 4 requests"):
            yield from b.post_receives(remote, b.receive(8))
        return (yield from b.collect(4))

    found, _ = rig.run(receiver(), fill(a, qp, a.request(SEND, b), 4))
    assert [completion.wr_id for completion in found] == [0, 1, 2, 3]
    assert b.adapter.counters()["receive_wqes_fetched"] == 4 - min(ahead, 3)


def test_only_an_empty_receive_queue_has_had_its_requests_for_long(rig: Rig) -> None:
    _, b, _, remote = rig.joined(max_recv_wr=2)
    with pytest.raises(VerbsError, match="ENOMEM: the receive queue is full: 0 requests"):
        remote.fill_recv(3, lambda number: b.receive(8))
    remote.fill_recv(1, lambda number: b.receive(8))
    with pytest.raises(VerbsError, match="EINVAL: the receive queue has been used before"):
        remote.fill_recv(1, lambda number: b.receive(8))
