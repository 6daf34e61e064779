"""Posting, polling and events, for programs."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any, Final

from hcasim.hca import Completion, WCStatus
from hcasim.hca.completion_queue import WCFlags, WCOpcode
from hcasim.launch.channel import LARGEST, Question
from hcasim.launch.circles import Nothing
from hcasim.launch.devices import device_name
from hcasim.launch.objects import ZERO_BASED, access, call, held, one_of, optional, refused
from hcasim.launch.session import DONE, Answer, Process, Steps, Thread
from hcasim.verbs import (
    CQ,
    MR,
    MW,
    QP,
    SGE,
    BindInfo,
    RecvWR,
    SendWR,
    VerbsError,
    WROpcode,
)
from hcasim.verbs.address import on_ethernet

_SEND: Final = Struct("=QIIIIQIIQQIIIIQQII")
_RECV: Final = Struct("=QII")
_SGE: Final = Struct("=QII")
_WC: Final = Struct("=Q8I2H2B2x")
_Window = tuple[int, int, MW, MR, int | None]
"""Which of several requests binds a window, its new key, it, its region, and what 0 stands for."""
_IPV4_IN_UDP: Final = 0xA
"""What mlx5 says in place of the priority about the headers of datagrams of RoCE version 2.

Source: rdma-core, providers/mlx5/cq.c; UCX, src/uct/ib/ud/base/ud_iface.h, where UCX asks for it.
"""
_FENCE, _SIGNALED, _SOLICITED, _INLINE = 1, 2, 4, 8


def swapped(word: int) -> int:
    """A word of 32 bits with its bytes the other way round."""
    return int.from_bytes(word.to_bytes(4, "big"), "little")


def _pieces(process: Process, data: bytes, at: int, count: int) -> tuple[list[SGE], int]:
    found = []
    for _ in range(count):
        address, length, key = _SGE.unpack_from(data, at)
        at += _SGE.size
        found.append(SGE(process.session.keys.address(key, address), length, key))
    return found, at


def _send_requests(thread: Thread, data: bytes) -> tuple[list[SendWR], list[_Window]]:
    process, found, windows, at = thread.process, list[SendWR](), list[_Window](), 0
    keys = process.session.keys
    while at < len(data):
        (
            wr_id,
            opcode,
            flags,
            extra,
            count,
            remote,
            rkey,
            inlined,
            compare_add,
            swap,
            ah,
            remote_qpn,
            remote_qkey,
            window,
            bound,
            bound_length,
            bound_mr,
            bound_access,
        ) = _SEND.unpack_from(data, at)
        at += _SEND.size
        wr = SendWR(one_of(WROpcode, opcode, "opcode"), wr_id=wr_id)
        wr.signaled, wr.fence = bool(flags & _SIGNALED), bool(flags & _FENCE)
        wr.solicited, wr.inline = bool(flags & _SOLICITED), bool(flags & _INLINE)
        if wr.inline:
            wr.data = data[at : at + inlined]
            wr.sg_list = (SGE(0, inlined, 0),) * bool(inlined)
            at += inlined
        else:
            wr.sg_list, at = _pieces(process, data, at, count)
        # Immediate data are in the order of the network, keys are not.
        wr.invalidate_rkey, wr.imm_data = keys.simulated(extra), swapped(extra)
        wr.remote_addr, wr.rkey = keys.address(rkey, remote), keys.simulated(rkey)
        wr.compare_add, wr.swap = compare_add, swap
        wr.ah, wr.remote_qpn, wr.remote_qkey = optional(thread, ah), remote_qpn, remote_qkey
        if window:
            region: MR = held(thread, bound_mr)
            zero_based = bound_access & ZERO_BASED
            place = keys.address(region.lkey, bound)
            wr.mw = held(thread, window)
            wr.bind_info = BindInfo(region, place, bound_length, access(bound_access))
            windows.append((len(found), rkey, wr.mw, region, place if zero_based else None))
        found.append(wr)
    return found, windows


@call("POST_SEND")
def _post_send(thread: Thread, question: Question) -> Steps:
    """Words: queue pair, whether all or none are posted. They tell which one was not."""
    qp: QP = held(thread, question.words[0])
    thread.process.session.posts()
    wrs, windows = _send_requests(thread, question.data)
    return _posted(thread, qp.post_send_list(wrs, whole=bool(question.words[1])), windows)


@call("POST_RECV")
def _post_recv(thread: Thread, question: Question) -> Steps:
    """Words: queue pair or shared receive queue."""
    queue: Any = held(thread, question.words[0])
    process, data, wrs, at = thread.process, question.data, list[RecvWR](), 0
    while at < len(data):
        wr_id, count, _ = _RECV.unpack_from(data, at)
        pieces, at = _pieces(process, data, at + _RECV.size, count)
        wrs.append(RecvWR(pieces, wr_id))
    return _posted(thread, queue.post_recv_list(wrs))


def _posted(thread: Thread, steps: Any, windows: Sequence[_Window] = ()) -> Steps:
    answer: Answer = DONE
    try:
        yield from steps
    except VerbsError as error:
        code, _, data = refused(thread, error)
        answer = code, (error.bad_wr,), data
    for place, key, mw, mr, start in windows:
        if not answer[0] or place < answer[1][0]:
            thread.process.session.keys.bound(key, mw, mr, start)
    return answer


def _entry(process: Process, wc: Completion) -> bytes:
    opcode = wc.opcode if wc.status is WCStatus.SUCCESS or wc.is_receive else WCOpcode.SEND
    invalidated = process.session.keys.of_program(wc.invalidated_rkey)
    immediate = invalidated or swapped(wc.imm_data)
    level = wc.sl
    if wc.wc_flags & WCFlags.GRH and device_name(process.context).startswith("mlx5"):
        level |= _IPV4_IN_UDP * on_ethernet(process.node)
    told = wc.pkey_index, wc.slid, level, wc.dlid_path_bits
    number = wc.qp_num
    return _WC.pack(
        wc.wr_id % (1 << 64),
        wc.status.value,
        opcode.value,
        wc.vendor_err,
        wc.byte_len,
        immediate,
        number,
        wc.src_qp,
        wc.wc_flags.value,
        *told,
    )


@call("POLL_CQ")
def _poll_cq(thread: Thread, question: Question) -> Steps:
    """Words: queue, most entries. The bytes are entries as libibverbs has them."""
    cq: CQ = held(thread, question.words[0])
    most = min(question.words[1], LARGEST // _WC.size)
    return _polled(thread, cq, most)


def _polled(thread: Thread, cq: CQ, most: int) -> Steps:
    found = yield from cq.poll(most)
    if not found:
        return Nothing(words=(0,))
    thread.process.session.completes()
    return 0, (len(found),), b"".join([_entry(thread.process, one) for one in found])
