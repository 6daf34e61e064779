"""What queue pairs do in each of their states."""

import pytest

from hcasim.catalog import Machine, resolve
from hcasim.fabric.loss import RandomLosses, lose
from hcasim.verbs import (
    QP,
    SGE,
    SRQ,
    Access,
    EventType,
    QPAttr,
    QPAttrMask,
    QPType,
    RecvWR,
    State,
    VerbsError,
    WCStatus,
    WROpcode,
    wc_status_str,
)
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
    statuses,
    succeeded,
)
from tests.unit.verbs.test_transitions import attributes, bring

US = 1_000_000
M = QPAttrMask


def pair(rig: Rig, kind: QPType = QPType.RC, **more: object) -> tuple[Peer, Peer, QP, QP]:
    a, b = rig.peers[:2]
    return a, b, *(QP(one.pd, one.cq, one.cq, qp_type=kind, **more) for one in (a, b))


def connect(qp: QP, remote: QP, **more: object) -> None:
    """Connect two queue pairs by number and LID."""
    bring(qp, State.RTS, remote, rq_psn=9, sq_psn=9, **more)
    bring(remote, State.RTS, qp, rq_psn=9, sq_psn=9, **more)


def go(qp: QP, state: State, mask: QPAttrMask = M.STATE, **more: object) -> None:
    qp.modify_qp(QPAttr(qp_state=state, **more), mask | M.STATE)


@pytest.mark.parametrize("kind", [QPType.RC, QPType.UC])
def test_a_program_connects_by_number_and_lid(rig: Rig, kind: QPType) -> None:
    a, b, qp, remote = pair(rig, kind)
    last = (1 << 24) - 2
    bring(qp, State.RTS, remote, sq_psn=last, rq_psn=77)
    bring(remote, State.RTS, qp, sq_psn=77, rq_psn=last)
    requests = [a.request(op, b, 3000, wr_id=i) for i, op in enumerate((WRITE, SEND))]
    if kind is QPType.RC:
        requests.append(a.request(READ, b, 3000, wr_id=2))
    sent, received = rig.run(a.send(qp, *requests, after=10 * US), b.take(remote, b.receive(4096)))
    assert succeeded([*sent, *received])
    assert (received[0].byte_len, received[0].qp_num) == (3000, remote.qp_num)
    attr, _ = remote.query_qp()
    assert (attr.rq_psn, attr.sq_psn) == ((last + 3 * len(requests)) % (1 << 24), 77)


def test_init_takes_receives_ready_to_receive_takes_messages_and_ready_to_send_sends(
    rig: Rig,
) -> None:
    a, b, qp, remote = pair(rig)
    with pytest.raises(VerbsError, match="EINVAL: the queue pair is in RESET; receives need INIT"):
        rig.run(b.post_receives(remote, b.receive(64)))
    bring(remote, State.INIT, qp)
    rig.run(b.post_receives(remote, b.receive(64)))
    bring(qp, State.RTS, remote, sq_psn=7)
    for state in (State.INIT, State.RTR):
        if state is State.RTR:
            needed = attributes(qp, qp_state=state)
            link = M.AV | M.PATH_MTU | M.DEST_QPN | M.RQ_PSN
            remote.modify_qp(needed, link | M.MAX_DEST_RD_ATOMIC | M.MIN_RNR_TIMER | M.STATE)
        with pytest.raises(VerbsError, match=f"EINVAL: .* not connected, but in {state.name}"):
            rig.run(b.post(remote, b.request(WRITE, a)))
    sent, received = rig.run(a.send(qp, a.request(SEND, b, 64)), b.collect(1))
    assert succeeded([*sent, *received])
    assert remote.state is State.RTR


