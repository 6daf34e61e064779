"""Addresses: GIDs of ports, and the ways that address handles and queue pairs take."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from hcasim.catalog import EthernetLink, IwarpProtocol
from hcasim.catalog.link import LANES, Rocev2Protocol
from hcasim.catalog.subnet import SERVICE_LEVELS
from hcasim.cluster import Node
from hcasim.fabric.multicast import MULTICAST_LIDS
from hcasim.fabric.packet import GRH, Route
from hcasim.fabric.route_header import global_header, ipv4_header, ipv6_header, source_port
from hcasim.hca.qp.pacing import LEAST, STATIC_RATES
from hcasim.verbs.errors import VerbsError

GID = IPv6Address
"""A global identifier of 128 bits, written as an address of IPv6."""
NO_GID: Final = IPv6Address(0)
SUBNET_PREFIX: Final = 0xFE80 << 112
"""Of a subnet that no subnet manager has given another (volume 1, 4.1.1)."""
_GUID: Final = 0x0002_C903_0000_0000
"""What GUIDs of ports begin with; the LID of the port is behind it."""
_EUI64: Final = 0x0000_00FF_FE00_0000
"""The interface identifier of the MAC address 02:00:00:00 and two bytes (RFC 4291, appendix A)."""
_IPV4: Final = 0x0A00_0000
"""The network of the nodes' IPv4 addresses, 10.0.0.0/16."""
_MAPPED: Final = 0xFFFF << 32
_LOW: Final = 0xFFFF
PERMISSIVE_LID: Final = 0xFFFF


class GIDType(IntEnum):
    """What a GID belongs to; names and numbers are those of libibverbs (ibv_gid_type)."""

    IB = 0
    ROCE_V1 = 1
    ROCE_V2 = 2


class Rate(IntEnum):
    """A static rate; names and numbers are those of libibverbs (ibv_rate)."""

    MAX = 0
    RATE_2_5_GBPS = 2
    RATE_10_GBPS = 3
    RATE_30_GBPS = 4
    RATE_5_GBPS = 5
    RATE_20_GBPS = 6
    RATE_40_GBPS = 7
    RATE_60_GBPS = 8
    RATE_80_GBPS = 9
    RATE_120_GBPS = 10
    RATE_14_GBPS = 11
    RATE_56_GBPS = 12
    RATE_112_GBPS = 13
    RATE_168_GBPS = 14
    RATE_25_GBPS = 15
    RATE_100_GBPS = 16
    RATE_200_GBPS = 17
    RATE_300_GBPS = 18
    RATE_28_GBPS = 19
    RATE_50_GBPS = 20
    RATE_400_GBPS = 21
    RATE_600_GBPS = 22
    RATE_800_GBPS = 23
    RATE_1200_GBPS = 24

    @property
    def gigabits(self) -> float:
        """Gbit/s by its name; 0 of MAX, the rate of the port."""
        return float(self.name[5:-5].replace("_", ".")) if self else 0


@dataclass(slots=True, eq=True)
class GlobalRoute:
    """Where a packet with a global route header goes (ibv_global_route).

    Attributes:
        dgid: GID of the port or of the multicast group that it goes to.
        flow_label, traffic_class: of 20 and 8 bits; nothing tells packets apart by them.
        sgid_index: place of the sender's GID in the table of its port.
        hop_limit: routers that it may pass; there are none.
    """

    dgid: IPv6Address = NO_GID
    flow_label: int = 0
    sgid_index: int = 0
    hop_limit: int = 0
    traffic_class: int = 0


@dataclass(slots=True, eq=True)
class AHAttr:
    """The address of a port (ibv_ah_attr).

    Attributes:
        grh: the global route, if ``is_global``; over Ethernet it has to be.
        dlid: LID of the port or of the multicast group; over Ethernet nothing, or that of a group.
        sl: service level, 0 to 15.
        src_path_bits: low bits of the LID that it comes from; ports have one LID each.
        static_rate: of the slowest link on the way, by its number in `Rate`.
        port_num: port that packets leave by, from 1.
    """

    grh: GlobalRoute = field(default_factory=GlobalRoute)
    dlid: int = 0
    sl: int = 0
    src_path_bits: int = 0
    static_rate: int = 0
    is_global: int = 0
    port_num: int = 1


