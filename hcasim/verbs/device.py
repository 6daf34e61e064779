"""What adapters and ports tell of themselves, as ibv_query_device and ibv_query_port."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from hcasim.bus.pcie import PcieBus
from hcasim.catalog import EthernetLink, IwarpProtocol
from hcasim.cluster import Node
from hcasim.fabric.multicast import MULTICAST_LIDS
from hcasim.hca.driver import device
from hcasim.verbs.address import gids, lid_at, on_ethernet, port_guid

_MANY: Final = 1 << 24
"""Told of what nothing limits here: as many as numbers of 24 bits."""
_MOST_BYTES: Final = 2**64 - 1
_PAGES: Final = 0xFFFF_F000
"""Pages of each power of two from 4 KiB on."""
MAX_MESSAGE: Final = 1 << 31
_LANES: Final = {1: 1, 4: 2, 8: 4, 12: 8, 2: 16}
_SPEEDS: Final = {
    "SDR": 1,
    "DDR": 2,
    "QDR": 4,
    "FDR10": 8,
    "FDR": 16,
    "EDR": 32,
    "HDR": 64,
    "NDR": 128,
}
# (Gbit/s, width, speed), as drivers of Ethernet tell them (Linux, core/verbs.c, ib_get_eth_speed).
_ETHERNET: Final = (
    (1, 1, 1),
    (10, 1, 4),
    (20, 2, 2),
    (25, 1, 32),
    (40, 2, 4),
    (50, 1, 64),
    (100, 2, 32),
    (200, 2, 64),
    (400, 2, 128),
)


class AtomicCap(IntEnum):
    """With what atomics are atomic; names and numbers are those of libibverbs (ibv_atomic_cap)."""

    NONE = 0
    HCA = 1
    GLOB = 2


class PortState(IntEnum):
    """State of a port; names and numbers are those of libibverbs (ibv_port_state)."""

    NOP = 0
    DOWN = 1
    INIT = 2
    ARMED = 3
    ACTIVE = 4
    ACTIVE_DEFER = 5


class LinkLayer(IntEnum):
    """What a port is connected by; names and numbers are those of libibverbs."""

    UNSPECIFIED = 0
    INFINIBAND = 1
    ETHERNET = 2


class DeviceCap(IntEnum):
    """What an adapter can do; names and numbers are those of libibverbs (ibv_device_cap_flags)."""

    BAD_PKEY_CNTR = 1 << 1
    BAD_QKEY_CNTR = 1 << 2
    CURR_QP_STATE_MOD = 1 << 7
    SYS_IMAGE_GUID = 1 << 11
    RC_RNR_NAK_GEN = 1 << 12
    MEM_MGT_EXTENSIONS = 1 << 21


@dataclass(frozen=True, slots=True)
class DeviceAttr:
    """What an adapter tells of itself (ibv_device_attr, and max_dm_size of ibv_device_attr_ex).

    Limits are those of its description; what nothing limits here is 2 ** 24, and what is not
    modelled 0.
    """

    fw_ver: str
    node_guid: int
    sys_image_guid: int
    vendor_id: int
    vendor_part_id: int
    device_cap_flags: int
    max_qp: int
    max_qp_wr: int
    max_sge: int
    max_sge_rd: int
    max_cqe: int
    max_qp_rd_atom: int
    max_res_rd_atom: int
    max_qp_init_rd_atom: int
    atomic_cap: AtomicCap
    max_pkeys: int
    phys_port_cnt: int
    hw_ver: int = 0
    max_mr_size: int = _MOST_BYTES
    page_size_cap: int = _PAGES
    max_cq: int = _MANY
    max_mr: int = _MANY
    max_pd: int = _MANY
    max_ah: int = _MANY
    max_ee_rd_atom: int = 0
    max_ee_init_rd_atom: int = 0
    max_ee: int = 0
    max_rdd: int = 0
    max_mw: int = 0
    max_raw_ipv6_qp: int = 0
    max_raw_ethy_qp: int = 0
    max_mcast_grp: int = 0
    max_mcast_qp_attach: int = 0
    max_total_mcast_qp_attach: int = 0
    max_fmr: int = 0
    max_map_per_fmr: int = 0
    max_srq: int = 0
    max_srq_wr: int = 0
    max_srq_sge: int = 0
    local_ca_ack_delay: int = 0
    max_dm_size: int = 0


@dataclass(frozen=True, slots=True)
class PortAttr:
    """What a port tells of itself (ibv_port_attr); MTUs by their numbers in `MTU`."""

    max_mtu: int
    active_mtu: int
    gid_tbl_len: int
    bad_pkey_cntr: int
    qkey_viol_cntr: int
    pkey_tbl_len: int
    lid: int
    sm_lid: int
    active_width: int
    active_speed: int
    link_layer: LinkLayer
    state: PortState = PortState.ACTIVE
    port_cap_flags: int = 0
    max_msg_sz: int = MAX_MESSAGE
    lmc: int = 0
    max_vl_num: int = 1
    sm_sl: int = 0
    subnet_timeout: int = 0
    init_type_reply: int = 0
    phys_state: int = 5
    flags: int = 0
    port_cap_flags2: int = 0
    active_speed_ex: int = 0


def device_of(node: Node) -> DeviceAttr:
    """What the adapter of a node tells of itself."""
    description = node.adapter.description
    limits, made = description.limits, device(description.id)
    iwarp = isinstance(description.protocol, IwarpProtocol)
    guid = port_guid(node.adapter.ports[0].lid) | 1 << 24
    answers = description.responder.outstanding
    can = DeviceCap.CURR_QP_STATE_MOD | DeviceCap.RC_RNR_NAK_GEN | DeviceCap.SYS_IMAGE_GUID
    can |= DeviceCap.BAD_PKEY_CNTR | DeviceCap.BAD_QKEY_CNTR
    if description.umr is not None:
        can |= DeviceCap.MEM_MGT_EXTENSIONS
    return DeviceAttr(
        fw_ver=made.firmware,
        node_guid=guid,
        sys_image_guid=guid,
        vendor_id=made.vendor_id,
        vendor_part_id=made.vendor_part_id,
        device_cap_flags=can,
        max_qp=limits.max_qp,
        max_qp_wr=limits.max_wr,
        max_sge=limits.max_sge,
        max_sge_rd=limits.max_sge,
        max_cqe=limits.max_cqe,
        max_qp_rd_atom=answers,
        max_res_rd_atom=answers * limits.max_qp,
        max_qp_init_rd_atom=description.requester.outstanding,
        atomic_cap=AtomicCap.HCA if limits.atomics else AtomicCap.NONE,
        max_pkeys=max([len(node.adapter.pkeys(port)) for port in range(description.ports)]),
        phys_port_cnt=description.ports,
        max_mw=0 if description.umr is None else _MANY,
        max_mcast_grp=0 if iwarp else len(MULTICAST_LIDS),
        max_mcast_qp_attach=0 if iwarp else _MANY,
        max_total_mcast_qp_attach=0 if iwarp else _MANY,
        max_srq=0 if iwarp else _MANY,
        max_srq_wr=0 if iwarp else limits.max_wr,
        max_srq_sge=0 if iwarp else limits.max_sge,
        max_dm_size=max_dm_size(node),
    )


def max_dm_size(node: Node) -> int:
    """Bytes of the adapter's memory that its driver lets programs have (device memory).

    Of the drivers of these adapters mlx5 does so, whose adapters are on PCI Express.
    """
    description = node.adapter.description
    maps = device(description.id).driver == "mlx5" and isinstance(node.bus, PcieBus)
    return description.local_memory_size if maps else 0


def port_of(node: Node, port_num: int) -> PortAttr:
    """What a port tells of itself; ``EINVAL`` if there is none."""
    lid = lid_at(node, port_num)
    adapter, ethernet = node.adapter, on_ethernet(node)
    port, link = adapter.ports[port_num - 1], node.group.link
    if isinstance(link, EthernetLink):
        width, speed = _of_ethernet(float(link.gigabits))
    else:
        width, speed = _LANES[link.width], _SPEEDS[link.speed]
    active = number_of(adapter.mtu)
    most = active
    if not isinstance(adapter.description.protocol, IwarpProtocol):
        most = number_of(min(4096, adapter.description.limits.max_mtu))
    return PortAttr(
        max_mtu=max(most, active),
        active_mtu=active,
        gid_tbl_len=len(gids(node, port_num)),
        bad_pkey_cntr=port.bad_pkeys,
        qkey_viol_cntr=port.bad_qkeys,
        pkey_tbl_len=len(adapter.pkeys(port_num - 1)),
        lid=0 if ethernet else lid,
        sm_lid=0 if ethernet else 1,
        active_width=width,
        active_speed=speed,
        link_layer=LinkLayer.ETHERNET if ethernet else LinkLayer.INFINIBAND,
    )


def number_of(mtu: int) -> int:
    """The number in `MTU` of the largest that is not longer than so many bytes."""
    return max(1, min(5, mtu.bit_length() - 8))


def _of_ethernet(gigabits: float) -> tuple[int, int]:
    width, speed = 1, 1
    for least, wide, fast in _ETHERNET:
        if gigabits >= least:
            width, speed = wide, fast
    return width, speed