def test_draining_finishes_what_has_begun_and_holds_the_rest(rig: Rig) -> None:
    a, b, qp, remote = pair(rig)
    connect(qp, remote)
    requests = [a.request(op, b, 20_000, wr_id=i) for i, op in enumerate([WRITE, READ] * 3)]

    def program() -> Program:
        yield from a.post(qp, *requests)
        yield rig.sim.timeout(3 * US)
        go(qp, State.SQD, M.EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify=1)
        draining = [qp.query_qp()[0].sq_draining]
        yield rig.sim.timeout(1000 * US)
        draining.append(qp.query_qp()[0].sq_draining)
        assert draining == [1, 0]
        finished = len(a.cq.queue.entries)
        assert 0 < finished < len(requests)
        assert len(a.context.events) == 1
        # Messages come and are answered meanwhile.
        yield from b.post(remote, b.request(READ, a, 64))
        assert succeeded((yield from b.collect(1)))
        go(qp, State.SQD, M.TIMEOUT, timeout=3)
        assert qp.query_qp()[0].timeout == 3
        yield from a.post(qp, a.request(WRITE, b, wr_id=6))
        yield rig.sim.timeout(100 * US)
        assert len(a.cq.queue.entries) == finished
        go(qp, State.RTS)
        return (yield from a.collect(7))

    (found,) = rig.run(program())
    assert succeeded(found)
    assert ids(found) == [*range(7)]
    assert len(a.context.events) == 1
    check_that_nothing_is_lent(rig, (qp, remote))
    # An idle one has drained at once.
    go(qp, State.SQD, M.EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify=1)
    go(qp, State.RTS)
    go(qp, State.SQD)
    rig.sim.run()
    assert len(a.context.events) == 2


def test_what_waits_for_a_receiver_is_sent_again_while_a_queue_pair_drains(rig: Rig) -> None:
    a, b, qp, remote = pair(rig)
    connect(qp, remote, min_rnr_timer=5)

    def program() -> Program:
        yield from a.post(qp, a.request(SEND, b), a.request(SEND, b, wr_id=1))
        yield rig.sim.timeout(20 * US)
        go(qp, State.SQD)
        yield from b.post_receives(remote, *[b.receive(64)] * 2)
        yield rig.sim.timeout(1000 * US)
        return (yield from a.collect(2))

    (found,) = rig.run(program())
    assert succeeded(found)


@pytest.mark.parametrize("kind", [QPType.UC, QPType.UD])
def test_an_error_of_a_send_that_nobody_acknowledges_flushes_sends_only(
    rig: Rig, kind: QPType
) -> None:
    a, b, qp, remote = pair(rig, kind)
    connect(qp, remote)
    to = {"dlid": remote.lid, "remote_qpn": remote.qp_num, "remote_qkey": 0x11111111}
    back = {"dlid": qp.lid, "remote_qpn": qp.qp_num, "remote_qkey": 0x11111111}
    bad = a.request(SEND, b, sg_list=(SGE(a.mr.addr, 8, 99),), **to)

    def program() -> Program:
        yield from a.post_receives(qp, a.receive(64, wr_id=5))
        failed = yield from a.send(qp, bad, a.request(SEND, b, **to))
        assert qp.state is State.SQE
        failed += yield from a.send(qp, a.request(SEND, b, **to))
        assert statuses(failed) == ["LOC_PROT_ERR", "WR_FLUSH_ERR", "WR_FLUSH_ERR"]
        yield from b.send(remote, b.request(SEND, a, **back))
        assert ids((yield from a.collect(1))) == [5]
        go(qp, State.RTS)
        yield from b.post_receives(remote, b.receive(64))
        sent = yield from a.send(qp, a.request(SEND, b, **to))
        return sent + (yield from b.collect(1))

    (found,) = rig.run(program())
    assert succeeded(found)


