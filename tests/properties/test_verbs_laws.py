"""Laws that every mix of operations obeys: nothing is lost, doubled, overtaken or early."""

from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog.adapter_tables import IcmCache, WqeCache
from hcasim.engine import EventLog
from hcasim.verbs import Completion, WCStatus, WROpcode
from tests.rig import (
    CMP_SWAP,
    FETCH_ADD,
    READ,
    SEND,
    WRITE,
    Program,
    Rig,
    check_that_nothing_is_lent,
    extended,
    machine,
)

SLOT = 1 << 17
SHARED = IcmCache(size=1024, banks=2, latency=50_000, policy="random")
CACHES = ("sqpc", "rqpc", "cqc", "mpt", "mtt")
SIZES = st.one_of(
    st.integers(0, 300), st.sampled_from([1023, 1024, 1025, 4096]), st.integers(0, 40_000)
)


@dataclass(frozen=True)
class Operation:
    """One request: who posts it on which pair, and what it does."""

    opcode: WROpcode
    size: int
    sender: int
    pair: int
    signaled: bool


@st.composite
def operations(draw: st.DrawFn) -> Operation:
    opcode = draw(st.sampled_from([WRITE, SEND, READ, FETCH_ADD, CMP_SWAP]))
    size = 8 if opcode in (FETCH_ADD, CMP_SWAP) else draw(SIZES)
    return Operation(
        opcode,
        size,
        draw(st.integers(0, 1)),
        draw(st.integers(0, 2)),
        draw(st.sampled_from([True, True, True, False])),
    )


@dataclass(frozen=True)
class Mix:
    """A machine and what happens on it."""

    adapter: str
    mode: str
    mtu: int
    switch: bool
    changes: tuple[tuple[str, str], ...]
    shared: IcmCache | None
    in_flight: WqeCache | None
    operations: tuple[Operation, ...]


@st.composite
def mixes(draw: st.DrawFn) -> Mix:
    changes = {
        "adapter.mtt.entries": draw(st.sampled_from(["1", "4", "512"])),
        "adapter.sqpc.entries": draw(st.sampled_from(["1", "4", "64"])),
        "adapter.receive.buffer": draw(st.sampled_from(["6 KiB", "16 KiB"])),
        "link.credit_update": draw(st.sampled_from(["256 B", "1024 B"])),
        "adapter.send.port_buffer": draw(st.sampled_from(["1 KiB", "8 KiB"])),
        "adapter.receive_queue.latency": draw(st.sampled_from(["0 ns", "3 us"])),
        "adapter.scheduler.queues": draw(st.sampled_from(["1", "16"])),
        "adapter.scheduler.burst": draw(st.sampled_from(["256 B", "2500 B", "16 KiB"])),
        "adapter.icm.outstanding": draw(st.sampled_from(["1", "4"])),
        "adapter.send.prefetch": draw(st.sampled_from(["0", "1", "8"])),
        "adapter.bus.read_tags": draw(st.sampled_from(["1", "8"])),
        "host.root_port.short_read": draw(st.sampled_from(["0 B", "256 B"])),
        "adapter.order": draw(st.sampled_from(["port", "queue_pair"])),
        "adapter.send.units": draw(st.sampled_from(["1", "3"])),
        "adapter.receive.units": draw(st.sampled_from(["1", "3"])),
        "adapter.wqe.fetch": draw(st.sampled_from(["1", "4"])),
        "adapter.wqe.ahead": draw(st.sampled_from(["0", "2"])),
        "adapter.receive_queue.ahead": draw(st.sampled_from(["0", "3"])),
        # All that is needed is missing every time, or hardly ever.
        **{
            f"adapter.{name}.entries": draw(st.sampled_from(["1", "4"]))
            for name in ("rqpc", "cqc", "mpt")
        },
        **{f"adapter.{name}.ways": "1" for name in ("sqpc", "rqpc", "cqc", "mpt", "mtt")},
    }
    mode = draw(st.sampled_from(["tavor", "mem", "memfree"]))
    adapter = draw(st.sampled_from(["mt25208", "mt23108"]))
    if adapter == "mt23108":
        del changes["adapter.bus.read_tags"]
    return Mix(
        adapter,
        mode,
        draw(st.sampled_from([256, 512, 1024, 2048, 4096])),
        draw(st.booleans()),
        tuple(changes.items()),
        draw(st.sampled_from([None, SHARED])),
        draw(st.sampled_from([None, WqeCache(entries=2, policy="fifo")])),
        tuple(draw(st.lists(operations(), min_size=1, max_size=14))),
    )


