"""Unreliable connections and datagrams: nothing is acknowledged."""

import pytest

from hcasim.catalog import resolve
from hcasim.verbs import AH, PD, QP, AHAttr, Completion, QPType, SendWR, State, VerbsError
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
    machine,
    statuses,
    succeeded,
)

US = 1_000_000


def connect(rig: Rig, kind: QPType, inline: int = 0) -> tuple[QP, QP]:
    return rig.connect(*rig.peers, qp_type=kind, max_inline_data=inline)


def datagrams(rig: Rig) -> tuple[QP, QP]:
    """Two queue pairs for datagrams, ready to send."""
    ends = tuple(QP(peer.pd, peer.cq, peer.cq, qp_type=QPType.UD) for peer in rig.peers)
    for end in ends:
        end.activate()
    return ends[0], ends[1]


def to(qp: QP) -> dict[str, int]:
    return {"dlid": qp.lid, "remote_qpn": qp.qp_num}


def exchange(rig: Rig, kind: QPType, *requests: SendWR) -> list[Completion]:
    qp, _ = connect(rig, kind)
    return rig.exchange(qp, rig.peers[0], *requests)


@pytest.mark.parametrize("length", [8, 5000])
def test_writes_of_an_unreliable_connection_arrive_and_nothing_is_acknowledged(
    rig: Rig, length: int
) -> None:
    a, b = rig.peers
    ends: list[int] = []
    b.mr.listen(lambda address, size: ends.append(address + size - b.mr.addr))
    assert succeeded(exchange(rig, QPType.UC, *[a.request(WRITE, b, length)] * 3))
    assert ends.count(length) == 3
    assert b.adapter.counters()["port_xmit_packets"] == 0


def test_a_request_ends_when_its_last_packet_has_left() -> None:
    """It does not wait for the far end, however far that is."""
    times = {}
    for kind in (QPType.RC, QPType.UC):
        for cable in ("1 m", "1001 m"):
            rig = Rig(machine({"link.cable_length": cable}, switch=False))
            a, b = rig.peers
            (found,) = exchange(rig, kind, a.request(WRITE, b))
            times[kind, cable] = found.timestamp_ps
    assert times[QPType.RC, "1001 m"] - times[QPType.RC, "1 m"] == 10 * US
    assert times[QPType.UC, "1001 m"] == times[QPType.UC, "1 m"]


def test_an_unreliable_write_reaches_memory_as_soon_as_a_reliable_one() -> None:
    landed = set()
    for kind in (QPType.RC, QPType.UC):
        rig = Rig()
        a, b = rig.peers
        b.mr.listen(lambda *_: landed.add(rig.sim.now))  # noqa: B023
        assert succeeded(exchange(rig, kind, a.request(WRITE, b)))
    assert len(landed) == 1


def test_what_finds_no_receive_is_dropped_and_the_next_message_is_taken(rig: Rig) -> None:
    a, b = rig.peers
    qp, remote = connect(rig, QPType.UC)

    def sender() -> Program:
        # Of three packets, none of which may be taken for the begin of the next message.
        yield from a.post(qp, a.request(SEND, b, 3000))
        yield rig.sim.timeout(100 * US)
        yield from a.post(qp, a.request(SEND, b, 1500))
        return (yield from a.collect(2))

    sent, received = rig.run(sender(), b.take(remote, b.receive(4096), after=50 * US))
    assert statuses(sent + received) == ["SUCCESS"] * 3
    assert received[0].byte_len == 1500
    assert (rig.counter("dropped"), rig.counter("out_of_sequence")) == (1, 2)
    assert rig.counter("naks") == 0


def test_a_message_that_is_too_long_ends_the_receiver_and_the_sender_does_not_know(
    rig: Rig,
) -> None:
    a, b = rig.peers
    qp, remote = connect(rig, QPType.UC)

    sending = a.send(qp, *[a.request(SEND, b)] * 2, after=10 * US)
    received, sent = rig.run(b.take(remote, b.receive(4), b.receive(64)), sending)
    assert statuses(received) == ["LOC_LEN_ERR", "WR_FLUSH_ERR"]
    assert succeeded(sent)


@pytest.mark.parametrize("opcode", [READ, FETCH_ADD])
def test_reads_and_atomics_need_a_reliable_connection(rig: Rig, opcode: object) -> None:
    a, b = rig.peers
    qp, _ = connect(rig, QPType.UC)
    with pytest.raises(VerbsError, match="on a queue pair of the service UC"):
        rig.exchange(qp, a, a.request(opcode, b))


