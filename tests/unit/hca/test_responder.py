"""What the responder does for others: atomics that do not mix, answers that keep their order."""

from itertools import pairwise

import pytest

from hcasim.fabric import Opcode
from tests.rig import (
    CMP_SWAP,
    FETCH_ADD,
    READ,
    SEND,
    WRITE,
    Peer,
    Program,
    Rig,
    machine,
    succeeded,
)
from tests.unit.hca.test_requester import Tap


def adders(rig: Rig, target: Peer, peers: list[Peer], times: int) -> list[Program]:
    def program(peer: Peer, amount: int) -> Program:
        qp, _ = rig.connect(peer, target)
        request = peer.request(FETCH_ADD, target, compare_add=amount)
        yield from peer.post(qp, *[request] * times)
        found = yield from peer.collect(times)
        assert succeeded(found)

    return [program(peer, 10**index) for index, peer in enumerate(peers)]


def test_sums_of_two_nodes_lose_nothing() -> None:
    rig = Rig(nodes=3)
    target, *others = rig.peers
    rig.run(*adders(rig, target, others, 40))
    assert target.mr.word(target.mr.addr) == 40 * 1 + 40 * 10


def test_every_fetch_and_add_sees_another_value() -> None:
    rig = Rig(nodes=3)
    target, *others = rig.peers
    seen: list[int] = []

    def program(peer: Peer) -> Program:
        qp, _ = rig.connect(peer, target)
        for _ in range(25):
            yield from peer.post(qp, peer.request(FETCH_ADD, target, compare_add=1))
            yield from peer.collect(1)
            seen.append(peer.mr.word(peer.mr.addr))

    rig.run(*(program(peer) for peer in others))
    assert sorted(seen) == list(range(50))


def test_a_contested_compare_and_swap_has_one_winner() -> None:
    rig = Rig(nodes=4)
    target, *others = rig.peers

    def program(peer: Peer, name: int) -> Program:
        qp, _ = rig.connect(peer, target)
        yield from peer.post(qp, peer.request(CMP_SWAP, target, compare_add=0, swap=name))
        yield from peer.collect(1)
        return peer.mr.word(peer.mr.addr) == 0

    won = rig.run(*(program(peer, 101 + index) for index, peer in enumerate(others)))
    assert won.count(True) == 1
    assert target.mr.word(target.mr.addr) == 101 + won.index(True)


def test_two_ports_of_a_node_contend_for_the_same_word() -> None:
    rig = Rig()
    a, b = rig.peers
    pairs = [rig.connect(a, b, ports=(port, port))[0] for port in (1, 2)]

    def program() -> Program:
        for _ in range(20):
            for qp in pairs:
                yield from a.post(qp, a.request(FETCH_ADD, b, compare_add=1))
        return (yield from a.collect(40))

    (found,) = rig.run(program())
    assert succeeded(found)
    assert b.mr.word(b.mr.addr) == 40


@pytest.mark.pure
def test_atomics_of_an_adapter_follow_each_other_by_an_access_to_memory() -> None:
    rig = Rig(nodes=3)
    target, *others = rig.peers
    modified: list[int] = []
    modify = target.adapter.atomics._modify

    def noted(*arguments: object) -> None:
        modified.append(int(rig.sim.now))
        modify(*arguments)

    target.adapter.atomics._modify = noted
    rig.run(*adders(rig, target, others, 8))
    gaps = [later - earlier for earlier, later in pairwise(modified)]
    assert len(gaps) == 15
    assert min(gaps) >= rig.machine.host.memory.read_latency


def test_words_beside_each_other_do_not_mix() -> None:
    rig = Rig()
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    rig.exchange(
        qp,
        a,
        a.request(FETCH_ADD, b, offset=0, compare_add=5),
        a.request(FETCH_ADD, b, offset=8, compare_add=6),
    )
    assert [b.mr.word(b.mr.addr + offset) for offset in (0, 8)] == [5, 6]


@pytest.mark.pure
def test_a_read_behind_an_atomic_is_answered_behind_it() -> None:
    rig = Rig()
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    back = Tap(rig, 1)
    rig.exchange(qp, a, a.request(FETCH_ADD, b), a.request(READ, b), a.request(FETCH_ADD, b))
    assert [packet.opcode for packet in back.packets] == [
        Opcode.ATOMIC_ACKNOWLEDGE,
        Opcode.RDMA_READ_RESPONSE,
        Opcode.ATOMIC_ACKNOWLEDGE,
    ]


def test_packets_behind_a_refused_one_are_dropped_without_an_answer() -> None:
    rig = Rig()
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    rig.exchange(qp, a, *(a.request(WRITE, b, 10 * 1024, rkey=999) for _ in range(1)))
    assert rig.counter("naks") == 1
    assert rig.counter("dropped") == a.adapter.ports[0].transmitter.packets - 1
    assert rig.counter("acknowledgements") == 0
    assert b.adapter.dma.scattered == 0


def test_a_dropped_packet_gives_its_buffer_back() -> None:
    rig = Rig()
    a, b = rig.peers
    bad, _ = rig.connect(a, b)
    good, _ = rig.connect(a, b)
    for _ in range(3):
        rig.exchange(bad, a, a.request(WRITE, b, 64 * 1024, rkey=999))
        bad, _ = rig.connect(a, b)
    assert succeeded(rig.exchange(good, a, a.request(WRITE, b, 1 << 20)))
    for node in rig.cluster.nodes:
        for transmitter in [p.transmitter for p in node.adapter.ports]:
            assert transmitter.credits.available == transmitter.credits.capacity


@pytest.mark.parametrize("adapter_latency", ["0 ns", "1 us"])
def test_a_receive_request_is_fetched_once_for_each_message(adapter_latency: str) -> None:
    rig = Rig(machine({"adapter.receive_queue.latency": adapter_latency}))
    a, b = rig.peers
    qp, remote = rig.connect(a, b)
    rig.run(b.post_receives(remote, *[b.receive(5000)] * 4))
    assert succeeded(rig.exchange(qp, a, *[a.request(SEND, b, 5000)] * 4))
    assert rig.counter("receive_wqes_fetched") == 4


def test_an_acknowledgement_never_overtakes_the_response_before_it() -> None:
    rig = Rig()
    a, b = rig.peers
    arrived: list[str] = []

    def listen(_time: int, block: str, event: str, _operation: int, details: str) -> None:
        if block.startswith("node0") and event == "receive pipeline":
            arrived.append(details.split()[0])

    rig.sim.listeners.append(listen)
    qp, _ = rig.connect(a, b)
    assert succeeded(rig.exchange(qp, a, a.request(READ, b, 3 * 1024), a.request(WRITE, b, 8)))
    assert arrived == ["RDMA_READ_RESPONSE"] * 3 + ["ACKNOWLEDGE"]
