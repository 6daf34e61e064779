"""Requests that fail: which status each gets, on both sides, and what happens to the rest."""

import pytest

from hcasim.verbs import PD, SGE, Access, RecvWR, SendWR
from tests.rig import (
    ALL,
    CMP_SWAP,
    FETCH_ADD,
    READ,
    SEND,
    WRITE,
    Program,
    Rig,
    ids,
    machine,
    statuses,
)


@pytest.mark.parametrize("opcode", [WRITE, READ, FETCH_ADD, CMP_SWAP])
def test_an_unknown_remote_key_is_a_remote_access_error(rig: Rig, opcode: object) -> None:
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    done = rig.exchange(qp, a, a.request(opcode, b, rkey=999))
    assert statuses(done) == ["REM_ACCESS_ERR"]


@pytest.mark.parametrize("opcode", [WRITE, READ])
@pytest.mark.parametrize(("before", "length"), [(8, 9), (0, 1), (-1, 1), (4096, 5000)])
def test_reaching_beyond_a_remote_region_is_a_remote_access_error(
    rig: Rig, opcode: object, before: int, length: int
) -> None:
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    place = b.mr.addr - 1 if before < 0 else b.mr.addr + b.mr.length - before
    done = rig.exchange(qp, a, a.request(opcode, b, length, remote_addr=place))
    assert statuses(done) == ["REM_ACCESS_ERR"]


@pytest.mark.parametrize("opcode", [WRITE, READ])
def test_the_last_bytes_of_a_remote_region_may_be_used(rig: Rig, opcode: object) -> None:
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    place = b.mr.addr + b.mr.length - 3000
    done = rig.exchange(qp, a, a.request(opcode, b, 3000, remote_addr=place))
    assert statuses(done) == ["SUCCESS"]


@pytest.mark.parametrize(
    ("opcode", "right"),
    [
        (WRITE, Access.REMOTE_WRITE),
        (READ, Access.REMOTE_READ),
        (FETCH_ADD, Access.REMOTE_ATOMIC),
        (CMP_SWAP, Access.REMOTE_ATOMIC),
    ],
)
def test_an_operation_needs_its_own_right_on_the_remote_region(
    rig: Rig, opcode: object, right: Access
) -> None:
    a, b = rig.peers
    for access, status in ((ALL & ~right, "REM_ACCESS_ERR"), (right, "SUCCESS")):
        region = b.pd.reg_mr(64, access | Access.LOCAL_WRITE)
        qp, _ = rig.connect(a, b)
        request = a.request(opcode, b, remote_addr=region.addr, rkey=region.rkey)
        assert statuses(rig.exchange(qp, a, request)) == [status]


def test_a_remote_region_of_another_protection_domain_is_a_remote_access_error(rig: Rig) -> None:
    a, b = rig.peers
    region = PD(b.context).reg_mr(64, ALL)
    qp, _ = rig.connect(a, b)
    done = rig.exchange(qp, a, a.request(WRITE, b, remote_addr=region.addr, rkey=region.rkey))
    assert statuses(done) == ["REM_ACCESS_ERR"]


def test_a_deregistered_remote_region_is_a_remote_access_error(rig: Rig) -> None:
    a, b = rig.peers
    region = b.pd.reg_mr(64, ALL)
    region.dereg()
    qp, _ = rig.connect(a, b)
    done = rig.exchange(qp, a, a.request(WRITE, b, remote_addr=region.addr, rkey=region.rkey))
    assert statuses(done) == ["REM_ACCESS_ERR"]


@pytest.mark.parametrize("opcode", [WRITE, SEND, READ, FETCH_ADD])
def test_an_unknown_local_key_is_a_local_protection_error(rig: Rig, opcode: object) -> None:
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    done = rig.exchange(qp, a, a.request(opcode, b, sge=SGE(a.mr.addr, 8, 999)))
    assert statuses(done) == ["LOC_PROT_ERR"]
    assert rig.counter("port_xmit_packets") == 0


@pytest.mark.parametrize("opcode", [WRITE, SEND, READ])
def test_reaching_beyond_a_local_region_is_a_local_protection_error(
    rig: Rig, opcode: object
) -> None:
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    end = SGE(a.mr.addr + a.mr.length - 8, 9, a.mr.lkey)
    assert statuses(rig.exchange(qp, a, a.request(opcode, b, sge=end))) == ["LOC_PROT_ERR"]


