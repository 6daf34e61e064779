"""Datagrams to multicast groups come once to each member, and to nobody else."""

from ipaddress import IPv6Address
from typing import Any

import pytest

from hcasim.catalog import resolve
from hcasim.catalog.testbed import Explicit, NamedSwitch, OneSwitch, Ring, Trunk
from hcasim.fabric.link import Receiver
from hcasim.fabric.packet import Packet
from hcasim.verbs import (
    AH,
    QP,
    AHAttr,
    GlobalRoute,
    QPAttr,
    QPAttrMask,
    QPCreateFlags,
    QPType,
    State,
    VerbsError,
    WCFlags,
)
from tests.iwarp import machine as iwarp
from tests.rig import (
    SEND,
    Peer,
    Program,
    Rig,
    check_that_nothing_is_lent,
    extended,
    machine,
    networked,
)

GID, MLID, EVERY = "ff12::1", 0xC001, 0xFFFFFF
TO: dict[str, Any] = {"dlid": MLID, "remote_qpn": EVERY}
US = 1_000_000
INIT = QPAttrMask.STATE | QPAttrMask.PORT | QPAttrMask.PKEY_INDEX
WORDS = bytes(range(250)) * 3

STAR = Explicit(
    switch="x",
    switches={f"s{n}": NamedSwitch(nodes=(f"nodes[{n}]",)) for n in range(4)},
    trunks={f"t{n}": Trunk(between=("s3", f"s{n}"), parallel=2) for n in range(3)},
)
NETWORKS = {"switch": OneSwitch(switch="x"), "ring": Ring(switch="x", switches=4), "star": STAR}


def ready(peer: Peer, attach: bool = True, **options: Any) -> QP:
    qp = QP(peer.pd, peer.cq, peer.cq, qp_type=QPType.UD, **options)
    qp.activate()
    if attach:
        qp.attach_mcast(GID, MLID)
    return qp


def count(peer: Peer, qp: QP) -> int:
    return sum(one.qpn == qp.qp_num for one in peer.cq.queue.entries)


def send(rig: Rig, sender: QP, members: list[tuple[Peer, QP]], **more: Any) -> list[int]:
    """How many of the messages of the first peer each has received, with one receive posted."""

    def program() -> Program:
        for place, (peer, qp) in enumerate(members):
            yield from peer.post_receives(qp, peer.receive(1064, offset=4096 * (place + 1)))
        yield rig.sim.timeout(20 * US)
        a = rig.peers[0]
        yield from sender.post_send(a.request(SEND, a, 750, signaled=False, **(TO | more)))

    rig.run(program())
    check_that_nothing_is_lent(rig, [sender, *(qp for _, qp in members)])
    return [count(peer, qp) for peer, qp in members]


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("order", ["port", "queue_pair"])
def test_each_member_receives_the_bytes_once(name: str, order: str) -> None:
    """From a member on one switch to two on each of four, and none to a queue pair beside them."""
    on = extended(networked(NETWORKS[name], 4), adapter={"order": order})
    rig = Rig(on, 4, data=True, size=1 << 16)
    rig.peers[0].mr.write(WORDS)
    members = [(peer, ready(peer)) for peer in rig.peers for _ in range(2)]
    sender, beside = members[0][1], (rig.peers[3], ready(rig.peers[3], attach=False))
    assert send(rig, sender, [*members, beside]) == [1] * 8 + [0]
    for place, (peer, _) in enumerate(members):
        assert peer.mr.read(750, 4096 * (place + 1) + 40) == WORDS
        for one in peer.cq.queue.entries:
            assert (one.byte_len, one.src_qp, one.slid) == (790, sender.qp_num, sender.lid)
            assert one.wc_flags & WCFlags.GRH
    links = sum(one.packets for one in rig.cluster.fabric.transmitters())
    assert links == {"switch": 3, "ring": 6, "star": 6}[name]


def test_without_a_switch_the_peer_receives_it() -> None:
    rig = Rig(machine(switch=False))
    sender = ready(rig.peers[0], attach=False)
    assert send(rig, sender, [(rig.peers[1], ready(rig.peers[1]))]) == [1]


