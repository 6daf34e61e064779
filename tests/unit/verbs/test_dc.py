"""Initiators of the dynamically connected transport turn from target to target."""

from typing import Any

import pytest

from hcasim.catalog.testbed import OneSwitch
from hcasim.engine import FastForward
from hcasim.fabric.link import Receiver
from hcasim.fabric.loss import RandomLosses, lose
from hcasim.fabric.packet import Opcode, Packet
from hcasim.hca.qp.dynamic import IDLE_PS, DctResponder
from hcasim.verbs import (
    AH,
    DCI,
    DCT,
    SRQ,
    AHAttr,
    GlobalRoute,
    QPAttr,
    QPAttrMask,
    QPEx,
    SendWR,
    State,
    VerbsError,
    WROpcode,
)
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
    extended,
    machine,
    networked,
    statuses,
)

KEY = 0x1234_5678_9ABC_DEF0
US = 1_000_000


def rig_of(nodes: int = 3, **options: Any) -> Rig:
    base = networked(OneSwitch(switch="x"), nodes)
    return Rig(extended(base, adapter={"limits": {"dc": True}}), nodes, **options)


def target(peer: Peer, receives: int = 0, length: int = 4096, **options: Any) -> DCT:
    srq = SRQ(peer.pd, max_wr=256)
    for number in range(receives):
        srq.prepost_recv(peer.receive(length, wr_id=number, offset=number * length))
    dct = DCT(peer.pd, peer.cq, srq, KEY)
    dct.activate(**options)
    return dct


def initiator(peer: Peer, **options: Any) -> DCI:
    dci = DCI(peer.pd, peer.cq)
    dci.activate(**options)
    return dci


def to(dct: DCT, key: int = KEY) -> dict[str, int]:
    return {"dlid": dct.lid, "remote_qpn": dct.dctn, "dc_key": key}


def sessions(dct: DCT) -> int:
    responder = dct._qp.responder
    assert isinstance(responder, DctResponder)
    return len(responder.sessions)


def followed(rig: Rig) -> list[str]:
    """Nodes and names of the packets that the targets receive from now on."""
    seen: list[str] = []

    def note(time: int, block: str, event: str, operation: int, packet: str) -> None:
        if event == "receive pipeline" and not block.startswith("node0"):
            seen.append(f"{block.partition('.')[0]} {packet.partition(' ')[0]}")

    rig.sim.listeners.append(note)
    return seen


def heads(seen: list[str]) -> list[str]:
    """Without requests that follow a request at the same place."""
    return [one for n, one in enumerate(seen) if n == 0 or seen[n - 1] != one]


def test_it_connects_before_the_first_request_to_another_target_and_disconnects_behind() -> None:
    rig = rig_of()
    a, b, c = rig.peers
    dci, one, two = initiator(a), target(b), target(c)
    seen = followed(rig)
    goals = [(b, one)] * 2 + [(c, two)] * 2 + [(b, one)]
    wrs = [a.request(WRITE, peer, 8, **to(dct)) for peer, dct in goals]
    assert statuses(rig.exchange(dci, a, *wrs)) == ["SUCCESS"] * 5
    turn = ["CONNECT", "RDMA_WRITE"]
    node1 = [one.split()[1] for one in heads(seen) if one.startswith("node1")]
    node2 = [one.split()[1] for one in heads(seen) if one.startswith("node2")]
    # The last connection ends when it has been idle.
    assert node1 == [*turn, "DISCONNECT", *turn, "DISCONNECT"]
    assert node2 == [*turn, "DISCONNECT"]
    assert (sessions(one), sessions(two)) == (0, 0)
    assert rig.sim.now > IDLE_PS
    check_that_nothing_is_lent(rig, [dci, one, two])


