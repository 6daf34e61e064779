"""Every change of the state of a queue pair, with the attributes it needs and allows.

The table is a second reading of Linux' (drivers/infiniband/core/verbs.c, qp_state_table), and for
DCI and DCT of its driver mlx5 (qp.c).
"""

from typing import Final

import pytest

from hcasim.verbs import QP, AHAttr, QPAttr, QPAttrMask, QPType, State, VerbsError
from hcasim.verbs.states import fault
from tests.rig import Rig

# From, to, service: what is needed; what is allowed beside.
TABLE: Final = """
RESET INIT RC: PKEY_INDEX PORT ACCESS_FLAGS;
RESET INIT UC: PKEY_INDEX PORT ACCESS_FLAGS;
RESET INIT UD: PKEY_INDEX PORT QKEY;
RESET INIT DCI: PKEY_INDEX PORT;
RESET INIT DCT: PKEY_INDEX PORT ACCESS_FLAGS;
INIT INIT RC:; PKEY_INDEX PORT ACCESS_FLAGS
INIT INIT UC:; PKEY_INDEX PORT ACCESS_FLAGS
INIT INIT UD:; PKEY_INDEX PORT QKEY
INIT INIT DCI:; PKEY_INDEX PORT
INIT RTR RC: AV PATH_MTU DEST_QPN RQ_PSN MAX_DEST_RD_ATOMIC MIN_RNR_TIMER; ALT_PATH ACCESS_FLAGS PKEY_INDEX
INIT RTR UC: AV PATH_MTU DEST_QPN RQ_PSN; ALT_PATH ACCESS_FLAGS PKEY_INDEX
INIT RTR UD:; PKEY_INDEX QKEY
INIT RTR DCI: PATH_MTU; PKEY_INDEX AV
INIT RTR DCT: PATH_MTU AV MIN_RNR_TIMER;
RTR RTS RC: TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_QP_RD_ATOMIC; CUR_STATE ALT_PATH ACCESS_FLAGS MIN_RNR_TIMER PATH_MIG_STATE
RTR RTS UC: SQ_PSN; CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE
RTR RTS UD: SQ_PSN; CUR_STATE QKEY
RTR RTS DCI: TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC SQ_PSN; MIN_RNR_TIMER
RTS RTS RC:; CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE MIN_RNR_TIMER
RTS RTS UC:; CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE
RTS RTS UD:; CUR_STATE QKEY
RTS RTS DCI:; MIN_RNR_TIMER
RTS SQD RC:; EN_SQD_ASYNC_NOTIFY
RTS SQD UC:; EN_SQD_ASYNC_NOTIFY
RTS SQD UD:; EN_SQD_ASYNC_NOTIFY
SQD RTS RC:; CUR_STATE ALT_PATH ACCESS_FLAGS MIN_RNR_TIMER PATH_MIG_STATE
SQD RTS UC:; CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE
SQD RTS UD:; CUR_STATE QKEY
SQD SQD RC:; PORT AV TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC MAX_DEST_RD_ATOMIC ALT_PATH ACCESS_FLAGS PKEY_INDEX MIN_RNR_TIMER PATH_MIG_STATE
SQD SQD UC:; AV ALT_PATH ACCESS_FLAGS PKEY_INDEX PATH_MIG_STATE
SQD SQD UD:; PKEY_INDEX QKEY
SQE RTS RC:;
SQE RTS UC:; CUR_STATE ACCESS_FLAGS
SQE RTS UD:; CUR_STATE QKEY
"""  # noqa: E501
# With no attributes, of all services but DCT.
ALWAYS: Final = """
RESET RESET, INIT RESET, RTR RESET, RTS RESET, SQD RESET, SQE RESET, ERR RESET,
INIT ERR, RTR ERR, RTS ERR, SQD ERR, SQE ERR, ERR ERR
"""
M = QPAttrMask
Masks = tuple[QPAttrMask, QPAttrMask]
Way = tuple[State, State, QPType]


def mask_of(names: str) -> QPAttrMask:
    found = M(0)
    for name in names.split():
        found |= M[name]
    return found


def table() -> dict[Way, Masks]:
    found: dict[Way, Masks] = {}
    for line in TABLE.strip().splitlines():
        way, _, masks = line.partition(":")
        before, after, kind = way.split()
        needed, _, allowed = masks.partition(";")
        found[State[before], State[after], QPType[kind]] = mask_of(needed), mask_of(allowed)
    for pair in ALWAYS.split(","):
        before, after = pair.split()
        for kind in QPType:
            if kind is not QPType.DCT:
                found[State[before], State[after], kind] = M(0), M(0)
    return found


