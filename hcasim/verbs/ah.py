"""Address handles: where datagrams go."""

from __future__ import annotations

from hcasim.fabric.packet import FULL_MEMBER
from hcasim.verbs.address import AHAttr, Rate, route_of
from hcasim.verbs.context import VerbsError
from hcasim.verbs.memory import PD


class AH:
    """The address of a port for datagrams, as ibv_create_ah makes it of an `AHAttr`.

    Raises:
        VerbsError: ``EINVAL`` for what is no address of a port, ``EHOSTUNREACH`` for a GID that no
            port has, ``EOPNOTSUPP`` for what is not modelled.
    """

    def __init__(self, pd: PD, attr: AHAttr) -> None:
        self.pd = pd
        self.attr = attr
        self.route = route_of(pd.context.node, attr, attr.port_num, FULL_MEMBER)
        if gigabits(attr):
            found = f"static_rate is {attr.static_rate}"
            raise VerbsError("EOPNOTSUPP", f"{found}; allowed: 0, as datagrams are not paced")


def create_ah(pd: PD, attr: AHAttr) -> AH:
    """Make the address of a port for datagrams, in no time; errors as `AH`."""
    return AH(pd, attr)


def gigabits(attr: AHAttr) -> float:
    """The static rate of an address in Gbit/s; 0 is that of the port."""
    if attr.static_rate not in [one.value for one in Rate]:
        allowed = ", ".join([str(one.value) for one in Rate])
        raise VerbsError("EINVAL", f"static_rate is {attr.static_rate}; allowed: {allowed}")
    return Rate(attr.static_rate).gigabits
