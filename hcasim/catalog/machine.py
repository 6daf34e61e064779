"""The resolved machine: everything that a simulation needs to know, frozen."""

from __future__ import annotations

import hashlib
from functools import cached_property

from pydantic import BaseModel, ConfigDict

from hcasim.catalog.adapter import Adapter
from hcasim.catalog.host import Host
from hcasim.catalog.link import Link
from hcasim.catalog.provenance import Parameter
from hcasim.catalog.stack import Stack
from hcasim.catalog.switch import Switch


class Machine(BaseModel):
    """A testbed with one adapter, resolved.

    Parameters:
        id: the testbed's id.
        title: the testbed's title.
        nodes: hosts; two if there is no switch.
        adapter: the adapter in every host.
        host: every host.
        switch: the switch, or None if two hosts are connected back to back.
        link: every link.
        stack: the software on every host.
        mtu: largest payload of an InfiniBand packet, or IP packet of an Ethernet frame, in bytes.
        overrides: what-if settings, as they were given.
        parameters: each value with its provenance.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: str
    title: str
    nodes: int
    adapter: Adapter
    host: Host
    switch: Switch | None
    link: Link
    stack: Stack
    mtu: int
    overrides: dict[str, str]
    parameters: tuple[Parameter, ...]

    @cached_property
    def digest(self) -> str:
        """Hexadecimal digest of all values: equal machines have equal digests in any process."""
        words = {"id", "title", "notes", "references"}
        values = self.model_dump_json(
            exclude={
                "id": True,
                "title": True,
                "overrides": True,
                "parameters": True,
                "adapter": words,
                "host": words,
                "switch": words,
                "stack": words,
            }
        )
        return hashlib.sha256(values.encode()).hexdigest()

    def __hash__(self) -> int:
        return hash(self.digest)