def test_a_local_region_of_another_protection_domain_is_a_local_protection_error(
    rig: Rig,
) -> None:
    a, b = rig.peers
    region = PD(a.context).reg_mr(64, ALL)
    qp, _ = rig.connect(a, b)
    request = a.request(WRITE, b, sge=SGE(region.addr, 8, region.lkey))
    assert statuses(rig.exchange(qp, a, request)) == ["LOC_PROT_ERR"]


@pytest.mark.parametrize("opcode", [READ, FETCH_ADD])
def test_a_response_needs_local_memory_that_may_be_written(rig: Rig, opcode: object) -> None:
    a, b = rig.peers
    region = a.pd.reg_mr(64, Access.REMOTE_READ)
    local = SGE(region.addr, 8, region.lkey)
    qp, _ = rig.connect(a, b)
    assert statuses(rig.exchange(qp, a, a.request(opcode, b, sge=local))) == ["LOC_PROT_ERR"]
    other, _ = rig.connect(a, b)
    assert statuses(rig.exchange(other, a, a.request(WRITE, b, sge=local))) == ["SUCCESS"]


def test_a_receive_that_is_too_small_fails_at_both_ends(rig: Rig) -> None:
    a, b = rig.peers
    qp, remote = rig.connect(a, b)

    def sender() -> Program:
        yield a.sim.timeout(10_000_000)
        yield from a.post(qp, a.request(SEND, b, 5000))
        return (yield from a.collect(1))

    def receiver() -> Program:
        yield from b.post_receives(remote, b.receive(4999, wr_id=7))
        return (yield from b.collect(1))

    sent, received = rig.run(sender(), receiver())
    assert statuses(sent) == ["REM_INV_REQ_ERR"]
    assert (statuses(received), ids(received)) == (["LOC_LEN_ERR"], [7])


def test_a_receive_without_valid_memory_fails_at_both_ends(rig: Rig) -> None:
    a, b = rig.peers
    qp, remote = rig.connect(a, b)

    def sender() -> Program:
        yield a.sim.timeout(10_000_000)
        yield from a.post(qp, a.request(SEND, b, 64))
        return (yield from a.collect(1))

    def receiver() -> Program:
        yield from b.post_receives(remote, RecvWR(SGE(b.mr.addr, 64, 999)))
        return (yield from b.collect(1))

    sent, received = rig.run(sender(), receiver())
    # The requester's memory and request are in order: the fault is operational.
    assert statuses(sent) == ["REM_OP_ERR"]
    assert statuses(received) == ["LOC_PROT_ERR"]


def test_a_receive_error_flushes_the_receives_behind_it(rig: Rig) -> None:
    a, b = rig.peers
    qp, remote = rig.connect(a, b)

    def sender() -> Program:
        yield a.sim.timeout(10_000_000)
        yield from a.post(qp, a.request(SEND, b, 65))
        return (yield from a.collect(1))

    def receiver() -> Program:
        yield from b.post_receives(remote, *(b.receive(64, wr_id=i) for i in range(3)))
        return (yield from b.collect(3))

    _, received = rig.run(sender(), receiver())
    assert statuses(received) == ["LOC_LEN_ERR", "WR_FLUSH_ERR", "WR_FLUSH_ERR"]
    assert ids(received) == [0, 1, 2]


@pytest.mark.parametrize("opcode", [FETCH_ADD, CMP_SWAP])
def test_a_misaligned_atomic_is_an_invalid_request(rig: Rig, opcode: object) -> None:
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    done = rig.exchange(qp, a, a.request(opcode, b, remote_offset=4, compare_add=1))
    assert statuses(done) == ["REM_INV_REQ_ERR"]
    assert b.mr.word(b.mr.addr + 4) == 0


def test_requests_behind_a_failed_one_are_flushed_in_order(rig: Rig) -> None:
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    requests = [a.request(WRITE, b, 5000, wr_id=i) for i in range(6)]
    requests[2] = a.request(WRITE, b, 5000, wr_id=2, rkey=999)
    requests[4] = a.request(READ, b, 5000, wr_id=4)
    done = rig.exchange(qp, a, *requests)
    assert ids(done) == list(range(6))
    assert statuses(done) == ["SUCCESS"] * 2 + ["REM_ACCESS_ERR"] + ["WR_FLUSH_ERR"] * 3
    assert qp.state.name == "ERR"