def test_a_sender_outside_of_the_tree_reaches_it() -> None:
    rig = Rig(networked(STAR, 4), 4)
    members = [(peer, ready(peer)) for peer in rig.peers[1:3]]
    assert send(rig, ready(rig.peers[0], attach=False), members) == [1, 1]


def test_nobody_receives_it_without_members_or_behind_its_detachment() -> None:
    rig = Rig(networked(STAR, 4), 4)
    a, b = rig.peers[:2]
    gone = ready(b)
    gone.detach_mcast(GID, MLID)
    assert send(rig, ready(a, attach=False), [(b, gone)]) == [0]
    assert b.adapter.counters()["port_rcv_packets"] == 0


@pytest.mark.parametrize("whole", [True, False])
def test_a_queue_pair_takes_its_groups_to_another_port(whole: bool) -> None:
    rig = Rig(networked(OneSwitch(switch="x"), 2, ports=2), 2)
    a, b = rig.peers
    moved = QP(b.pd, b.cq, b.cq, qp_type=QPType.UD)
    moved.attach_mcast(GID, MLID)
    stays = None if whole else ready(b)
    for port in (1, 2):
        attr = QPAttr(qp_state=State.INIT, port_num=port, pkey_index=0)
        with_key = QPAttrMask.QKEY if port == 1 else QPAttrMask(0)
        moved.modify_qp(attr, INIT | with_key)
    moved.modify_qp(QPAttr(qp_state=State.RTR), QPAttrMask.STATE)
    ports = b.adapter.ports
    assert (MLID in ports[0].members, MLID in ports[1].members) == (not whole, True)
    members = [(b, moved)] if stays is None else [(b, moved), (b, stays)]
    assert send(rig, ready(a, attach=False), members) == [1] * len(members)
    moved.detach_mcast(GID, MLID)
    assert MLID not in ports[1].members


def test_groups_of_one_lid_differ_by_their_gid() -> None:
    rig = Rig()
    a, b = rig.peers
    other = ready(b, attach=False)
    other.attach_mcast("ff12::2", MLID)
    assert send(rig, ready(a), [(b, ready(b)), (b, other)], dgid="ff12::2") == [0, 1]


class Sizes(Receiver):
    """Notes the sizes of packets on their way from a peer."""

    def __init__(self, peer: Peer) -> None:
        way = peer.adapter.ports[0].transmitter
        assert way.receiver is not None
        self._end, way.receiver = way.receiver, self
        self.found: list[int] = []

    def receive(self, packet: Packet, head_at: int, tail_at: int) -> None:
        self.found.append(packet.size)
        self._end.receive(packet, head_at, tail_at)


@pytest.mark.pure
@pytest.mark.parametrize("ethernet", [False, True])
@pytest.mark.parametrize("by_handle", [False, True])
def test_a_group_has_the_route_header_of_its_address_once(ethernet: bool, by_handle: bool) -> None:
    """Over Ethernet the IP header is in its place, and the LID is made of the GID."""
    rig = Rig(resolve("pair-roce"), data=True) if ethernet else Rig(data=True)
    a, b = rig.peers
    lid = 0 if ethernet and by_handle else MLID
    members = [(b, ready(b, attach=False)) for _ in range(2)]
    for (_, member), gid in zip(members, (GID, "ff12::2"), strict=True):
        member.attach_mcast(gid, lid)
    sizes, to = Sizes(a), {"dlid": MLID, "dgid": GID}
    if by_handle:
        to = {"dlid": 0, "ah": AH(a.pd, AHAttr(GlobalRoute(IPv6Address(GID)), lid, is_global=1))}
    found = send(rig, ready(a, attach=False), members, **to)
    assert found == [1, 0]
    # Ethernet: 14 + 20 + 8 of headers, 4 of the frame check sequence, no LRH and no VCRC.
    around = 14 + 20 + 8 + 4 if ethernet else 8 + 40 + 2
    assert sizes.found == [around + 12 + 8 + 752 + 4]
    header = b.mr.read(40, 4096)
    assert (header[24:] == IPv6Address(GID).packed) is not ethernet
    assert header[20 if ethernet else 0] >> 4 == (4 if ethernet else 6)


