"""Address handles: where datagrams go."""

from __future__ import annotations

from ipaddress import IPv6Address

from hcasim.fabric.packet import FULL_MEMBER, GRH, Route
from hcasim.hca import Completion
from hcasim.hca.completion_queue import WCFlags
from hcasim.hca.driver import device
from hcasim.verbs.address import AHAttr, GlobalRoute, gids, on_ethernet, route_of
from hcasim.verbs.context import Context, VerbsError
from hcasim.verbs.memory import PD


class AH:
    """The address of a port for datagrams, as ibv_create_ah makes it of an `AHAttr`.

    A datagram of a queue pair of another protection domain ends with LOC_QP_OP_ERR. Adapters of
    mlx5 do not look: their address vectors name no domain (rdma-core, providers/mlx5/wqe.h; those
    of mthca and mlx4 do).

    Raises:
        VerbsError: ``EINVAL`` for what is no address of a port, ``EHOSTUNREACH`` for a GID that no
            port has, ``EOPNOTSUPP`` for what is not modelled.
    """

    def __init__(self, pd: PD, attr: AHAttr) -> None:
        self.pd = pd
        self.attr = attr
        self.route = route_of(pd.context.node, attr, attr.port_num, FULL_MEMBER)
        self._checked = device(pd.context.adapter.description.id).driver != "mlx5"

    def within(self, pd: PD, pkey: int) -> Route | None:
        """The way of a queue pair's datagrams in the partition of a key; None if its adapter
        refuses them.
        """
        return None if self._checked and pd is not self.pd else self.route.within(pkey)


def create_ah(pd: PD, attr: AHAttr) -> AH:
    """Make the address of a port for datagrams, in no time; errors as `AH`."""
    return AH(pd, attr)


def init_ah_from_wc(context: Context, port_num: int, wc: Completion, grh: bytes = b"") -> AHAttr:
    """The address that a datagram has come from, as ibv_init_ah_from_wc.

    Parameters:
        wc: completion of its receive.
        grh: the first 40 bytes of its receive buffer, of use if the completion's flags say GRH.

    Raises:
        VerbsError: ``EINVAL`` for a header that is too short, or to no GID of the port.
    """
    attr = AHAttr(dlid=wc.slid, sl=wc.sl, port_num=port_num)
    if on_ethernet(context.node):
        attr.dlid = 0
    if not wc.wc_flags & WCFlags.GRH:
        return attr
    if len(grh) != GRH:
        raise VerbsError("EINVAL", f"a grh of {len(grh)} bytes; allowed: {GRH}")
    source, target = IPv6Address(grh[8:24]), IPv6Address(grh[24:])
    traffic_class, flow_label = (
        grh[0] << 4 & 0xF0 | grh[1] >> 4,
        int.from_bytes(grh[:4]) % (1 << 20),
    )
    if not grh[0]:
        traffic_class, flow_label = grh[21], 0
        source, target = [
            IPv6Address(b"\0" * 10 + b"\xff\xff" + one) for one in (grh[32:36], grh[36:])
        ]
    table = gids(context.node, port_num)
    if target not in table:
        raise VerbsError("EINVAL", f"the grh goes to {target}, which is no GID of the port")
    attr.is_global = 1
    attr.grh = GlobalRoute(source, flow_label, table.index(target), 255, traffic_class)
    return attr


def create_ah_from_wc(pd: PD, wc: Completion, grh: bytes = b"", port_num: int = 1) -> AH:
    """Make the address that a datagram has come from; arguments and errors as of both parts."""
    return AH(pd, init_ah_from_wc(pd.context, port_num, wc, grh))
