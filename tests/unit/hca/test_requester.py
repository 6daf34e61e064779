"""How the requester cuts, orders and limits its work, and when it asks for acknowledgements."""

from collections import deque

import pytest

from hcasim.fabric import Opcode
from tests.rig import (
    CMP_SWAP,
    FETCH_ADD,
    READ,
    SEND,
    WRITE,
    Program,
    Rig,
    ids,
    machine,
    statuses,
    succeeded,
)


class Tap:
    """Notes every packet that an adapter hands to its link."""

    def __init__(self, rig: Rig, node: int, port: int = 0) -> None:
        self.packets: deque = deque()
        transmitter = rig.cluster.nodes[node].adapter.ports[port].transmitter
        send = transmitter.send

        def tapped(source: int, packet: object, *rest: object) -> None:
            self.packets.append(packet)
            send(source, packet, *rest)

        transmitter.send = tapped

    def of(self, opcode: Opcode) -> list:
        return [packet for packet in self.packets if packet.opcode is opcode]


@pytest.mark.parametrize(
    ("count", "asked"),
    [
        (1, [0]),
        (31, [30]),
        (32, [31]),
        (33, [31, 32]),
        (64, [31, 63]),
        (100, [31, 63, 95, 99]),
    ],
)
def test_every_32nd_packet_and_the_last_ask_for_an_acknowledgement(
    count: int, asked: list[int]
) -> None:
    rig = Rig()
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    out, back = Tap(rig, 0), Tap(rig, 1)
    assert succeeded(rig.exchange(qp, a, a.request(WRITE, b, count * 1024)))
    assert [p.psn for p in out.packets if p.ack_request] == asked
    assert [p.psn for p in back.of(Opcode.ACKNOWLEDGE)] == asked


def test_the_acknowledgement_interval_is_the_adapters() -> None:
    rig = Rig(machine({"adapter.ack.interval": "5"}))
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    rig.exchange(qp, a, a.request(WRITE, b, 12 * 1024), a.request(WRITE, b, 7 * 1024))
    assert rig.counter("acknowledgements") == 3 + 2


def test_the_count_to_32_begins_again_after_each_message() -> None:
    rig = Rig()
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    rig.exchange(qp, a, *[a.request(WRITE, b, 20 * 1024)] * 3)
    assert rig.counter("acknowledgements") == 3


def outstanding(rig: Rig, requests: list) -> int:
    """The most reads and atomics that were under way at once on a queue pair."""
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    highest, under_way = 0, 0
    requester = a.adapter.requester
    engine = requester.send_engine
    segment, placed = engine._segment, requester._placed

    def sent(pair: object, entry: object) -> object:
        nonlocal highest, under_way
        under_way += entry.awaits_response
        highest = max(highest, under_way)
        return segment(pair, entry)

    def finished(port: object, pair: object, entry: object) -> None:
        nonlocal under_way
        under_way -= entry.received + 1 == entry.packets
        placed(port, pair, entry)

    engine._segment, requester._placed = sent, finished
    assert succeeded(rig.exchange(qp, a, *requests))
    assert under_way == 0
    return highest


@pytest.mark.parametrize("opcode", [READ, FETCH_ADD, CMP_SWAP])
def test_four_reads_or_atomics_are_outstanding_at_once(opcode: object) -> None:
    rig = Rig()
    a, b = rig.peers
    assert outstanding(rig, [a.request(opcode, b)] * 12) == 4


@pytest.mark.parametrize(("requester", "responder", "most"), [(2, 4, 2), (4, 1, 1), (8, 6, 6)])
def test_the_limit_of_outstanding_reads_is_the_smaller_of_both_ends(
    requester: int, responder: int, most: int
) -> None:
    limits = {
        "adapter.requester.outstanding": str(requester),
        "adapter.responder.outstanding": str(responder),
    }
    rig = Rig(machine(limits))
    a, b = rig.peers
    assert outstanding(rig, [a.request(READ, b)] * 12) == most


def test_the_limit_of_outstanding_reads_holds_among_writes() -> None:
    rig = Rig()
    a, b = rig.peers
    mixed = [a.request(WRITE if i % 3 else READ, b, 5000) for i in range(30)]
    assert outstanding(rig, mixed) <= 4


def test_a_fifth_read_holds_up_the_writes_behind_it() -> None:
    rig = Rig()
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    out = Tap(rig, 0)
    rig.exchange(qp, a, *[a.request(READ, b)] * 5, a.request(WRITE, b))
    order = [p.opcode for p in out.packets]
    assert order == [Opcode.RDMA_READ_REQUEST] * 5 + [Opcode.RDMA_WRITE]
    back = rig.cluster.nodes[1].adapter.ports[0].transmitter.packets
    assert back == 6