def test_devices_with_datagrams_have_groups() -> None:
    found = [Rig(on).peers[0].context.query_device() for on in (machine(), iwarp())]
    assert [one.max_mcast_grp > 0 for one in found] == [True, False]
    assert [one.max_mcast_qp_attach > 0 for one in found] == [True, False]


def test_an_address_is_that_of_a_port_or_that_of_a_group(rig: Rig) -> None:
    a = rig.peers[0]
    port = a.context.query_gid()
    for dlid, dgid, is_global in ((MLID, port, 1), (1, IPv6Address(GID), 1), (MLID, port, 0)):
        with pytest.raises(VerbsError, match=r"^EINVAL: dlid .*; a group needs a LID and a GID"):
            AH(a.pd, AHAttr(GlobalRoute(dgid), dlid, is_global=is_global))


def test_who_has_no_receive_loses_its_copy_only(rig: Rig) -> None:
    a, b = rig.peers
    late, sender = ready(b), ready(a)
    assert send(rig, sender, [(b, ready(b))]) == [1]
    assert count(b, late) == 0
    assert rig.counter("dropped") == 2
    assert send(rig, sender, [(b, late)]) == [1]


@pytest.mark.parametrize("blocked", [False, True])
def test_what_a_queue_pair_sends_comes_back_to_it_unless_that_is_blocked(blocked: bool) -> None:
    rig = Rig(networked(OneSwitch(switch="x"), 2, adapter="mt25208"), 2)
    newer = extended(rig.machine, adapter={"tables": None})
    rig = Rig(newer, 2)
    a = rig.peers[0]
    flag = QPCreateFlags.BLOCK_SELF_MCAST_LB if blocked else QPCreateFlags.NONE
    sender, other = ready(a, create_flags=flag), ready(a)
    assert send(rig, sender, [(a, sender), (a, other)]) == [not blocked, 1]


def test_a_second_attachment_brings_no_second_copy(rig: Rig) -> None:
    a, b = rig.peers
    member = ready(b)
    member.attach_mcast(GID, MLID)
    rig.run(b.post_receives(member, b.receive(1064), b.receive(1064)))
    assert send(rig, ready(a, attach=False), [(b, member)]) == [1]
    member.detach_mcast(GID, MLID)
    with pytest.raises(VerbsError, match=r"^EINVAL: the queue pair is not attached to ff12::1"):
        member.detach_mcast(GID, MLID)


def test_what_is_no_group_is_refused(rig: Rig) -> None:
    a = rig.peers[0]
    reliable, datagram = rig.connect(*rig.peers)[0], ready(a)
    for qp, gid, lid, fault in (
        (reliable, GID, MLID, "multicast of the service RC; allowed: UD"),
        (datagram, "fe80::1", MLID, "gid is fe80::1; allowed: ff00:: to ffff:...:ffff"),
        (datagram, GID, 0xBFFF, "lid is 0xbfff; allowed: 0xc000 to 0xfffe"),
        (datagram, GID, 0xFFFF, "lid is 0xffff; allowed: 0xc000 to 0xfffe"),
    ):
        with pytest.raises(VerbsError) as error:
            qp.attach_mcast(gid, lid)
        assert str(error.value) == f"EINVAL: {fault}"
    for to in ({"dlid": MLID, "remote_qpn": 1}, {"dlid": 1, "remote_qpn": EVERY}):
        with pytest.raises(VerbsError, match=r"^EINVAL: dlid .* a group's LID needs 0xffffff$"):
            rig.run(datagram.post_send(a.request(SEND, a, 8, **to)))
    with pytest.raises(VerbsError, match=r"^EOPNOTSUPP: BLOCK_SELF_MCAST_LB of UD, mt25208"):
        ready(a, create_flags=QPCreateFlags.BLOCK_SELF_MCAST_LB)
