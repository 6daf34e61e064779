"""What an adapter and its ports say of themselves, as far as descriptions tell it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_MESSAGE: Final = 1 << 31


@dataclass(frozen=True)
class DeviceAttr:
    """Limits of an adapter, with the names of ibv_device_attr.

    Attributes:
        max_qp_wr, max_srq_wr: entries of a queue.
        max_sge, max_srq_sge: pieces of memory of a request.
        max_qp_rd_atom: reads and atomics of one queue pair that it answers at once.
        max_qp_init_rd_atom: those that a queue pair of its own has in flight at once.
        atomic_cap: whether it has atomics, which are atomic to each other.
    """

    max_qp: int
    max_qp_wr: int
    max_srq_wr: int
    max_sge: int
    max_srq_sge: int
    max_qp_rd_atom: int
    max_qp_init_rd_atom: int
    atomic_cap: bool
    phys_port_cnt: int


@dataclass(frozen=True)
class PortAttr:
    """What a port is, with the names of ibv_port_attr.

    Attributes:
        active_mtu: bytes.
        max_msg_sz: bytes of the longest message.
        link_layer: InfiniBand or Ethernet.
    """

    lid: int
    active_mtu: int
    max_msg_sz: int
    link_layer: str
