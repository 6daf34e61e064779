"""What an adapter speaks over its links, by kind, and which links its ports take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from hcasim.catalog.link import Gigabits, Speed, Width
from hcasim.catalog.section import PLAIN, Section, key, optional
from hcasim.ground.errors import FaultError


class InfinibandProtocol(Section):
    """The reliable connection service of InfiniBand, which leaves nothing to choose."""

    kind: Annotated[Literal["infiniband"], PLAIN] = "infiniband"


class Rocev2Protocol(Section):
    """InfiniBand's transport in UDP datagrams (InfiniBand specification volume 1, annex A17)."""

    kind: Annotated[Literal["rocev2"], PLAIN] = "rocev2"


class IwarpProtocol(Section):
    """RDMAP over DDP over MPA over TCP (RFC 5040, 5041 and 5044)."""

    kind: Annotated[Literal["iwarp"], PLAIN] = "iwarp"
    markers: bool = key("MPA puts a marker every 512 bytes into the TCP stream")
    timestamps: bool = key("TCP segments carry the timestamps option")


Protocol = Annotated[
    InfinibandProtocol | Rocev2Protocol | IwarpProtocol, Field(discriminator="kind")
]

LINK_OF: Mapping[str, str] = {
    "infiniband": "infiniband",
    "rocev2": "ethernet",
    "iwarp": "ethernet",
}
"""The kind of link that each protocol runs on."""
MTU_OF: Mapping[str, str] = {**LINK_OF, "rocev2": "infiniband"}
"""The kind of MTU that a connection of each protocol has."""


class Port(Section):
    """The fastest links of each port; an adapter of both kinds speaks the protocol of its link."""

    speed: Speed | None = optional("InfiniBand: lane rate, by its name")
    width: Width | None = optional("InfiniBand: lanes")
    gigabits: Gigabits | None = optional("Ethernet: data rate in Gbit/s")

    @model_validator(mode="after")
    def _is_some_link(self) -> Port:
        if (self.speed is None) != (self.width is None):
            raise FaultError(self, "both or none", text="one of speed and width")
        if self.speed is None and self.gigabits is None:
            raise FaultError(self, "speed and width, gigabits or all of them", text="no link")
        return self


def spoken(kind: str, port: Mapping[str, object]) -> tuple[str, ...]:
    """The protocols of an adapter by its section `port`, that of its description first."""
    if kind == "iwarp":
        return (kind,)
    both = (("infiniband", "speed" in port), ("rocev2", "gigabits" in port))
    return (kind, *(other for other, has in both if has and other != kind))
