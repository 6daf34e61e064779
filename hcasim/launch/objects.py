"""What programs make of an adapter: domains, regions, queues and addresses, by their handles.

Structures of libibverbs come and go as they are in a program's memory.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from enum import Enum
from functools import wraps
from ipaddress import IPv6Address
from struct import Struct
from typing import Any, Final, TypeVar

from hcasim.hca import Access, Completion, QPType, State, WCStatus
from hcasim.hca.completion_queue import End
from hcasim.launch.channel import Question
from hcasim.launch.memory import ProcessMemory
from hcasim.launch.session import DONE, HANDLERS, Answer, Handler, Steps, Thread
from hcasim.verbs import (
    AH,
    CQ,
    DM,
    MR,
    MW,
    PD,
    QP,
    SRQ,
    AHAttr,
    CompChannel,
    GlobalRoute,
    MWType,
    QPAttr,
    QPAttrMask,
    QPCap,
    QPCreateFlags,
    Rereg,
    VerbsError,
    init_ah_from_wc,
)

_Kind = TypeVar("_Kind", bound=Enum)
_REGION_FLAGS: Final = sum(one.value for one in Access)
ZERO_BASED: Final = 1 << 5
_OPTIONAL: Final = 0x3FF << 20
_AH: Final = Struct("=16sI3BxH5Bx")
_LABEL: Final = (1 << 20) - 1
_ATTR: Final = Struct("=14I32s32sHH11BxI4x")
_CAP: Final = Struct("=5I")


def call(name: str) -> Callable[[Handler], Handler]:
    """Make a function the one that answers a call; errors of verbs are its errnos."""

    def enter(handler: Handler) -> Handler:
        @wraps(handler)
        def answer(thread: Thread, question: Question) -> Answer | Steps:
            try:
                made = handler(thread, question)
            except VerbsError as error:
                return refused(thread, error)
            return made if isinstance(made, tuple) else _done(thread, made)

        HANDLERS[name] = answer
        return handler

    return enter


def _done(thread: Thread, steps: Steps) -> Steps:
    """The answer to a call that takes time; errors of verbs are its errnos, too."""
    try:
        return (yield from steps)
    except VerbsError as error:
        return refused(thread, error)


def refused(thread: Thread, error: VerbsError) -> Answer:
    """The answer to a call that cannot be done; what is not modelled is said once."""
    if error.errno == "EOPNOTSUPP":
        thread.process.session.say(str(error))
    return getattr(errno, error.errno, errno.EINVAL), (), b""


def held(thread: Thread, handle: int) -> Any:
    """What a handle stands for; a VerbsError for one that is none."""
    try:
        return thread.process.objects[handle]
    except KeyError:
        raise VerbsError("EINVAL", f"no object has the handle {handle}") from None


def optional(thread: Thread, handle: int) -> Any:
    """The same; None for the handle 0."""
    return held(thread, handle) if handle else None


@call("DESTROY")
def _destroy(thread: Thread, question: Question) -> Answer | Steps:
    handle = question.words[0]
    found = held(thread, handle)
    if isinstance(found, MR):
        return _dereg_mr(thread, handle, found)
    if isinstance(found, MW):
        found.dealloc()
    elif isinstance(found, DM):
        found.free()
    elif isinstance(found, QP):
        found.destroy()
    elif _in_use(thread, found):
        raise VerbsError("EBUSY", f"other objects use the {type(found).__name__}")
    del thread.process.objects[handle]
    return DONE


def _in_use(thread: Thread, found: object) -> bool:
    """Whether other objects of a process need this one."""
    if isinstance(found, CQ):
        return bool(found.retire)
    return isinstance(found, PD | SRQ) and any(
        found is getattr(one, "pd", None) or found is getattr(one, "srq", None)
        for one in thread.process.objects.values()
    )


def one_of(kind: type[_Kind], value: int, what: str) -> _Kind:
    """A number of libibverbs by name; a VerbsError for one that has none."""
    try:
        return kind(value)
    except ValueError:
        allowed = ", ".join(str(one.value) for one in kind)
        raise VerbsError("EINVAL", f"{what} is {value}; allowed: {allowed}") from None


# Domains and regions.


@call("ALLOC_PD")
def _alloc_pd(thread: Thread, question: Question) -> Answer:
    return 0, (thread.process.enter(PD(thread.context)),), b""


def access(flags: int) -> Access:
    """Rights that flags of libibverbs name; a VerbsError for those that are not modelled."""
    flags &= ~_OPTIONAL
    if flags & ~(_REGION_FLAGS | ZERO_BASED):
        raise VerbsError("EOPNOTSUPP", f"access flags {flags:#x}; allowed: {_REGION_FLAGS:#x}")
    return Access(flags & _REGION_FLAGS)


@call("REG_MR")
def _reg_mr(thread: Thread, question: Question) -> Steps:
    """Words: domain, address, length, address that requests name, access flags."""
    handle, place, length, named, flags = question.words[:5]
    pd: PD = held(thread, handle)
    process = thread.process
    address = process.stand_for(place, length)
    mr = yield from pd.timed_reg_mr(length, access(flags), address=address)
    mr.region.contents = ProcessMemory(address, place, process.memory)
    process.session.keys.know(mr, named)
    return 0, (process.enter(mr), mr.lkey, mr.rkey), b""


def _dereg_mr(thread: Thread, handle: int, mr: MR) -> Steps:
    work = next(mr.timed_dereg())  # From here on it is deregistered, whatever time that takes.
    thread.process.session.keys.forget(mr.lkey)
    del thread.process.objects[handle]
    yield work
    return DONE


@call("REREG_MR")
def _rereg_mr(thread: Thread, question: Question) -> Answer:
    """Words: region, flags, domain, address, length, access flags."""
    handle, flags, domain, place, length, rights = question.words[:6]
    mr: MR = held(thread, handle)
    process = thread.process
    keys = process.session.keys
    named = keys.named(mr)
    what, address = Rereg(flags), None
    if Rereg.CHANGE_TRANSLATION in what:
        address, named = process.stand_for(place, length), place
    mr.rereg(what, optional(thread, domain), address, length, access(rights))
    if address is not None:
        mr.region.contents = ProcessMemory(address, place, process.memory)
    keys.know(mr, named)
    return 0, (mr.lkey, mr.rkey), b""


@call("ALLOC_MW")
def _alloc_mw(thread: Thread, question: Question) -> Answer:
    mw = MW(held(thread, question.words[0]), one_of(MWType, question.words[1], "type"))
    return 0, (thread.process.enter(mw), thread.process.session.keys.first()), b""


@call("ALLOC_DM")
def _alloc_dm(thread: Thread, question: Question) -> Answer:
    dm = DM(thread.context, question.words[0], question.words[1])
    return 0, (thread.process.enter(dm),), b""


@call("COPY_DM")
def _copy_dm(thread: Thread, question: Question) -> Steps:
    """Words: device memory, offset, address in the process, length, whether it is written to."""
    handle, offset, place, length, stores = question.words[:5]
    dm: DM = held(thread, handle)
    memory = thread.process.memory
    if stores:
        dm.check(offset, length)
        yield from dm.copy_to_dm(offset, memory.read(place, length))
    else:
        memory.write(place, (yield from dm.copy_from_dm(offset, length)))
    return DONE


@call("REG_DM_MR")
def _reg_dm_mr(thread: Thread, question: Question) -> Steps:
    """Words: domain, device memory, offset, length, access flags."""
    domain, memory, offset, length, flags = question.words[:5]
    pd, dm = held(thread, domain), held(thread, memory)
    if not flags & ZERO_BASED:
        raise VerbsError("EINVAL", f"access flags {flags:#x}; needed: {ZERO_BASED:#x}, zero-based")
    mr = yield from pd.timed_reg_dm_mr(dm, offset, length, access(flags))
    thread.process.session.keys.know(mr, 0)
    return 0, (thread.process.enter(mr), mr.lkey, mr.rkey), b""


# Completion queues.


@call("CREATE_CHANNEL")
def _create_channel(thread: Thread, question: Question) -> Answer:
    """Words: descriptor in the process of the pipe that events go into."""
    process = thread.process
    channel = CompChannel(thread.context)
    process.tell(channel.events, question.words[0])
    return 0, (process.enter(channel),), b""


@call("CREATE_CQ")
def _create_cq(thread: Thread, question: Question) -> Answer:
    """Words: entries, channel or 0, what events call it."""
    entries, channel, cookie = question.words[:3]
    cq = CQ(thread.context, entries, optional(thread, channel))
    cq.on_entry = thread.process.completes
    return 0, (thread.process.enter(cq, cookie), cq.cqe), b""


@call("RESIZE_CQ")
def _resize_cq(thread: Thread, question: Question) -> Steps:
    cq: CQ = held(thread, question.words[0])
    yield from cq.timed_resize(question.words[1])
    return 0, (cq.cqe,), b""


@call("MODIFY_CQ")
def _modify_cq(thread: Thread, question: Question) -> Answer:
    held(thread, question.words[0]).modify(question.words[1], question.words[2])
    return DONE


@call("REQ_NOTIFY")
def _req_notify(thread: Thread, question: Question) -> Answer:
    held(thread, question.words[0]).req_notify(bool(question.words[1]))
    return DONE


# Queue pairs.


def _cap(cap: QPCap) -> bytes:
    return _CAP.pack(
        cap.max_send_wr, cap.max_recv_wr, cap.max_send_sge, cap.max_recv_sge, cap.max_inline_data
    )


@call("CREATE_QP")
def _create_qp(thread: Thread, question: Question) -> Answer:
    """Words: domain, queue of sends, of receives, shared queue or 0, service, signals all,
    flags, what events call it.

    The bytes are its limits, also those of the answer.
    """
    domain, sends, receives, shared, service, signals, flags, cookie = question.words
    most = QPCap(*_CAP.unpack(question.data))
    qp = QP(
        held(thread, domain),
        held(thread, sends),
        held(thread, receives),
        max_send_wr=most.max_send_wr,
        max_recv_wr=most.max_recv_wr,
        max_send_sge=max(1, most.max_send_sge),
        max_recv_sge=max(1, most.max_recv_sge),
        max_inline_data=most.max_inline_data,
        qp_type=one_of(QPType, service, "qp_type"),
        sq_sig_all=bool(signals),
        srq=optional(thread, shared),
        create_flags=QPCreateFlags(flags),
    )
    return 0, (thread.process.enter(qp, cookie), qp.qp_num), _cap(qp.query_qp()[1].cap)


def ah_attr(data: bytes) -> AHAttr:
    """The address of a port that a structure of libibverbs says."""
    dgid, label, sgid, hops, traffic, dlid, sl, bits, rate, is_global, port = _AH.unpack(data)
    # Adapters take 20 bits of the label; UCX gives all 32 over Ethernet.
    grh = GlobalRoute(IPv6Address(dgid), label & _LABEL, sgid, hops, traffic)
    return AHAttr(grh, dlid, sl, bits, rate, is_global, port)


def _ah_bytes(attr: AHAttr) -> bytes:
    grh = attr.grh
    route = grh.dgid.packed, grh.flow_label, grh.sgid_index, grh.hop_limit, grh.traffic_class
    port = attr.src_path_bits, attr.static_rate, attr.is_global, attr.port_num
    return _AH.pack(*route, attr.dlid, attr.sl, *port)


_NUMBERS: Final = (
    *("path_mtu", "path_mig_state", "qkey", "rq_psn", "sq_psn", "dest_qp_num", "qp_access_flags"),
    *("pkey_index", "alt_pkey_index", "en_sqd_async_notify", "sq_draining", "max_rd_atomic"),
    *("max_dest_rd_atomic", "min_rnr_timer", "port_num", "timeout", "retry_cnt", "rnr_retry"),
    *("alt_port_num", "alt_timeout", "rate_limit"),
)
"""Attributes of a queue pair in the order of libibverbs, but for its states, limits and address."""


@call("MODIFY_QP")
def _modify_qp(thread: Thread, question: Question) -> Answer:
    qp: QP = held(thread, question.words[0])
    found = _ATTR.unpack(question.data)
    # What the mask does not name may be anything.
    asked = [found[place] if question.words[1] & 1 << place else 0 for place in (0, 1)]
    states = one_of(State, asked[0], "qp_state"), one_of(State, asked[1], "cur_qp_state")
    attr = QPAttr(*states, cap=QPCap(*found[9:14]), ah_attr=ah_attr(found[14]))
    for name, value in zip(_NUMBERS, (*found[2:9], *found[16:]), strict=True):
        setattr(attr, name, value)
    qp.modify_qp(attr, QPAttrMask(question.words[1]))
    return DONE


@call("QUERY_QP")
def _query_qp(thread: Thread, question: Question) -> Answer:
    qp: QP = held(thread, question.words[0])
    attr, made = qp.query_qp()
    cap = made.cap
    numbers = [int(getattr(attr, name)) for name in _NUMBERS]
    data = _ATTR.pack(
        State(attr.qp_state).value,
        State(attr.cur_qp_state).value,
        *numbers[:7],
        *_CAP.unpack(_cap(cap)),
        _ah_bytes(attr.ah_attr),
        bytes(_AH.size),
        *numbers[7:],
    )
    return 0, (int(made.sq_sig_all),), data


@call("CREATE_SRQ")
def _create_srq(thread: Thread, question: Question) -> Answer:
    """Words: domain, requests, pieces of each, limit, what events call it."""
    domain, most, pieces, limit, cookie = question.words[:5]
    srq = SRQ(held(thread, domain), max_wr=most, max_sge=max(1, pieces), srq_limit=limit)
    return 0, (thread.process.enter(srq, cookie), srq.max_wr, srq.max_sge), b""


@call("MODIFY_SRQ")
def _modify_srq(thread: Thread, question: Question) -> Answer:
    held(thread, question.words[0]).modify(question.words[1])
    return DONE


@call("QUERY_SRQ")
def _query_srq(thread: Thread, question: Question) -> Answer:
    srq: SRQ = held(thread, question.words[0])
    return 0, (srq.max_wr, srq.max_sge, srq.srq_limit), b""


@call("CREATE_AH")
def _create_ah(thread: Thread, question: Question) -> Answer:
    ah = AH(held(thread, question.words[0]), ah_attr(question.data))
    return 0, (thread.process.enter(ah),), b""


@call("INIT_AH")
def _init_ah(thread: Thread, question: Question) -> Answer:
    """Words: unused, port, whether there is a header, LID, service level, path bits of a datagram.

    The bytes are its global route header; those of the answer the address it came from.
    """
    _, port, routed, slid, sl, _ = question.words[:6]
    wc = Completion(0, WCStatus.SUCCESS, 0, 0, None)
    wc.end = End(source_lid=slid, service_level=sl, routed=bool(routed))
    return 0, (), _ah_bytes(init_ah_from_wc(thread.context, port, wc, question.data))


@call("MCAST")
def _mcast(thread: Thread, question: Question) -> Answer:
    """Words: queue pair, LID, whether it joins; the bytes are the GID."""
    qp: QP = held(thread, question.words[0])
    gid, lid = IPv6Address(question.data), question.words[1]
    if question.words[2]:
        qp.attach_mcast(gid, lid)
    else:
        qp.detach_mcast(gid, lid)
    return DONE
