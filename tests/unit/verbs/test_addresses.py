"""Addresses, partitions and keys of datagrams, and what devices tell of themselves."""

from ipaddress import IPv4Address
from typing import Any, Final

import pytest

from hcasim.catalog import Machine, resolve
from hcasim.fabric.route_header import checksum
from hcasim.verbs import (
    AH,
    GID,
    QP,
    AHAttr,
    AtomicCap,
    Completion,
    GIDType,
    GlobalRoute,
    LinkLayer,
    PortState,
    QPAttr,
    QPAttrMask,
    QPEx,
    QPType,
    State,
    VerbsError,
    WCFlags,
    create_ah,
    create_ah_from_wc,
    init_ah_from_wc,
)
from tests.iwarp import machine as iwarp
from tests.rig import READ, SEND, WRITE, Peer, Rig, machine, statuses, succeeded
from tests.unit.verbs.test_transitions import bring

ROCE: Final[Machine] = resolve("pair-roce")
IPV6: Final = resolve("pair-roce", overrides={"adapter.protocol.ip": "ipv6"})
QKEY: Final = 0x11111111
US = 1_000_000


def at_first(peer: Peer) -> list[GID]:
    return [one.gid for one in peer.context.query_gid_table() if one.port_num == 1]


def by_gid(peer: Peer, index: int, **more: Any) -> AHAttr:
    grh = GlobalRoute(at_first(peer)[index], sgid_index=index, **more)
    return AHAttr(grh, peer.context.query_port().lid, is_global=1)


def test_gids_are_made_of_the_guid_of_a_port_or_of_its_ipv4_address() -> None:
    rig = Rig()
    for number, peer in enumerate(rig.peers):
        lid = peer.context.query_port().lid
        (gid,) = at_first(peer)
        assert int(gid) >> 64 == 0xFE80 << 48
        assert peer.context.query_gid_ex().gid_type is GIDType.IB
        assert lid == 2 * number + 1
    assert at_first(rig.peers[0]) != at_first(rig.peers[1])
    rig = Rig(ROCE)
    for number, peer in enumerate(rig.peers):
        local, mapped = at_first(peer)
        assert local.is_link_local
        assert mapped.ipv4_mapped == IPv4Address("10.0.0.1") + number
        assert peer.context.query_gid_ex(1, 1).gid_type is GIDType.ROCE_V2
        assert peer.context.query_port().lid == 0
    for index in (-1, 2):
        with pytest.raises(VerbsError, match=f"EINVAL: index is {index}; allowed: 0 to 1"):
            peer.context.query_gid(1, index)
    with pytest.raises(VerbsError, match="EINVAL: port_num is 2; allowed: 1 to 1"):
        peer.context.query_gid(2)
    assert len(at_first(Rig(iwarp()).peers[0])) == 1


@pytest.mark.parametrize("index", [0, 1])
def test_a_connection_over_ethernet_is_one_by_gid(index: int) -> None:
    rig = Rig(ROCE)
    a, b = rig.peers
    qp, remote = (QP(one.pd, one.cq, one.cq) for one in (a, b))
    bring(qp, State.RTS, remote, ah_attr=by_gid(b, index), rq_psn=9)
    bring(remote, State.RTS, qp, ah_attr=by_gid(a, index), rq_psn=9)
    assert succeeded(rig.exchange(qp, a, a.request(WRITE, b, 3000), a.request(READ, b, 3000)))
    assert qp.query_qp()[0].ah_attr == by_gid(b, index)
    short, _ = rig.connect(a, b)
    assert short.query_qp()[0].ah_attr.grh.dgid == at_first(b)[1]
    for wrong, errno, words in (
        (AHAttr(dlid=2), "EINVAL", "is_global is 0; Ethernet needs"),
        (AHAttr(GlobalRoute(GID("::ffff:10.0.0.9")), is_global=1), "EHOSTUNREACH", "no port has"),
        (by_gid(b, 1, hop_limit=256), "EINVAL", "hop_limit is 256; allowed: 0 to 255"),
        (AHAttr(GlobalRoute(at_first(b)[0], sgid_index=2), is_global=1), "EINVAL", "sgid_index"),
    ):
        with pytest.raises(VerbsError, match=f"{errno}: {words}"):
            create_ah(a.pd, wrong)


