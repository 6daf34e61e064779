"""Each call of libibverbs' manual pages is modelled, is something else, or says that it is not.

Names are those of libibverbs/man of rdma-core 65, with the other names of its pages. Limits and
statuses that the pages name are tables below; how states follow each other is tested elsewhere.
"""

from collections.abc import Callable
from typing import cast

import pytest

import hcasim.verbs as verbs
from hcasim.verbs import (
    CQ,
    MR,
    MW,
    PD,
    QP,
    SGE,
    SRQ,
    Access,
    CompChannel,
    QPType,
    RecvWR,
    Rereg,
    SendWR,
    VerbsError,
    WCStatus,
    WROpcode,
)
from hcasim.verbs.qp import MAX_MESSAGE
from hcasim.verbs.unsupported import PYVERBS, UNSUPPORTED
from tests.rig import ALL, FETCH_ADD, READ, SEND, WRITE, Peer, Program, Rig, statuses

_BUILT = """
wr_abort wr_complete wr_start wr_atomic_cmp_swp wr_atomic_fetch_add wr_bind_mw
wr_local_inv wr_rdma_read wr_rdma_write wr_rdma_write_imm wr_send wr_send_imm
wr_send_inv wr_set_inline_data wr_set_inline_data_list wr_set_sge
wr_set_sge_list wr_set_ud_addr
"""
"""Of requests that are built call by call."""
CALLS = {
    "ibv_alloc_dm": "DM",
    "ibv_alloc_mw": "MW",
    "ibv_alloc_pd": "PD",
    "ibv_attach_mcast": "QP.attach_mcast",
    "ibv_create_comp_channel": "CompChannel",
    "ibv_create_cq": "CQ",
    "ibv_create_qp": "QP",
    "ibv_create_qp_ex": "QPEx",
    "ibv_create_srq": "SRQ",
    "ibv_dealloc_mw": "MW.dealloc",
    "ibv_dereg_mr": "MR.dereg",
    "ibv_detach_mcast": "QP.detach_mcast",
    "ibv_free_dm": "DM.free",
    "ibv_get_async_event": "Context.get_async_event",
    "ibv_get_cq_event": "CompChannel.get_cq_event",
    "ibv_memcpy_from_dm": "DM.copy_from_dm",
    "ibv_memcpy_to_dm": "DM.copy_to_dm",
    "ibv_modify_cq": "CQ.modify",
    "ibv_modify_srq": "SRQ.modify",
    "ibv_open_device": "Context",
    "ibv_poll_cq": "CQ.poll",
    "ibv_post_recv": "QP.post_recv_list",
    "ibv_post_send": "QP.post_send_list",
    "ibv_post_srq_recv": "SRQ.post_recv_list",
    "ibv_query_qp_data_in_order": "QP.query_data_in_order",
    "ibv_create_ah": "create_ah",
    "ibv_create_ah_from_wc": "create_ah_from_wc",
    "ibv_init_ah_from_wc": "init_ah_from_wc",
    "ibv_modify_qp": "QP.modify_qp",
    "ibv_query_device": "Context.query_device",
    "ibv_query_qp": "QP.query_qp",
    "ibv_query_port": "Context.query_port",
    "ibv_query_gid": "Context.query_gid",
    "ibv_query_gid_ex": "Context.query_gid_ex",
    "ibv_query_gid_table": "Context.query_gid_table",
    "ibv_query_pkey": "Context.query_pkey",
    "ibv_get_pkey_index": "Context.get_pkey_index",
    "ibv_reg_dm_mr": "PD.reg_dm_mr",
    "ibv_reg_mr": "PD.reg_mr",
    "ibv_req_notify_cq": "CQ.req_notify",
    "ibv_rereg_mr": "MR.rereg",
    "ibv_resize_cq": "CQ.resize",
    **{f"ibv_{name}": f"QPEx.{name}" for name in _BUILT.split()},
}
"""The calls that there are."""
_GONE = "", "an object goes with its simulator"
_TAKEN = "", "an event that was taken is acknowledged"
_NODE = "Context", "a node has one adapter, which a process opens by the node"
_FORK = "", "processes are generators, which do not fork"
_NUMBER = "QP.connect", "rates are numbers, in Gbit/s"
_WORDS = "EventType", "enumerations have names"
OTHERWISE = {
    "ibv_ack_async_event": _TAKEN,
    "ibv_ack_cq_events": _TAKEN,
    "ibv_bind_mw": ("BindInfo", "a request BIND_MW binds windows of both types"),
    "ibv_close_device": _GONE,
    "ibv_create_cq_ex": ("Completion", "all that a completion says is in it"),
    "ibv_create_srq_ex": ("SRQ", "of the basic type"),
    "ibv_dealloc_pd": _GONE,
    "ibv_destroy_ah": _GONE,
    "ibv_destroy_comp_channel": _GONE,
    "ibv_destroy_cq": _GONE,
    "ibv_destroy_qp": _GONE,
    "ibv_destroy_srq": _GONE,
    "ibv_event_type_str": _WORDS,
    "ibv_fork_init": _FORK,
    "ibv_free_device_list": _NODE,
    "ibv_get_device_guid": _NODE,
    "ibv_get_device_index": _NODE,
    "ibv_get_device_list": _NODE,
    "ibv_get_device_name": _NODE,
    "ibv_inc_rkey": ("MW.bound", "a window takes the next key each time that it is bound"),
    "ibv_is_fork_initialized": _FORK,
    "ibv_node_type_str": _WORDS,
    "ibv_port_state_str": _WORDS,
    "ibv_query_device_ex": ("Context.query_device", "of what it adds, max_dm_size is there"),
    "ibv_query_port_speed": ("Context", "the speed of a link is in its description"),
    "ibv_query_srq": ("SRQ.srq_limit", "max_wr, max_sge and srq_limit are attributes"),
    "ibv_rate_to_mbps": _NUMBER,
    "ibv_rate_to_mult": _NUMBER,
    "ibv_reg_mr_ex": ("PD.reg_mr", "it takes its arguments by name"),
    "ibv_wr_post": ("QPEx", "the page of the calls that build requests"),
    "mbps_to_ibv_rate": _NUMBER,
    "mult_to_ibv_rate": _NUMBER,
}
"""What there is in place of a call, and why."""
OBJECTS = (verbs.Context, PD, MR, MW, verbs.DM, CQ, CompChannel, QP, SRQ, verbs.QPEx)