def test_completions_come_in_order_when_reads_and_writes_mix() -> None:
    rig = Rig()
    a, b = rig.peers
    qp, remote = rig.connect(a, b)
    opcodes = [READ, WRITE, FETCH_ADD, WRITE, READ, READ, SEND, CMP_SWAP, WRITE, READ] * 3
    lengths = [70000, 8, 8, 9000, 8, 30000, 8, 8, 60000, 1] * 3
    rig.run(b.post_receives(remote, *[b.receive(64)] * 3))
    requests = [
        a.request(opcode, b, length, wr_id=i)
        for i, (opcode, length) in enumerate(zip(opcodes, lengths, strict=True))
    ]
    found = rig.exchange(qp, a, *requests)
    assert ids(found) == list(range(30))
    assert statuses(found) == ["SUCCESS"] * 30
    times = [c.timestamp_ps for c in found]
    assert times == sorted(times)


def test_queue_pairs_of_a_port_take_turns_packet_by_packet() -> None:
    rig = Rig()
    a, b = rig.peers
    pairs = [rig.connect(a, b)[0] for _ in range(3)]
    out = Tap(rig, 0)

    def program() -> Program:
        for qp in pairs:
            yield from a.post(qp, a.request(WRITE, b, 64 * 1024))
        return (yield from a.collect(3))

    rig.run(program())
    order = [p.qpn for p in out.packets][60:120]
    assert [order.count(qp.qp_num) for qp in pairs] == [20, 20, 20]
    assert all(len(set(order[i : i + 3])) == 3 for i in range(0, 60, 3))


def test_a_message_on_one_port_does_not_wait_for_the_other_port() -> None:
    def finish(ports: list[int]) -> float:
        rig = Rig()
        a, b = rig.peers
        pairs = [rig.connect(a, b, ports=(port, port))[0] for port in ports]

        def program() -> Program:
            for qp in pairs:
                yield from a.post(qp, a.request(WRITE, b, 256 * 1024))
            return (yield from a.collect(2))

        rig.run(program())
        return rig.sim.now

    assert finish([1, 2]) < 0.75 * finish([1, 1])


def test_a_request_is_fetched_in_units_of_the_stride() -> None:
    def fetched(length: int, inline: bool) -> int:
        rig = Rig()
        a, b = rig.peers
        qp, _ = rig.connect(a, b, max_inline_data=128)
        rig.exchange(qp, a, a.request(WRITE, b, length, inline=inline))
        return rig.counter("bus_read_bytes") - (0 if inline else length)

    assert fetched(128, inline=False) == 64
    # Next 8, control 8, remote address 16, inline header 4.
    assert fetched(28, inline=True) == 64
    assert fetched(29, inline=True) == 128
    assert fetched(92, inline=True) == 128
    assert fetched(93, inline=True) == 192


def test_each_stage_of_a_write_shows_in_the_latency() -> None:
    def visible(**change: str) -> int:
        rig = Rig(machine({key.replace("__", "."): value for key, value in change.items()}))
        a, b = rig.peers
        qp, _ = rig.connect(a, b)
        watch = b.mr.watch(b.mr.addr)
        seen = rig.sim.process(watch.poll(1))
        rig.sim.process(a.post(qp, a.request(WRITE, b)))
        rig.sim.run(until=seen)
        return int(rig.sim.now)

    base = visible()
    for path in (
        "adapter__doorbell__latency",
        "adapter__send__wqe_service",
        "adapter__send__packet_service",
        "adapter__send__latency",
        "adapter__receive__packet_service",
        "adapter__receive__latency",
        "host__chipset__mmio_latency",
        "host__memory__write_latency",
        "adapter__sqpc__miss_latency",
        "adapter__rqpc__miss_latency",
        "stack__post_send",
        "stack__poll_memory",
        "switch__latency",
    ):
        assert visible(**{path: "3 us"}) - visible(**{path: "2 us"}) == 10**6, path
    for path in ("adapter__completion__latency", "adapter__ack__latency", "stack__poll_cq"):
        assert visible(**{path: "3 us"}) == base, path
    for path in ("host__memory__read_latency", "adapter__mpt__miss_latency"):
        # Both the request and its data are read; both ends translate.
        assert visible(**{path: "3 us"}) - visible(**{path: "2 us"}) == 2 * 10**6, path
