"""Requests beyond plain ones: immediate data, pieces of memory, keys made invalid, fences."""

import pytest

from hcasim.catalog import resolve
from hcasim.catalog.adapter import Umr
from hcasim.hca.completion_queue import WCFlags, WCOpcode
from hcasim.verbs import (
    GRH_SIZE,
    MR,
    MW,
    PD,
    QP,
    SGE,
    Access,
    BindInfo,
    MWType,
    QPEx,
    QPType,
    RecvWR,
    SendWR,
    VerbsError,
    WROpcode,
)
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
    with pytest.raises(VerbsError, match="max_send_sge is 60; allowed: 0 to 59"):
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


WINDOW = ALL | Access.MW_BIND


def bind(mw: MW, mr: MR, place: int, length: int, access: Access = ALL) -> SendWR:
    return SendWR(WROpcode.BIND_MW, mw=mw, bind_info=BindInfo(mr, mr.addr + place, length, access))


@pytest.mark.parametrize("kind", MWType)
def test_a_window_opens_a_part_of_a_region(keyed: Rig, kind: MWType) -> None:
    a, b, qp, remote = keyed.joined()
    other, _ = keyed.connect(a, b)
    mr, mw = b.pd.reg_mr(8192, WINDOW, data=bytearray(8192)), MW(b.pd, kind)
    assert keyed.exchange(remote, b, bind(mw, mr, 100, 50))[0].opcode is WCOpcode.BIND_MW
    a.mr.write(b"window")

    def write(place: int, length: int) -> SendWR:
        return a.request(WRITE, b, length, remote_addr=mr.addr + place, rkey=mw.rkey)

    assert keyed.exchange(qp, a, write(144, 6))[0].status.name == "SUCCESS"
    assert mr.read(6, 144) == b"window"
    found = keyed.exchange(other, a, write(100, 1))[0].status.name
    assert found == ("SUCCESS" if kind is MWType.TYPE_1 else "REM_ACCESS_ERR")
    assert keyed.exchange(qp, a, write(145, 6))[0].status.name == "REM_ACCESS_ERR"


def test_binding_a_window_again_gives_its_key_up(keyed: Rig) -> None:
    a, b, qp, remote = keyed.joined()
    mr, mw = b.pd.reg_mr(8192, WINDOW), MW(b.pd)
    keyed.exchange(remote, b, bind(mw, mr, 0, 64))
    old = mw.rkey
    keyed.exchange(remote, b, bind(mw, mr, 0, 64, Access.REMOTE_READ))
    assert mw.rkey != old
    read = a.request(READ, b, remote_addr=mr.addr, rkey=mw.rkey)
    assert keyed.exchange(qp, a, read)[0].status.name == "SUCCESS"
    stale = a.request(READ, b, remote_addr=mr.addr, rkey=old)
    assert keyed.exchange(qp, a, stale)[0].status.name == "REM_ACCESS_ERR"


def test_a_window_that_cannot_be_bound_so_is_refused(keyed: Rig) -> None:
    _, b, _, remote = keyed.joined()
    with pytest.raises(VerbsError, match="not registered with MW_BIND"):
        keyed.run(b.post(remote, bind(MW(b.pd), b.mr, 0, 8)))
    mr = b.pd.reg_mr(4096, WINDOW)
    with pytest.raises(VerbsError, match="which the region does not hold"):
        keyed.run(b.post(remote, bind(MW(b.pd), mr, 4090, 8)))
    with pytest.raises(VerbsError, match="the window is closed already"):
        keyed.run(b.post(remote, bind(MW(b.pd), mr, 0, 0)))
    with pytest.raises(VerbsError, match=r"memory windows; .* has none"):
        MW(Rig().peers[0].pd)


