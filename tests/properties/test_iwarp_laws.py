"""Laws of iWARP: what the RFCs give is what the link carries, and all arrives once and in order."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcasim.catalog import Machine
from hcasim.engine import EventLog
from hcasim.fabric import Opcode
from hcasim.fabric.iwarp import IwarpFormat, fpdu_size, most_markers, mulpdu
from hcasim.verbs import WCStatus, WROpcode
from tests import iwarp
from tests.measured import measured
from tests.rig import READ, SEND, WRITE, Program, Rig, check_that_nothing_is_lent, run
from tests.twin import small_write

SLOT = 1 << 17
MTU = st.one_of(st.sampled_from([576, 577, 1499, 1500, 1501, 9000]), st.integers(576, 9216))
LENGTH = st.one_of(
    st.integers(0, 300), st.sampled_from([1427, 1440, 1441, 8940]), st.integers(0, 60_000)
)
DATA = st.sampled_from([Opcode.SEND, Opcode.RDMA_WRITE, Opcode.RDMA_READ_RESPONSE])
TEN_GIGABITS = 1250


def pieces(wire: IwarpFormat, mtu: int, opcode: Opcode, length: int) -> list[int]:
    """Data of each frame of a message."""
    full = wire.payload(mtu, opcode)
    return [min(full, length - place) for place in range(0, length, full)] or [0]


def weight(wire: IwarpFormat, mtu: int, opcode: Opcode, length: int) -> int:
    """Bytes that a message occupies the link."""
    return sum(wire.size(opcode, one) + 20 for one in pieces(wire, mtu, opcode, length))


def markers_in(fpdu: int, phase: int) -> int:
    """Markers in a segment with an FPDU, laid out byte by byte (RFC 5044 section 4.3).

    Args:
        phase: bytes of the stream since the last marker began.
    """
    found, place, left = 0, phase, fpdu
    while left:
        if place % 512 == 0:
            found += 1
            place += 4
        step = min(4, left)
        place += step
        left -= step
    return found


@given(ulpdu=st.integers(14, 9200))
def test_no_place_in_the_stream_has_more_markers_and_one_has_as_many(ulpdu: int) -> None:
    fpdu = fpdu_size(ulpdu)
    counts = [markers_in(fpdu, phase) for phase in range(0, 512, 4)]
    assert max(counts) == most_markers(fpdu)
    assert min(counts) >= most_markers(fpdu) - 1


@given(emss=st.integers(500, 9200), markers=st.booleans())
def test_the_longest_segment_fits_wherever_the_markers_fall(emss: int, markers: bool) -> None:
    fpdu = fpdu_size(mulpdu(emss, markers=markers))
    assert fpdu + (4 * most_markers(fpdu) if markers else 0) <= emss


@given(mtu=MTU, opcode=DATA, length=LENGTH, timestamps=st.booleans())
def test_markers_make_a_message_heavier_or_leave_it_never_lighter(
    mtu: int, opcode: Opcode, length: int, timestamps: bool
) -> None:
    plain, marked = (IwarpFormat(markers, timestamps) for markers in (False, True))
    light, heavy = (weight(wire, mtu, opcode, length) for wire in (plain, marked))
    frames = len(pieces(plain, mtu, opcode, length))
    assert heavy >= light + 4 * frames
    assert len(pieces(marked, mtu, opcode, length)) >= frames


@given(mtu=MTU, more=st.integers(0, 9216), opcode=DATA, length=LENGTH, timestamps=st.booleans())
def test_a_larger_mtu_never_needs_more_frames(
    mtu: int, more: int, opcode: Opcode, length: int, timestamps: bool
) -> None:
    plain, marked = (IwarpFormat(markers, timestamps) for markers in (False, True))
    few, many = (len(pieces(plain, size, opcode, length)) for size in (mtu + more, mtu))
    assert few <= many
    # RFC 5044 gives one more marker its room before there is room for it and a word of data.
    if more == 0 or more >= 4:
        few, many = (len(pieces(marked, size, opcode, length)) for size in (mtu + more, mtu))
        assert few <= many


@dataclass(frozen=True)
class Operation:
    """One request: who posts it on which pair, and what it does."""

    opcode: WROpcode
    size: int
    sender: int
    pair: int


@dataclass(frozen=True)
class Mix:
    """A machine and what happens on it."""

    mtu: int
    markers: bool
    timestamps: bool
    switch: bool
    adapter: str
    changes: tuple[tuple[str, str], ...]
    operations: tuple[Operation, ...]

    @property
    def wire(self) -> IwarpFormat:
        return IwarpFormat(self.markers, self.timestamps)


_CHANGES = st.fixed_dictionaries(
    {
        "adapter.receive.buffer": st.sampled_from(["10 KiB", "64 KiB"]),
        "adapter.send.port_buffer": st.sampled_from(["1 KiB", "32 KiB"]),
        "adapter.receive_queue.latency": st.sampled_from(["0 ns", "3 us"]),
        "adapter.scheduler.queues": st.sampled_from(["1", "16"]),
        "adapter.sqpc.entries": st.sampled_from(["4", "64"]),
    }
)
MIXES = st.builds(
    Mix,
    mtu=MTU,
    markers=st.booleans(),
    timestamps=st.booleans(),
    switch=st.booleans(),
    adapter=st.sampled_from(["mt25208", "mt23108"]),
    changes=_CHANGES.map(lambda found: tuple(found.items())),
    operations=st.lists(
        st.builds(
            Operation,
            opcode=st.sampled_from([WRITE, SEND, READ]),
            size=LENGTH,
            sender=st.integers(0, 1),
            pair=st.integers(0, 1),
        ),
        min_size=1,
        max_size=12,
    ).map(tuple),
)


class Run:
    """A mix, run to its end, and what was seen of it."""

    def __init__(self, mix: Mix) -> None:
        self.mix = mix
        on = iwarp.machine(
            mix.mtu,
            changes=mix.changes,
            adapter=mix.adapter,
            switch=mix.switch,
            markers=mix.markers,
            timestamps=mix.timestamps,
        )
        self.rig = rig = Rig(on)
        self.log = EventLog()
        rig.sim.listeners.append(self.log)
        self.pairs = [rig.connect(*rig.peers) for _ in range(2)]
        self.landed: dict[int, list[int]] = {index: [] for index in range(len(mix.operations))}
        for index, op in enumerate(mix.operations):
            sink = rig.peers[op.sender if op.opcode is READ else 1 - op.sender]
            if op.size:
                self._watch(sink.mr.region, sink.mr.addr + index * SLOT + op.size - 1, index)
            if op.opcode is SEND:
                receive = sink.receive(op.size, wr_id=index, offset=index * SLOT)
                rig.run(sink.post_receives(self.pairs[op.pair][1 - op.sender], receive))
        programs = [self._post(side) for side in (0, 1)]
        programs += [self._collect(side) for side in (0, 1)]
        self.found = rig.run(*programs)[2:]

    def _watch(self, region: Any, address: int, index: int) -> None:
        region.watch(address, lambda: self.landed[index].append(int(self.rig.sim.now)))

    def _post(self, side: int) -> Program:
        me, other = self.rig.peers[side], self.rig.peers[1 - side]
        for index, op in enumerate(self.mix.operations):
            if op.sender == side:
                request = me.request(op.opcode, other, op.size, offset=index * SLOT, wr_id=index)
                yield from me.post(self.pairs[op.pair][side], request)

    def _collect(self, side: int) -> Program:
        due = sum(op.sender == side or op.opcode is SEND for op in self.mix.operations)
        return (yield from self.rig.peers[side].collect(due))


@given(mix=MIXES)
def test_every_request_completes_once_in_order_and_after_its_data(mix: Mix) -> None:
    run = Run(mix)
    numbered = list(enumerate(mix.operations))
    for side, found in enumerate(run.found):
        assert all(completion.status is WCStatus.SUCCESS for completion in found)
        for pair in range(2):
            own = [c for c in found if c.qpn == run.pairs[pair][side].qp_num]
            mine = [(index, op) for index, op in numbered if op.pair == pair]
            assert [c.wr_id for c in own if not c.is_receive] == [
                index for index, op in mine if op.sender == side
            ]
            assert [(c.wr_id, c.byte_len) for c in own if c.is_receive] == [
                (index, op.size) for index, op in mine if op.sender != side and op.opcode is SEND
            ]
        for completion in found:
            op = mix.operations[completion.wr_id]
            if op.size and (completion.is_receive or op.opcode is READ):
                (landed,) = run.landed[completion.wr_id]
                assert landed <= completion.timestamp_ps
    for index, op in numbered:
        assert len(run.landed[index]) == (op.size > 0)


@given(mix=MIXES)
def test_the_link_carries_what_the_rfcs_give_and_no_more(mix: Mix) -> None:
    run = Run(mix)
    wire = mix.wire
    request = wire.size(Opcode.RDMA_READ_REQUEST, 0) + 20
    acknowledgement = wire.size(Opcode.ACKNOWLEDGE, 0) + 20
    for side, peer in enumerate(run.rig.peers):
        frames = size = data = 0
        for op in mix.operations:
            if op.opcode is READ and op.sender == side:
                frames, size = frames + 1, size + request
            if (op.sender == side) != (op.opcode is READ):
                opcode = Opcode.RDMA_READ_RESPONSE if op.opcode is READ else op.opcode.value
                frames += len(pieces(wire, mix.mtu, opcode, op.size))
                size += weight(wire, mix.mtu, opcode, op.size)
                data += op.size
        adapter = peer.adapter
        acknowledged = adapter.counters()["acknowledgements"]
        way = adapter.ports[0].transmitter
        assert way.packets == frames + acknowledged
        assert way.wire_bytes == size + acknowledged * acknowledgement
        assert way.payload_bytes == data == adapter.dma.gathered
        assert way.flow_control_packets == 0
        assert adapter.ports[1].transmitter.packets == 0
    for here, there in (run.rig.peers, run.rig.peers[::-1]):
        assert here.adapter.ports[0].packets_received == there.adapter.ports[0].transmitter.packets
        assert here.adapter.dma.scattered == there.adapter.dma.gathered
    assert run.rig.counter("retransmissions") == run.rig.counter("naks") == 0
    # The last segment of each message at least, and otherwise one of two.
    expected = [
        pieces(
            wire,
            mix.mtu,
            Opcode.RDMA_READ_RESPONSE if op.opcode is READ else op.opcode.value,
            op.size,
        )
        for op in mix.operations
    ]
    assert run.rig.counter("acknowledgements") == sum(-(-len(one) // 2) for one in expected)


@given(mix=MIXES)
def test_everything_that_was_lent_is_given_back(mix: Mix) -> None:
    run = Run(mix)
    check_that_nothing_is_lent(run.rig, [end for pair in run.pairs for end in pair])


@settings(max_examples=20)
@given(mix=MIXES)
def test_the_same_run_leaves_the_same_events(mix: Mix) -> None:
    first, second = Run(mix), Run(mix)
    assert first.log.events == second.log.events
    assert first.rig.cluster.counters() == second.rig.cluster.counters()


@given(
    size=st.integers(1, 400),
    gigabits=st.sampled_from([1, 10, 25, 40, 100]),
    metres=st.sampled_from([0, 5, 33]),
    markers=st.booleans(),
    timestamps=st.booleans(),
    switch=st.booleans(),
    adapter=st.sampled_from(["mt25208", "mt23108"]),
)
def test_a_small_write_takes_exactly_the_time_of_the_closed_form(
    size: int,
    gigabits: int,
    metres: int,
    markers: bool,
    timestamps: bool,
    switch: bool,
    adapter: str,
) -> None:
    on = iwarp.machine(
        gigabits=gigabits,
        metres=metres,
        markers=markers,
        timestamps=timestamps,
        switch=switch,
        adapter=adapter,
    )
    assert measured(Rig(on), size) == small_write(on, size)


def bandwidth(machine: Machine, workload: str, size: int) -> float:
    found: float = run(workload, machine, size=size, iters=10, warmup=2).row["bandwidth_MBps"]
    return found


def fast(mtu: int, *, markers: bool, timestamps: bool = False, switch: bool = True) -> Machine:
    """A machine that only its link slows down."""
    changes = {
        "adapter.bus.read_tags": "32",
        "adapter.send.port_buffer": "64 KiB",
        "adapter.receive.buffer": "64 KiB",
    } | ({"switch.buffer": "64 KiB"} if switch else {})
    return iwarp.machine(
        mtu,
        changes=tuple(changes.items()),
        markers=markers,
        timestamps=timestamps,
        switch=switch,
    )


@pytest.mark.check
@settings(max_examples=12)
@given(
    mtu=st.one_of(st.sampled_from([1500, 9000]), st.integers(576, 9216)),
    markers=st.booleans(),
    timestamps=st.booleans(),
    switch=st.booleans(),
    workload=st.sampled_from(["window_bw", "window_bw send", "window_bw read"]),
    size=st.sampled_from([4096, 30_000, 65_536]),
)
def test_bandwidth_is_never_above_the_share_of_data_on_the_link(
    mtu: int, markers: bool, timestamps: bool, switch: bool, workload: str, size: int
) -> None:
    wire = IwarpFormat(markers, timestamps)
    opcode = Opcode.SEND if workload.endswith("send") else Opcode.RDMA_WRITE
    most = TEN_GIGABITS * size / weight(wire, mtu, opcode, size)
    machine = fast(mtu, markers=markers, timestamps=timestamps, switch=switch)
    assert bandwidth(machine, workload, size) <= most * (1 + 1e-6)


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("mtu", [1500, 9000])
def test_a_machine_that_only_its_link_slows_down_reaches_that_share(
    mtu: int, markers: bool
) -> None:
    size = 1 << 20
    wire = IwarpFormat(markers, timestamps=False)
    most = TEN_GIGABITS * size / weight(wire, mtu, Opcode.RDMA_WRITE, size)
    found = bandwidth(fast(mtu, markers=markers), "window_bw", size)
    assert 0.995 * most < found <= most * (1 + 1e-6)
