"""Attributes of queue pairs, and which of them each change of the state needs and allows.

Source: manual pages ibv_modify_qp and ibv_query_qp; Linux, drivers/infiniband/core/verbs.c,
ib_modify_qp_is_ok and its table qp_state_table; of DCI and DCT drivers/infiniband/hw/mlx5/qp.c,
modify_dci_qp_is_ok and mlx5_ib_modify_dct; rdma-core, pyverbs/providers/mlx5/mlx5dv.pyx, Mlx5QP.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import TYPE_CHECKING, Final

from hcasim.hca import QPType, State
from hcasim.verbs.address import AHAttr

if TYPE_CHECKING:
    from hcasim.verbs.cq import CQ


class QPAttrMask(IntFlag):
    """Which attributes are meant; names and numbers are those of libibverbs (ibv_qp_attr_mask)."""

    STATE = 1 << 0
    CUR_STATE = 1 << 1
    EN_SQD_ASYNC_NOTIFY = 1 << 2
    ACCESS_FLAGS = 1 << 3
    PKEY_INDEX = 1 << 4
    PORT = 1 << 5
    QKEY = 1 << 6
    AV = 1 << 7
    PATH_MTU = 1 << 8
    TIMEOUT = 1 << 9
    RETRY_CNT = 1 << 10
    RNR_RETRY = 1 << 11
    RQ_PSN = 1 << 12
    MAX_QP_RD_ATOMIC = 1 << 13
    ALT_PATH = 1 << 14
    MIN_RNR_TIMER = 1 << 15
    SQ_PSN = 1 << 16
    MAX_DEST_RD_ATOMIC = 1 << 17
    PATH_MIG_STATE = 1 << 18
    CAP = 1 << 19
    DEST_QPN = 1 << 20
    RATE_LIMIT = 1 << 25


ALL: Final = QPAttrMask((1 << 21) - 1)


class MTU(IntEnum):
    """A path MTU; names and numbers are those of libibverbs (ibv_mtu)."""

    MTU_256 = 1
    MTU_512 = 2
    MTU_1024 = 3
    MTU_2048 = 4
    MTU_4096 = 5

    @property
    def bytes(self) -> int:
        return 128 << self.value


class MigState(IntEnum):
    """State of the migration to an alternate path, of which there is none (ibv_mig_state)."""

    MIGRATED = 0
    REARM = 1
    ARMED = 2


@dataclass(slots=True)
class QPCap:
    """Limits of a queue pair (ibv_qp_cap)."""

    max_send_wr: int = 0
    max_recv_wr: int = 0
    max_send_sge: int = 0
    max_recv_sge: int = 0
    max_inline_data: int = 0


@dataclass(slots=True)
class QPInitAttr:
    """What a queue pair was made with (ibv_qp_init_attr)."""

    send_cq: CQ
    recv_cq: CQ
    cap: QPCap
    qp_type: QPType
    sq_sig_all: bool


@dataclass(slots=True)
class QPAttr:
    """Attributes of a queue pair (ibv_qp_attr).

    Attributes:
        qp_state, cur_qp_state: state to go to, and the one that it is thought to be in, themselves
            or by their numbers.
        path_mtu: by its number in `MTU`.
        qkey: what datagrams have to name to be received, of 32 bits.
        rq_psn, sq_psn: number of the first packet that comes, and of the first that goes; 24 bits.
        dest_qp_num: number of the other end.
        qp_access_flags: value of the rights that the other end has, as in `Access`.
        ah_attr: address of the other end.
        pkey_index: place of the partition's key in the table of the port.
        en_sqd_async_notify: whether to be told when the state SQD has drained the send queue.
        sq_draining: whether it has not yet.
        max_rd_atomic: reads and atomics of this end that may be in flight.
        max_dest_rd_atomic: reads and atomics of the other end that this end takes at once.
        min_rnr_timer: code of the pause that this end asks for when it is not ready, 0 to 31.
        port_num: port that it uses, from 1.
        timeout: exponent of the time to wait for an answer, 4.096 us times 2 ** timeout; 0 is for
            ever.
        retry_cnt: how often to send again what has not been answered, 0 to 7.
        rnr_retry: how often to try again when the receiver is not ready; 7 is for ever.
        alt_ah_attr, alt_pkey_index, alt_port_num, alt_timeout, path_mig_state: of an alternate
            path, which is not modelled.
        rate_limit: kbit/s of a raw packet queue pair, of which there are none.
    """

    qp_state: State | int = State.RESET
    cur_qp_state: State | int = State.RESET
    path_mtu: int = 0
    path_mig_state: int = MigState.MIGRATED
    qkey: int = 0
    rq_psn: int = 0
    sq_psn: int = 0
    dest_qp_num: int = 0
    qp_access_flags: int = 0
    cap: QPCap = field(default_factory=QPCap)
    ah_attr: AHAttr = field(default_factory=AHAttr)
    alt_ah_attr: AHAttr = field(default_factory=AHAttr)
    pkey_index: int = 0
    alt_pkey_index: int = 0
    en_sqd_async_notify: int = 0
    sq_draining: int = 0
    max_rd_atomic: int = 0
    max_dest_rd_atomic: int = 0
    min_rnr_timer: int = 0
    port_num: int = 0
    timeout: int = 0
    retry_cnt: int = 0
    rnr_retry: int = 0
    alt_port_num: int = 0
    alt_timeout: int = 0
    rate_limit: int = 0


_M = QPAttrMask
NONE: Final = QPAttrMask(0)
_BOUND: Final = _M.PKEY_INDEX | _M.PORT
_LINK: Final = _M.AV | _M.PATH_MTU | _M.DEST_QPN | _M.RQ_PSN
_TRIES: Final = _M.TIMEOUT | _M.RETRY_CNT | _M.RNR_RETRY | _M.MAX_QP_RD_ATOMIC
_MOVES: Final = _M.ALT_PATH | _M.PATH_MIG_STATE
_RUNS: Final = _M.CUR_STATE | _M.ACCESS_FLAGS | _MOVES

_RC, _UC, _UD, _DCI, _DCT = QPType.RC, QPType.UC, QPType.UD, QPType.DCI, QPType.DCT
_Needs = dict[QPType, tuple[QPAttrMask, QPAttrMask]]
_ON: Final[_Needs] = {
    _RC: (NONE, _RUNS | _M.MIN_RNR_TIMER),
    _UC: (NONE, _RUNS),
    _UD: (NONE, _M.CUR_STATE | _M.QKEY),
}
_DRAINED: Final[_Needs] = dict.fromkeys(_ON, (NONE, _M.EN_SQD_ASYNC_NOTIFY))
# The driver takes a DCT through INIT to RTR, and no way back.
_NOTHING: Final[_Needs] = {kind: (NONE, NONE) for kind in QPType if kind is not _DCT}
_TRANSITIONS: Final[dict[tuple[State, State], _Needs]] = {
    **{(state, State.RESET): _NOTHING for state in State},
    **{(state, State.ERR): _NOTHING for state in State if state is not State.RESET},
    (State.RESET, State.INIT): {
        _RC: (_BOUND | _M.ACCESS_FLAGS, NONE),
        _UC: (_BOUND | _M.ACCESS_FLAGS, NONE),
        _UD: (_BOUND | _M.QKEY, NONE),
        _DCI: (_BOUND, NONE),
        _DCT: (_BOUND | _M.ACCESS_FLAGS, NONE),
    },
    (State.INIT, State.INIT): {
        _RC: (NONE, _BOUND | _M.ACCESS_FLAGS),
        _UC: (NONE, _BOUND | _M.ACCESS_FLAGS),
        _UD: (NONE, _BOUND | _M.QKEY),
        _DCI: (NONE, _BOUND),
    },
    (State.INIT, State.RTR): {
        _RC: (
            _LINK | _M.MAX_DEST_RD_ATOMIC | _M.MIN_RNR_TIMER,
            _M.ALT_PATH | _M.ACCESS_FLAGS | _M.PKEY_INDEX,
        ),
        _UC: (_LINK, _M.ALT_PATH | _M.ACCESS_FLAGS | _M.PKEY_INDEX),
        _UD: (NONE, _M.PKEY_INDEX | _M.QKEY),
        _DCI: (_M.PATH_MTU, _M.PKEY_INDEX | _M.AV),
        _DCT: (_M.PATH_MTU | _M.AV | _M.MIN_RNR_TIMER, NONE),
    },
    (State.RTR, State.RTS): {
        _RC: (_TRIES | _M.SQ_PSN, _RUNS | _M.MIN_RNR_TIMER),
        _UC: (_M.SQ_PSN, _RUNS),
        _UD: (_M.SQ_PSN, _M.CUR_STATE | _M.QKEY),
        _DCI: (_TRIES | _M.SQ_PSN, _M.MIN_RNR_TIMER),
    },
    (State.RTS, State.RTS): {**_ON, _DCI: (NONE, _M.MIN_RNR_TIMER)},
    (State.RTS, State.SQD): _DRAINED,
    (State.SQD, State.RTS): _ON,
    (State.SQD, State.SQD): {
        _RC: (
            NONE,
            _BOUND
            | _M.AV
            | _TRIES
            | _M.MAX_DEST_RD_ATOMIC
            | _MOVES
            | _M.ACCESS_FLAGS
            | _M.MIN_RNR_TIMER,
        ),
        _UC: (NONE, _M.AV | _MOVES | _M.ACCESS_FLAGS | _M.PKEY_INDEX),
        _UD: (NONE, _M.PKEY_INDEX | _M.QKEY),
    },
    # Requests of reliable connections end in ERR, never here.
    (State.SQE, State.RTS): {
        _RC: (NONE, NONE),
        _UC: (NONE, _M.CUR_STATE | _M.ACCESS_FLAGS),
        _UD: (NONE, _M.CUR_STATE | _M.QKEY),
    },
}


def _names(mask: QPAttrMask) -> str:
    return ", ".join([str(one.name) for one in QPAttrMask if one & mask]) or "nothing"


def fault(current: State, target: State, kind: QPType, mask: QPAttrMask) -> str:
    """What is wrong with going from a state to another with the attributes of a mask, if anything.

    The same state twice changes attributes.
    """
    needs = _TRANSITIONS.get((current, target), {}).get(kind)
    if needs is None:
        allowed = [one.name for one in State if kind in _TRANSITIONS.get((current, one), ())]
        return f"{target.name} after {current.name}; allowed: {', '.join(allowed) or 'nothing'}"
    required, optional = needs
    way = f"{current.name} to {target.name} of {kind.name}"
    if missing := required & ~mask:
        return f"{way} without {_names(missing)}; needed: {_names(required)}"
    if wrong := mask & ~(required | optional | QPAttrMask.STATE):
        return f"{way} with {_names(wrong)}; allowed: {_names(required | optional)}"
    return ""
