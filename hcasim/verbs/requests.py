"""Work requests."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(slots=True, eq=False)
class SGE:
    """A piece of local memory: address, length in bytes, and the local key of its region."""

    addr: int
    length: int
    lkey: int


GRH_SIZE: Final = GRH
"""Bytes in front of the data of a datagram in its receive buffer."""
NOTHING: Final = SGE(0, 0, 0)
"""The memory of a message without data."""


@dataclass(slots=True, eq=False)
class SendWR:
    """A request for the send queue.

    Attributes:
        sge: local memory; None for a message without data.
        remote_addr, rkey: address in the remote region, and its key, for RDMA and atomics.
        inline: whether the data goes into the work queue entry itself.
        signaled: whether a completion is wanted.
        compare_add: operand of an atomic: what to compare with, or what to add.
        swap: second operand of a compare-and-swap.
        dlid, remote_qpn: port and queue pair that a datagram goes to.
        mr: what REG_MR makes valid; requests behind it wait until it has.
    """

    opcode: WROpcode
    sge: SGE | None = None
    wr_id: int = 0
    remote_addr: int = 0
    rkey: int = 0
    inline: bool = False
    signaled: bool = True
    compare_add: int = 0
    swap: int = 0
    dlid: int = 0
    remote_qpn: int = 0
    mr: MR | None = None


@dataclass(slots=True, eq=False)
class RecvWR:
    """A request for the receive queue.

    Attributes:
        sge: local memory; None for messages without data.
        signaled: whether a completion is wanted. libibverbs has no such choice; VAPI has, as has
            the chip (Linux mthca_qp.c, MTHCA_QP_BIT_RSC).
    """

    sge: SGE | None = None
    wr_id: int = 0
    signaled: bool = True
