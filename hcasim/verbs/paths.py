"""What the path of a connection may be on a machine."""

from __future__ import annotations

from fractions import Fraction

from hcasim.catalog import EthernetLink
from hcasim.catalog.link import LANES, mtu_fault, path_mtus
from hcasim.catalog.protocol import MTU_OF
from hcasim.hca.qp.pacing import STATIC_RATES
from hcasim.verbs.context import Context
from hcasim.verbs.errors import VerbsError


def mtu_of(context: Context, path_mtu: int | None) -> int:
    """The MTU of a path in bytes.

    Args:
        path_mtu: the one that is asked for; the machine's by default.

    Raises:
        VerbsError: ``EINVAL`` for an MTU that this protocol or this machine does not have.
    """
    adapter = context.adapter
    mtu = adapter.mtu if path_mtu is None else path_mtu
    kind = MTU_OF[adapter.description.protocol.kind]
    if mtu_fault(mtu, "", kind) or mtu > adapter.mtu:
        allowed = path_mtus(kind, adapter.mtu)
        raise VerbsError("EINVAL", f"path MTU {mtu}; allowed: {allowed}")
    return mtu


def slower_by(context: Context, static_rate: float) -> Fraction:
    """How many times slower a rate is than that of the port.

    Args:
        static_rate: Gbit/s, as ibv_rate names them; 0 is the port's.

    Raises:
        VerbsError: ``EINVAL`` for a rate that does not exist, or any on Ethernet.
    """
    link = context.node.group.link
    if not static_rate:
        return Fraction(1)
    if isinstance(link, EthernetLink):
        raise VerbsError("EINVAL", f"static_rate is {static_rate:g}; Ethernet has none")
    if static_rate not in STATIC_RATES:
        allowed = ", ".join(f"{rate:g}" for rate in (0, *sorted(STATIC_RATES)))
        raise VerbsError("EINVAL", f"static_rate is {static_rate:g}; allowed: {allowed}")
    return LANES[link.speed].gigabits * link.width * 1000 / STATIC_RATES[static_rate]