WAYS: Final = table()
ALL_WAYS: Final = [(a, b, kind) for a in State for b in State for kind in QPType]


def test_a_change_needs_and_allows_what_the_kernel_says_and_nothing_else() -> None:
    for way in ALL_WAYS:
        before, after, kind = way
        if way not in WAYS:
            assert f"{after.name} after {before.name}; allowed: " in fault(*way, M.STATE), way
            continue
        needed, allowed = WAYS[way]
        for mask in (needed, needed | M.STATE, needed | allowed | M.STATE):
            assert fault(*way, mask) == "", way
        for bit in M:
            if bit & needed:
                found = fault(*way, (needed | allowed) & ~bit)
                assert f"{kind.name} without {bit.name}; needed: " in found
            elif not bit & (allowed | M.STATE):
                assert f"{kind.name} with {bit.name}; allowed: " in fault(*way, needed | bit)


def attributes(peer: QP, **more: object) -> QPAttr:
    """Values for all attributes of a queue pair that is connected with another."""
    attr = QPAttr(
        path_mtu=3,
        rq_psn=7,
        sq_psn=9,
        dest_qp_num=peer.qp_num,
        qp_access_flags=15,
        ah_attr=AHAttr(dlid=peer.lid),
        max_rd_atomic=4,
        max_dest_rd_atomic=4,
        min_rnr_timer=12,
        port_num=1,
        timeout=14,
        retry_cnt=7,
        rnr_retry=7,
        qkey=0x11111111,
    )
    for name, value in more.items():
        setattr(attr, name, value)
    return attr


STEPS: Final = {
    State.RESET: (),
    State.INIT: (State.INIT,),
    State.RTR: (State.INIT, State.RTR),
    State.RTS: (State.INIT, State.RTR, State.RTS),
    State.SQD: (State.INIT, State.RTR, State.RTS, State.SQD),
    State.ERR: (State.INIT, State.ERR),
}


def bring(qp: QP, state: State, peer: QP, **more: object) -> None:
    """Take a queue pair from RESET to a state, with what each step needs."""
    attr = attributes(peer, **more)
    if state is State.SQE:
        bring(qp, State.RTS, peer, **more)
        qp._qp.fail_send()
        return
    for step in STEPS[state]:
        needed, _ = WAYS[qp.state, step, qp.qp_type]
        attr.qp_state = step
        qp.modify_qp(attr, needed | M.STATE)


@pytest.mark.parametrize("kind", [QPType.RC, QPType.UC, QPType.UD])
def test_queue_pairs_go_the_ways_of_the_table_and_no_others(kind: QPType) -> None:
    rig = Rig()
    a, b = rig.peers
    peer = QP(b.pd, b.cq, b.cq, qp_type=kind)
    unmodelled = M.ALT_PATH | M.PATH_MIG_STATE
    for before, after in [(one, other) for one in State for other in State]:
        if before is State.SQE and kind is QPType.RC:
            continue
        qp = QP(a.pd, a.cq, a.cq, qp_type=kind)
        bring(qp, before, peer)
        assert qp.state is before
        attr = attributes(peer, qp_state=after, cur_qp_state=before)
        if (before, after, kind) not in WAYS:
            with pytest.raises(VerbsError, match=rf"EINVAL: {after.name} after {before.name}; all"):
                qp.modify_qp(attr, M.STATE)
            assert qp.state is before
            continue
        needed, allowed = WAYS[before, after, kind]
        if allowed & unmodelled:
            with pytest.raises(VerbsError, match="EOPNOTSUPP: an alternate path"):
                qp.modify_qp(attr, needed | M.ALT_PATH | M.STATE)
        qp.modify_qp(attr, (needed | allowed) & ~unmodelled | M.STATE)
        assert qp.state is after


