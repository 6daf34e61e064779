"""The slot of an adapter in its host: what stands in where there is none, and how it trains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hcasim.catalog.loader import load
from hcasim.catalog.overrides import take_section
from hcasim.catalog.part import Part, kind_of
from hcasim.catalog.provenance import Value

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


def train(adapter: Part, host: Part, settings: Mapping[str, str]) -> None:
    """Let the link of an adapter's slot be as wide and quick as both of its ends are.

    Parameters:
        adapter: changed in place, but for what the settings say of its bus.
        host: changed in place: no completion is longer than the payloads of the link.
        settings: what-if settings by path.
    """
    slot, (path, bus) = host.values.get("slot"), _last_bus(adapter)
    if slot is None or bus["kind"] != "pcie":
        return
    for key in ("generation", "lanes", "max_payload"):
        if bus[key] > slot[key]:
            _lower(
                adapter, f"{path}.{key}", slot[key], f"the slot of {host.values['id']}", settings
            )
    port, payload = host.values.get("root_port"), _last_bus(adapter)[1]["max_payload"]
    if port is not None and port["completion"] > payload:
        words = f"the payload of {adapter.values['id']} there"
        _lower(host, "root_port.completion", payload, words, settings)


def _last_bus(adapter: Part) -> tuple[str, Mapping[str, Any]]:
    """Return the bus that the slot has, and its path."""
    path, bus = "bus", adapter.values["bus"]
    while bus.get("bridge"):
        path, bus = f"{path}.bridge.bus", bus["bridge"]["bus"]
    return path, bus


def _lower(part: Part, path: str, value: Value, why: str, settings: Mapping[str, str]) -> None:
    """Change a value because something allows no more, unless it is what a setting says."""
    if {f"{part.name}.{path}", f"{kind_of(part.name)}.{path}"}.isdisjoint(settings):
        part.lower(path, value, f"{why} allows no more")


def _needed(bus: Mapping[str, Any]) -> list[str]:
    kinds = [bus["kind"]]
    while bus.get("bridge"):
        bus = bus["bridge"]["bus"]
        kinds.append(bus["kind"])
    # Bridges pass on what a root port returns; the host's own bridge has no bus behind it.
    return ["root_port"] * ("pcie" in kinds) + ["pcix_bridge"] * (kinds[-1] == "pcix")
