"""Requests beyond plain ones: immediate data, pieces of memory, keys made invalid, fences."""

import pytest

from hcasim.catalog import resolve
from hcasim.catalog.adapter import Umr
from hcasim.hca.completion_queue import WCFlags, WCOpcode
from hcasim.verbs import GRH_SIZE, QP, SGE, QPType, RecvWR, SendWR, VerbsError, WROpcode
from tests.rig import ALL, Peer, Program, Rig, extended, machine

WRITE, SEND, READ = WROpcode.RDMA_WRITE, WROpcode.SEND, WROpcode.RDMA_READ
WRITE_IMM, SEND_IMM = WROpcode.RDMA_WRITE_WITH_IMM, WROpcode.SEND_WITH_IMM
ADD = WROpcode.ATOMIC_FETCH_AND_ADD
VALUE = 0xFEEDBEEF


@pytest.mark.parametrize("size", [0, 1, 1024, 1025, 200_000])
@pytest.mark.parametrize("kind", [QPType.RC, QPType.UC])
@pytest.mark.parametrize("opcode", [WRITE_IMM, SEND_IMM])
def test_immediate_data_are_in_the_completion_of_the_receiver(
    opcode: WROpcode, kind: QPType, size: int
) -> None:
    rig = Rig(data=True)
    a, b, qp, remote = rig.joined(qp_type=kind)
    a.mr.write(b"x" * size)
    remote.prepost_recv(b.receive(size, wr_id=7, offset=1 << 20))
    sent = a.send(qp, a.request(opcode, b, size, remote_offset=1 << 21, imm_data=VALUE))
    ((found,), (done,)) = rig.run(sent, b.collect(1))
    written = opcode is WRITE_IMM
    assert (done.wr_id, done.byte_len, done.imm_data) == (7, size, VALUE)
    assert done.wc_flags == WCFlags.WITH_IMM
    assert done.opcode is (WCOpcode.RECV_RDMA_WITH_IMM if written else WCOpcode.RECV)
    assert found.opcode is (WCOpcode.RDMA_WRITE if written else WCOpcode.SEND)
    place = 1 << (21 if written else 20)
    assert b.mr.read(size, place) == b"x" * size
    assert b.mr.read(size, 3 << 20) == bytes(size)


def test_immediate_data_make_the_last_packet_longer() -> None:
    sizes = {}
    for opcode in (SEND, SEND_IMM):
        rig = Rig()
        a, b, qp, remote = rig.joined()
        remote.prepost_recv(b.receive(8))
        rig.exchange(qp, a, a.request(opcode, b, 8))
        sizes[opcode] = a.adapter.ports[0].transmitter.wire_bytes
    assert sizes[SEND_IMM] - sizes[SEND] == 4


def test_a_write_with_immediate_data_waits_for_a_receive_entry() -> None:
    rig = Rig(data=True)
    a, b, qp, remote = rig.joined()
    a.mr.write(b"late")

    def receiver() -> Program:
        yield rig.sim.timeout(50_000_000)
        yield from remote.post_recv(RecvWR())

    ((found,), _) = rig.run(a.send(qp, a.request(WRITE_IMM, b, 4)), receiver())
    assert (found.status.name, b.mr.read(4, 0)) == ("SUCCESS", b"late")
    assert rig.counter("naks") > 0
    assert rig.sim.now > 50_000_000


def test_a_datagram_says_where_it_comes_from() -> None:
    rig = Rig(data=True)
    a, b = rig.peers
    ends = [datagram_qp(peer) for peer in (a, b)]
    for end in ends:
        end.activate()
    ends[1].prepost_recv(b.receive(GRH_SIZE + 8))
    a.mr.write(b"datagram")
    wr = a.request(SEND_IMM, b, 8, imm_data=5, dlid=ends[1].lid, remote_qpn=ends[1].qp_num)
    (_, (done,)) = rig.run(a.send(ends[0], wr), b.collect(1))
    assert (done.src_qp, done.slid, done.imm_data) == (ends[0].qp_num, ends[0].lid, 5)
    assert (done.byte_len, b.mr.read(8, GRH_SIZE)) == (GRH_SIZE + 8, b"datagram")


def datagram_qp(peer: Peer) -> QP:
    return QP(peer.pd, peer.cq, peer.cq, qp_type=QPType.UD)


PIECES = ((0, 100), (5000, 1), (9000, 3000), (20_000, 7))
LENGTH = sum(length for _, length in PIECES)


def pieces(peer: Peer) -> tuple[SGE, ...]:
    return tuple(peer.sge(length, place) for place, length in PIECES)