def test_the_error_state_flushes_everything_and_takes_more_to_flush(rig: Rig) -> None:
    a, b, qp, remote = pair(rig)
    connect(qp, remote)

    def program() -> Program:
        yield from a.post_receives(qp, a.receive(64, wr_id=1))
        yield from a.post(qp, a.request(READ, b, 100_000, wr_id=2), a.request(WRITE, b, wr_id=3))
        yield rig.sim.timeout(5 * US)
        go(qp, State.ERR)
        yield from a.post(qp, a.request(WRITE, b, wr_id=4))
        yield from a.post_receives(qp, a.receive(64, wr_id=5))
        return (yield from a.collect(5))

    (found,) = rig.run(program())
    assert statuses(found) == ["WR_FLUSH_ERR"] * 5
    assert sorted(ids(found)) == [1, 2, 3, 4, 5]
    check_that_nothing_is_lent(rig, (qp, remote))


@pytest.mark.parametrize("kind", [QPType.RC, QPType.UC, QPType.UD])
@pytest.mark.parametrize("before", [State.RTS, State.SQD, State.ERR])
def test_a_reset_forgets_everything_and_the_queue_pair_can_be_used_again(
    kind: QPType, before: State
) -> None:
    rig = Rig(data=True)
    a, b, qp, remote = pair(rig, kind)
    connect(qp, remote)
    to = {"dlid": remote.lid, "remote_qpn": remote.qp_num, "remote_qkey": 0x11111111}
    first = READ if kind is QPType.RC else SEND

    def program() -> Program:
        yield from a.post_receives(qp, *[a.receive(64, wr_id=9)] * 3)
        yield from b.post_receives(remote, *[b.receive(2000, offset=8192)] * 3)
        size = 1000 if kind is QPType.UD else 20_000
        yield from a.post(qp, *[a.request(first, b, size, wr_id=i, **to) for i in range(6)])
        yield rig.sim.timeout(8 * US)
        if before is not State.RTS:
            go(qp, before)
        for end in (qp, remote):
            go(end, State.RESET)
            assert (end.state, end.query_qp()[0].dest_qp_num) == (State.RESET, 0)
        for peer in (a, b):
            peer.cq.queue.entries.clear()
        # Nothing that was under way shows any more.
        yield rig.sim.timeout(1000 * US)
        assert not a.cq.queue.entries
        assert not b.cq.queue.entries
        connect(qp, remote)
        a.mr.write(b"anew again")
        yield from b.post_receives(remote, b.receive(64, wr_id=7))
        sent = yield from a.send(qp, a.request(SEND, b, 10, wr_id=6, **to))
        return sent + (yield from b.collect(1))

    (found,) = rig.run(program())
    assert succeeded(found)
    assert ids(found) == [6, 7]
    front = 40 if kind is QPType.UD else 0
    assert b.mr.read(10, front) == b"anew again"
    check_that_nothing_is_lent(rig, (qp, remote))


def test_what_was_asked_for_before_a_reset_is_not_answered_any_more() -> None:
    rig = Rig(data=True)
    a, b, qp, remote = pair(rig)
    connect(qp, remote)
    old, new = b"o" * 200_000, b"n" * 50_000
    b.mr.write(old)
    b.mr.write(new, offset=1 << 20)

    def program() -> Program:
        yield from a.post(qp, a.request(READ, b, len(old), offset=1 << 21, remote_offset=0))
        yield rig.sim.timeout(30 * US)
        go(remote, State.RESET)
        # What has left is lost by a queue pair that is not ready.
        go(qp, State.RESET)
        yield rig.sim.timeout(20 * US)
        for end, there in ((qp, remote), (remote, qp)):
            bring(end, State.RTS, there, rq_psn=80, sq_psn=80)
        return (yield from a.send(qp, a.request(READ, b, len(new), remote_offset=1 << 20)))

    (found,) = rig.run(program())
    assert succeeded(found)
    assert a.mr.read(len(new), 0) == new


