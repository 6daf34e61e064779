"""What the connection manager tells of identifiers, in structures (Linux, core/ucma.c)."""

from __future__ import annotations

from ipaddress import IPv6Address

from hcasim.fabric.multicast import MULTICAST_LIDS
from hcasim.fabric.packet import FULL_MEMBER
from hcasim.launch.rdmacm.identifiers import Identifier
from hcasim.launch.rdmacm.layout import AH, ATTR, PATH, QKEY, RC, ROUTE, UD_PARAM, sockaddr
from hcasim.verbs import QPAttrMask as Mask
from hcasim.verbs.address import gids, on_ethernet
from hcasim.verbs.device import device_of, port_of

_IB_TIMEOUT, _ROCE_TIMEOUT = 19, 17
_REMOTE_WRITE, _REMOTE_READS = 1 << 1, 1 << 2 | 1 << 3


def attributes(one: Identifier, state: int) -> bytes:
    """The structure ib_uverbs_qp_attr that takes the queue pair to a state."""
    init, rtr, rts = 1, 2, 3
    connected = one.service == RC
    mask, flags = Mask.STATE, 0
    if state == init:
        mask |= Mask.PKEY_INDEX | Mask.PORT | (Mask.ACCESS_FLAGS if connected else Mask.QKEY)
        if connected and one.peer is not None:
            flags = _REMOTE_WRITE | (_REMOTE_READS if one.other.initiator_depth else 0)
    elif state == rtr and connected:
        mask |= Mask.AV | Mask.PATH_MTU | Mask.DEST_QPN | Mask.RQ_PSN
        mask |= Mask.MAX_DEST_RD_ATOMIC | Mask.MIN_RNR_TIMER
    elif state == rts:
        mask |= Mask.SQ_PSN
        if connected:
            mask |= Mask.TIMEOUT | Mask.RETRY_CNT | Mask.RNR_RETRY | Mask.MAX_QP_RD_ATOMIC
    peer = one.peer.number if one.peer is not None else 0
    first = state, 0, port_of(one.node, one.port_num or 1).active_mtu, 0
    numbers = QKEY, peer, one.number, one.other.qp_num, flags
    usual = _ROCE_TIMEOUT if on_ethernet(one.node) else _IB_TIMEOUT
    timeout = usual if one.timeout is None else one.timeout
    both = one.other.responder_resources, one.other.initiator_depth
    retries = timeout, one.retry_count, one.other.rnr_retry_count
    addresses = one.address(), bytes(AH.size)
    last = *both, 0, one.port_num, *retries, 0, 0
    return ATTR.pack(mask, *first, *numbers, *addresses, *[0] * 9, *last)


def group(one: Identifier, host: int) -> bytes:
    """What it is told of the multicast group of an IPv4 address (RFC 4391, 4)."""
    ethernet = on_ethernet(one.node)
    mgid = IPv6Address((0xFF0E << 112) | 0xFFFF << 32 | host)
    if not ethernet:
        mgid = IPv6Address(0xFF12_401B_FFFF << 80 | host & 0x0FFF_FFFF)
    lid = MULTICAST_LIDS[host % len(MULTICAST_LIDS)]
    index = len(gids(one.node, one.port_num or 1)) - 1
    rest = lid, 0, 0, 0, 1, one.port_num or 1, 0
    address = AH.pack(mgid.packed, 0, index, 64 if ethernet else 1, 0, 0, *rest)
    return UD_PARAM.pack(0xFF_FFFF, QKEY, address, b"", 0)


def route(one: Identifier) -> bytes:
    """The structure rdma_ucm_query_route_resp."""
    node, ethernet = one.node, on_ethernet(one.node)
    guid = device_of(node).node_guid.to_bytes(8) if one.port_num else bytes(8)
    path, paths = bytes(PATH.size), 0
    if one.port_num and one.far_place is not None:
        lids = [
            0 if ethernet else there.adapter.ports[port - 1].lid
            for there, port in (one.far_place, (node, one.port_num))
        ]
        mtu, paths = port_of(node, one.port_num).active_mtu, 1
        path = PATH.pack(
            one.far_gid().packed,
            one.gid().packed,
            lids[0].to_bytes(2),
            lids[1].to_bytes(2),
            0,
            bytes(4),
            1,
            mtu,
            FULL_MEMBER.to_bytes(2),
            64 if ethernet else 0,
            *[0] * 9,
        )
    elif one.port_num:
        path = bytes(16) + one.gid().packed + bytes(20) + FULL_MEMBER.to_bytes(2) + bytes(10)
    ends = [sockaddr(*where) for where in ((one.host, one.port), one.far)]
    return ROUTE.pack(guid, path, bytes(PATH.size), *ends, paths, one.port_num, 0, 0)
