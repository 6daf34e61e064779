"""Several atomics at a time: their words are locked, their answers keep their order."""

from itertools import pairwise

import pytest

from hcasim.catalog.adapter import Atomics, BlueFlame
from hcasim.fabric.packet import Opcode
from tests.rig import FETCH_ADD, READ, Program, Rig, extended, machine, run, succeeded
from tests.unit.hca.test_requester import Tap

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


def test_atomics_on_different_words_overlap() -> None:
    assert max(gaps(rig(), 0, 8, 16, 24)) < MEMORY / 2


def test_atomics_on_the_same_word_follow_each_other_by_an_access_to_memory() -> None:
    assert min(gaps(rig(), 0, 0, 0, 0)) >= MEMORY


@pytest.mark.parametrize(("lock", "overlap"), [(8, True), (16, False)])
def test_words_that_are_locked_together_do_not_overlap(lock: int, overlap: bool) -> None:
    assert (max(gaps(rig(lock=lock), 0, 8)) < MEMORY / 2) == overlap


def test_no_more_than_are_allowed_are_under_way() -> None:
    first, second, third = gaps(rig(outstanding=2), 0, 8, 16, 24)
    assert second >= MEMORY / 2
    assert first < second > third


def test_the_unit_takes_its_time_for_each() -> None:
    # The first ones wait for the translation of their address.
    assert gaps(rig(service=700 * NS), *range(0, 64, 8))[-3:] == [700 * NS] * 3


def test_the_words_come_back_in_the_order_of_their_requests() -> None:
    made = rig()
    a, b = made.peers
    qp, _ = made.connect(a, b)
    b.mr.set_word(b.mr.addr + 8, 7)
    requests = [
        a.request(FETCH_ADD, b, offset=8 * place, remote_offset=far, compare_add=1)
        for place, far in enumerate((0, 0, 8))
    ]
    found = made.exchange(qp, a, *requests)
    assert [one.timestamp_ps for one in found] == sorted(one.timestamp_ps for one in found)
    assert [a.mr.word(a.mr.addr + 8 * place) for place in range(3)] == [0, 1, 7]


@pytest.mark.pure
def test_a_read_is_answered_behind_the_atomic_before_it() -> None:
    made = rig()
    a, b = made.peers
    qp, _ = made.connect(a, b)
    back = Tap(made, 1)
    made.exchange(qp, a, a.request(FETCH_ADD, b), a.request(READ, b), a.request(FETCH_ADD, b))
    word, data = Opcode.ATOMIC_ACKNOWLEDGE, Opcode.RDMA_READ_RESPONSE
    assert [packet.opcode for packet in back.packets] == [word, data, word]


def test_the_rate_on_one_word_is_that_of_accesses_to_memory() -> None:
    """As N298 of the published measurements: 2.4 M/s on one queue pair."""
    one_word = run("atomic_bw", rig().machine, size=8, iters=400).row["rate_Mps"]
    assert 1 / one_word == pytest.approx(gaps(rig(), 0, 0)[0] / 1e6, rel=0.05)