class Run:
    """A mix, run to its end, and what was seen of it."""

    def __init__(self, mix: Mix) -> None:
        self.mix = mix
        on = machine(
            dict(mix.changes),
            adapter=mix.adapter,
            mtu=mix.mtu,
            switch=mix.switch,
            firmware_mode=mix.mode,
        )
        if mix.shared is not None:
            on = extended(on, adapter={"icm": {"cache": mix.shared}})
        if mix.in_flight is not None:
            on = extended(on, adapter={"wqe": {"cache": mix.in_flight}})
        self.rig = rig = Rig(on)
        self.log = EventLog()
        rig.sim.listeners.append(self.log)
        self.landed: dict[int, list[int]] = {}
        a, b = rig.peers
        ports = [(1, 1), (1, 1), (2, 2)]
        self.pairs = [rig.connect(a, b, ports=on_ports) for on_ports in ports]
        numbered = list(enumerate(mix.operations))
        for side, peer in enumerate(rig.peers):
            for pair in range(3):
                rig.run(
                    peer.post_receives(
                        self.pairs[pair][side],
                        *(
                            peer.receive(op.size, wr_id=index, offset=index * SLOT)
                            for index, op in numbered
                            if op.opcode is SEND and op.pair == pair and op.sender != side
                        ),
                    )
                )
        for index, op in numbered:
            sink = rig.peers[op.sender if op.opcode is READ else 1 - op.sender]
            self.landed[index] = []
            self._watch(sink.mr, sink.mr.addr + index * SLOT + op.size - 1, index)
        programs = [self._post(side) for side in (0, 1)]
        programs += [self._collect(side) for side in (0, 1)]
        *_, left, right = rig.run(*programs)
        self.found: list[list[Completion]] = [left, right]

    def _watch(self, region: Any, address: int, index: int) -> None:
        if self.mix.operations[index].size:
            region.region.watch(address, lambda: self.landed[index].append(int(self.rig.sim.now)))

    def _post(self, side: int) -> Program:
        me, other = self.rig.peers[side], self.rig.peers[1 - side]
        for index, op in enumerate(self.mix.operations):
            if op.sender == side:
                qp = self.pairs[op.pair][side]
                request = me.request(
                    op.opcode,
                    other,
                    op.size,
                    offset=index * SLOT,
                    wr_id=index,
                    signaled=op.signaled,
                    compare_add=1,
                )
                yield from me.post(qp, request)

    def _collect(self, side: int) -> Program:
        expected = [index for index, op in enumerate(self.mix.operations) if self._due(op, side)]
        return (yield from self.rig.peers[side].collect(len(expected)))

    def _due(self, op: Operation, side: int) -> bool:
        return (op.sender == side and op.signaled) or (op.sender != side and op.opcode is SEND)


@given(mix=mixes())
def test_every_request_completes_once_in_order_and_after_its_data(mix: Mix) -> None:
    run = Run(mix)
    for side, found in enumerate(run.found):
        assert all(completion.status is WCStatus.SUCCESS for completion in found)
        assert not run.rig.peers[side].cq.queue.entries
        for pair in range(3):
            number = run.pairs[pair][side].qp_num
            mine = [(index, op) for index, op in enumerate(mix.operations) if op.pair == pair]
            sent = [c.wr_id for c in found if c.qpn == number and not c.is_receive]
            assert sent == [i for i, op in mine if op.sender == side and op.signaled]
            received = [c for c in found if c.qpn == number and c.is_receive]
            assert [c.wr_id for c in received] == [
                i for i, op in mine if op.sender != side and op.opcode is SEND
            ]
            assert [c.byte_len for c in received] == [
                mix.operations[c.wr_id].size for c in received
            ]
        for completion in found:
            op = mix.operations[completion.wr_id]
            if op.size and (completion.is_receive or op.opcode is READ):
                (landed,) = run.landed[completion.wr_id]
                assert landed <= completion.timestamp_ps
        times = [completion.timestamp_ps for completion in found]
        assert times == sorted(times)


