"""Queue pairs of one schedule queue wait in line, and none waits for ever."""

import pytest

from hcasim.hca import State
from hcasim.verbs import QP
from tests.rig import SEND, WRITE, Peer, Program, Rig, ids, machine, statuses, succeeded
from tests.unit.hca.test_requester import Tap

QUEUES = 16


def same_line(rig: Rig, count: int, **options: int) -> list[tuple[QP, QP]]:
    """Connected pairs whose numbers at both ends belong to one schedule queue."""
    a, b = rig.peers
    found = []
    while len(found) < count:
        pair = rig.connect(a, b, **options)
        if pair[0].qp_num % QUEUES == 1:
            found.append(pair)
    return found


def crowd(rig: Rig, count: int, **options: int) -> list[tuple[QP, QP]]:
    """Likewise, on a machine with one schedule queue."""
    a, b = rig.peers
    return [rig.connect(a, b, **options) for _ in range(count)]


def post_all(rig: Rig, qps: list[QP], *requests: object) -> Program:
    """Each request on every queue pair, back to back."""
    a = rig.peers[0]
    for request in requests:
        for qp in qps:
            yield from a.post(qp, request)


def test_those_in_line_take_turns_message_by_message() -> None:
    rig = Rig()
    a, b = rig.peers
    qps = [qp for qp, _ in same_line(rig, 3)]
    first, *others = qps
    big = a.request(WRITE, b, 8000)

    def program() -> Program:
        yield from a.post(first, *[big] * 6)
        for qp in others:
            yield from a.post(qp, *[a.request(WRITE, b)] * 2)
        return (yield from a.collect(10))

    (found,) = rig.run(program())
    order = [c.qpn for c in found]
    one, two, three = (qp.qp_num for qp in qps)
    # While the first message moves, the others line up behind it.
    assert order == [one, two, three, one, two, three, one, one, one, one]


