"""A machine that speaks iWARP: the known latencies of the rig, another protocol, other links.

It stands in for an adapter of the catalogue, so it is InfiniBand's in everything else.
"""

from functools import cache

from hcasim.catalog import EthernetLink, IwarpProtocol, Machine
from tests import rig

ACK_INTERVAL = 2
LARGEST = 9216


@cache
def machine(
    mtu: int = 1500,
    *,
    changes: tuple[tuple[str, str], ...] = (),
    adapter: str = "mt25208",
    switch: bool = True,
    gigabits: int = 10,
    metres: int = 5,
    markers: bool = False,
    timestamps: bool = False,
) -> Machine:
    """The rig's machine over Ethernet, but for the changes."""
    base = rig.machine(dict(changes), adapter=adapter, switch=switch)
    card = base.adapter
    limits = card.limits.model_copy(update={"max_mtu": LARGEST, "atomics": False})
    ack = card.ack.model_copy(update={"interval": ACK_INTERVAL})
    protocol = IwarpProtocol(markers=markers, crc=True, timestamps=timestamps)
    return base.model_copy(
        update={
            "adapter": card.model_copy(update={"protocol": protocol, "limits": limits, "ack": ack}),
            "link": EthernetLink(gigabits=gigabits, cable_length=metres * 1000, propagation=5000),
            "mtu": mtu,
        }
    )
