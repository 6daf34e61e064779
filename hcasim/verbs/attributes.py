"""New attributes of queue pairs: what values they may have, and the path that they make."""

from __future__ import annotations

from hcasim.fabric.multicast import MULTICAST_LIDS
from hcasim.fabric.packet import PSN_MODULUS
from hcasim.hca import Path
from hcasim.hca.qp.endpoint import ALL_ACCESS
from hcasim.hca.qp.go_back import LONGEST_TIMEOUT, MOST_RETRIES
from hcasim.hca.qp.rnr import rnr_timer_ps
from hcasim.verbs.address import route_of
from hcasim.verbs.context import Context, VerbsError
from hcasim.verbs.device import number_of
from hcasim.verbs.states import MTU, QPAttr, QPAttrMask


def _check(context: Context, attr: QPAttr, mask: QPAttrMask, keys: int) -> None:
    """Raise a VerbsError for the first value that is not allowed."""
    adapter = context.adapter
    description, m = adapter.description, QPAttrMask
    asked, answered = description.requester.outstanding, description.responder.outstanding
    largest = number_of(adapter.mtu) if adapter.wire.agreed else MTU.MTU_4096.value
    for bit, what, value, low, high in (
        (m.PORT, "port_num", attr.port_num, 1, description.ports),
        (m.PKEY_INDEX, "pkey_index", attr.pkey_index, 0, keys - 1),
        (m.QKEY, "qkey", attr.qkey, 0, (1 << 32) - 1),
        (m.ACCESS_FLAGS, "qp_access_flags", attr.qp_access_flags, 0, ALL_ACCESS.value),
        (m.PATH_MTU, "path_mtu", attr.path_mtu, MTU.MTU_256.value, largest),
        (m.DEST_QPN, "dest_qp_num", attr.dest_qp_num, 0, (1 << 24) - 1),
        (m.RQ_PSN, "rq_psn", attr.rq_psn, 0, PSN_MODULUS - 1),
        (m.SQ_PSN, "sq_psn", attr.sq_psn, 0, PSN_MODULUS - 1),
        (m.TIMEOUT, "timeout", attr.timeout, 0, LONGEST_TIMEOUT),
        (m.RETRY_CNT, "retry_cnt", attr.retry_cnt, 0, MOST_RETRIES),
        (m.RNR_RETRY, "rnr_retry", attr.rnr_retry, 0, MOST_RETRIES),
        (m.MIN_RNR_TIMER, "min_rnr_timer", attr.min_rnr_timer, 0, 31),
        (m.MAX_QP_RD_ATOMIC, "max_rd_atomic", attr.max_rd_atomic, 0, asked),
        (m.MAX_DEST_RD_ATOMIC, "max_dest_rd_atomic", attr.max_dest_rd_atomic, 0, answered),
    ):
        if mask & bit and not low <= value <= high:
            raise VerbsError("EINVAL", f"{what} is {value}; allowed: {low} to {high}")


def changed(
    context: Context, path: Path, port_num: int, datagram: bool, attr: QPAttr, mask: QPAttrMask
) -> Path:
    """The path of a queue pair with other attributes, those of a mask.

    Parameters:
        port_num: port that it has used so far.

    Raises:
        VerbsError: ``EINVAL`` for a value that is not allowed; others as of an address.
    """
    adapter, m = context.adapter, QPAttrMask
    if mask & m.PORT and 1 <= attr.port_num <= adapter.description.ports:
        port_num = attr.port_num
    keys = adapter.pkeys(port_num - 1)
    _check(context, attr, mask, len(keys))
    index = attr.pkey_index if mask & m.PKEY_INDEX else path.pkey_index
    pkey, route = keys[index], path.route
    if mask & m.AV:
        route = route_of(context.node, attr.ah_attr, port_num, pkey)
        if route.lid in MULTICAST_LIDS:
            raise VerbsError("EINVAL", f"dlid is {route.lid:#x}, a group; allowed: that of a port")
    else:
        route = route.within(pkey)
    mtu = path.mtu
    if datagram or not adapter.wire.agreed:
        mtu = adapter.mtu
    elif mask & m.PATH_MTU:
        mtu = MTU(attr.path_mtu).bytes
    return Path(
        mtu,
        route,
        attr.dest_qp_num if mask & m.DEST_QPN else path.qpn,
        attr.timeout if mask & m.TIMEOUT else path.timeout,
        attr.retry_cnt if mask & m.RETRY_CNT else path.retries,
        attr.rnr_retry if mask & m.RNR_RETRY else path.rnr_retry,
        rnr_timer_ps(attr.min_rnr_timer) if mask & m.MIN_RNR_TIMER else path.rnr_timer_ps,
        attr.max_rd_atomic if mask & m.MAX_QP_RD_ATOMIC else path.max_rd_atomic,
        attr.max_dest_rd_atomic if mask & m.MAX_DEST_RD_ATOMIC else path.max_dest_rd_atomic,
        attr.qp_access_flags if mask & m.ACCESS_FLAGS else path.access,
        attr.rq_psn if mask & m.RQ_PSN else path.rq_psn,
        attr.sq_psn if mask & m.SQ_PSN else path.sq_psn,
        index,
        attr.qkey if mask & m.QKEY else path.qkey,
    )
