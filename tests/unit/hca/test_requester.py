"""How the requester cuts, orders and limits its work, and what its packets and answers say."""

from collections import deque

import pytest

from hcasim.fabric import Opcode
from hcasim.fabric.link import Receiver
from hcasim.fabric.packet import Aeth, AtomicEth, Packet, Reth, Syndrome
from hcasim.verbs import WROpcode
from tests.rig import (
    CMP_SWAP,
    FETCH_ADD,
    READ,
    SEND,
    WRITE,
    Rig,
    extended,
    joined,
    machine,
    run,
    succeeded,
)

ASKING = {Opcode.RDMA_READ_REQUEST, Opcode.FETCH_ADD, Opcode.COMPARE_SWAP}
ANSWERING = {Opcode.RDMA_READ_RESPONSE, Opcode.ATOMIC_ACKNOWLEDGE}


class Tap(Receiver):
    """Stands at the far end of an adapter's link and notes every packet on the way to it."""

    def __init__(self, rig: Rig, node: int, port: int = 0) -> None:
        self.packets: deque = deque()
        transmitter = rig.cluster.nodes[node].adapter.ports[port].transmitter
        self._receiver = transmitter.receiver
        transmitter.receiver = self

    def receive(self, packet: Packet, head_at: int, tail_at: int) -> None:
        self.packets.append(packet)
        self._receiver.receive(packet, head_at, tail_at)

    def of(self, opcode: Opcode) -> list:
        return [packet for packet in self.packets if packet.opcode is opcode]


@pytest.mark.pure
@pytest.mark.parametrize(
    ("interval", "messages", "asked"),
    [
        (32, [1], [0]),
        (32, [31], [30]),
        (32, [32], [31]),
        (32, [33], [31, 32]),
        (32, [100], [31, 63, 95, 99]),
        # The count begins again after each message.
        (32, [20, 20, 20], [19, 39, 59]),
        (5, [12, 7], [4, 9, 11, 16, 18]),
    ],
)
def test_every_32nd_packet_and_the_last_ask_for_an_acknowledgement(
    interval: int, messages: list[int], asked: list[int]
) -> None:
    rig, a, b, qp, _ = joined(machine({"adapter.ack.interval": str(interval)}))
    out, back = Tap(rig, 0), Tap(rig, 1)
    requests = [a.request(WRITE, b, count * 1024) for count in messages]
    assert succeeded(rig.exchange(qp, a, *requests))
    assert [p.psn for p in out.packets if p.ack_request] == asked
    assert [p.psn for p in back.of(Opcode.ACKNOWLEDGE)] == asked


def outstanding(rig: Rig, requests: list) -> int:
    """The most reads and atomics whose answers had not left the other end completely."""
    a, _, qp, _ = rig.joined()
    packets: deque = deque()
    for node in (0, 1):
        Tap(rig, node).packets = packets
    assert succeeded(rig.exchange(qp, a, *requests))
    under_way = highest = 0
    for packet in packets:
        if packet.opcode in ASKING:
            under_way += 1
        elif packet.opcode in ANSWERING and packet.last:
            under_way -= 1
        highest = max(highest, under_way)
    assert under_way == 0
    return highest


@pytest.mark.pure
@pytest.mark.parametrize(
    ("requester", "responder", "opcodes", "most"),
    [
        *((4, 4, [opcode], 4) for opcode in (READ, FETCH_ADD, CMP_SWAP)),
        (4, 4, [READ, READ, READ, READ, WRITE], 4),
        (2, 4, [READ], 2),
        (4, 1, [READ], 1),
        (8, 6, [READ], 6),
    ],
)
def test_the_limit_of_outstanding_reads_is_the_smaller_of_both_ends(
    requester: int, responder: int, opcodes: list[WROpcode], most: int
) -> None:
    limits = {
        "adapter.requester.outstanding": str(requester),
        "adapter.responder.outstanding": str(responder),
    }
    rig = Rig(machine(limits))
    a, b = rig.peers
    assert outstanding(rig, [a.request(opcode, b) for opcode in opcodes * 12]) == most