def test_a_global_route_within_a_subnet_takes_40_bytes_of_each_packet() -> None:
    busy = []
    for is_global in (0, 1):
        rig = Rig()
        a, b = rig.peers
        qp, remote = (QP(one.pd, one.cq, one.cq) for one in (a, b))
        for end, there, peer in ((qp, remote, b), (remote, qp, a)):
            way = by_gid(peer, 0)
            way.is_global = is_global
            bring(end, State.RTS, there, ah_attr=way, rq_psn=9)
        assert succeeded(rig.exchange(qp, a, a.request(WRITE, b, 3000)))
        busy.append(a.adapter.ports[0].transmitter.busy_ps)
    # A byte takes 1 ns.
    assert busy[1] - busy[0] == pytest.approx(3 * 40 * 1000, rel=0.01)


def test_a_lid_that_no_port_has_is_one_that_nobody_answers() -> None:
    rig = Rig()
    a, b = rig.peers
    qp, remote = (QP(one.pd, one.cq, one.cq) for one in (a, b))
    bring(qp, State.RTS, remote, ah_attr=AHAttr(dlid=999), timeout=3, retry_cnt=1)
    assert statuses(rig.exchange(qp, a, a.request(WRITE, b, 100))) == ["RETRY_EXC_ERR"]
    assert rig.counter("retransmissions") == 1


# Datagrams.


def datagrams(rig: Rig, *qkeys: int) -> tuple[QP, QP]:
    ends = [QP(one.pd, one.cq, one.cq, qp_type=QPType.UD) for one in rig.peers]
    for end, qkey in zip(ends, qkeys, strict=True):
        bring(end, State.RTS, ends[0], qkey=qkey)
    return ends[0], ends[1]


def exchange(rig: Rig, ends: tuple[QP, QP], length: int = 8, **how: Any) -> list[Completion]:
    """Send a datagram to a receive buffer with old bytes; return what comes of it."""
    a, b = rig.peers
    if b.mr.region.contents is not None:
        a.mr.write(bytes(range(100)))
        b.mr.write(b"\xaa" * 200)
    request = a.request(SEND, b, length, remote_qpn=ends[1].qp_num, **how)

    def receive() -> Any:
        yield from b.post_receives(ends[1], b.receive(length + 40))

    sent, _ = rig.run(a.send(ends[0], request, after=20 * US), receive())
    assert succeeded(sent)
    return [*b.cq.queue.entries]


def test_a_datagram_with_another_key_is_dropped_and_counted() -> None:
    controlled = 1 << 31
    for mine, theirs, named, comes in (
        (QKEY, QKEY, QKEY, True),
        (5, QKEY, QKEY, True),
        (QKEY, QKEY, 5, False),
        (QKEY, 5, controlled, False),
        (QKEY, QKEY, controlled | 5, True),
    ):
        rig = Rig()
        ends = datagrams(rig, mine, theirs)
        found = exchange(rig, ends, dlid=ends[1].lid, remote_qkey=named)
        port = rig.peers[1].context.query_port()
        assert (len(found), port.qkey_viol_cntr) == ((1, 0) if comes else (0, 1))
        assert rig.counter("qkey_viol") == rig.counter("dropped") == (not comes)
        assert ends[1].state is State.RTS