@pytest.mark.parametrize("on", [None, "pair"])
def test_a_queue_pair_has_all_its_entries_after_a_reset(on: str | None) -> None:
    rig = Rig(None if on is None else resolve(on))
    a, b, qp, remote = pair(rig, max_send_wr=4, max_recv_wr=4)

    def program() -> Program:
        for number in range(3):
            connect(qp, remote)
            yield from b.post_receives(remote, *[b.receive(64)] * 4)
            if number:
                sent = yield from a.send(qp, *[a.request(SEND, b)] * 4)
                assert succeeded(sent + (yield from b.collect(4)))
            yield rig.sim.timeout(100 * US)
            for end in (qp, remote):
                go(end, State.RESET)

    rig.run(program())
    fetched = b.adapter.counters()["receive_wqes_fetched"]
    assert fetched == (12 if on == "pair" else 8)


def test_a_queue_pair_that_drains_gives_up_what_is_never_answered(rig: Rig) -> None:
    a, b, qp, remote = pair(rig)
    bring(qp, State.RTS, remote, timeout=3, retry_cnt=2)

    def program() -> Program:
        yield from a.post(qp, a.request(WRITE, b))
        yield rig.sim.timeout(10 * US)
        go(qp, State.SQD)
        return (yield from a.collect(1))

    (found,) = rig.run(program())
    assert statuses(found) == ["RETRY_EXC_ERR"]


def test_a_reset_takes_completions_of_the_queue_pair_from_its_queue(rig: Rig) -> None:
    a, b, qp, remote = pair(rig)
    other, there = QP(a.pd, a.cq, a.cq), QP(b.pd, b.cq, b.cq)
    connect(qp, remote)
    connect(other, there)

    def program() -> Program:
        yield from a.post(qp, a.request(WRITE, b), a.request(WRITE, b))
        yield from a.post(other, a.request(WRITE, b, wr_id=3))
        yield rig.sim.timeout(100 * US)
        go(qp, State.RESET)
        return (yield from a.cq.poll(5))

    (found,) = rig.run(program())
    assert ids(found) == [3]


@pytest.mark.parametrize("off", [1, 1000])
def test_a_wrong_first_number_is_noticed_by_the_timer(rig: Rig, off: int) -> None:
    a, b, qp, remote = pair(rig)
    bring(qp, State.RTS, remote, sq_psn=50 + off, timeout=5, retry_cnt=2)
    bring(remote, State.RTS, qp, rq_psn=50, sq_psn=7)
    (found,) = rig.exchange(qp, a, a.request(WRITE, b))
    assert found.status is WCStatus.RETRY_EXC_ERR
    assert rig.counter("out_of_sequence") == 3


def test_a_number_that_has_been_is_taken_for_a_packet_that_comes_again(rig: Rig) -> None:
    a, b, qp, remote = pair(rig)
    bring(qp, State.RTS, remote, sq_psn=49)
    bring(remote, State.RTS, qp, rq_psn=50, sq_psn=7)
    assert succeeded(rig.exchange(qp, a, a.request(WRITE, b)))
    assert b.adapter.counts["duplicate_request"] == 1


@pytest.mark.parametrize("mine", [2, 3])
def test_another_path_mtu_is_refused_as_soon_as_a_message_is_longer(rig: Rig, mine: int) -> None:
    a, b, qp, remote = pair(rig)
    bring(qp, State.RTS, remote, path_mtu=mine, sq_psn=7)
    bring(remote, State.RTS, qp, path_mtu=5 - mine, rq_psn=7, sq_psn=7)
    assert succeeded(rig.exchange(qp, a, a.request(WRITE, b, 256)))
    found = rig.exchange(qp, a, a.request(WRITE, b, 3000))
    assert statuses(found) == ["REM_INV_REQ_ERR"]
    assert (qp.state, remote.state) == (State.ERR, State.ERR)


