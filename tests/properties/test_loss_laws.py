"""Laws of what arrives although links lose, corrupt and repeat packets."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hcasim.catalog import Machine
from hcasim.fabric.loss import Fate, ListedLosses, lose
from hcasim.hca import QPType
from hcasim.verbs import QP, RecvWR, WROpcode
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
GAP = 97
"""Bytes between the pieces of memory of an operation."""
WORDS = 1 << 20
"""Where the words of atomics are."""
RECEIVED = 1 << 18
"""Where the receives of messages are that nobody acknowledges."""
WRITE_IMM = WROpcode.RDMA_WRITE_WITH_IMM
WRITES = (WRITE, WRITE_IMM)
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
        pieces: tuple[int, int] = (1, 1),
        inline: bool = False,
        step_ps: int = 0,
        **options: Any,
    ) -> None:
        self.rig = rig = Rig(on or machine(), size=WORDS + SLOT, data=True)
        self.operations, self.pieces, self.inline = operations, pieces, inline
        limits = {"max_send_sge": pieces[0], "max_recv_sge": pieces[1], "max_inline_data": 128}
        a, b, *self.ends = rig.joined(qp_type=kind, **limits, **options)
        self.peers = a, b
        self.before = []
        for peer in self.peers:
            peer.mr.write(Random(len(self.before)).randbytes(WORDS))
            self.before.append(peer.mr.read(WORDS + SLOT, 0))
        for peer, listed in zip(self.peers, fates, strict=True):
            lose(peer.adapter.ports[0].transmitter, ListedLosses(listed))
        looks = [] if not step_ps else [look(Looker(self, 0), Looker(self, 1), step_ps)]
        self.found = rig.run(self._program(0, prompt), self._program(1, prompt), *looks)[:2]

    def place(self, number: int, sender: int, here: bool) -> int:
        """The offset of an operation in the buffer of its sender, or of the other side."""
        return (2 * number + (0 if here else 1)) * SLOT

    def memory(self, number: int, receives: bool = False) -> list[tuple[int, int]]:
        """The memory of a request, or of its receive: an offset and a length of each piece."""
        opcode, size, sender = self.operations[number]
        place, count = self.place(number, sender, here=not receives), self.pieces[receives]
        if receives and opcode is not SEND:
            return [(place, size)]
        # They become longer, with gaps between.
        ends = [size * end**2 // count**2 for end in range(count + 1)]
        return [
            (place + first + GAP * k, end - first)
            for k, (first, end) in enumerate(pairwise(ends))
            if end > first
        ]

    def moved(self, number: int) -> tuple[int, int, list[tuple[int, int]], list[tuple[int, int]]]:
        """Whose bytes become whose, and between which pieces of their memory."""
        opcode, _, sender = self.operations[number]
        here, there = self.memory(number), self.memory(number, receives=True)
        if opcode is READ:
            return 1 - sender, sender, there, here
        return sender, 1 - sender, here, there

    def _program(self, side: int, prompt: bool) -> Program:
        own, other, qp = self.peers[side], self.peers[1 - side], self.ends[side]
        receives = [
            RecvWR([own.sge(size, at) for at, size in self.memory(number, receives=True)], number)
            for number, (opcode, _, sender) in enumerate(self.operations)
            if opcode in (SEND, WRITE_IMM) and sender != side
        ]
        if prompt:
            yield from own.post_receives(qp, *receives)
        requests = []
        for number, (opcode, size, sender) in enumerate(self.operations):
            if sender != side:
                continue
            here, there = self.place(number, side, here=True), self.place(number, side, here=False)
            more: dict[str, Any] = {"offset": here}
            if opcode in (FETCH_ADD, CMP_SWAP):
                size, there = 8, WORDS
                more |= {"compare_add": 3, "swap": 100 + number}
            else:
                more["sg_list"] = [own.sge(size, at) for at, size in self.memory(number)]
                more["inline"] = self.inline and size <= 128 and opcode is not READ
            requests.append(
                own.request(opcode, other, size, remote_offset=there, wr_id=number, **more)
            )
        yield from own.post(qp, *requests)
        if not prompt:
            yield own.sim.timeout(50 * 10**6)
            yield from own.post_receives(qp, *receives)
        # Longer than all tries take.
        yield own.sim.timeout(10**11)
        return list(own.cq.queue.entries)


class Looker:
    """Holds the memory of one side to what DMA has written, and completions to their data.

    What is written has come through the pipeline before, and memory takes its time.
    """

    def __init__(self, run: Exchange, side: int) -> None:
        self.sim = run.rig.sim
        self._run, self._side, self._peer = run, side, run.peers[side]
        self._length = 2 * len(run.operations) * SLOT
        self._now = bytearray(run.before[side][: self._length])
        self._final = bytearray(self._now)
        for number in range(len(run.operations)):
            source, goal, there, here = run.moved(number)
            if goal == side:
                data = b"".join(run.before[source][at:][:size] for at, size in there)
                for at, size in here:
                    self._final[at : at + size], data = data[:size], data[size:]
        self._latency_ps = run.rig.machine.groups[0].host.memory.write_latency
        self._arrived: list[tuple[int, int]] = []
        self._written = 0
        self._peer.mr.listen(self._write)
        self._peer.cq.on_entry = self._complete
        self.sim.listeners.append(self._arrive)

    def _arrive(self, time: int, block: str, event: str, operation: int, packet: str) -> None:
        if event == "receive pipeline" and block.startswith(f"node{self._side}"):
            self._arrived.append((time, int(packet.split()[2])))

    def _write(self, address: int, length: int) -> None:
        first = address - self._peer.mr.addr
        self._now[first : first + length] = self._final[first : first + length]
        self.look()
        self._written += length
        before = self.sim.now - self._latency_ps
        assert self._written <= sum(size for time, size in self._arrived if time <= before)

    def look(self) -> None:
        assert self._peer.mr.read(self._length, 0) == self._now

    def _complete(self) -> None:
        found = self._peer.cq.queue.entries[-1]
        _, goal, _, here = self._run.moved(found.wr_id)
        if goal == self._side and found.status.name == "SUCCESS":
            assert all(self._now[at:][:size] == self._final[at:][:size] for at, size in here)


def look(one: Looker, other: Looker, step_ps: int) -> Program:
    for _ in range(300):
        yield one.sim.timeout(step_ps)
        one.look()
        other.look()


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


class Unacknowledged:
    """Messages whose packets nobody acknowledges, and what has to come of those that arrive.

    Attributes:
        arrived: PSNs in the order in which the receiver has dealt with them.
    """

    def __init__(self, messages: Sequence[tuple[Any, int]], front: int) -> None:
        self.messages = messages
        self.front = front
        self.arrived: list[int] = []
        self.packets = [
            (number, first)
            for number, (_, size) in enumerate(messages)
            for first in range(0, max(size, 1), 1024)
        ]

    def note(self, time: int, block: str, event: str, operation: int, packet: str) -> None:
        if event == "receive pipeline" and not packet.endswith(" qp 0"):
            self.arrived.append(int(packet.partition("psn=")[2].partition(" ")[0]))

    def taken(self, source: bytes, memory: bytearray) -> list[tuple[int, int, str]]:
        """Put into memory what arrives; (entry, length, opcode) of each completion.

        A first packet begins a message, and any other that does not follow the one before ends it.
        """
        found: list[tuple[int, int, str]] = []
        following = -1
        for psn in self.arrived:
            number, first = self.packets[psn]
            if first and psn != following:
                following = -1
                continue
            following = psn + 1
            opcode, size = self.messages[number]
            entry = len(found)
            there = 8192 * number if opcode in WRITES else RECEIVED + 8192 * entry + self.front
            data = source[8192 * number :][:size][first : first + 1024]
            memory[there + first : there + first + len(data)] = data
            if first + 1024 >= size and opcode is not WRITE:
                name = "RECV_RDMA_WITH_IMM" if opcode in WRITES else "RECV"
                found.append((entry, size + self.front, name))
        return found


MOVES = st.lists(
    st.tuples(
        st.sampled_from([WRITE, WRITE_IMM, SEND, READ]),
        st.one_of(st.integers(0, 150), st.integers(0, 9000)),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.parametrize(
    "on",
    [machine(), SELECTIVE, OVERLAPPING, iwarp.machine()],
    ids=["go back", "repeat", "overlap", "iWARP"],
)
@settings(max_examples=40)
@given(
    operations=MOVES,
    fates=st.tuples(LISTS, LISTS) | st.just(({}, {})),
    pieces=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    inline=st.booleans(),
    step_ps=st.integers(1_000, 150_000),
)
def test_who_looks_sees_what_dma_has_written_and_completions_behind_it(
    on: Machine,
    operations: list[tuple[Any, int, int]],
    fates: tuple[dict[int, Fate], dict[int, Fate]],
    pieces: tuple[int, int],
    inline: bool,
    step_ps: int,
) -> None:
    if on.groups[0].adapter.protocol is not machine().groups[0].adapter.protocol:
        operations = [(WRITE if op is WRITE_IMM else op, *rest) for op, *rest in operations]
    Exchange(operations, fates, on=on, pieces=pieces, inline=inline, step_ps=step_ps, timeout=4)


@settings(max_examples=50)
@given(
    kind=st.sampled_from([QPType.UC, QPType.UD]),
    messages=st.lists(
        st.tuples(
            st.sampled_from([SEND, WRITE, WRITE_IMM]),
            st.sampled_from([0, 8, 1024, 1025, 3000, 5000]),
        ),
        min_size=2,
        max_size=10,
    ),
    fates=st.dictionaries(st.integers(1, 20), st.sampled_from(Fate), min_size=1, max_size=6),
)
@example(kind=QPType.UC, messages=[(SEND, 5000)] * 2, fates={2: Fate.DUPLICATE})
@example(kind=QPType.UC, messages=[(SEND, 5000), (WRITE, 8)], fates={3: Fate.DROP})
def test_what_nobody_acknowledges_loses_what_is_lost_and_no_more(
    kind: QPType, messages: list[tuple[Any, int]], fates: dict[int, Fate]
) -> None:
    rig = Rig(size=RECEIVED << 1, data=True)
    a, b = rig.peers
    more: dict[str, Any] = {}
    if kind is QPType.UD:
        messages = [(SEND, size % 1025) for _, size in messages]
        qp, remote = (QP(peer.pd, peer.cq, peer.cq, qp_type=kind) for peer in rig.peers)
        qp.activate()
        remote.activate()
        more = {"dlid": remote.lid, "remote_qpn": remote.qp_num}
    else:
        qp, remote = rig.connect(a, b, qp_type=kind)
    a.mr.write(Random(1).randbytes(RECEIVED << 1))
    model = Unacknowledged(messages, 40 if kind is QPType.UD else 0)
    lose(a.adapter.ports[0].transmitter, ListedLosses(fates))
    rig.sim.listeners.append(model.note)
    receives = [b.receive(5040, wr_id=n, offset=RECEIVED + 8192 * n) for n in range(20)]
    requests = [
        a.request(op, b, size, offset=8192 * n, wr_id=n, imm_data=7, **more)
        for n, (op, size) in enumerate(messages)
    ]
    rig.run(b.post_receives(remote, *receives))
    sent = rig.exchange(qp, a, *requests)
    assert [(c.wr_id, c.status.name) for c in sent] == [
        (n, "SUCCESS") for n in range(len(messages))
    ]
    times = {None: 1, Fate.MARK: 1, Fate.DUPLICATE: 2}
    here = [[psn] * times.get(fates.get(psn + 1), 0) for psn in range(len(model.packets))]
    assert sorted(model.arrived) == [psn for one in here for psn in one]
    memory = bytearray(b.mr.length)
    expected = model.taken(a.mr.read(a.mr.length, 0), memory)
    # Entries of messages that were lost are there for those behind them.
    assert [(c.wr_id, c.byte_len, c.opcode.name) for c in b.cq.queue.entries] == expected
    assert b.mr.read(b.mr.length, 0) == memory
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