@pytest.mark.parametrize("opcode", [WRITE, SEND, READ])
def test_pieces_of_memory_are_gathered_and_scattered(opcode: WROpcode) -> None:
    rig = Rig(data=True)
    a, b, qp, remote = rig.joined(max_send_sge=4, max_recv_sge=4)
    message = bytes(number % 251 for number in range(LENGTH))
    source, target = (b, a) if opcode is READ else (a, b)
    if opcode is READ:
        source.mr.write(message, offset=1 << 20)
    else:
        for place, (offset, length) in enumerate(PIECES):
            before = sum(size for _, size in PIECES[:place])
            source.mr.write(message[before : before + length], offset=offset)
    if opcode is SEND:
        remote.prepost_recv(RecvWR(pieces(b)))
    rig.exchange(qp, a, a.request(opcode, b, sg_list=pieces(a), remote_offset=1 << 20))
    if opcode is WRITE:
        assert target.mr.read(LENGTH, 1 << 20) == message
    else:
        assert b"".join(target.mr.read(size, place) for place, size in PIECES) == message
        assert target.mr.read(4900, 100) == bytes(4900)


def test_pieces_cost_segments_of_the_entry_and_reads_of_their_own() -> None:
    counts = {}
    for number in (1, 4):
        rig = Rig()
        a, b, qp, _ = rig.joined(max_send_sge=4)
        sg_list = tuple(a.sge(256, 4096 * place) for place in range(number))
        rig.exchange(qp, a, a.request(WRITE, b, sg_list=sg_list))
        counts[number] = a.context.node.bus.reads
    assert counts[4] == counts[1] + 3


def test_more_pieces_than_the_queue_pair_has_are_refused() -> None:
    rig = Rig()
    a, b, qp, remote = rig.joined(max_send_sge=2, max_recv_sge=2)
    with pytest.raises(VerbsError, match="4 pieces of memory; allowed: up to 2"):
        rig.run(a.post(qp, a.request(WRITE, b, sg_list=pieces(a))))
    with pytest.raises(VerbsError, match="4 pieces of memory; allowed: up to 2"):
        rig.run(b.post_receives(remote, RecvWR(pieces(b))))
    with pytest.raises(VerbsError, match="max_send_sge is 60; allowed: 1 to 59"):
        rig.joined(max_send_sge=60)


def test_a_piece_with_a_wrong_key_fails_the_request() -> None:
    rig = Rig()
    a, b, qp, _ = rig.joined(max_send_sge=2)
    wrong = (a.sge(8), SGE(a.mr.addr, 8, 999))
    (found,) = rig.exchange(qp, a, a.request(WRITE, b, sg_list=wrong))
    assert found.status.name == "LOC_PROT_ERR"


def test_a_fenced_request_waits_for_the_reads_before_it() -> None:
    ends = {}
    for fence in (False, True):
        rig = Rig(data=True)
        a, b, qp, _ = rig.joined()
        b.mr.write(b"n")
        a.mr.write(b"o")
        read = a.request(READ, b, 1)
        write = a.request(WRITE, b, 1, remote_offset=64, fence=fence)
        rig.exchange(qp, a, read, write)
        ends[fence] = b.mr.read(1, 64)
    assert ends == {False: b"o", True: b"n"}


@pytest.fixture
def keyed() -> Rig:
    """Adapters that take registrations as requests."""
    umr = Umr.model_construct(segments=112, inline=64, service=0)
    return Rig(extended(machine(), adapter={"umr": umr, "wqe": {"packed": True}}), data=True)


def test_a_send_makes_a_key_of_the_receiver_invalid(keyed: Rig) -> None:
    a, b, qp, remote = keyed.joined()
    remote.prepost_recv(b.receive(8))
    key = b.pd.reg_mr(4096, ALL, data=bytearray(4096)).rkey
    wr = a.request(WROpcode.SEND_WITH_INV, b, 8, invalidate_rkey=key)
    (_, (done,)) = keyed.run(a.send(qp, wr), b.collect(1))
    assert (done.invalidated_rkey, done.wc_flags) == (key, WCFlags.WITH_INV)
    (found,) = keyed.exchange(qp, a, a.request(WRITE, b, 8, rkey=key))
    assert found.status.name == "REM_ACCESS_ERR"


def test_a_local_key_becomes_invalid_in_turn(keyed: Rig) -> None:
    a, b, qp, _ = keyed.joined()
    mr = a.pd.reg_mr(4096, ALL)
    sg_list = (SGE(mr.addr, 8, mr.lkey),)
    done = keyed.exchange(
        qp,
        a,
        a.request(WRITE, b, sg_list=sg_list),
        SendWR(WROpcode.LOCAL_INV, invalidate_rkey=mr.rkey),
        a.request(WRITE, b, sg_list=sg_list),
    )
    assert [one.status.name for one in done] == ["SUCCESS", "SUCCESS", "LOC_PROT_ERR"]
    assert done[1].opcode is WCOpcode.LOCAL_INV


def test_an_adapter_without_such_requests_refuses_them() -> None:
    a, _, qp, _ = (rig := Rig()).joined()
    with pytest.raises(VerbsError, match=r"LOCAL_INV; .* has no such request"):
        rig.run(a.post(qp, SendWR(WROpcode.LOCAL_INV, invalidate_rkey=1)))
    a, b, qp, _ = (rig := Rig(resolve("rashti2007"))).joined()
    with pytest.raises(VerbsError, match="iWARP has no immediate data"):
        rig.run(a.post(qp, a.request(SEND_IMM, b, 8)))