@dataclass(frozen=True, slots=True)
class GIDEntry:
    """An entry of the table of GIDs of a port (ibv_gid_entry)."""

    gid: IPv6Address
    gid_index: int
    port_num: int
    gid_type: GIDType


def on_ethernet(node: Node) -> bool:
    """Whether the ports of a node are those of Ethernet."""
    return isinstance(node.group.link, EthernetLink)


def port_guid(lid: int) -> int:
    """The GUID of a port, made of its LID."""
    return _GUID | lid


def gids(node: Node, port_num: int) -> list[IPv6Address]:
    """The GIDs of a port of the adapter."""
    return gids_of(node, lid_at(node, port_num))


def gids_of(node: Node, lid: int) -> list[IPv6Address]:
    """The GIDs of a port.

    Over InfiniBand it is the subnet's prefix with the GUID of the port. Over Ethernet the first is
    made of the MAC address, the second of the IPv4 address of the node at this port.
    """
    if not on_ethernet(node):
        return [IPv6Address(SUBNET_PREFIX | port_guid(lid))]
    local, mapped = SUBNET_PREFIX | _EUI64 | lid, _MAPPED | _IPV4 | lid
    if isinstance(node.adapter.description.protocol, IwarpProtocol):
        return [IPv6Address(local)]
    return [IPv6Address(local), IPv6Address(mapped)]


def gid_type(node: Node) -> GIDType:
    """What the GIDs of the ports of a node belong to; those of iWARP to nothing of RoCE."""
    iwarp = isinstance(node.adapter.description.protocol, IwarpProtocol)
    return GIDType.ROCE_V2 if on_ethernet(node) and not iwarp else GIDType.IB


def lid_at(node: Node, port_num: int) -> int:
    """LID of a port; over Ethernet its number among those of all nodes."""
    ports = node.adapter.ports
    if not 1 <= port_num <= len(ports):
        raise VerbsError("EINVAL", f"port_num is {port_num}; allowed: 1 to {len(ports)}")
    return ports[port_num - 1].lid


def lid_of(node: Node, gid: IPv6Address) -> int:
    """LID of the port that has a GID, in the machine of a node; 0 if none has."""
    number = int(gid)
    lid, rest = number & _LOW, number & ~_LOW
    known = [SUBNET_PREFIX | _GUID]
    if on_ethernet(node):
        known = [SUBNET_PREFIX | _EUI64, _MAPPED | _IPV4]
    groups = node.machine.groups
    ports = sum([group.count * group.adapter.ports for group in groups])
    return lid if rest in known and 1 <= lid <= ports else 0


def route_of(node: Node, attr: AHAttr, port_num: int, pkey: int) -> Route:
    """The way of packets from a port to an address.

    Raises:
        VerbsError: ``EINVAL`` for an address that is none, ``EHOSTUNREACH`` if no port has the GID,
            ``EOPNOTSUPP`` for bits of a path, of which there is one.

    Source: manual page ibv_create_ah; Linux, core/verbs.c, rdma_check_ah_attr and
    ib_resolve_unicast_gid_dmac.
    """
    if attr.port_num != port_num:
        raise VerbsError("EINVAL", f"ah_attr.port_num is {attr.port_num}; allowed: {port_num}")
    if not 0 <= attr.sl < SERVICE_LEVELS:
        raise VerbsError("EINVAL", f"sl is {attr.sl}; allowed: 0 to {SERVICE_LEVELS - 1}")
    if attr.src_path_bits:
        bits = attr.src_path_bits
        raise VerbsError("EOPNOTSUPP", f"src_path_bits is {bits}; allowed: 0, as LMC is 0")
    ethernet = on_ethernet(node)
    if ethernet and not attr.is_global:
        raise VerbsError("EINVAL", "is_global is 0; Ethernet needs a grh with a GID")
    # Within a subnet packets find their way by the LID, whatever the GID.
    lid, dgid = attr.dlid, attr.grh.dgid
    if attr.is_global and dgid.is_multicast:
        lid = group_lid(node, dgid, lid)
    elif ethernet:
        lid = lid_of(node, dgid)
    if (lid in MULTICAST_LIDS) != bool(attr.is_global and dgid.is_multicast):
        found = f"dlid is {lid:#x}, is_global {attr.is_global}, dgid {dgid}"
        raise VerbsError("EINVAL", f"{found}; a group needs a LID and a GID that are a group's")
    if ethernet and not lid:
        raise VerbsError("EHOSTUNREACH", f"no port has the GID {attr.grh.dgid}")
    if not 1 <= lid < PERMISSIVE_LID:
        raise VerbsError("EINVAL", f"dlid is {lid}; allowed: 1 to {PERMISSIVE_LID - 1}")
    if not attr.is_global:
        return Route(lid, attr.sl, pkey, slower=_slower(node, attr))
    return routed(node, attr, lid, port_num, pkey)