@pytest.mark.pure
@pytest.mark.parametrize(
    ("burst", "mtu", "packets"),
    [
        ("1 KiB", 1024, 1),
        ("256 B", 1024, 1),
        ("2 KiB", 1024, 2),
        ("1500 B", 1024, 2),
        ("2500 B", 1024, 3),
        ("4 KiB", 256, 16),
    ],
)
def test_a_turn_at_the_port_ends_with_the_burst(burst: str, mtu: int, packets: int) -> None:
    rig = Rig(machine({"adapter.scheduler.burst": burst}, mtu=mtu))
    a, b = rig.peers
    qps = [rig.connect(a, b)[0] for _ in range(2)]
    out = Tap(rig, 0)
    total = 96
    rig.run(post_all(rig, qps, a.request(WRITE, b, total * mtu)), a.collect(2))
    order = [packet.qpn for packet in out.packets]
    assert len(order) == 2 * total
    # Turns from the second on; the first is longer, because nobody else is ready yet.
    runs = []
    for number in order:
        if runs and runs[-1][0] == number:
            runs[-1][1] += 1
        else:
            runs.append([number, 1])
    whole = [length for _, length in runs[1:-2]]
    # A turn ends with the packet that fills the burst, counted from the start of the message.
    size = int(float(burst.split()[0]) * (1024 if "KiB" in burst else 1))
    ends = [n for n in range(1, total + 1) if n * mtu // size > (n - 1) * mtu // size]
    allowed = {later - earlier for earlier, later in zip([0, *ends], ends, strict=False)}
    assert max(allowed) == packets
    assert len(whole) >= 2 * total // packets - 4
    assert set(whole) <= allowed


@pytest.mark.parametrize("count", [17, 300])
@pytest.mark.parametrize("mode", ["mem", "memfree"])
def test_receivers_that_are_not_ready_hold_up_nobody_for_ever(count: int, mode: str) -> None:
    one_line = {"adapter.scheduler.queues": "1"}
    rig = Rig(machine(one_line, adapter="mt25218", firmware_mode=mode))
    a, b = rig.peers
    pairs = crowd(rig, count, min_rnr_timer_ps=10**6)
    slow, quick = pairs[: count // 2], pairs[count // 2 :]
    for _, remote in quick:
        rig.run(b.post_receives(remote, *[b.receive(64)] * 2))

    def late() -> Program:
        yield rig.sim.timeout(10**10)
        for _, remote in slow:
            yield from b.post_receives(remote, *[b.receive(64)] * 2)

    qps = [qp for qp, _ in pairs]
    requests = [a.request(SEND, b, wr_id=number) for number in range(2)]
    _, _, found, received = rig.run(
        post_all(rig, qps, *requests), late(), a.collect(2 * count), b.collect(2 * count)
    )
    assert succeeded(found + received)
    for qp in qps:
        assert [c.wr_id for c in found if c.qpn == qp.qp_num] == [0, 1]
    # The others did not wait for them.
    ready = {qp.qp_num for qp, _ in quick}
    assert all(c.timestamp_ps < 10**10 for c in found if c.qpn in ready)


@pytest.mark.parametrize("fault", ["rkey", "lkey"])
@pytest.mark.parametrize("count", [17, 400])
def test_failures_in_a_line_leave_the_others_alone(count: int, fault: str) -> None:
    rig = Rig(machine({"adapter.scheduler.queues": "1"}))
    a, b = rig.peers
    qps = [qp for qp, _ in crowd(rig, count)]
    wrong = {"rkey": 999} if fault == "rkey" else {"sg_list": (type(a.sge(1))(a.mr.addr, 8, 999),)}
    bad = {qp.qp_num for index, qp in enumerate(qps) if index % 5 != 3}

    def program() -> Program:
        for number in range(3):
            for qp in qps:
                more = wrong if qp.qp_num in bad and number == 1 else {}
                yield from a.post(qp, a.request(WRITE, b, wr_id=number, **more))

    _, found = rig.run(program(), a.collect(3 * count))
    failure = "REM_ACCESS_ERR" if fault == "rkey" else "LOC_PROT_ERR"
    for qp in qps:
        mine = [c for c in found if c.qpn == qp.qp_num]
        assert ids(mine) == [0, 1, 2]
        if qp.qp_num in bad:
            assert statuses(mine) == ["SUCCESS", failure, "WR_FLUSH_ERR"]
            assert qp.state is State.ERR
        else:
            assert succeeded(mine)


def test_a_line_of_queue_pairs_that_all_broke_while_they_waited_is_left_behind() -> None:
    """The remote end breaks them: each has a request in line when its own end is refused."""
    # All contexts stay on the chip, so that none of them is a pause.
    rig = Rig(machine({"adapter.scheduler.queues": "1", "adapter.sqpc.entries": "1024"}))
    a, b = rig.peers
    pairs = crowd(rig, 600)
    last, _ = rig.connect(a, b)
    rig.run(post_all(rig, [qp for qp, _ in pairs], a.request(WRITE, b)), a.collect(600))
    peers: list[Peer] = rig.peers

    def far() -> Program:
        for _, remote in pairs:
            yield from peers[1].post(remote, b.request(WRITE, a, rkey=999))

    def near() -> Program:
        # A message that occupies the line while the others are broken.
        yield from a.post(last, a.request(WRITE, b, 1 << 20))
        for qp, _ in pairs:
            if qp.state is State.RTS:
                yield from a.post(qp, a.request(WRITE, b))
        yield from a.post(last, a.request(WRITE, b, wr_id=5))
        return True

    rig.run(near(), far())
    done = [c for c in a.cq.queue.entries if c.qpn == last.qp_num]
    assert succeeded(done)
    assert len(done) == 2
    flushed = [c for c in a.cq.queue.entries if c.qpn != last.qp_num]
    assert {c.status.name for c in flushed} <= {"WR_FLUSH_ERR", "SUCCESS"}
    assert statuses(flushed).count("WR_FLUSH_ERR") > 300