@given(mix=mixes())
def test_bytes_that_go_in_come_out(mix: Mix) -> None:
    run = Run(mix)
    nodes = [peer.adapter for peer in run.rig.peers]
    for index in range(2):
        ports = [node.ports[index] for node in nodes]
        for here, there in (ports, ports[::-1]):
            assert here.transmitter.payload_bytes == there.payload_received
            assert here.transmitter.packets == there.packets_received
    for side, node in enumerate(nodes):
        gathered = scattered = 0
        for op in mix.operations:
            atomic = op.opcode in (FETCH_ADD, CMP_SWAP)
            if (op.sender == side) != (op.opcode is READ or atomic):
                gathered += op.size
            if (op.sender == side) == (op.opcode is READ or atomic):
                scattered += op.size
        assert (node.dma.gathered, node.dma.scattered) == (gathered, scattered)
    assert run.rig.counter("retransmissions") == run.rig.counter("naks") == 0
    if mix.shared is not None or mix.in_flight is not None:
        # What they bring again depends on what they hold.
        return
    fetched, written = (
        sum(run.rig.counter(f"{name}_{kind}_bytes") for name in CACHES)
        for kind in ("fetch", "writeback")
    )
    sends = sum(op.opcode is SEND for op in mix.operations)
    signaled = sum(op.signaled for op in mix.operations)
    data = sum(op.size for op in mix.operations)
    atomics = sum(op.opcode in (FETCH_ADD, CMP_SWAP) for op in mix.operations)
    entries = 64 * (len(mix.operations) + sends), 32 * (signaled + sends)
    # Each table is in one memory, and nothing else is in that of the adapter.
    if mix.mode == "memfree":
        tables, local = (fetched, written), (0, 0)
    else:
        tables, local = (0, 0), (fetched, written)
    for index, kind in enumerate(("read", "write")):
        expected = data + entries[index] + tables[index] + (8 * atomics if index else 0)
        assert run.rig.counter(f"bus_{kind}_bytes") == expected
        assert run.rig.counter(f"local_memory_{kind}_bytes") == local[index]
    for times, op in zip(run.landed.values(), mix.operations, strict=True):
        assert len(times) == (op.size > 0)


@given(mix=mixes())
def test_everything_that_was_lent_is_given_back(mix: Mix) -> None:
    run = Run(mix)
    check_that_nothing_is_lent(run.rig, [end for pair in run.pairs for end in pair])


@given(mix=mixes())
def test_the_same_run_leaves_the_same_events(mix: Mix) -> None:
    first, second = Run(mix), Run(mix)
    assert first.log.events == second.log.events
    assert first.rig.cluster.counters() == second.rig.cluster.counters()
    assert first.rig.cluster.sim.resources.busy_ps() == second.rig.cluster.sim.resources.busy_ps()


@given(
    amounts=st.lists(st.lists(st.integers(0, 1 << 63), max_size=6), min_size=1, max_size=3),
    start=st.integers(0, (1 << 64) - 1),
)
def test_concurrent_additions_add_up(amounts: list[list[int]], start: int) -> None:
    rig = Rig(nodes=1 + len(amounts))
    target, *others = rig.peers
    target.mr.set_word(target.mr.addr, start)

    def program(peer: Any, own: list[int]) -> Program:
        qp, _ = rig.connect(peer, target)
        yield from peer.post(
            qp, *(peer.request(FETCH_ADD, target, compare_add=amount) for amount in own)
        )
        yield from peer.collect(len(own))

    rig.run(*(program(peer, own) for peer, own in zip(others, amounts, strict=True)))
    total = start + sum(sum(own) for own in amounts)
    assert target.mr.word(target.mr.addr) == total % (1 << 64)


@given(
    mix=st.lists(operations(), min_size=1, max_size=10),
    bad=st.integers(0, 9),
    fault=st.sampled_from(["rkey", "lkey"]),
)
def test_a_failure_splits_the_requests_into_done_failed_and_flushed(
    mix: list[Operation], bad: int, fault: str
) -> None:
    rig = Rig()
    a, b = rig.peers
    qp, remote = rig.connect(a, b, min_rnr_timer_ps=10**6)
    bad %= len(mix)
    sends = [op for op in mix if op.opcode is SEND]
    rig.run(b.post_receives(remote, *(b.receive(op.size) for op in sends)))
    requests = []
    for index, op in enumerate(mix):
        opcode, size = (WRITE, 64) if index == bad else (op.opcode, op.size)
        more: dict[str, Any] = {"wr_id": index, "offset": index * SLOT}
        if index == bad and fault == "rkey":
            more["rkey"] = 999
        elif index == bad:
            more["sge"] = type(a.sge(1))(a.mr.addr, size, 999)
        requests.append(a.request(opcode, b, size, **more))
    found = rig.exchange(qp, a, *requests)
    assert [c.wr_id for c in found] == list(range(len(mix)))
    names = [c.status for c in found]
    failure = WCStatus.REM_ACCESS_ERR if fault == "rkey" else WCStatus.LOC_PROT_ERR
    assert names[:bad] == [WCStatus.SUCCESS] * bad
    assert names[bad] is failure
    assert names[bad + 1 :] == [WCStatus.WR_FLUSH_ERR] * (len(mix) - bad - 1)