def test_it_stays_connected_to_a_target_as_long_as_it_has_work() -> None:
    rig = rig_of()
    a, b, _ = rig.peers
    dci, dct = initiator(a), target(b)
    seen = followed(rig)

    def program() -> Program:
        for _ in range(4):
            yield from a.send(dci, a.request(WRITE, b, **to(dct)))
            yield rig.sim.timeout(IDLE_PS * 3 // 4)
        assert sessions(dct) == 1

    rig.run(program())
    assert [one.split()[1] for one in seen] == ["CONNECT", *["RDMA_WRITE"] * 4, "DISCONNECT"]


@pytest.mark.parametrize("length", [8, 5000])
def test_all_requests_of_reliable_connections_are_served(length: int) -> None:
    rig = rig_of(data=True)
    a, b, _ = rig.peers
    dci, dct = initiator(a), target(b, 1, 8192)
    a.mr.write(bytes(range(200)) * 25)
    wrs = [
        a.request(WRITE, b, length, remote_offset=1 << 20, **to(dct)),
        a.request(SEND, b, length, **to(dct)),
        a.request(READ, b, length, offset=1 << 21, remote_offset=1 << 20, **to(dct)),
        a.request(FETCH_ADD, b, 8, offset=1 << 22, compare_add=1, **to(dct)),
    ]
    assert statuses(rig.exchange(dci, a, *wrs)) == ["SUCCESS"] * 4
    sent = a.mr.read(length, 0)
    assert b.mr.read(length, 0)[8:] == sent[8:]
    assert b.mr.read(length, 1 << 20) == a.mr.read(length, 1 << 21) == sent
    (got,) = b.cq.queue.entries
    assert (got.byte_len, got.src_qp, got.slid) == (length, dci.qp_num, dci.lid)


def test_a_builder_of_requests_names_the_target() -> None:
    rig = rig_of()
    a, b, _ = rig.peers
    dci, dct = initiator(a), target(b)
    builder = QPEx(dci)
    builder.wr_start()
    builder.wr_rdma_write(b.mr.rkey, b.mr.addr)
    builder.wr_set_dc_addr(dct.lid, dct.dctn, KEY)
    builder.wr_set_sge(a.mr.lkey, a.mr.addr, 64)
    _, (done,) = rig.run(builder.wr_complete(), a.collect(1))
    assert done.status.name == "SUCCESS"


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"dc_key": KEY ^ 1}, "REM_ACCESS_ERR"),
        ({"rkey": 0}, "REM_ACCESS_ERR"),
        ({"remote_qpn": 999}, "RETRY_EXC_ERR"),
    ],
)
def test_an_error_ends_the_initiator_and_not_the_target(wrong: Any, status: str) -> None:
    rig = rig_of()
    a, b, _ = rig.peers
    bad, good, dct = initiator(a, timeout=1, retry_cnt=1), initiator(a), target(b)
    wr = a.request(WRITE, b, **(to(dct) | wrong))
    after = a.request(WRITE, b, **to(dct))
    assert statuses(rig.exchange(bad, a, wr, after)) == [status, "WR_FLUSH_ERR"]
    assert statuses(rig.exchange(good, a, a.request(WRITE, b, **to(dct)))) == ["SUCCESS"]
    check_that_nothing_is_lent(rig, [bad, good, dct])


def test_a_message_waits_until_the_target_has_a_receive() -> None:
    rig = rig_of()
    a, b, c = rig.peers
    dci, dct, other = initiator(a), target(b), target(c)
    sends = [a.request(SEND, b, 3000, **to(dct)), a.request(WRITE, c, **to(other))]

    def late() -> Program:
        yield rig.sim.timeout(50 * US)
        assert dct.srq is not None
        yield from dct.srq.post_recv(b.receive(4096))

    found, _ = rig.run(a.send(dci, *sends), late())
    assert statuses(found) == ["SUCCESS"] * 2
    assert found[1].timestamp_ps > found[0].timestamp_ps > 50 * US
    assert [one.byte_len for one in b.cq.queue.entries] == [3000]


def test_many_initiators_cost_a_target_one_context() -> None:
    rig = rig_of()
    a, b, _ = rig.peers
    dct, dcis = target(b), [initiator(a) for _ in range(8)]
    for dci in dcis:
        rig.exchange(dci, a, a.request(WRITE, b, **to(dct)))
    assert b.adapter.counters()["rqpc_miss_cnt"] == 1
    assert b.adapter.counters()["sqpc_miss_cnt"] == 0


