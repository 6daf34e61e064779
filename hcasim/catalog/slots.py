"""The slot that an adapter's bus needs in its host, and what stands in where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hcasim.catalog.loader import load
from hcasim.catalog.overrides import Part, take_section

STAND_IN = "generic"
"""The host whose slots stand in."""


def plug(adapter: Part, host: Part, names: tuple[str, str] | None) -> list[str]:
    """Give a host the slot that an adapter's bus needs, if it has none.

    Parameters:
        adapter: with the bus that it is to have.
        host: changed in place.
        names: ids of host and adapter where the testbed says that they belong together, and so
            nothing stands in; None for a what-if.

    Returns:
        A fault for each section that is missing.
    """
    missing = [name for name in _needed(adapter.values["bus"]) if name not in host.values]
    if names is not None:
        return [
            f"host: found {names[0]}, which has no {name}, and the bus of {names[1]} needs one; "
            f"allowed: a host with a table [{name}]"
            for name in missing
        ]
    for name in missing:
        words = f"no {name} in this host; that of {STAND_IN}"
        take_section(host, name, load(STAND_IN, "hosts"), words)
    return []


def _needed(bus: Mapping[str, Any]) -> list[str]:
    kinds = [bus["kind"]]
    while bus.get("bridge"):
        bus = bus["bridge"]["bus"]
        kinds.append(bus["kind"])
    # Bridges pass on what a root port returns; the host's own bridge has no bus behind it.
    return ["root_port"] * ("pcie" in kinds) + ["pcix_bridge"] * (kinds[-1] == "pcix")