def test_requests_built_one_call_at_a_time_are_one_list(keyed: Rig) -> None:
    a, b, qp, _ = keyed.joined(max_inline_data=16)
    a.mr.write(b"abcdefgh")
    wr = QPEx(qp)

    def program() -> Program:
        wr.wr_start()
        wr.wr_id, wr.signaled = 1, False
        wr.wr_rdma_write(b.mr.rkey, b.mr.addr)
        wr.wr_set_sge(a.mr.lkey, a.mr.addr, 8)
        wr.wr_rdma_write(b.mr.rkey, b.mr.addr + 64)
        wr.wr_set_inline_data(a.mr.lkey, a.mr.addr, 3)
        wr.wr_id, wr.signaled = 2, True
        wr.wr_atomic_fetch_add(b.mr.rkey, b.mr.addr, 1)
        wr.wr_set_sge(a.mr.lkey, a.mr.addr + 128, 8)
        doorbells = a.adapter.counts["doorbells"]
        yield from wr.wr_complete()
        (done,) = yield from a.collect(1)
        return done.wr_id, a.adapter.counts["doorbells"] - doorbells

    assert keyed.run(program()) == [(2, 1)]
    assert b.mr.read(8, 0) == b"bbcdefgh"
    assert (b.mr.read(4, 64), a.mr.read(8, 128)) == (b"abc\0", b"abcdefgh")


def test_calls_out_of_order_are_refused(keyed: Rig) -> None:
    _, _, qp, _ = keyed.joined()
    wr = QPEx(qp)
    with pytest.raises(VerbsError, match="allowed: wr_start before it"):
        wr.wr_send()
    wr.wr_start()
    with pytest.raises(VerbsError, match="no request has been begun"):
        wr.wr_set_sge(1, 2, 3)
    wr.wr_abort()
    with pytest.raises(VerbsError, match="no list has been begun"):
        wr.wr_complete()


@pytest.mark.parametrize("opcode", [SEND, READ])
def test_bytes_in_a_completion_are_none_of_pieces(opcode: WROpcode) -> None:
    """Short messages lie in completions on some adapters, which hold one piece only."""
    on = resolve("t630-edr")
    assert on.groups[0].hca.cqe.inline
    rig = Rig(on, data=True)
    a, b, qp, remote = rig.joined(max_send_sge=2, max_recv_sge=2, sq_sig_all=True)
    near, far = (a, b) if opcode is READ else (b, a)
    far.mr.write(b"1234567")
    pieces = (near.sge(4), near.sge(60, 100))
    if opcode is SEND:
        remote.prepost_recv(RecvWR(pieces))
        wr = a.request(SEND, b, 7)
    else:
        wr = a.request(READ, b, sg_list=(near.sge(4), near.sge(3, 100)))
    rig.run(a.send(qp, wr), b.collect(opcode is SEND))
    assert (near.mr.read(8, 0), near.mr.read(3, 100)) == (b"1234\0\0\0\0", b"567")


def test_pieces_are_there_before_their_completion() -> None:
    rig = Rig(data=True)
    a, b, qp, remote = rig.joined(max_recv_sge=2)
    a.mr.write(b"x" * 64)

    def receiver() -> Program:
        early = 0
        for number in range(30):
            yield from b.cq.wait()
            early += b.mr.read(64, number * 8192) != b"x" * 64
        return early

    for number in range(30):
        remote.prepost_recv(RecvWR((b.sge(24, number * 8192), b.sge(1000, number * 8192 + 24))))
    (_, early) = rig.run(a.send(qp, *[a.request(SEND, b, 64)] * 30), receiver())
    assert early == 0


def test_what_a_window_is_bound_to_stays_registered(keyed: Rig) -> None:
    _, b, _, remote = keyed.joined()
    mr, mw = b.pd.reg_mr(4096, WINDOW), MW(b.pd)
    keyed.exchange(remote, b, bind(mw, mr, 0, 64))
    with pytest.raises(VerbsError, match="EBUSY: 1 memory windows are bound"):
        mr.dereg()
    mw.dealloc()
    mr.dereg()
    other = PD(b.context)
    mine, window = other.reg_mr(4096, WINDOW), MW(other)
    with pytest.raises(VerbsError, match="a window of another protection domain"):
        keyed.run(b.post(remote, bind(window, mine, 0, 64)))


def test_objects_of_other_adapters_and_odd_numbers_are_refused() -> None:
    rig = Rig()
    a, b = rig.peers
    with pytest.raises(VerbsError, match=r"send_cq is of node1.hca; allowed: of node0.hca"):
        QP(a.pd, b.cq, a.cq)
    qp, remote = QP(a.pd, a.cq, a.cq), QP(b.pd, b.cq, b.cq)
    with pytest.raises(VerbsError, match="rnr_retry is 9; allowed: 0 to 7"):
        qp.connect(remote, rnr_retry=9)
    assert rig.run(a.cq.poll(0)) == [[]]
    with pytest.raises(VerbsError, match="num_entries is -1"):
        rig.run(a.cq.poll(-1))
