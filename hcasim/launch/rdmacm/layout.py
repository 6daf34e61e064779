"""The structures of commands and events, as librdmacm has them (Linux, rdma/rdma_user_cm.h)."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import IntEnum
from ipaddress import IPv6Address
from struct import Struct
from typing import Final

LOOPBACK: Final = 0x7F00_0001
RC, UD = 2, 4
"""Types of queue pairs (ib_verbs.h)."""
SERVICES: Final = {0x0106: RC, 0x0111: UD, 0x0002: UD}
"""Port spaces of TCP, UDP and IPoIB."""
QKEY: Final = 0x0123_4567
"""Of all datagrams that are addressed by IP (RDMA_UDP_QKEY)."""

CONN: Final = Struct("=II256s8B")
AH: Final = Struct("=16sI4BH6B")
UD_PARAM: Final = Struct("=II32s256sB7x")
EVENT: Final = Struct("=Q3I304s4xII")
PATH: Final = Struct("=16s16s2s2sI4sII2s10B")
ROUTE: Final = Struct("=8s64s64s28s28sIB3xII")
ATTR: Final = Struct("=10I32s32s5IHH11B5x")
_IN, _IN6 = 2, 10


class EventType(IntEnum):
    """What an event says (rdma_cm_event_type)."""

    ADDR_RESOLVED = 0
    ADDR_ERROR = 1
    ROUTE_RESOLVED = 2
    CONNECT_REQUEST = 4
    CONNECT_RESPONSE = 5
    REJECTED = 8
    ESTABLISHED = 9
    DISCONNECTED = 10
    MULTICAST_JOIN = 12


@dataclass(slots=True)
class Side:
    """What one side of a connection says."""

    qp_num: int = 0
    qkey: int = 0
    private: bytes = b""
    srq: int = 0
    responder_resources: int = 0
    initiator_depth: int = 0
    flow_control: int = 0
    retry_count: int = 0
    rnr_retry_count: int = 0

    @classmethod
    def read(cls, data: bytes) -> tuple[Side, bool]:
        """Of a command, and whether it says anything."""
        number, qkey, private, length, *rest, valid = CONN.unpack_from(data)
        return cls(number, qkey, private[:length], *rest), bool(valid)


def sockaddr(host: int, port: int) -> bytes:
    """An address of IPv4, and a port."""
    return Struct("=H2s4s20x").pack(_IN, port.to_bytes(2), host.to_bytes(4))


def read_sockaddr(data: bytes) -> tuple[int, int]:
    """Address of IPv4, 0 for any, and port."""
    family = int.from_bytes(data[:2], sys.byteorder)
    port = int.from_bytes(data[2:4])
    if family == _IN:
        return int.from_bytes(data[4:8]), port
    if family == _IN6:
        address = IPv6Address(data[8:24])
        if address.is_loopback:
            return LOOPBACK, port
        return int(address.ipv4_mapped or 0), port
    return 0, port
