"""Work requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, Final

from hcasim.fabric.packet import GRH, Opcode
from hcasim.hca.wqe import Piece, Pieces

if TYPE_CHECKING:
    from hcasim.verbs.ah import AH
    from hcasim.verbs.memory import MR
    from hcasim.verbs.windows import MW, BindInfo


class WROpcode(IntEnum):
    """Operation of a work request; names and numbers are those of libibverbs.

    REG_MR is that of Linux in the kernel (IB_WR_REG_MR).
    """

    RDMA_WRITE = 0
    RDMA_WRITE_WITH_IMM = 1
    SEND = 2
    SEND_WITH_IMM = 3
    RDMA_READ = 4
    ATOMIC_CMP_AND_SWP = 5
    ATOMIC_FETCH_AND_ADD = 6
    LOCAL_INV = 7
    BIND_MW = 8
    SEND_WITH_INV = 9
    REG_MR = 32


WIRE: Final = {
    WROpcode.RDMA_WRITE: Opcode.RDMA_WRITE,
    WROpcode.RDMA_WRITE_WITH_IMM: Opcode.RDMA_WRITE,
    WROpcode.SEND: Opcode.SEND,
    WROpcode.SEND_WITH_IMM: Opcode.SEND,
    WROpcode.RDMA_READ: Opcode.RDMA_READ_REQUEST,
    WROpcode.ATOMIC_CMP_AND_SWP: Opcode.COMPARE_SWAP,
    WROpcode.ATOMIC_FETCH_AND_ADD: Opcode.FETCH_ADD,
    WROpcode.LOCAL_INV: Opcode.INVALIDATE,
    WROpcode.BIND_MW: Opcode.BIND,
    WROpcode.SEND_WITH_INV: Opcode.SEND,
    WROpcode.REG_MR: Opcode.REGISTER,
}
"""What the packets of a request are."""


@dataclass(slots=True, eq=False)
class SGE:
    """A piece of local memory: address, length in bytes, and the local key of its region."""

    addr: int
    length: int
    lkey: int


GRH_SIZE: Final = GRH
"""Bytes in front of the data of a datagram in its receive buffer."""


@dataclass(slots=True, eq=False)
class SendWR:
    """A request for the send queue.

    Attributes:
        sg_list: local memory, in pieces that are one message; none for a message without data.
        remote_addr, rkey: address in the remote region, and its key, for RDMA and atomics.
        inline: whether the data goes into the work queue entry itself; ``data`` are its bytes, if
            they are not those of ``sg_list``.
        signaled: whether a completion is wanted.
        solicited: whether the receiver wants an event for it.
        fence: whether it waits until reads and atomics before it have been answered.
        imm_data: 32 bits that the receiver finds in its completion, of opcodes WITH_IMM.
        invalidate_rkey: key that becomes invalid, of the receiver by SEND_WITH_INV, or here by
            LOCAL_INV.
        compare_add: operand of an atomic: what to compare with, or what to add.
        swap: second operand of a compare-and-swap.
        ah, remote_qpn: port and queue pair that a datagram goes to; ``dlid`` is a short form of
            the address of a port. One to a multicast group goes to queue pair 0xFFFFFF: all that
            are attached to the group.
        remote_qkey: key that a datagram names; one from 2 ** 31 on stands for that of its queue
            pair.
        dgid: the GID of a multicast group that ``dlid`` belongs to; without it all of that LID.
        dc_key: access key of the target that a request of a `DCI` goes to, by ``ah`` or ``dlid``
            and the number of the target, ``remote_qpn``.
        mr: what REG_MR makes valid; requests behind it wait until it has.
        mw, bind_info: window that BIND_MW opens, and on which part of a region.
    """

    opcode: WROpcode
    sg_list: Sequence[SGE] = ()
    wr_id: int = 0
    remote_addr: int = 0
    rkey: int = 0
    inline: bool = False
    signaled: bool = True
    solicited: bool = False
    fence: bool = False
    imm_data: int = 0
    invalidate_rkey: int = 0
    compare_add: int = 0
    swap: int = 0
    dlid: int = 0
    remote_qpn: int = 0
    remote_qkey: int = 0
    ah: AH | None = None
    dc_key: int = 0
    dgid: IPv6Address | str | None = None
    mr: MR | None = None
    mw: MW | None = None
    bind_info: BindInfo | None = None
    data: bytes | None = None


@dataclass(slots=True, eq=False)
class RecvWR:
    """A request for the receive queue.

    Attributes:
        sg_list: local memory, in pieces that are filled in turn; none for messages without data.
        signaled: whether a completion is wanted. libibverbs has no such choice; VAPI has, as has
            the chip (Linux mthca_qp.c, MTHCA_QP_BIT_RSC).
    """

    sg_list: Sequence[SGE] = ()
    wr_id: int = 0
    signaled: bool = True


def memory_of(sg_list: Sequence[SGE]) -> tuple[int, int, int, Pieces | None]:
    """(address, length, key, pieces) of a message; the pieces are None if there is but one."""
    if not sg_list:
        return 0, 0, 0, None
    first = sg_list[0]
    if len(sg_list) == 1:
        return first.addr, first.length, first.lkey, None
    pieces = [Piece(one.addr, one.length, one.lkey) for one in sg_list]
    return first.addr, sum([one.length for one in sg_list]), first.lkey, pieces