def refused(call: Any, *words: object, **options: Any) -> str:
    with pytest.raises(VerbsError) as error:
        call(*words, **options)
    return str(error.value)


def test_what_is_not_offered_is_refused_by_name() -> None:
    rig = rig_of()
    a, b, _ = rig.peers
    dci, dct = initiator(a), target(b)
    assert refused(dci.connect, dci) == "EINVAL: connect DCI with DCI; allowed: activate"
    assert refused(dct.connect, dct) == "EINVAL: connect DCT with DCT; allowed: activate"
    assert refused(dci.prepost_recv, a.receive(8)).startswith("EINVAL: a DCI receives nothing")
    sends = refused(rig.run, dct.post_send(SendWR(WROpcode.SEND)))
    assert sends == "EINVAL: SEND on a queue pair of the service DCT"
    wide = refused(DCT, b.pd, b.cq, dct.srq, 1 << 64)
    assert wide.startswith("EINVAL: dct_access_key is 0x10000000000000000; allowed: 0 to 0xfff")
    for name, older in (("mt25208", machine()), ("mt23108", machine(adapter="mt23108"))):
        old = Rig(older).peers[0]
        found = f"EOPNOTSUPP: DCI on {name}; allowed: since Connect-IB"
        assert refused(DCI, old.pd, old.cq) == found
    other = Rig(iwarp()).peers[0]
    assert refused(DCI, other.pd, other.cq).startswith("EINVAL: qp_type is DCI; iWARP has only RC")


class Swallow(Receiver):
    """Loses the first packets of an opcode on their way to another end."""

    def __init__(self, rig: Rig, opcode: Opcode, count: int) -> None:
        way = rig.peers[0].adapter.ports[0].transmitter
        assert way.receiver is not None
        self._end, way.receiver = way.receiver, self
        self._opcode = opcode
        self.left = count

    def receive(self, packet: Packet, head_at: int, tail_at: int) -> None:
        if packet.opcode is self._opcode and self.left:
            self.left -= 1
            self._end.buffer.free(packet, tail_at)
        else:
            self._end.receive(packet, head_at, tail_at)


@pytest.mark.pure
@pytest.mark.parametrize("opcode", [Opcode.CONNECT, Opcode.DISCONNECT])
def test_a_lost_connect_or_disconnect_packet_is_made_up_for(opcode: Opcode) -> None:
    """Requests that meet no connection are sent again behind another connect packet."""
    rig = rig_of()
    a, b, c = rig.peers
    dci, one, two = initiator(a, timeout=1), target(b), target(c)
    lost = Swallow(rig, opcode, 1)
    goals = [(b, one), (c, two), (b, one)]
    wrs = [a.request(WRITE, peer, 3000, **to(dct)) for peer, dct in goals]
    assert statuses(rig.exchange(dci, a, *wrs)) == ["SUCCESS"] * 3
    assert lost.left == 0
    assert (sessions(one), sessions(two)) == (0, 0)
    check_that_nothing_is_lent(rig, [dci, one, two])


@pytest.mark.parametrize("recovery", ["go_back_n", "selective_repeat"])
def test_lost_packets_of_initiators_are_sent_again(recovery: str) -> None:
    base = extended(networked(OneSwitch(switch="x"), 3), adapter={"limits": {"dc": True}})
    rig = Rig(extended(base, adapter={"recovery": recovery}), 3, data=True)
    a, b, c = rig.peers
    a.mr.write(bytes(range(250)) * 400)
    for number, peer in enumerate(rig.peers):
        lose(peer.adapter.ports[0].transmitter, RandomLosses(0.03, 0, number, "link"))
    dci, goals = initiator(a, timeout=2), [(b, target(b)), (c, target(c))]
    wrs = [a.request(WRITE, peer, 50_000, **to(dct)) for peer, dct in goals * 2]
    assert statuses(rig.exchange(dci, a, *wrs)) == ["SUCCESS"] * 4
    assert a.adapter.counters()["retransmissions"] > 0
    assert b.mr.read(50_000, 0) == c.mr.read(50_000, 0) == a.mr.read(50_000, 0)
    check_that_nothing_is_lent(rig, [dci, *(dct for _, dct in goals)])