def test_each_call_is_one_of_three_kinds() -> None:
    assert not CALLS.keys() & OTHERWISE.keys()
    assert not UNSUPPORTED.keys() & (CALLS.keys() | OTHERWISE.keys())
    # 147 names of pages, and three more that pages describe.
    assert len(CALLS) + len(OTHERWISE) + len(UNSUPPORTED) == 150


@pytest.mark.parametrize(
    "path", sorted({*CALLS.values(), *(path for path, _ in OTHERWISE.values() if path)})
)
def test_what_is_modelled_is_there(path: str) -> None:
    found: object = verbs
    assert path.partition(".")[0] in verbs.__all__
    for name in path.split("."):
        found = getattr(found, name)


@pytest.mark.parametrize("name", [*UNSUPPORTED, *PYVERBS])
def test_what_is_not_modelled_says_so_by_name(name: str) -> None:
    call = getattr(verbs, name)
    with pytest.raises(VerbsError) as caught:
        call(None, 1, flags=0)
    assert caught.value.errno == "EOPNOTSUPP"
    c_name = PYVERBS.get(name, name)
    assert str(caught.value) == f"EOPNOTSUPP: {c_name}: {UNSUPPORTED[c_name]}"
    short = c_name.removeprefix("ibv_")
    assert [one.__name__ for one in OBJECTS if hasattr(one, short)] == []
    assert name not in verbs.__all__


def test_a_name_of_nothing_is_none() -> None:
    for name in ("ibv_reg_mr", "ibv_nothing", "Nothing"):
        assert not hasattr(verbs, name)


# Limits: what a page allows, and what is beyond it.


def _pair(peer: Peer, **how: object) -> QP:
    return QP(peer.pd, peer.cq, peer.cq, **how)  # type: ignore[arg-type]