def test_a_message_on_one_port_does_not_wait_for_the_other_port() -> None:
    def finish(ports: list[int]) -> float:
        rig = Rig()
        a, b = rig.peers
        pairs = [rig.connect(a, b, ports=(port, port))[0] for port in ports]

        rig.run(*(a.send(qp, a.request(WRITE, b, 256 * 1024)) for qp in pairs))
        return rig.sim.now

    assert finish([1, 2]) < 0.75 * finish([1, 1])


def test_a_request_is_fetched_in_units_of_the_stride() -> None:
    def fetched(length: int, inline: bool) -> int:
        rig, a, b, qp, _ = joined(max_inline_data=128)
        rig.exchange(qp, a, a.request(WRITE, b, length, inline=inline))
        return rig.counter("bus_read_bytes") - (0 if inline else length)

    assert fetched(128, inline=False) == 64
    # Next 8, control 8, remote address 16, inline header 4.
    assert fetched(28, inline=True) == 64
    assert fetched(29, inline=True) == 128
    assert fetched(92, inline=True) == 128
    assert fetched(93, inline=True) == 192


def visible(change: dict[str, str]) -> int:
    """Time in ps at which the data of a first write is seen, with all caches empty."""
    rig, a, b, qp, _ = joined(machine(change))
    watch = b.mr.watch(b.mr.addr)
    seen = rig.sim.process(watch.poll(1))
    rig.sim.process(a.post(qp, a.request(WRITE, b)))
    rig.sim.run(until=seen)
    return int(rig.sim.now)


def test_the_way_in_takes_as_long_as_the_way_out_if_nothing_else_is_said() -> None:
    def latency(**receive: int | None) -> float:
        parts = {"send": {"latency": 700_000}, "receive": receive}
        result = run("write_lat", extended(machine(), adapter=parts), size=1, iters=2)
        return float(result.row["latency_us"])

    assert latency(latency=None) == latency(latency=700_000)
    assert latency(latency=None) - latency(latency=600_000) == pytest.approx(0.1, rel=1e-6)


@pytest.mark.parametrize(
    ("path", "times"),
    [
        ("adapter.doorbell.latency", 1),
        ("adapter.send.wqe_service", 1),
        ("adapter.send.packet_service", 1),
        ("adapter.send.latency", 1),
        ("adapter.receive.packet_service", 1),
        ("adapter.receive.latency", 1),
        ("host.chipset.mmio_latency", 1),
        ("host.memory.write_latency", 1),
        ("stack.post_send", 1),
        ("stack.poll_memory", 1),
        ("switch.latency", 1),
        ("adapter.completion.latency", 0),
        ("adapter.ack.latency", 0),
        ("stack.poll_cq", 0),
        # Both the request and its data are read.
        ("host.memory.read_latency", 2),
        # Two contexts, and the translations of the work queue and of both buffers.
        ("adapter.memory.latency", 2 + 3 * 2),
        ("adapter.icm.latency", 2 + 3 * 2),
    ],
)
def test_each_stage_of_a_write_shows_in_the_latency(path: str, times: int) -> None:
    assert visible({path: "3 us"}) - visible({path: "2 us"}) == times * 10**6


@pytest.mark.parametrize(
    ("table", "misses"), [("sqpc", 1), ("rqpc", 1), ("cqc", 0), ("mpt", 3), ("mtt", 3)]
)
def test_a_write_waits_for_each_table_where_that_table_is(table: str, misses: int) -> None:
    caches = ("sqpc", "rqpc", "cqc", "mpt", "mtt")
    alone = {f"adapter.{name}.location": "adapter" if name == table else "host" for name in caches}

    def longer(path: str) -> int:
        return visible(alone | {path: "3 us"}) - visible(alone | {path: "2 us"})

    assert longer("adapter.memory.latency") == misses * 10**6
    # All 8 look-ups of tables miss, and the request and its data come from the host as well.
    assert longer("host.memory.read_latency") == (8 - misses + 2) * 10**6


