"""Laws that every mix of operations obeys: nothing is lost, doubled, overtaken or early."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.verbs import WCStatus
from tests.mixes import CACHES, SLOT, Mix, Operation, Run, infiniband, operations, over_iwarp
from tests.rig import FETCH_ADD, READ, SEND, WRITE, Program, Rig, check_that_nothing_is_lent, joined

EVERY = pytest.mark.parametrize("mixes", [infiniband(), over_iwarp()], ids=["InfiniBand", "iWARP"])


@EVERY
@given(data=st.data())
def test_every_request_completes_once_in_order_and_after_its_data(
    mixes: st.SearchStrategy[Mix], data: st.DataObject
) -> None:
    run = Run(data.draw(mixes))
    numbered = list(enumerate(run.operations))
    for side, found in enumerate(run.found):
        assert all(completion.status is WCStatus.SUCCESS for completion in found)
        assert not run.rig.peers[side].cq.queue.entries
        for pair, ends in enumerate(run.pairs):
            own = [c for c in found if c.qpn == ends[side].qp_num]
            mine = [(index, op) for index, op in numbered if op.pair == pair]
            assert [c.wr_id for c in own if not c.is_receive] == [
                index for index, op in mine if op.sender == side and op.signaled
            ]
            assert [(c.wr_id, c.byte_len) for c in own if c.is_receive] == [
                (index, op.size) for index, op in mine if op.sender != side and op.opcode is SEND
            ]
        for completion in found:
            op = run.operations[completion.wr_id]
            if op.size and (completion.is_receive or op.opcode is READ):
                (landed,) = run.landed[completion.wr_id]
                assert landed <= completion.timestamp_ps
        times = [completion.timestamp_ps for completion in found]
        assert times == sorted(times)
    for index, op in numbered:
        assert len(run.landed[index]) == (op.size > 0)


@given(mix=infiniband())
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
            fetches = op.opcode is READ or op.atomic
            gathered += op.size * ((op.sender == side) != fetches)
            scattered += op.size * ((op.sender == side) == fetches)
        assert (node.dma.gathered, node.dma.scattered) == (gathered, scattered)
    assert run.rig.counter("retransmissions") == run.rig.counter("naks") == 0
    adapter = mix.on.adapter
    if adapter.icm.cache is not None or adapter.wqe.cache is not None:
        # What they bring again depends on what they hold.
        return
    fetched, written = (
        sum(run.rig.counter(f"{name}_{kind}_bytes") for name in CACHES)
        for kind in ("fetch", "writeback")
    )
    sends = sum(op.opcode is SEND for op in mix.operations)
    signaled = sum(op.signaled for op in mix.operations)
    data = sum(op.size for op in mix.operations)
    atomics = sum(op.atomic for op in mix.operations)
    entries = 64 * (len(mix.operations) + sends), 32 * (signaled + sends)
    # Each table is in one memory, and nothing else is in that of the adapter.
    in_host = adapter.local_memory_size == 0
    tables, local = ((fetched, written), (0, 0))[:: 1 if in_host else -1]
    for index, kind in enumerate(("read", "write")):
        expected = data + entries[index] + tables[index] + (8 * atomics if index else 0)
        assert run.rig.counter(f"bus_{kind}_bytes") == expected
        assert run.rig.counter(f"local_memory_{kind}_bytes") == local[index]


@EVERY
@given(data=st.data())
def test_everything_that_was_lent_is_given_back(
    mixes: st.SearchStrategy[Mix], data: st.DataObject
) -> None:
    run = Run(data.draw(mixes))
    check_that_nothing_is_lent(run.rig, [end for pair in run.pairs for end in pair])


@EVERY
@given(data=st.data())
def test_the_same_run_leaves_the_same_events(
    mixes: st.SearchStrategy[Mix], data: st.DataObject
) -> None:
    mix = data.draw(mixes)
    first, second = Run(mix), Run(mix)
    assert first.log.events == second.log.events
    assert first.rig.cluster.counters() == second.rig.cluster.counters()
    assert first.rig.cluster.sim.resources.busy_ps() == second.rig.cluster.sim.resources.busy_ps()


@given(
    amounts=st.lists(st.lists(st.integers(0, 1 << 59), max_size=6), min_size=1, max_size=3),
    start=st.integers(0, (1 << 64) - 1),
)
def test_concurrent_additions_add_up(amounts: list[list[int]], start: int) -> None:
    rig = Rig(nodes=1 + len(amounts))
    target, *others = rig.peers
    target.mr.set_word(target.mr.addr, start)
    seen: dict[int, int] = {}

    def program(peer: Any, own: list[int]) -> Program:
        qp, _ = rig.connect(peer, target)
        requests = (
            peer.request(FETCH_ADD, target, offset=8 * n, remote_offset=0, compare_add=1 + amount)
            for n, amount in enumerate(own)
        )
        yield from peer.post(qp, *requests)
        yield from peer.collect(len(own))
        seen.update((peer.mr.word(peer.mr.addr + 8 * n), 1 + one) for n, one in enumerate(own))

    rig.run(*(program(peer, own) for peer, own in zip(others, amounts, strict=True)))
    # Each has seen what the one before it has left, and together they are less than 2^64.
    word = start
    for _ in range(sum(map(len, amounts))):
        word = (word + seen.pop(word)) % (1 << 64)
    assert not seen
    assert target.mr.word(target.mr.addr) == word


@given(
    mix=st.lists(operations(), min_size=1, max_size=10),
    bad=st.integers(0, 9),
    fault=st.sampled_from(["rkey", "lkey"]),
)
def test_a_failure_splits_the_requests_into_done_failed_and_flushed(
    mix: list[Operation], bad: int, fault: str
) -> None:
    rig, a, b, qp, remote = joined(min_rnr_timer_ps=10**6)
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
            more["sg_list"] = (type(a.sge(1))(a.mr.addr, size, 999),)
        requests.append(a.request(opcode, b, size, **more))
    found = rig.exchange(qp, a, *requests)
    assert [c.wr_id for c in found] == list(range(len(mix)))
    names = [c.status for c in found]
    failure = WCStatus.REM_ACCESS_ERR if fault == "rkey" else WCStatus.LOC_PROT_ERR
    assert names[:bad] == [WCStatus.SUCCESS] * bad
    assert names[bad] is failure
    assert names[bad + 1 :] == [WCStatus.WR_FLUSH_ERR] * (len(mix) - bad - 1)