def test_requests_posted_after_an_error_are_flushed(rig: Rig) -> None:
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    assert statuses(rig.exchange(qp, a, a.request(WRITE, b, rkey=999))) == ["REM_ACCESS_ERR"]
    later = [a.request(opcode, b, wr_id=i) for i, opcode in enumerate((WRITE, READ, FETCH_ADD))]
    done = rig.exchange(qp, a, *later)
    assert (ids(done), statuses(done)) == ([0, 1, 2], ["WR_FLUSH_ERR"] * 3)


def test_receives_are_flushed_with_the_queue_pair_also_those_posted_later(rig: Rig) -> None:
    a, b = rig.peers
    qp, _ = rig.connect(a, b)

    def program() -> Program:
        yield from a.post_receives(qp, a.receive(64, wr_id=1), a.receive(64, wr_id=2))
        yield from a.post(qp, a.request(WRITE, b, rkey=999, wr_id=3))
        found = yield from a.collect(3)
        yield from a.post_receives(qp, a.receive(64, wr_id=4))
        return found + (yield from a.collect(1))

    (found,) = rig.run(program())
    assert ids(found) == [3, 1, 2, 4]
    assert statuses(found) == ["REM_ACCESS_ERR"] + ["WR_FLUSH_ERR"] * 3


def test_an_unsignaled_request_that_fails_completes_all_the_same(rig: Rig) -> None:
    a, b = rig.peers
    qp, _ = rig.connect(a, b)

    def program() -> Program:
        yield from a.post(
            qp,
            a.request(WRITE, b, wr_id=1, signaled=False),
            a.request(WRITE, b, wr_id=2, signaled=False, rkey=999),
            a.request(WRITE, b, wr_id=3, signaled=False),
        )
        return (yield from a.collect(2))

    (done,) = rig.run(program())
    assert (ids(done), statuses(done)) == ([2, 3], ["REM_ACCESS_ERR", "WR_FLUSH_ERR"])


@pytest.mark.parametrize("bad", ["rkey", "lkey"])
@pytest.mark.parametrize("before", [WRITE, READ, FETCH_ADD])
@pytest.mark.parametrize("length", [8, 60000])
def test_requests_before_a_failed_one_succeed(
    rig: Rig, bad: str, before: object, length: int
) -> None:
    a, b = rig.peers
    length = 8 if before is FETCH_ADD else length
    qp, _ = rig.connect(a, b)
    fault = {"rkey": 999} if bad == "rkey" else {"sge": SGE(a.mr.addr, 8, 999)}
    done = rig.exchange(
        qp,
        a,
        a.request(before, b, length, wr_id=1),
        a.request(before, b, length, wr_id=2),
        a.request(WRITE, b, wr_id=3, **fault),
        a.request(WRITE, b, wr_id=4),
    )
    failure = "REM_ACCESS_ERR" if bad == "rkey" else "LOC_PROT_ERR"
    assert ids(done) == [1, 2, 3, 4]
    assert statuses(done) == ["SUCCESS", "SUCCESS", failure, "WR_FLUSH_ERR"]


def test_an_error_on_one_queue_pair_leaves_the_others_alone(rig: Rig) -> None:
    a, b = rig.peers
    pairs = [rig.connect(a, b)[0] for _ in range(3)]

    def program(qp: object, request: SendWR) -> Program:
        yield from a.post(qp, request)

    def gather() -> Program:
        return (yield from a.collect(3))

    *_, found = rig.run(
        program(pairs[0], a.request(WRITE, b, 9000, wr_id=1)),
        program(pairs[1], a.request(WRITE, b, 9000, wr_id=2, rkey=999)),
        program(pairs[2], a.request(READ, b, 9000, wr_id=3)),
        gather(),
    )
    outcome = dict(zip(ids(found), statuses(found), strict=True))
    assert outcome == {1: "SUCCESS", 2: "REM_ACCESS_ERR", 3: "SUCCESS"}
    assert [qp.state.name for qp in pairs] == ["RTS", "ERR", "RTS"]


def test_a_failed_write_leaves_the_target_untouched() -> None:
    rig = Rig(machine())
    a, b = rig.peers
    small = b.pd.reg_mr(2048, ALL)
    watch = small.watch(small.addr)
    qp, _ = rig.connect(a, b)
    request = a.request(WRITE, b, 2049, remote_addr=small.addr, rkey=small.rkey)
    assert statuses(rig.exchange(qp, a, request)) == ["REM_ACCESS_ERR"]
    assert watch.count == 0
    assert b.adapter.dma.scattered == 0