def seen(opcode: object, length: int, **more: object) -> tuple[Rig, list[Packet], list[Packet]]:
    """One request: what the requester sends, and what the responder does."""
    rig, a, b, qp, remote = joined()
    if opcode is SEND:
        rig.run(b.post_receives(remote, b.receive(length)))
    out, back = Tap(rig, 0), Tap(rig, 1)
    assert succeeded(rig.exchange(qp, a, a.request(opcode, b, length, **more)))
    return rig, list(out.packets), list(back.packets)


@pytest.mark.pure
@pytest.mark.parametrize(
    ("opcode", "there", "back"),
    [
        (SEND, [26, 26, 26], [30]),
        # Only the first packet of a write says where the message goes.
        (WRITE, [42, 26, 26], [30]),
        # The first and the last packet of a read response carry an AETH.
        (READ, [42], [30, 26, 30]),
    ],
)
def test_extended_headers_come_on_the_packets_that_need_them(
    opcode: object, there: list[int], back: list[int]
) -> None:
    _, out, answers = seen(opcode, 2560)
    assert [packet.size - packet.payload for packet in out] == there
    assert [packet.size - packet.payload for packet in answers] == back


@pytest.mark.pure
@pytest.mark.parametrize("opcode", [WRITE, READ])
def test_a_reth_says_where_in_remote_memory(opcode: object) -> None:
    rig, (first, *rest), _ = seen(opcode, 2560, remote_offset=4096)
    b = rig.peers[1]
    (reth,) = first.headers
    assert isinstance(reth, Reth)
    found = reth.address, reth.rkey, reth.length
    assert found == (b.mr.addr + 4096, b.mr.rkey, 2560)
    assert [packet.headers for packet in rest] == [()] * len(rest)


@pytest.mark.pure
@pytest.mark.parametrize(("opcode", "swap_add", "compare"), [(FETCH_ADD, 5, 0), (CMP_SWAP, 9, 5)])
def test_an_atomic_eth_carries_the_operands(opcode: object, swap_add: int, compare: int) -> None:
    _, (request,), (answer,) = seen(opcode, 8, compare_add=5, swap=9)
    (operands,), (aeth,) = request.headers, answer.headers
    assert isinstance(operands, AtomicEth)
    assert (operands.swap_add, operands.compare) == (swap_add, compare)
    assert isinstance(aeth, Aeth)
    assert aeth.original == 0


@pytest.mark.pure
def test_a_response_takes_the_sequence_numbers_that_its_request_has_reserved() -> None:
    rig, a, b, qp, _ = joined()
    out, back = Tap(rig, 0), Tap(rig, 1)
    reads = [a.request(READ, b, 3000), a.request(READ, b, 1000), a.request(WRITE, b, 8)]
    assert succeeded(rig.exchange(qp, a, *reads))
    assert [packet.psn for packet in out.packets] == [0, 3, 4]
    assert [packet.psn for packet in back.of(Opcode.RDMA_READ_RESPONSE)] == [0, 1, 2, 3]
    assert [packet.psn for packet in back.of(Opcode.ACKNOWLEDGE)] == [4]


@pytest.mark.pure
def test_a_refusal_says_why_and_how_long_to_wait() -> None:
    rig, a, b, qp, _ = joined(rnr_retry=0, min_rnr_timer_ps=7_000_000)
    back = Tap(rig, 1)
    rig.exchange(qp, a, a.request(SEND, b))
    (nak,) = back.packets
    (aeth,) = nak.headers
    assert (aeth.syndrome, aeth.rnr_timer_ps) == (Syndrome.RNR_NAK, 7_000_000)


@pytest.mark.pure
def test_a_send_that_is_too_long_is_refused_at_the_packet_that_does_not_fit() -> None:
    rig, a, b, qp, remote = joined()
    rig.run(b.post_receives(remote, b.receive(2500)))
    back = Tap(rig, 1)
    rig.exchange(qp, a, a.request(SEND, b, 5000))
    (nak,) = back.packets
    assert (nak.psn, nak.header(Aeth).syndrome) == (2, Syndrome.INVALID_REQUEST)
    assert b.adapter.dma.scattered == 2048