def test_a_datagram_needs_an_address(rig: Rig) -> None:
    qp, remote = datagrams(rig)
    a, b = rig.peers
    with pytest.raises(VerbsError, match=r"^EINVAL: no address: ah is None and dlid 0; allowed: "):
        rig.run(a.post(qp, a.request(SEND, b, remote_qpn=remote.qp_num)))


@pytest.mark.parametrize("testbed", [None, "cloud-hdr"])
def test_an_address_of_another_protection_domain_fails_where_adapters_know_it(
    testbed: str | None,
) -> None:
    rig = Rig(resolve(testbed) if testbed else None)
    qp, remote = datagrams(rig)
    a, b = rig.peers
    ways = [AH(pd, AHAttr(dlid=remote.lid)) for pd in (a.pd, PD(a.context), a.pd)]
    requests = [a.request(SEND, b, ah=way, remote_qpn=remote.qp_num) for way in ways]
    found = rig.exchange(qp, a, *requests)
    if testbed:
        assert succeeded(found)
    else:
        assert statuses(found) == ["SUCCESS", "LOC_QP_OP_ERR", "WR_FLUSH_ERR"]
        assert qp.state is State.SQE
    check_that_nothing_is_lent(rig, (qp, remote))


def send_datagram(rig: Rig, a: Peer, length: int) -> Completion:
    qp, remote = datagrams(rig)
    _, b = rig.peers

    sending = a.send(qp, a.request(SEND, b, length, **to(remote)), after=10 * US)
    (received,), sent = rig.run(b.take(remote, b.receive(length + 40)), sending)
    assert succeeded([received, *sent])
    return received


def test_a_datagram_arrives_behind_the_room_of_a_route_header(rig: Rig) -> None:
    a, b = rig.peers
    ends: list[int] = []
    b.mr.listen(lambda address, size: ends.append(address + size - b.mr.addr))
    assert send_datagram(rig, a, 100).byte_len == 140
    assert ends == [140]


@pytest.mark.parametrize("length", [0, 8])
def test_a_receive_buffer_of_datagrams_needs_room_for_the_header_too(length: int) -> None:
    for room, status in ((length + 40, "SUCCESS"), (length + 39, "LOC_LEN_ERR")):
        rig = Rig()
        a, b = rig.peers
        qp, remote = datagrams(rig)
        sending = a.send(qp, a.request(SEND, b, length, **to(remote)), after=10 * US)
        received, sent = rig.run(b.take(remote, b.receive(room)), sending)
        assert statuses(received + sent) == [status, "SUCCESS"]


def test_a_queue_pair_for_datagrams_reaches_several(rig: Rig) -> None:
    rig = Rig(machine(), nodes=2)
    a, b = rig.peers
    qp, first = datagrams(rig)
    second = QP(b.pd, b.cq, b.cq, qp_type=QPType.UD)
    second.activate()

    requests = [a.request(SEND, b, 8, **to(end)) for end in (second, first)]
    *_, received, sent = rig.run(
        *(b.post_receives(end, b.receive(64)) for end in (first, second)),
        b.collect(2),
        a.send(qp, *requests, after=10 * US),
    )
    assert succeeded(sent)
    assert [one.qpn for one in received] == [second.qp_num, first.qp_num]


def test_a_datagram_is_one_packet(rig: Rig) -> None:
    a, b = rig.peers
    qp, remote = datagrams(rig)
    with pytest.raises(VerbsError, match="a datagram of 1025 bytes; allowed: up to the MTU, 1024"):
        rig.exchange(qp, a, a.request(SEND, b, 1025, **to(remote)))


def test_services_do_not_mix(rig: Rig) -> None:
    a, b = rig.peers
    unreliable, datagram = (
        QP(peer.pd, peer.cq, peer.cq, qp_type=kind)
        for peer, kind in ((a, QPType.UC), (b, QPType.UD))
    )
    with pytest.raises(VerbsError, match="connect UC with UD; allowed: two of the service UC"):
        unreliable.connect(datagram)
    with pytest.raises(VerbsError, match="connect UD with UD; allowed: activate"):
        datagram.connect(datagram)
    with pytest.raises(VerbsError, match="activate of UC; allowed: connect"):
        unreliable.activate()


def test_iwarp_has_reliable_connections_only() -> None:
    rig = Rig(iwarp())
    with pytest.raises(VerbsError, match="qp_type is UC; iWARP has only RC"):
        connect(rig, QPType.UC)