def test_rights_of_a_queue_pair_come_before_those_of_a_region(rig: Rig) -> None:
    a, b = rig.peers
    for opcode, right in (
        (WRITE, Access.REMOTE_WRITE),
        (READ, Access.REMOTE_READ),
        (FETCH_ADD, Access.REMOTE_ATOMIC),
    ):
        for rights, status in ((right, "SUCCESS"), (15 & ~right, "REM_INV_REQ_ERR")):
            _, _, qp, remote = pair(rig)
            connect(qp, remote, qp_access_flags=int(rights))
            assert statuses(rig.exchange(qp, a, a.request(opcode, b))) == [status]


def test_reads_need_room_for_one_at_least(rig: Rig) -> None:
    a, b, qp, remote = pair(rig)
    connect(qp, remote, max_rd_atomic=0)
    found = rig.exchange(qp, a, a.request(WRITE, b), a.request(READ, b), a.request(WRITE, b))
    assert statuses(found) == ["SUCCESS", "LOC_QP_OP_ERR", "WR_FLUSH_ERR"]
    check_that_nothing_is_lent(rig, (qp, remote))


@pytest.mark.parametrize("opcode", [READ, FETCH_ADD])
@pytest.mark.parametrize(("asks", "takes"), [(3, 2), (2, 2), (1, 0)])
def test_more_reads_than_the_other_end_takes_at_once_are_refused(
    rig: Rig, opcode: WROpcode, asks: int, takes: int
) -> None:
    a, b, qp, remote = pair(rig)
    connect(qp, remote, max_rd_atomic=asks, max_dest_rd_atomic=takes)
    found = rig.exchange(qp, a, *[a.request(opcode, b) for _ in range(4)])
    if asks == takes:
        assert succeeded(found)
    else:
        refused = ["REM_INV_REQ_ERR", *["WR_FLUSH_ERR"] * (3 - takes)]
        assert statuses(found) == ["SUCCESS"] * takes + refused
        assert remote.state is State.ERR
    check_that_nothing_is_lent(rig, (qp, remote))


@pytest.mark.parametrize("most", [1, 2])
def test_reads_that_come_again_are_not_too_many(rig: Rig, most: int) -> None:
    """Some wait for their turn when their first answers have let the requester go on."""
    a, b, qp, remote = pair(rig)
    lose(b.adapter.ports[0].transmitter, RandomLosses(0.02, 0, 1, "link"))
    connect(qp, remote, max_rd_atomic=most, max_dest_rd_atomic=most, timeout=1)
    assert succeeded(rig.exchange(qp, a, *[a.request(READ, b, 20_000) for _ in range(30)]))
    assert b.adapter.counts["duplicate_request"] > 2
    check_that_nothing_is_lent(rig, (qp, remote))


def test_keys_and_numbers_of_queue_pairs_are_those_of_one_adapter(rig: Rig) -> None:
    a, b, qp, remote = pair(rig)
    assert qp.qp_num != remote.qp_num
    assert a.mr.rkey != b.mr.rkey
    connect(qp, remote)
    found = rig.exchange(qp, a, a.request(WRITE, b, rkey=a.mr.rkey))
    assert statuses(found) == ["REM_ACCESS_ERR"]
    _, _, qp, remote = pair(rig)
    connect(qp, remote)
    found = rig.exchange(qp, a, a.request(WRITE, b, sg_list=(SGE(a.mr.addr, 8, b.mr.lkey),)))
    assert statuses(found) == ["LOC_PROT_ERR"]
    _, _, qp, remote = pair(rig)
    bring(qp, State.RTS, remote, timeout=3, dest_qp_num=1)
    assert statuses(rig.exchange(qp, a, a.request(WRITE, b))) == ["RETRY_EXC_ERR"]