@pytest.mark.parametrize("handle", [True, False])
def test_a_request_that_is_built_call_by_call_names_address_and_key(handle: bool) -> None:
    rig = Rig()
    a, b = rig.peers
    qp, remote = datagrams(rig, QKEY, QKEY)
    wr = QPEx(qp)

    def program() -> Any:
        yield from b.post_receives(remote, b.receive(64))
        wr.wr_start()
        wr.wr_send()
        to = create_ah(a.pd, by_gid(b, 0)) if handle else remote.lid
        wr.wr_set_ud_addr(to, remote.qp_num, QKEY)
        wr.wr_set_sge(a.mr.lkey, a.mr.addr, 8)
        yield rig.sim.timeout(20 * US)
        yield from wr.wr_complete()
        return (yield from b.collect(1))

    ((found,),) = rig.run(program())
    assert (found.byte_len, found.wc_flags) == (48, WCFlags.GRH if handle else WCFlags.NONE)


def test_the_key_of_datagrams_may_be_changed() -> None:
    rig = Rig()
    ends = datagrams(rig, QKEY, QKEY)
    ends[1].modify_qp(QPAttr(qkey=6), QPAttrMask.QKEY)
    assert len(exchange(rig, ends, dlid=ends[1].lid, remote_qkey=6)) == 1


@pytest.mark.parametrize("length", [0, 100])
def test_the_ipv4_header_of_a_datagram_is_in_front_of_its_data(length: int) -> None:
    rig = Rig(ROCE, data=True)
    a, b = rig.peers
    for how in ("ah", "dlid"):
        ends = datagrams(rig, QKEY, QKEY)
        b.cq.queue.entries.clear()
        way: dict[str, Any] = {"dlid": ends[1].lid}
        if how == "ah":
            way = {"ah": AH(a.pd, by_gid(b, 1, hop_limit=9, traffic_class=106))}
        (found,) = exchange(rig, ends, length, remote_qkey=QKEY, **way)
        assert found.wc_flags == WCFlags.GRH
        assert (found.byte_len, found.src_qp, found.sl) == (length + 40, ends[0].qp_num, 0)
        front, header = b.mr.read(20, 0), b.mr.read(20, 20)
        assert front == bytes(20)
        assert (header[0], header[9], checksum(header)) == (0x45, 17, 0)
        # UDP, BTH, DETH and ICRC are 32 bytes, and the data is padded.
        assert int.from_bytes(header[2:4], "big") == 20 + 8 + 12 + 8 + length + 4
        assert header[12:] == bytes([10, 0, 0, 1, 10, 0, 0, 2])
        assert (header[8], header[1]) == ((9, 106) if how == "ah" else (64, 0))
        assert b.mr.read(length, 40) == bytes(range(length))


@pytest.mark.parametrize("is_global", [0, 1])
def test_a_global_route_header_is_there_if_the_datagram_has_one(is_global: int) -> None:
    rig = Rig(data=True)
    a, b = rig.peers
    ends = datagrams(rig, QKEY, QKEY)
    way = by_gid(b, 0, flow_label=5, hop_limit=3, traffic_class=17)
    way.is_global, way.sl = is_global, 2
    (found,) = exchange(rig, ends, 100, remote_qkey=QKEY, ah=create_ah(a.pd, way))
    # A byte takes 1 ns: 36 bytes are headers and what frames a packet.
    taken = a.adapter.ports[0].transmitter.busy_ps
    assert taken == pytest.approx((36 + 100 + 40 * is_global) * 1000, rel=0.02)
    assert (found.byte_len, found.slid, found.sl) == (140, ends[0].lid, 2)
    assert (found.pkey_index, found.dlid_path_bits) == (0, 0)
    assert b.mr.read(100, 40) == bytes(range(100))
    header = b.mr.read(40, 0)
    if not is_global:
        assert (found.wc_flags, header) == (WCFlags.NONE, b"\xaa" * 40)
        return
    assert found.wc_flags == WCFlags.GRH
    assert int.from_bytes(header[:4], "big") == 6 << 28 | 17 << 20 | 5
    # BTH, DETH and ICRC are 24 bytes.
    assert header[4:8] == (124).to_bytes(2, "big") + bytes([0x1B, 3])
    assert header[8:] == at_first(a)[0].packed + at_first(b)[0].packed