LIMITS: dict[str, tuple[str, str, Callable[[Peer], object]]] = {
    "ibv_create_cq: no entry": (
        "EINVAL",
        "cqe is 0; allowed: 1 to",
        lambda one: CQ(one.context, 0),
    ),
    "ibv_create_cq: max_cqe": (
        "EINVAL",
        "cqe is 131072; allowed: 1 to 131071",
        lambda one: CQ(one.context, one.context.query_device().max_cqe + 1),
    ),
    "ibv_resize_cq: max_cqe": (
        "EINVAL",
        "cqe is 131072; allowed: 1 to 131071",
        lambda one: one.cq.resize(131072),
    ),
    "ibv_resize_cq: no entry": ("EINVAL", "cqe is 0; allowed", lambda one: one.cq.resize(0)),
    "ibv_modify_cq: no count": ("EINVAL", "cq_count 0", lambda one: one.cq.modify(0, 1)),
    "ibv_req_notify_cq: no channel": ("EINVAL", "no channel", lambda one: one.cq.req_notify()),
    "ibv_create_qp: less than none": (
        "EINVAL",
        "max_send_wr is -1",
        lambda p: _pair(p, max_send_wr=-1),
    ),
    "ibv_create_qp: qp_type": (
        "EINVAL",
        "qp_type is 7; allowed: 2 RC, 3 UC, 4 UD, ",
        lambda p: _pair(p, qp_type=7),
    ),
    "ibv_create_qp: max_qp_wr": (
        "EINVAL",
        "max_recv_wr is 65536; allowed: 0 to 65535",
        lambda p: _pair(p, max_recv_wr=p.adapter.description.limits.max_wr + 1),
    ),
    "ibv_create_qp: max_sge": (
        "EINVAL",
        "max_send_sge",
        lambda p: _pair(p, max_send_sge=p.adapter.description.limits.max_sge + 1),
    ),
    "ibv_create_qp: max_inline_data": (
        "EINVAL",
        "max_inline_data is 129; allowed: 0 to 128",
        lambda p: _pair(p, max_inline_data=129),
    ),
    "ibv_create_qp: port_num": ("EINVAL", "port_num is 3", lambda p: _pair(p, port_num=3)),
    "ibv_create_qp: an SRQ serves RC and UD": (
        "EINVAL",
        "UC with an SRQ",
        lambda p: _pair(p, qp_type=QPType.UC, srq=SRQ(p.pd)),
    ),
    "ibv_create_srq: max_wr": (
        "EINVAL",
        "max_wr is",
        lambda p: SRQ(p.pd, max_wr=p.adapter.description.limits.max_wr + 1),
    ),
    "ibv_create_srq: max_sge": ("EINVAL", "max_sge is 0", lambda p: SRQ(p.pd, max_sge=0)),
    "ibv_modify_srq: srq_limit": (
        "EINVAL",
        "srq_limit is 5; allowed: 0 to 4",
        lambda p: SRQ(p.pd, max_wr=4).modify(5),
    ),
    "ibv_reg_mr: no byte": ("EINVAL", "at least 1 byte", lambda p: p.pd.reg_mr(0)),
    "ibv_reg_mr: remote write without local write": (
        "EINVAL",
        "needs local write",
        lambda p: p.pd.reg_mr(8, Access.REMOTE_WRITE),
    ),
    "ibv_rereg_mr: no domain": ("EINVAL", "pd=", lambda p: p.mr.rereg(Rereg.CHANGE_PD)),
    "ibv_rereg_mr: no byte": (
        "EINVAL",
        "at least 1 byte",
        lambda p: p.mr.rereg(Rereg.CHANGE_TRANSLATION),
    ),
    "ibv_alloc_mw: no such requests": ("EOPNOTSUPP", "memory windows", lambda p: MW(p.pd)),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_what_is_beyond_a_limit_is_refused(limit: str, rig: Rig) -> None:
    errno, said, call = LIMITS[limit]
    with pytest.raises(VerbsError, match=said) as caught:
        call(rig.peers[0])
    assert caught.value.errno == errno


REFUSED = {
    "max_msg_sz": (lambda a, b: SendWR(WRITE, (SGE(0, MAX_MESSAGE + 1, 0),)), "allowed: 0 to"),
    "max_sge": (lambda a, b: a.request(SEND, b, sg_list=[a.sge(8)] * 3), "3 pieces .* up to 2"),
    "max_inline_data": (lambda a, b: a.request(SEND, b, 65, inline=True), "65 bytes inline"),
    "inline read": (lambda a, b: a.request(READ, b, 8, inline=True), "cannot carry data inline"),
    "atomic of 8 B": (lambda a, b: a.request(FETCH_ADD, b, 16), "works on 8 bytes, not 16"),
}


def test_what_a_queue_pair_does_not_take_is_refused_when_it_is_posted(rig: Rig) -> None:
    a, b, qp, _ = rig.joined(max_send_sge=2, max_inline_data=64)

    def program(request: SendWR, said: str) -> Program:
        with pytest.raises(VerbsError, match=said) as caught:
            yield from qp.post_send(request)
        assert caught.value.errno == "EINVAL"

    for make, said in REFUSED.values():
        rig.run(program(make(a, b), said))
    assert rig.counter("wqes_fetched") == 0


def test_opcodes_are_those_of_the_service() -> None:
    """The table of ibv_post_send, as far as it is of services that there are."""
    for kind, refused in ((QPType.UC, (READ, FETCH_ADD)), (QPType.UD, (WRITE, READ, FETCH_ADD))):
        rig = Rig()
        a, b = rig.peers
        qp, other = (_pair(one, qp_type=kind) for one in rig.peers)
        if kind is QPType.UD:
            qp.activate()
        else:
            qp.connect(other)
        for opcode in refused:
            with pytest.raises(VerbsError, match=f"on a queue pair of the service {kind.name}"):
                rig.run(qp.post_send(a.request(opcode, b)))


@pytest.mark.pure
def test_opcodes_that_there_are_none_of_are_refused() -> None:
    """Compiled requests take members of the enumeration only."""
    rig = Rig()
    qp, other = (_pair(one) for one in rig.peers)
    qp.connect(other)
    with pytest.raises(VerbsError, match="EINVAL: opcode is 99; allowed: 0 RDMA_WRITE, 1 "):
        rig.run(qp.post_send(SendWR(cast(WROpcode, 99), dlid=1)))


# Statuses: how a request ends that the far end, or the own one, cannot do.


def _ends(request: Callable[[Peer, Peer], SendWR], receive: int | None = None) -> list[str]:
    rig = Rig()
    a, b, qp, remote = rig.joined(rnr_retry=0)
    if receive is not None:
        remote.prepost_recv(RecvWR((b.sge(receive),)))
    found = rig.exchange(qp, a, request(a, b))
    return statuses(found)


@pytest.mark.parametrize(
    ("status", "request_", "receive"),
    [
        (WCStatus.SUCCESS, lambda a, b: a.request(WRITE, b), None),
        (WCStatus.LOC_PROT_ERR, lambda a, b: a.request(WRITE, b, sg_list=[SGE(0, 8, 99)]), None),
        (WCStatus.REM_ACCESS_ERR, lambda a, b: a.request(WRITE, b, rkey=99), None),
        (WCStatus.REM_INV_REQ_ERR, lambda a, b: a.request(SEND, b, 64), 8),
        (WCStatus.RNR_RETRY_EXC_ERR, lambda a, b: a.request(SEND, b), None),
    ],
)
def test_a_request_ends_with_the_status_of_what_is_wrong(
    status: WCStatus, request_: Callable[[Peer, Peer], SendWR], receive: int | None
) -> None:
    assert _ends(request_, receive) == [status.name]


# Re-registration.


def test_a_region_is_registered_again_with_what_is_changed(rig: Rig) -> None:
    a, b, qp, _ = rig.joined()
    before = b.mr.rkey, b.mr.addr, b.mr.length
    b.mr.set_word(b.mr.addr, 7)
    b.mr.rereg(Rereg.CHANGE_ACCESS, access=Access.LOCAL_WRITE | Access.REMOTE_READ)
    assert (b.mr.rkey, b.mr.addr, b.mr.length) == before
    assert b.mr.word(b.mr.addr) == 7
    assert statuses(rig.exchange(qp, a, a.request(READ, b))) == ["SUCCESS"]
    assert statuses(rig.exchange(qp, a, a.request(WRITE, b))) == ["REM_ACCESS_ERR"]
    b.mr.rereg(Rereg.CHANGE_TRANSLATION | Rereg.CHANGE_ACCESS, None, None, 64, ALL)
    assert (b.mr.length, b.mr.addr == before[1]) == (64, False)
    again, _ = rig.connect(a, b)
    assert statuses(rig.exchange(again, a, a.request(WRITE, b))) == ["SUCCESS"]
    stale, _ = rig.connect(a, b)
    refused = rig.exchange(stale, a, a.request(WRITE, b, rkey=before[0], remote_addr=before[1]))
    assert statuses(refused) == ["REM_ACCESS_ERR"]
    other = PD(b.context)
    b.mr.rereg(Rereg.CHANGE_PD, other)
    assert (b.mr.pd, b.mr.region.pd) == (other, other.handle)
    last, _ = rig.connect(a, b)
    assert statuses(rig.exchange(last, a, a.request(WRITE, b))) == ["REM_ACCESS_ERR"]


def test_a_region_that_cannot_be_registered_again_stays(rig: Rig) -> None:
    a, b, qp, _ = rig.joined()
    with pytest.raises(VerbsError, match="EINVAL"):
        b.mr.rereg(Rereg.CHANGE_TRANSLATION, length=0)
    assert statuses(rig.exchange(qp, a, a.request(WRITE, b))) == ["SUCCESS"]
    b.mr.dereg()
    with pytest.raises(VerbsError, match="deregistered before"):
        b.mr.rereg(Rereg.CHANGE_ACCESS, access=ALL)