def routed(node: Node, attr: AHAttr, lid: int, port_num: int, pkey: int) -> Route:
    """The way to a LID behind the global route header of an address."""
    source = _source(node, attr, port_num)
    header, extra = _header(node, attr, source, lid), 0 if on_ethernet(node) else GRH
    mgid = int(attr.grh.dgid) if lid in MULTICAST_LIDS else 0
    flow = lid_at(node, port_num) << 16 | source_port(attr.grh.flow_label)
    return Route(lid, attr.sl, pkey, header, extra, mgid, _slower(node, attr), flow)


def slower_by(node: Node, static_rate: float) -> Fraction | None:
    """How many times slower a rate in Gbit/s, as ibv_rate names it, is than that of the ports.

    It is None of 0, which is that of the ports, and of one that is not slower.
    """
    link = node.group.link
    if not static_rate:
        return None
    if isinstance(link, EthernetLink):
        raise VerbsError("EINVAL", f"static_rate is {static_rate:g}; Ethernet has none")
    if static_rate not in STATIC_RATES:
        allowed = ", ".join([f"{rate:g}" for rate in (0, *sorted(STATIC_RATES))])
        raise VerbsError("EINVAL", f"static_rate is {static_rate:g}; allowed: {allowed}")
    slower = LANES[link.speed].gigabits * link.width * 1000 / STATIC_RATES[static_rate]
    return slower if slower >= LEAST else None


def _slower(node: Node, attr: AHAttr) -> Fraction | None:
    if attr.static_rate not in [one.value for one in Rate]:
        allowed = ", ".join([str(one.value) for one in Rate])
        raise VerbsError("EINVAL", f"static_rate is {attr.static_rate}; allowed: {allowed}")
    return slower_by(node, Rate(attr.static_rate).gigabits)


def group_lid(node: Node, mgid: IPv6Address, lid: int) -> int:
    """LID of a multicast group: over Ethernet made of its GID, if none is given."""
    if lid in MULTICAST_LIDS or not on_ethernet(node):
        return lid
    return MULTICAST_LIDS[int(mgid) % len(MULTICAST_LIDS)]


def _source(node: Node, attr: AHAttr, port_num: int) -> IPv6Address:
    table, grh = gids(node, port_num), attr.grh
    for what, value, most in (
        ("sgid_index", grh.sgid_index, len(table) - 1),
        ("flow_label", grh.flow_label, (1 << 20) - 1),
        ("traffic_class", grh.traffic_class, 255),
        ("hop_limit", grh.hop_limit, 255),
    ):
        if not 0 <= value <= most:
            raise VerbsError("EINVAL", f"{what} is {value}; allowed: 0 to {most}")
    return table[grh.sgid_index]


def _header(node: Node, attr: AHAttr, source: IPv6Address, lid: int) -> bytes:
    grh = attr.grh
    if not on_ethernet(node):
        ends = source.packed, grh.dgid.packed
        return global_header(*ends, grh.traffic_class, grh.flow_label, grh.hop_limit)
    return header_between(node, lid_of(node, source), lid, grh.traffic_class, grh.hop_limit)


def header_between(
    node: Node, lid: int, dlid: int, traffic_class: int = 0, hop_limit: int = 0
) -> bytes:
    """The IP header of packets of a node from a port to another, over Ethernet."""
    protocol = node.adapter.description.protocol
    if isinstance(protocol, Rocev2Protocol) and protocol.ip == "ipv6":
        local = [IPv6Address(SUBNET_PREFIX | _EUI64 | one).packed for one in (lid, dlid)]
        return ipv6_header(local[0], local[1], traffic_class, hop_limit)
    ends = [IPv4Address(_IPV4 | one).packed for one in (lid, dlid)]
    return ipv4_header(ends[0], ends[1], traffic_class, hop_limit)