def test_all_statuses_of_libibverbs_have_their_numbers_and_words() -> None:
    names = (
        "SUCCESS LOC_LEN_ERR LOC_QP_OP_ERR LOC_EEC_OP_ERR LOC_PROT_ERR WR_FLUSH_ERR MW_BIND_ERR "
        "BAD_RESP_ERR LOC_ACCESS_ERR REM_INV_REQ_ERR REM_ACCESS_ERR REM_OP_ERR RETRY_EXC_ERR "
        "RNR_RETRY_EXC_ERR LOC_RDD_VIOL_ERR REM_INV_RD_REQ_ERR REM_ABORT_ERR INV_EECN_ERR "
        "INV_EEC_STATE_ERR FATAL_ERR RESP_TIMEOUT_ERR GENERAL_ERR TM_ERR TM_RNDV_INCOMPLETE"
    )
    assert {one.name: one.value for one in WCStatus} == {
        name: number for number, name in enumerate(names.split())
    }
    assert wc_status_str(WCStatus.RETRY_EXC_ERR) == "transport retry counter exceeded"
    assert wc_status_str(WCStatus.WR_FLUSH_ERR) == "Work Request Flushed Error"
    assert wc_status_str(WCStatus.TM_RNDV_INCOMPLETE) == "TM software rendezvous"
    assert [one.value for one in State] == [*range(7)]
    assert [one.value for one in QPType] == [2, 3, 4, 8, 9, 10, 0xFF, 0x1002, 0x1003]


MLX5: Machine = resolve("pair")


def failing(on: Machine, **wrong: object) -> list[tuple[str, int]]:
    """Statuses and codes of a request that fails, one behind it and a receive."""
    rig = Rig(on)
    a, b, qp, remote = pair(rig)
    qp.connect(remote, timeout=1)
    remote.connect(qp)

    def program() -> Program:
        yield from a.post_receives(qp, RecvWR())
        requests = a.request(WRITE, b, **wrong), a.request(WRITE, b)
        return (yield from a.send(qp, *requests, collect=3))

    (found,) = rig.run(program())
    return [(one.status.name, one.vendor_err) for one in found]


def test_the_codes_of_the_vendor_are_those_of_mlx5() -> None:
    flushed = [("WR_FLUSH_ERR", 0xF5), ("WR_FLUSH_ERR", 0xF9)]
    assert failing(MLX5, rkey=1) == [("REM_ACCESS_ERR", 0x88), *flushed]
    assert failing(MLX5, sg_list=(SGE(4096, 8, 1),)) == [("LOC_PROT_ERR", 0x53), *flushed]
    assert [code for _, code in failing(resolve("liu2004"), rkey=1)] == [0, 0, 0]


def test_the_process_hears_that_a_queue_pair_has_drained(rig: Rig) -> None:
    a, _, qp, remote = pair(rig)
    connect(qp, remote)
    go(qp, State.SQD, M.EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify=1)

    def program() -> Program:
        return (yield from a.context.get_async_event())

    (event,) = rig.run(program())
    assert (event.event_type, event.element) == (EventType.SQ_DRAINED, qp)


def test_a_reset_leaves_the_entries_of_a_shared_queue(rig: Rig) -> None:
    a, b, qp, _ = pair(rig)
    srq = SRQ(b.pd, max_wr=4)
    ends = [QP(b.pd, b.cq, b.cq, srq=srq) for _ in range(2)]
    connect(qp, ends[0])

    def program() -> Program:
        yield from srq.post_recv_list([b.receive(64, wr_id=i) for i in range(4)])
        yield from a.send(qp, a.request(SEND, b), after=20 * US)
        yield rig.sim.timeout(20 * US)
        for end in (qp, ends[0]):
            go(end, State.RESET)
        # The completion is gone, and its entry is free again.
        assert not b.cq.queue.entries
        yield from srq.post_recv(b.receive(64, wr_id=4))
        connect(qp, ends[1])
        yield from a.send(qp, *[a.request(SEND, b)] * 4)
        return (yield from b.collect(4))

    (found,) = rig.run(program())
    assert succeeded(found)
    assert ids(found) == [1, 2, 3, 4]