def test_a_state_that_it_is_not_in_is_refused_and_so_are_values_that_do_not_exist() -> None:
    rig = Rig()
    a, b = rig.peers
    qp, peer = (QP(one.pd, one.cq, one.cq) for one in (a, b))
    bring(qp, State.RTR, peer)
    rts, _ = WAYS[State.RTR, State.RTS, QPType.RC]
    attr = attributes(peer, qp_state=State.RTS, cur_qp_state=State.SQD)
    with pytest.raises(VerbsError, match="EINVAL: cur_qp_state is SQD; allowed: RTR"):
        qp.modify_qp(attr, rts | M.STATE | M.CUR_STATE)
    attr.cur_qp_state = State.RTR
    for name, wrong, most in (
        ("timeout", 32, 31),
        ("retry_cnt", 8, 7),
        ("rnr_retry", 8, 7),
        ("sq_psn", 1 << 24, (1 << 24) - 1),
        ("max_rd_atomic", 5, 4),
    ):
        before, _ = getattr(attr, name), setattr(attr, name, wrong)
        with pytest.raises(VerbsError, match=f"EINVAL: {name} is {wrong}; allowed: 0 to {most}"):
            qp.modify_qp(attr, rts | M.STATE)
        setattr(attr, name, before)
    qp.modify_qp(attr, rts | M.STATE | M.CUR_STATE)
    fresh, init = QP(a.pd, a.cq, a.cq), WAYS[State.RESET, State.INIT, QPType.RC][0] | M.STATE
    for name, wrong, allowed in (
        ("port_num", 3, "1 to 2"),
        ("pkey_index", 1, "0 to 0"),
        ("qp_access_flags", 16, "0 to 15"),
    ):
        attr = attributes(peer, qp_state=State.INIT, **{name: wrong})
        with pytest.raises(VerbsError, match=f"EINVAL: {name} is {wrong}; allowed: {allowed}"):
            fresh.modify_qp(attr, init)
    bring(fresh, State.INIT, peer)
    rtr = WAYS[State.INIT, State.RTR, QPType.RC][0] | M.STATE
    for name, wrong, allowed in (
        ("path_mtu", 4, "1 to 3"),
        ("dest_qp_num", 1 << 24, "0 to 16777215"),
        ("min_rnr_timer", 32, "0 to 31"),
        ("max_dest_rd_atomic", 5, "0 to 4"),
        ("ah_attr", AHAttr(), "1 to 65534"),
        ("ah_attr", AHAttr(dlid=1, sl=16), "0 to 15"),
        ("ah_attr", AHAttr(dlid=1, static_rate=1), "0, 2, 3"),
        ("ah_attr", AHAttr(dlid=1, port_num=2), "1"),
    ):
        attr = attributes(peer, qp_state=State.RTR, **{name: wrong})
        with pytest.raises(VerbsError, match=f"EINVAL: .*; allowed: {allowed}"):
            fresh.modify_qp(attr, rtr)
    attr = attributes(peer, qp_state=State.RTR, ah_attr=AHAttr(dlid=1, src_path_bits=1))
    with pytest.raises(VerbsError, match="EOPNOTSUPP: src_path_bits is 1"):
        fresh.modify_qp(attr, rtr)
    assert fresh.state is State.INIT


def test_states_may_be_given_by_their_numbers(rig: Rig) -> None:
    a, b = rig.peers
    qp, peer = (QP(one.pd, one.cq, one.cq, qp_type=QPType.RC.value) for one in (a, b))
    bring(qp, State.RTR, peer, path_mtu=2)
    attr = attributes(peer, qp_state=3, cur_qp_state=2)
    mask = WAYS[State.RTR, State.RTS, QPType.RC][0] | M.STATE | M.CUR_STATE
    qp.modify_qp(attr, int(mask))
    assert (qp.state, qp.qp_type, qp.query_qp()[0].path_mtu) == (State.RTS, QPType.RC, 2)
    for name in ("qp_state", "cur_qp_state"):
        attr = attributes(peer, **{"qp_state": State.RTS, "cur_qp_state": State.RTS, name: 7})
        with pytest.raises(VerbsError, match=f"EINVAL: {name} is 7; allowed: 0 RESET, 1 INIT, 2 "):
            qp.modify_qp(attr, M.STATE | M.CUR_STATE)


def test_query_tells_what_modify_was_told() -> None:
    rig = Rig()
    a, b = rig.peers
    qp, peer = (QP(one.pd, one.cq, one.cq, max_send_wr=5) for one in (a, b))
    told = attributes(peer, ah_attr=AHAttr(dlid=peer.lid, sl=3, static_rate=2))
    bring(qp, State.RTS, peer, ah_attr=told.ah_attr)
    attr, made = qp.query_qp()
    told.qp_state = told.cur_qp_state = State.RTS
    told.cap, told.qkey = attr.cap, 0
    assert attr == told
    assert (made.qp_type, made.sq_sig_all, made.send_cq) == (QPType.RC, False, a.cq)
    assert (attr.cap.max_send_wr, attr.cap.max_recv_wr, attr.cap.max_send_sge) == (5, 128, 1)
    short, _ = rig.connect(a, b, service_level=3, timeout=5)
    attr, _ = short.query_qp()
    assert (attr.ah_attr.dlid, attr.ah_attr.sl, attr.timeout) == (peer.lid, 3, 5)
    assert (attr.path_mtu, attr.qp_access_flags, attr.min_rnr_timer) == (3, 15, 1)