def test_it_connects_anew_after_it_has_been_idle() -> None:
    rig = rig_of()
    a, b, _ = rig.peers
    dci, dct = initiator(a), target(b)
    for _ in range(3):
        assert statuses(rig.exchange(dci, a, a.request(WRITE, b, 3000, **to(dct)))) == ["SUCCESS"]
        assert sessions(dct) == 0
    assert a.adapter.counters()["retransmissions"] == 0


def test_an_address_handle_with_a_route_header_leads_to_a_target_and_back() -> None:
    found = {}
    for is_global in (0, 1):
        rig = rig_of()
        a, b, _ = rig.peers
        dci, dct = initiator(a), target(b)
        grh = GlobalRoute(b.context.query_gid())
        ah = AH(a.pd, AHAttr(grh, dct.lid, is_global=is_global))
        goal = to(dct) | {"ah": ah, "dlid": 0}
        wrs = [a.request(op, b, 8, **goal) for op in (WRITE, READ, FETCH_ADD)]
        assert statuses(rig.exchange(dci, a, *wrs)) == ["SUCCESS"] * 3
        found[is_global] = [peer.adapter.ports[0].transmitter.busy_ps for peer in (a, b)]
    assert found[1] > found[0]


def test_modify_qp_brings_initiators_up_again_and_targets_once() -> None:
    m = QPAttrMask
    bound = m.STATE | m.PKEY_INDEX | m.PORT
    tries = m.TIMEOUT | m.RETRY_CNT | m.RNR_RETRY | m.MAX_QP_RD_ATOMIC | m.SQ_PSN
    rig = rig_of()
    a, b, _ = rig.peers
    dci, dct = DCI(a.pd, a.cq), DCT(b.pd, b.cq, SRQ(b.pd), KEY)
    begins = (
        (dct, State.INIT, bound | m.ACCESS_FLAGS),
        (dct, State.RTR, m.STATE | m.PATH_MTU | m.AV | m.MIN_RNR_TIMER),
    )
    for steps in (begins, ()):
        for qp, state, mask in (
            *steps,
            (dci, State.INIT, bound),
            (dci, State.RTR, m.STATE | m.PATH_MTU),
            (dci, State.RTS, m.STATE | tries),
        ):
            attr = QPAttr(
                qp_state=state,
                port_num=1,
                path_mtu=3,
                qp_access_flags=15,
                max_rd_atomic=1,
                ah_attr=AHAttr(dlid=dci.lid),
                timeout=14,
            )
            qp.modify_qp(attr, mask)
        assert statuses(rig.exchange(dci, a, a.request(WRITE, b, 8, **to(dct)))) == ["SUCCESS"]
        dci.modify_qp(QPAttr(qp_state=State.RESET), m.STATE)
    for state in (State.RTS, State.RESET, State.ERR):
        found = refused(dct.modify_qp, QPAttr(qp_state=state), m.STATE)
        assert found == f"EINVAL: {state.name} after RTR; allowed: nothing"


def test_a_long_message_takes_as_long_when_periods_are_left_out() -> None:
    times = []
    for exact in (True, False):
        rig = rig_of(exact=exact, data=True)
        a, b, c = rig.peers
        a.mr.write(bytes(range(250)) * 4000)
        dci, one, two = initiator(a), target(b), target(c)
        goals = ((b, one), (c, two), (b, one))
        wrs = [a.request(WRITE, peer, 1_000_000, **to(dct)) for peer, dct in goals]
        times.append([done.timestamp_ps for done in rig.exchange(dci, a, *wrs)])
        assert b.mr.read(1_000_000, 0) == c.mr.read(1_000_000, 0) == a.mr.read(1_000_000, 0)
        forward = rig.sim.forward
        skipped = forward.skipped_ps if isinstance(forward, FastForward) else 0
        assert exact or skipped > times[-1][-1] / 2
    assert times[0] == times[1]
