"""What initiators send to any targets in any order arrives once, in order, with its bytes."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog.testbed import OneSwitch
from hcasim.fabric.loss import Fate, ListedLosses, lose
from hcasim.verbs import DCI, DCT, SRQ, Completion
from tests.rig import (
    SEND,
    Peer,
    Program,
    Rig,
    check_that_nothing_is_lent,
    extended,
    networked,
    statuses,
)

KEY = 7
SLOT = 2048
US = 1_000_000

messages = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from([9, 1024, 1500])),
    min_size=1,
    max_size=16,
)


def target(peer: Peer) -> DCT:
    dct = DCT(peer.pd, peer.cq, SRQ(peer.pd), KEY)
    dct.activate(min_rnr_timer_ps=20 * US)
    return dct


def initiator(peer: Peer) -> DCI:
    dci = DCI(peer.pd, peer.cq)
    dci.activate()
    return dci


@given(
    sent=messages,
    first=st.integers(0, 4),
    gap=st.sampled_from([0, 3 * US]),
    order=st.sampled_from(["port", "queue_pair"]),
    fates=st.lists(
        st.dictionaries(st.integers(1, 40), st.sampled_from(Fate), max_size=6), max_size=4
    ),
)
def test_sends_of_initiators_arrive_once_in_order_with_their_bytes(
    sent: list[tuple[int, int, int]],
    first: int,
    gap: int,
    order: str,
    fates: list[dict[int, Fate]],
) -> None:
    """Receives come late, so that targets are not ready while initiators turn away from them."""
    on = extended(
        networked(OneSwitch(switch="x"), 4), adapter={"limits": {"dc": True}, "order": order}
    )
    rig = Rig(on, 4, data=True, size=1 << 17)
    for peer, listed in zip(rig.peers, fates, strict=False):
        lose(peer.adapter.ports[0].transmitter, ListedLosses(listed))
    a, *others = rig.peers
    dcis, dcts = [initiator(a) for _ in range(3)], [target(peer) for peer in others]

    def posts() -> Program:
        for number, (dci, goal, length) in enumerate(sent):
            place = number * SLOT
            a.mr.write(bytes([dci, number]) * (SLOT // 2), SLOT, place)
            dct = dcts[goal]
            to: dict[str, Any] = {"dlid": dct.lid, "remote_qpn": dct.dctn, "dc_key": KEY}
            wr = a.request(SEND, others[goal], length, offset=place, wr_id=number, **to)
            yield from dcis[dci].post_send(wr)
            if gap:
                yield rig.sim.timeout(gap)
        return (yield from a.collect(len(sent)))

    def receives(peer: Peer, dct: DCT) -> Program:
        assert dct.srq is not None
        for number in range(16):
            if number == first:
                yield rig.sim.timeout(30 * US)
            yield from dct.srq.post_recv(peer.receive(SLOT, wr_id=number, offset=number * SLOT))

    found, *_ = rig.run(posts(), *map(receives, others, dcts))
    assert statuses(found) == ["SUCCESS"] * len(sent)
    arrived: list[tuple[int, int, int, Completion]] = []
    for goal, peer in enumerate(others):
        for one in peer.cq.queue.entries:
            data = peer.mr.read(one.byte_len, one.wr_id * SLOT)
            dci, number = data[0], data[1]
            assert data == (bytes([dci, number]) * SLOT)[: one.byte_len]
            assert sent[number] == (dci, goal, one.byte_len)
            assert one.src_qp == dcis[dci].qp_num
            arrived.append((one.timestamp_ps, dci, number, one))
    assert sorted(number for _, _, number, _ in arrived) == list(range(len(sent)))
    for dci in range(3):
        mine = [n for n, (from_dci, _, _) in enumerate(sent) if from_dci == dci]
        by_time = sorted(arrived, key=lambda one: (one[0], one[2]))
        assert [number for _, one, number, _ in by_time if one == dci] == mine
        assert [done.wr_id for done in found if done.qpn == dcis[dci].qp_num] == mine
    check_that_nothing_is_lent(rig, [*dcis, *dcts])
