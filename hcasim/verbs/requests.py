"""Work requests."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from hcasim.fabric.packet import Opcode
from hcasim.hca.qp.responder import GRH

if TYPE_CHECKING:
    from hcasim.verbs.memory import MR


class WROpcode(Enum):
    """Operation of a work request; the names are those of libibverbs.

    REG_MR is that of Linux in the kernel (IB_WR_REG_MR).
    """

    RDMA_WRITE = Opcode.RDMA_WRITE
    SEND = Opcode.SEND
    RDMA_READ = Opcode.RDMA_READ_REQUEST
    ATOMIC_CMP_AND_SWP = Opcode.COMPARE_SWAP
    ATOMIC_FETCH_AND_ADD = Opcode.FETCH_ADD
    REG_MR = Opcode.REGISTER


class SGE:
    """A piece of local memory: address, length in bytes, and the local key of its region."""

    __slots__ = ("addr", "length", "lkey")

    def __init__(self, addr: int, length: int, lkey: int) -> None:
        self.addr = addr
        self.length = length
        self.lkey = lkey


GRH_SIZE: Final = GRH
"""Bytes in front of the data of a datagram in its receive buffer."""
NOTHING: Final = SGE(0, 0, 0)
"""The memory of a message without data."""


class SendWR:
    """A request for the send queue.

    Attributes:
        sge: local memory; None for a message without data.
        remote_addr: address in the remote region, for RDMA and atomics.
        rkey: key of the remote region, likewise.
        inline: whether the data goes into the work queue entry itself.
        signaled: whether a completion is wanted.
        compare_add: operand of an atomic: what to compare with, or what to add.
        swap: second operand of a compare-and-swap.
        dlid, remote_qpn: port and queue pair that a datagram goes to.
        mr: what REG_MR makes valid; requests behind it wait until it has.
    """

    __slots__ = (
        "compare_add",
        "dlid",
        "inline",
        "mr",
        "opcode",
        "remote_addr",
        "remote_qpn",
        "rkey",
        "sge",
        "signaled",
        "swap",
        "wr_id",
    )

    def __init__(
        self,
        opcode: WROpcode,
        sge: SGE | None = None,
        wr_id: int = 0,
        remote_addr: int = 0,
        rkey: int = 0,
        inline: bool = False,
        signaled: bool = True,
        compare_add: int = 0,
        swap: int = 0,
        dlid: int = 0,
        remote_qpn: int = 0,
        mr: MR | None = None,
    ) -> None:
        self.opcode = opcode
        self.sge = sge
        self.wr_id = wr_id
        self.remote_addr = remote_addr
        self.rkey = rkey
        self.inline = inline
        self.signaled = signaled
        self.compare_add = compare_add
        self.swap = swap
        self.dlid = dlid
        self.remote_qpn = remote_qpn
        self.mr = mr


class RecvWR:
    """A request for the receive queue.

    Attributes:
        sge: local memory; None for messages without data.
        signaled: whether a completion is wanted. libibverbs has no such choice; VAPI has, as has
            the chip (Linux mthca_qp.c, MTHCA_QP_BIT_RSC).
    """

    __slots__ = ("sge", "signaled", "wr_id")

    def __init__(self, sge: SGE | None = None, wr_id: int = 0, signaled: bool = True) -> None:
        self.sge = sge
        self.wr_id = wr_id
        self.signaled = signaled
