"""What an adapter speaks over its links, by kind."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field

from hcasim.catalog.description import PLAIN, Section


class InfinibandProtocol(Section):
    """The reliable connection service of InfiniBand, which leaves nothing to choose."""

    kind: Annotated[Literal["infiniband"], PLAIN] = "infiniband"


class IwarpProtocol(Section):
    """RDMAP over DDP over MPA over TCP (RFC 5040, 5041 and 5044)."""

    kind: Annotated[Literal["iwarp"], PLAIN] = "iwarp"
    markers: bool = Field(description="MPA puts a marker every 512 bytes into the TCP stream")
    timestamps: bool = Field(description="TCP segments carry the timestamps option")


Protocol = Annotated[InfinibandProtocol | IwarpProtocol, Field(discriminator="kind")]

LINK_OF: Mapping[str, str] = MappingProxyType({"infiniband": "infiniband", "iwarp": "ethernet"})
"""The kind of link that each protocol runs on."""