@pytest.mark.parametrize(("on", "is_global"), [(None, 0), (None, 1), (ROCE, 1), (IPV6, 1)])
def test_a_datagram_can_be_answered_by_what_its_completion_tells(
    on: Machine | None, is_global: int
) -> None:
    rig = Rig(on, data=True)
    a, b = rig.peers
    ends = datagrams(rig, QKEY, QKEY)
    way = by_gid(b, len(at_first(b)) - 1, traffic_class=17)
    way.is_global, way.sl = is_global, 2
    (found,) = exchange(rig, ends, remote_qkey=QKEY, ah=create_ah(a.pd, way))
    header = b.mr.read(40, 0)
    if on is IPV6:
        # UDP, BTH, DETH, the data and ICRC; that UDP follows.
        assert header[4:7] == (8 + 12 + 8 + found.byte_len - 40 + 4).to_bytes(2, "big") + b"\x11"
    back = init_ah_from_wc(b.context, 1, found, header)
    assert (back.is_global, back.sl) == (is_global, 2)
    assert back.grh.traffic_class == 17 * is_global
    answer = {"ah": create_ah_from_wc(b.pd, found, header), "remote_qpn": found.src_qp}
    sent, received = rig.run(
        b.send(ends[1], b.request(SEND, a, remote_qkey=QKEY, **answer), after=20 * US),
        a.take(ends[0], a.receive(64)),
    )
    assert succeeded([*sent, *received])
    if is_global:
        for wrong, words in (
            (b"", "a grh of 0 bytes; allowed: 40"),
            (header[:-1] + b"~", "no GID"),
        ):
            with pytest.raises(VerbsError, match=f"EINVAL: .*{words}"):
                init_ah_from_wc(b.context, 1, found, wrong)


def test_iwarp_has_the_same_steps_and_segments_of_any_length() -> None:
    rig = Rig(iwarp())
    a, b = rig.peers
    qp, remote = (QP(one.pd, one.cq, one.cq) for one in (a, b))
    for end, there, peer in ((qp, remote, b), (remote, qp, a)):
        bring(end, State.RTS, there, ah_attr=by_gid(peer, 0), rq_psn=9, max_rd_atomic=1)
    assert succeeded(rig.exchange(qp, a, a.request(WRITE, b, 3000), a.request(READ, b, 3000)))


# Partitions.


def partitioned(*tables: list[int], index: int = 0) -> tuple[Rig, QP, QP]:
    rig = Rig()
    a, b = rig.peers
    for peer, table in zip(rig.peers, tables, strict=True):
        peer.context.set_pkeys(table)
    qp, remote = (QP(one.pd, one.cq, one.cq) for one in (a, b))
    for end, there in ((qp, remote), (remote, qp)):
        bring(end, State.RTS, there, rq_psn=9, pkey_index=index, timeout=1, retry_cnt=1)
    return rig, qp, remote


def test_packets_of_another_partition_are_dropped_and_counted() -> None:
    for tables, index, status in (
        (([0x8001], [0x8001]), 0, "SUCCESS"),
        (([0x8001], [0x0001]), 0, "SUCCESS"),
        (([0x0001], [0x8001]), 0, "SUCCESS"),
        (([0x0001], [0x0001]), 0, "RETRY_EXC_ERR"),
        (([0x8001], [0x8002]), 0, "RETRY_EXC_ERR"),
        (([0x8001, 0x8003], [0x8002, 0x8003]), 1, "SUCCESS"),
    ):
        rig, qp, _ = partitioned(*tables, index=index)
        a, b = rig.peers
        assert statuses(rig.exchange(qp, a, a.request(WRITE, b))) == [status], tables
        bad = 0 if status == "SUCCESS" else 2
        assert rig.counter("bad_pkey") == b.context.query_port().bad_pkey_cntr == bad
        assert b.context.query_pkey(1, index) == tables[1][index]
        assert b.context.query_port().pkey_tbl_len == len(tables[1])


