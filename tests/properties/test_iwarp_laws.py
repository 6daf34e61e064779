"""Laws of iWARP: what the RFCs give is what the link carries, and all arrives once and in order."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcasim.catalog import Machine
from hcasim.fabric import Opcode
from hcasim.fabric.wire import IwarpFormat, fpdu_size, most_markers, mulpdu, wire_format
from hcasim.verbs.requests import WIRE
from tests import iwarp
from tests.measured import measured
from tests.mixes import LENGTH, MTU, Mix, Operation, Run, over_iwarp
from tests.rig import READ, Rig, run
from tests.twin import small_write

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
    for markers in (False, True):
        # RFC 5044 gives one more marker its room before there is room for it and a word of data.
        if markers and 0 < more < 4:
            continue
        wire = IwarpFormat(markers, timestamps)
        few, many = (len(pieces(wire, size, opcode, length)) for size in (mtu + more, mtu))
        assert few <= many


def opcode_of(op: Operation) -> Opcode:
    """What carries its data."""
    return Opcode.RDMA_READ_RESPONSE if op.opcode is READ else WIRE[op.opcode]


@given(mix=over_iwarp())
def test_the_link_carries_what_the_rfcs_give_and_no_more(mix: Mix) -> None:
    run = Run(mix)
    wire, mtu = wire_format(mix.on.adapter.protocol), mix.on.mtu
    request = wire.size(Opcode.RDMA_READ_REQUEST, 0) + 20
    acknowledgement = wire.size(Opcode.ACKNOWLEDGE, 0) + 20
    for side, peer in enumerate(run.rig.peers):
        frames = size = data = 0
        for op in mix.operations:
            if op.opcode is READ and op.sender == side:
                frames, size = frames + 1, size + request
            if (op.sender == side) != (op.opcode is READ):
                frames += len(pieces(wire, mtu, opcode_of(op), op.size))
                size += weight(wire, mtu, opcode_of(op), op.size)
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
    expected = [pieces(wire, mtu, opcode_of(op), op.size) for op in mix.operations]
    assert run.rig.counter("acknowledgements") == sum(-(-len(one) // 2) for one in expected)


MACHINES = st.fixed_dictionaries(
    {
        "gigabits": st.sampled_from([1, 10, 25, 40, 100]),
        "metres": st.sampled_from([0, 5, 33]),
        "markers": st.booleans(),
        "timestamps": st.booleans(),
        "switch": st.booleans(),
        "adapter": st.sampled_from(["mt25208", "mt23108"]),
    }
)


@given(size=st.integers(1, 400), options=MACHINES)
def test_a_small_write_takes_exactly_the_time_of_the_closed_form(
    size: int, options: dict[str, Any]
) -> None:
    on = iwarp.machine(**options)
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
