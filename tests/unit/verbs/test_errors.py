"""Requests that fail: which status each gets, on both sides, and what happens to the rest."""

from collections.abc import Callable, Sequence

import pytest

from hcasim.verbs import PD, SGE, Access, RecvWR
from tests.rig import (
    ALL,
    CMP_SWAP,
    FETCH_ADD,
    READ,
    SEND,
    WRITE,
    Peer,
    Program,
    Rig,
    ids,
    joined,
    statuses,
)


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


def end(before: int) -> Callable[[Peer], dict[str, int]]:
    """A place so many bytes before the end of a region."""
    return lambda peer: {"remote_addr": peer.mr.addr + peer.mr.length - before}


def other_domain(peer: Peer) -> dict[str, int]:
    region = PD(peer.context).reg_mr(64, ALL)
    return {"remote_addr": region.addr, "rkey": region.rkey}


def deregistered(peer: Peer) -> dict[str, int]:
    region = peer.pd.reg_mr(64, ALL)
    region.dereg()
    return {"remote_addr": region.addr, "rkey": region.rkey}


@pytest.mark.parametrize(
    ("opcodes", "length", "place", "status"),
    [
        ((WRITE, READ, FETCH_ADD, CMP_SWAP), 8, lambda _: {"rkey": 999}, "REM_ACCESS_ERR"),
        ((WRITE, READ), 9, end(8), "REM_ACCESS_ERR"),
        ((WRITE, READ), 1, end(0), "REM_ACCESS_ERR"),
        ((WRITE, READ), 5000, end(4096), "REM_ACCESS_ERR"),
        ((WRITE, READ), 1, lambda peer: {"remote_addr": peer.mr.addr - 1}, "REM_ACCESS_ERR"),
        ((WRITE, READ), 3000, end(3000), "SUCCESS"),
        ((WRITE,), 8, other_domain, "REM_ACCESS_ERR"),
        ((WRITE,), 8, deregistered, "REM_ACCESS_ERR"),
    ],
)
def test_what_is_no_remote_memory_is_a_remote_access_error(
    opcodes: Sequence[object], length: int, place: Callable[[Peer], dict[str, int]], status: str
) -> None:
    for opcode in opcodes:
        rig, a, b, qp, _ = joined()
        done = rig.exchange(qp, a, a.request(opcode, b, length, **place(b)))
        assert statuses(done) == [status]


@pytest.mark.parametrize(
    ("opcodes", "place"),
    [
        ((WRITE, SEND, READ, FETCH_ADD), lambda peer: SGE(peer.mr.addr, 8, 999)),
        ((WRITE, SEND, READ), lambda peer: SGE(peer.mr.addr + peer.mr.length - 8, 9, peer.mr.lkey)),
        ((WRITE,), lambda peer: SGE((mr := PD(peer.context).reg_mr(64, ALL)).addr, 8, mr.lkey)),
    ],
    ids=["unknown key", "beyond a region", "another protection domain"],
)
def test_what_is_no_local_memory_is_a_local_protection_error(
    opcodes: Sequence[object], place: Callable[[Peer], SGE]
) -> None:
    for opcode in opcodes:
        rig, a, b, qp, _ = joined()
        done = rig.exchange(qp, a, a.request(opcode, b, sg_list=(place(a),)))
        assert statuses(done) == ["LOC_PROT_ERR"]
        assert rig.counter("port_xmit_packets") == 0


@pytest.mark.parametrize("opcode", [READ, FETCH_ADD])
def test_a_response_needs_local_memory_that_may_be_written(rig: Rig, opcode: object) -> None:
    a, b = rig.peers
    region = a.pd.reg_mr(64, Access.REMOTE_READ)
    local = SGE(region.addr, 8, region.lkey)
    qp, _ = rig.connect(a, b)
    assert statuses(rig.exchange(qp, a, a.request(opcode, b, sg_list=(local,)))) == ["LOC_PROT_ERR"]
    other, _ = rig.connect(a, b)
    assert statuses(rig.exchange(other, a, a.request(WRITE, b, sg_list=(local,)))) == ["SUCCESS"]


@pytest.mark.parametrize(
    ("length", "key", "there", "here"),
    [
        (4999, None, "REM_INV_REQ_ERR", "LOC_LEN_ERR"),
        # The requester's memory and request are in order: the fault is operational.
        (5000, 999, "REM_OP_ERR", "LOC_PROT_ERR"),
    ],
)
def test_a_receive_that_does_not_fit_fails_at_both_ends_and_flushes_those_behind_it(
    rig: Rig, length: int, key: int | None, there: str, here: str
) -> None:
    a, b, qp, remote = rig.joined()
    buffer = SGE(b.mr.addr, length, b.mr.lkey if key is None else key)

    sent, received = rig.run(
        a.send(qp, a.request(SEND, b, 5000), after=10**7),
        b.take(remote, *(RecvWR((buffer,), number) for number in range(3))),
    )
    assert statuses(sent) == [there]
    assert (statuses(received), ids(received)) == ([here, *["WR_FLUSH_ERR"] * 2], [0, 1, 2])


@pytest.mark.parametrize("opcode", [FETCH_ADD, CMP_SWAP])
def test_a_misaligned_atomic_is_an_invalid_request(rig: Rig, opcode: object) -> None:
    a, b, qp, _ = rig.joined()
    done = rig.exchange(qp, a, a.request(opcode, b, remote_offset=4, compare_add=1))
    assert statuses(done) == ["REM_INV_REQ_ERR"]
    assert b.mr.word(b.mr.addr + 4) == 0


def test_all_is_flushed_with_the_queue_pair_also_what_is_posted_later(rig: Rig) -> None:
    a, b, qp, _ = rig.joined()

    def program() -> Program:
        yield from a.post_receives(qp, a.receive(64, wr_id=1), a.receive(64, wr_id=2))
        yield from a.post(qp, a.request(WRITE, b, rkey=999, wr_id=3))
        found = yield from a.collect(3)
        yield from a.post_receives(qp, a.receive(64, wr_id=4))
        yield from a.post(qp, a.request(READ, b, wr_id=5))
        return found + (yield from a.collect(2))

    (found,) = rig.run(program())
    assert ids(found) == [3, 1, 2, 4, 5]
    assert statuses(found) == ["REM_ACCESS_ERR"] + ["WR_FLUSH_ERR"] * 4


def test_an_unsignaled_request_that_fails_completes_all_the_same(rig: Rig) -> None:
    a, b, qp, _ = rig.joined()

    requests = [a.request(WRITE, b, wr_id=n, signaled=False) for n in (1, 2, 3)]
    requests[1] = a.request(WRITE, b, wr_id=2, signaled=False, rkey=999)
    (done,) = rig.run(a.send(qp, *requests, collect=2))
    assert (ids(done), statuses(done)) == ([2, 3], ["REM_ACCESS_ERR", "WR_FLUSH_ERR"])
