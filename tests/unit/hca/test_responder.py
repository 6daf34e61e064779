"""What the responder does for others: atomics that do not mix, answers that keep their order."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from hcasim.catalog.adapter import Atomics, BlueFlame
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
    extended,
    joined,
    machine,
    run,
    succeeded,
)
from tests.unit.hca.test_requester import Tap


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


def test_packets_behind_a_refused_one_are_dropped_without_an_answer() -> None:
    rig, a, b, qp, _ = joined()
    watch = b.mr.watch(b.mr.addr)
    rig.exchange(qp, a, a.request(WRITE, b, 10 * 1024, rkey=999))
    assert rig.counter("naks") == 1
    assert rig.counter("dropped") == a.adapter.ports[0].transmitter.packets - 1
    assert rig.counter("acknowledgements") == 0
    assert b.adapter.dma.scattered == watch.count == 0


@pytest.mark.parametrize("adapter_latency", ["0 ns", "1 us"])
def test_a_receive_request_is_fetched_once_for_each_message(adapter_latency: str) -> None:
    rig, a, b, qp, remote = joined(machine({"adapter.receive_queue.latency": adapter_latency}))
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


NS = 1000
MEMORY = 2000 * NS
"""What a read of host memory takes at least here."""
QUICK = {"adapter.responder.latency": "0 ns", "host.memory.read_latency": "2 us"}


def rig(outstanding: int = 16, service: int = 0, lock: int = 8, reads: int = 16) -> Rig:
    atomics = Atomics.model_construct(outstanding=outstanding, service=service, lock=lock)
    adapter = {
        "responder": {"atomics": atomics, "outstanding": reads},
        "requester": {"outstanding": reads},
        # Requests follow each other sooner than words can be read.
        "doorbell": {"blueflame": BlueFlame.model_construct(buffer=64, takes="any")},
    }
    return Rig(extended(machine(QUICK), adapter=adapter))


def gaps(made: Rig, *offsets: int) -> list[int]:
    """Times between the changes of words at the far end, each added to by a queue pair."""
    a, b = made.peers
    pairs = [made.connect(a, b)[0] for _ in offsets]
    for qp in pairs:
        # Contexts and translations are on the chip from here on.
        made.exchange(qp, a, a.request(FETCH_ADD, b, remote_offset=4096))
    times: list[int] = []

    class Words(dict[int, int]):
        def __setitem__(self, address: int, word: int) -> None:
            times.append(int(made.sim.now))
            super().__setitem__(address, word)

    b.mr.region.words = Words(b.mr.region.words)

    def program() -> Program:
        for qp, offset in zip(pairs, offsets, strict=True):
            yield from qp.post_send(a.request(FETCH_ADD, b, remote_offset=offset, compare_add=1))
        return (yield from a.collect(len(pairs)))

    (found,) = made.run(program())
    assert succeeded(found)
    for offset in set(offsets):
        assert b.mr.word(b.mr.addr + offset) == offsets.count(offset)
    return [after - before for before, after in pairwise(times)]


def test_atomics_on_the_same_word_follow_each_other_by_an_access_to_memory() -> None:
    assert min(gaps(rig(), 0, 0, 0, 0)) >= MEMORY


@pytest.mark.parametrize(("lock", "overlap"), [(8, True), (16, False)])
def test_words_that_are_not_locked_together_overlap(lock: int, overlap: bool) -> None:
    assert (max(gaps(rig(lock=lock), 0, 8, 16, 24)) < MEMORY / 2) == overlap


def test_no_more_than_are_allowed_are_under_way() -> None:
    first, second, third = gaps(rig(outstanding=2), 0, 8, 16, 24)
    assert second >= MEMORY / 2
    assert first < second > third


def test_the_unit_takes_its_time_for_each() -> None:
    # The first ones wait for the translation of their address.
    assert gaps(rig(service=700 * NS), *range(0, 64, 8))[-3:] == [700 * NS] * 3


def test_the_words_come_back_in_the_order_of_their_requests() -> None:
    made = rig()
    a, b, qp, _ = made.joined()
    b.mr.set_word(b.mr.addr + 8, 7)
    requests = [
        a.request(FETCH_ADD, b, offset=8 * place, remote_offset=far, compare_add=1)
        for place, far in enumerate((0, 0, 8))
    ]
    found = made.exchange(qp, a, *requests)
    assert [one.timestamp_ps for one in found] == sorted(one.timestamp_ps for one in found)
    assert [a.mr.word(a.mr.addr + 8 * place) for place in range(3)] == [0, 1, 7]


@pytest.mark.pure
@pytest.mark.parametrize("made", [rig, Rig], ids=["several at a time", "one"])
def test_a_read_is_answered_behind_the_atomic_before_it(made: Callable[[], Rig]) -> None:
    on = made()
    a, b, qp, _ = on.joined()
    back = Tap(on, 1)
    on.exchange(qp, a, a.request(FETCH_ADD, b), a.request(READ, b), a.request(FETCH_ADD, b))
    word, data = Opcode.ATOMIC_ACKNOWLEDGE, Opcode.RDMA_READ_RESPONSE
    assert [packet.opcode for packet in back.packets] == [word, data, word]


def test_the_rate_on_one_word_is_that_of_accesses_to_memory() -> None:
    """As N298 of the published measurements: 2.4 M/s on one queue pair."""
    one_word = run("atomic_bw", rig().machine, size=8, iters=400).row["rate_Mps"]
    assert 1 / one_word == pytest.approx(gaps(rig(), 0, 0)[0] / 1e6, rel=0.05)