def test_a_queue_pair_may_change_its_partition_while_it_drains() -> None:
    rig, qp, remote = partitioned([0x8001, 0x8003], [0x8001, 0x8003])
    a, b = rig.peers
    for end in (qp, remote):
        for state, mask in ((State.SQD, QPAttrMask(0)), (State.SQD, QPAttrMask.PKEY_INDEX)):
            end.modify_qp(QPAttr(qp_state=state, pkey_index=1), mask | QPAttrMask.STATE)
        if end is qp:
            qp.modify_qp(QPAttr(qp_state=State.RTS), QPAttrMask.STATE)
            # The other end is a partition behind.
            rig.run(a.post(qp, a.request(WRITE, b, signaled=False)))
            assert rig.counter("bad_pkey") == 2
            assert qp.state is State.ERR


def test_datagrams_belong_to_the_partition_of_their_queue_pair() -> None:
    for keys in ([0x8001], [0x8002]):
        rig = Rig()
        for peer, table in zip(rig.peers, ([0x8001], keys), strict=True):
            peer.context.set_pkeys(table)
        ends = datagrams(rig, QKEY, QKEY)
        way = create_ah(rig.peers[0].pd, by_gid(rig.peers[1], 0))
        comes = len(exchange(rig, ends, remote_qkey=QKEY, ah=way))
        comes += len(exchange(rig, ends, remote_qkey=QKEY, dlid=ends[1].lid))
        same = keys == [0x8001]
        assert (comes, rig.counter("bad_pkey")) == ((3, 0) if same else (0, 2))


def test_keys_of_partitions_have_15_bits_and_one_more() -> None:
    context = Rig().peers[0].context
    for wrong in ([], [0x8000], [1 << 16], [-1]):
        with pytest.raises(VerbsError, match=r"EINVAL: .*; allowed: (15 bits|at least 1)"):
            context.set_pkeys(wrong)
    with pytest.raises(VerbsError, match="EINVAL: index is 1; allowed: 0 to 0"):
        context.query_pkey(1, 1)
    assert context.query_pkey() == 0xFFFF
    context.set_pkeys([0x8001, 0xFFFF])
    assert context.get_pkey_index(0xFFFF) == 1
    with pytest.raises(VerbsError, match="ENOENT: pkey is 0x8002; allowed: 0x8001, 0xffff"):
        context.get_pkey_index(0x8002)


# Devices.


def test_devices_and_ports_tell_what_their_descriptions_say() -> None:
    context = Rig(machine()).peers[0].context
    device, port = context.query_device(), context.query_port()
    assert (device.max_qp, device.max_qp_wr, device.phys_port_cnt) == (65536, 65535, 2)
    assert (device.max_qp_rd_atom, device.max_qp_init_rd_atom) == (4, 4)
    assert (device.vendor_id, device.vendor_part_id) == (0x2C9, 25208)
    assert device.atomic_cap is AtomicCap.HCA
    assert (device.max_srq_wr, device.max_mw) == (65535, 0)
    assert (port.lid, port.lmc, port.state) == (1, 0, PortState.ACTIVE)
    assert (port.max_mtu, port.active_mtu, port.gid_tbl_len, port.pkey_tbl_len) == (5, 3, 1, 1)
    # Four lanes of 2.5 Gbit/s.
    assert (port.active_width, port.active_speed) == (2, 1)
    assert context.query_port(2).lid == 2
    with pytest.raises(VerbsError, match="EINVAL: port_num is 3; allowed: 1 to 2"):
        context.query_port(3)
    context = Rig(ROCE).peers[0].context
    assert context.query_port().link_layer is LinkLayer.ETHERNET
    assert context.query_port().active_mtu == 3
    context = Rig(resolve("cloud-hdr")).peers[0].context
    assert context.query_device().vendor_part_id == 4123
