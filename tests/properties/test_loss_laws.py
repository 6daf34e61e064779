"""Laws of what arrives although links lose, corrupt and repeat packets."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcasim.catalog import Machine
from hcasim.fabric.loss import Fate, ListedLosses, lose
from hcasim.hca import QPType
from hcasim.verbs import QP
from tests import iwarp
from tests.rig import (
    CMP_SWAP,
    FETCH_ADD,
    READ,
    SEND,
    WRITE,
    Program,
    Rig,
    check_that_nothing_is_lent,
    machine,
)

SLOT = 1 << 14
"""Bytes for each operation, in the buffer of its sender and in that of its receiver."""
WORDS = 1 << 20
"""Where the words of atomics are."""
FATES = st.sampled_from([Fate.DROP, Fate.DROP, Fate.CORRUPT, Fate.DUPLICATE])
LISTS = st.dictionaries(st.integers(1, 60), FATES, max_size=25)
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from([WRITE, SEND, READ, FETCH_ADD, CMP_SWAP]),
        st.sampled_from([0, 8, 1024, 3000, 5000, 9000]),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=8,
)


class Exchange:
    """Operations of both sides over one pair of queue pairs whose ways lose packets."""

    def __init__(
        self,
        operations: Sequence[tuple[Any, int, int]],
        fates: Sequence[dict[int, Fate]],
        *,
        kind: QPType = QPType.RC,
        prompt: bool = True,
        on: Any = None,
        **options: Any,
    ) -> None:
        self.rig = rig = Rig(on or machine(), size=WORDS + SLOT, data=True)
        self.operations = operations
        a, b, *self.ends = rig.joined(qp_type=kind, **options)
        self.peers = a, b
        self.before = []
        for peer in self.peers:
            peer.mr.write(Random(len(self.before)).randbytes(WORDS))
            self.before.append(peer.mr.read(WORDS + SLOT, 0))
        for peer, listed in zip(self.peers, fates, strict=True):
            lose(peer.adapter.ports[0].transmitter, ListedLosses(listed))
        self.found = rig.run(self._program(0, prompt), self._program(1, prompt))

    def place(self, number: int, sender: int, here: bool) -> int:
        """The offset of an operation in the buffer of its sender, or of the other side."""
        return (2 * number + (0 if here else 1)) * SLOT

    def _program(self, side: int, prompt: bool) -> Program:
        own, other, qp = self.peers[side], self.peers[1 - side], self.ends[side]
        receives = [
            own.receive(size, wr_id=number, offset=self.place(number, sender, here=False))
            for number, (opcode, size, sender) in enumerate(self.operations)
            if opcode is SEND and sender != side
        ]
        if prompt:
            yield from own.post_receives(qp, *receives)
        requests = []
        for number, (opcode, size, sender) in enumerate(self.operations):
            if sender != side:
                continue
            here, there = self.place(number, side, here=True), self.place(number, side, here=False)
            more: dict[str, Any] = {}
            if opcode in (FETCH_ADD, CMP_SWAP):
                size, there = 8, WORDS
                more = {"compare_add": 3, "swap": 100 + number}
            requests.append(
                own.request(
                    opcode, other, size, offset=here, remote_offset=there, wr_id=number, **more
                )
            )
        yield from own.post(qp, *requests)
        if not prompt:
            yield own.sim.timeout(50 * 10**6)
            yield from own.post_receives(qp, *receives)
        # Longer than all tries take.
        yield own.sim.timeout(10**11)
        return list(own.cq.queue.entries)


def check(run: Exchange) -> None:
    for side, found in enumerate(run.found):
        names = [c.status.name for c in found if not c.is_receive]
        mine = [n for n, (_, _, sender) in enumerate(run.operations) if sender == side]
        assert [c.wr_id for c in found if not c.is_receive] == mine
        good = 0
        while good < len(names) and names[good] == "SUCCESS":
            good += 1
        if good < len(names):
            assert names[good] in ("RETRY_EXC_ERR", "WR_FLUSH_ERR", "RNR_RETRY_EXC_ERR")
            assert set(names[good + 1 :]) <= {"WR_FLUSH_ERR"}
        arrived = [c for c in found if c.is_receive and c.status.name == "SUCCESS"]
        sends = [
            n for n, (op, _, sender) in enumerate(run.operations) if op is SEND and sender != side
        ]
        # At most once and in order.
        assert [c.wr_id for c in arrived] == sends[: len(arrived)]
        assert [c.byte_len for c in arrived] == [run.operations[c.wr_id][1] for c in arrived]
        done = set(mine[:good])
        check_atomics(run, side, done)
        for number in mine:
            opcode, size, _ = run.operations[number]
            here = run.place(number, side, here=True)
            there = run.place(number, side, here=False)
            own, other = run.peers[side].mr, run.peers[1 - side].mr
            if opcode in (WRITE, SEND) and number in done:
                assert other.read(size, there) == run.before[side][here : here + size]
            elif opcode is READ and number in done:
                assert own.read(size, here) == run.before[1 - side][there : there + size]


def check_atomics(run: Exchange, side: int, done: set[int]) -> None:
    """Each has seen what those before it have left, and none has changed the word twice."""
    word, may_be = 0, {0}
    own, other = run.peers[side].mr, run.peers[1 - side].mr
    for number, (opcode, _, sender) in enumerate(run.operations):
        if sender != side or opcode not in (FETCH_ADD, CMP_SWAP):
            continue
        if number in done:
            found = own.read(8, run.place(number, side, here=True))
            assert int.from_bytes(found, "little") == word
        if opcode is FETCH_ADD:
            word += 3
        elif word == 3:
            word = 100 + number
        may_be = {word} if number in done else {*may_be, word}
    assert int.from_bytes(other.read(8, WORDS), "little") in may_be


SELECTIVE = machine({"adapter.recovery": "selective_repeat"})
OVERLAPPING = machine({"adapter.order": "queue_pair"})


@pytest.mark.parametrize(
    "on", [machine(), SELECTIVE, OVERLAPPING], ids=["go back", "repeat", "overlap"]
)
@settings(max_examples=60)
@given(operations=OPERATIONS, there=LISTS, back=LISTS, prompt=st.booleans())
def test_reliable_connections_deliver_each_message_once_in_order_with_its_bytes(
    on: Machine,
    operations: list[tuple[Any, int, int]],
    there: dict[int, Fate],
    back: dict[int, Fate],
    prompt: bool,
) -> None:
    run = Exchange(operations, (there, back), on=on, prompt=prompt, timeout=4)
    check(run)
    if all(c.status.name == "SUCCESS" for found in run.found for c in found):
        check_that_nothing_is_lent(run.rig, run.ends)


@settings(max_examples=50)
@given(
    kind=st.sampled_from([QPType.UC, QPType.UD]),
    sizes=st.lists(st.sampled_from([0, 8, 1024, 1025, 3000, 5000]), min_size=2, max_size=10),
    lost=st.sets(st.integers(1, 20), min_size=1),
    corrupts=st.booleans(),
)
def test_what_nobody_acknowledges_loses_what_is_lost_and_no_more(
    kind: QPType, sizes: list[int], lost: set[int], corrupts: bool
) -> None:
    rig = Rig(size=1 << 18, data=True)
    a, b = rig.peers
    datagrams = kind is QPType.UD
    front = 40 if datagrams else 0
    if datagrams:
        sizes = [size % 1025 for size in sizes]
        qp, remote = (QP(peer.pd, peer.cq, peer.cq, qp_type=kind) for peer in rig.peers)
        qp.activate()
        remote.activate()
    else:
        qp, remote = rig.connect(a, b, qp_type=kind)
    a.mr.write(Random(1).randbytes(1 << 18))
    fate = Fate.CORRUPT if corrupts else Fate.DROP
    lose(a.adapter.ports[0].transmitter, ListedLosses(dict.fromkeys(lost, fate)))
    receives = [b.receive(5040, wr_id=n, offset=8192 * n) for n in range(len(sizes))]
    more = {"dlid": remote.lid, "remote_qpn": remote.qp_num} if datagrams else {}
    requests = [
        a.request(SEND, b, size, offset=8192 * n, wr_id=n, **more) for n, size in enumerate(sizes)
    ]
    rig.run(b.post_receives(remote, *receives))
    sent = rig.exchange(qp, a, *requests)
    assert [(c.wr_id, c.status.name) for c in sent] == [(n, "SUCCESS") for n in range(len(sizes))]
    expected, packet = [], 1
    for number, size in enumerate(sizes):
        packets = max(1, -(-size // 1024))
        if not lost & {*range(packet, packet + packets)}:
            expected.append(number)
        packet += packets
    found = list(b.cq.queue.entries)
    # Entries of messages that were lost are there for those behind them.
    assert [c.wr_id for c in found] == [*range(len(expected))]
    assert [c.byte_len - front for c in found] == [sizes[n] for n in expected]
    for place, number in enumerate(expected):
        there = b.mr.read(sizes[number], 8192 * place + front)
        assert there == a.mr.read(sizes[number], 8192 * number)
    check_that_nothing_is_lent(rig, (qp, remote))


@given(
    operations=st.lists(
        st.tuples(st.sampled_from([WRITE, SEND, READ]), st.integers(0, 14_000), st.integers(0, 1)),
        min_size=1,
        max_size=8,
    ),
    there=LISTS,
    back=LISTS,
)
def test_iwarp_delivers_each_message_once_in_order_with_its_bytes(
    operations: list[tuple[Any, int, int]], there: dict[int, Fate], back: dict[int, Fate]
) -> None:
    run = Exchange(operations, (there, back), on=iwarp.machine(), timeout=4)
    check(run)
