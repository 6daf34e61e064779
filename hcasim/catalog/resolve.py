"""From ids and what-if settings to one frozen machine."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import BaseModel

from hcasim.catalog.adapter import Adapter, PcieBus
from hcasim.catalog.errors import CatalogError, nearest, one_of
from hcasim.catalog.fields import Leaf, keys_of
from hcasim.catalog.files import list_ids, unknown_id
from hcasim.catalog.host import Host
from hcasim.catalog.loader import build, leaf_paths, load
from hcasim.catalog.machine import Machine
from hcasim.catalog.provenance import Parameter
from hcasim.catalog.stack import Stack
from hcasim.catalog.switch import Switch
from hcasim.catalog.testbed import Link, Testbed
from hcasim.catalog.units import UnitError, format_size

PREFIXES = ("adapter", "host", "switch", "link", "stack")
HEADROOM = 128
"""Bytes that a packet may have beyond its payload: all InfiniBand headers and checks fit."""

M = TypeVar("M", bound=BaseModel)


@dataclass
class _Part:
    """One description while it is being put together."""

    model: type[BaseModel]
    values: dict[str, Any]
    parameters: dict[str, Parameter]
    set_paths: list[str]

    @property
    def leaves(self) -> dict[str, Leaf]:
        kinds = {
            name: table["kind"]
            for name, table in self.values.items()
            if isinstance(table, dict) and "kind" in table
        }
        return leaf_paths(self.model, kinds)


def resolve(
    testbed_id: str,
    *,
    adapter: str | None = None,
    overrides: Mapping[str, str] | None = None,
    mtu: int | None = None,
    switch: bool = True,
) -> Machine:
    """Put a machine together.

    Parameters:
        testbed_id: a testbed, such as "liu2004".
        adapter: an adapter's id instead of the testbed's default; it need not be one that was
            measured there.
        overrides: what-if settings by path, such as {"adapter.bus.lanes": "4"}.
        mtu: largest InfiniBand payload in bytes instead of the testbed's.
        switch: False connects two hosts back to back.

    Returns:
        The machine, frozen.

    Raises:
        CatalogError: with every fault of the request and of the files it uses.
    """
    settings = dict(overrides or {})
    if testbed_id not in list_ids("testbeds"):
        faults = [unknown_id("testbeds", testbed_id)]
        if adapter is not None and adapter not in list_ids("adapters"):
            faults.append(unknown_id("adapters", adapter))
        raise CatalogError(faults)
    faults = []
    bed = load(testbed_id, "testbeds")
    testbed = bed.model
    assert isinstance(testbed, Testbed)

    parts: dict[str, _Part] = {}
    wanted = {
        "adapter": ("adapters", adapter or testbed.default_adapter),
        "host": ("hosts", testbed.host),
        "switch": ("switches", testbed.switch),
        "link": ("", ""),
        "stack": ("stacks", testbed.stack),
    }
    for name, (kind, identifier) in wanted.items():
        if name == "link":
            own = [p for p in bed.parameters if p.path.startswith("link.")]
            parts[name] = _part(Link, bed.values["link"], "", own)
        elif name != "switch" or switch:
            try:
                loaded = load(identifier, kind)
            except CatalogError as error:
                faults += error.faults
            else:
                parts[name] = _part(
                    type(loaded.model), loaded.values, f"{name}.", list(loaded.parameters)
                )

    for path, text in settings.items():
        fault = _override(parts, path, text, switch)
        if fault:
            faults.append(fault)
    size = {p.path: p for p in bed.parameters}["mtu"]
    if mtu is not None:
        size, fault = _chosen_mtu(size, mtu)
        if fault:
            faults.append(fault)
    built: dict[str, BaseModel] = {}
    for name, part in parts.items():
        model, broken = build(part.model, part.values)
        faults += [f"--set {', '.join(part.set_paths)}: {name}.{fault}" for fault in broken]
        if model is not None:
            built[name] = model
    if faults:
        raise CatalogError(faults)

    nodes = {p.path: p for p in bed.parameters}["nodes"]
    if not switch:
        nodes = replace(
            nodes, value=2, text="2", evidence="assumed", source="two hosts back to back"
        )
    parameters = [p for part in parts.values() for p in part.parameters.values()]
    machine = Machine(
        id=testbed.id,
        title=testbed.title,
        nodes=int(nodes.value),
        adapter=_typed(built["adapter"], Adapter),
        host=_typed(built["host"], Host),
        switch=_typed(built["switch"], Switch) if switch else None,
        link=_typed(built["link"], Link),
        stack=_typed(built["stack"], Stack),
        mtu=int(size.value),
        overrides=settings,
        parameters=(*parameters, nodes, size),
    )
    faults = contradictions(machine)
    if faults:
        raise CatalogError(faults)
    return machine


def _part(
    model: type[BaseModel], values: Mapping[str, Any], prefix: str, parameters: list[Parameter]
) -> _Part:
    named = [replace(p, path=prefix + p.path) for p in parameters]
    return _Part(model, copy.deepcopy(dict(values)), {p.path: p for p in named}, [])


def _typed(model: BaseModel, kind: type[M]) -> M:
    assert isinstance(model, kind)
    return model


def _override(parts: Mapping[str, _Part], path: str, text: str, switch: bool) -> str | None:
    """Apply one setting; return the fault if there is one."""
    prefix, _, inner = path.partition(".")
    if prefix == "switch" and not switch:
        return f"--set {path}: there is no switch between two hosts back to back"
    if prefix in PREFIXES and prefix not in parts:
        return None  # its file is faulty and already reported
    leaves = {
        f"{name}.{leaf}": key for name, part in parts.items() for leaf, key in part.leaves.items()
    }
    if path not in leaves:
        return f"--set {path}: unknown parameter{_similar(path, leaves, prefix)}"
    part = parts[prefix]
    leaf = leaves[path]
    try:
        value = leaf.read_argument(text)
    except UnitError as error:
        return f"--set {path}: {error}"
    table = part.values
    *sections, name = inner.split(".")
    for section in sections:
        table = table[section]
    table[name] = value
    part.set_paths.append(path)
    part.parameters[path] = replace(
        part.parameters[path],
        value=value,
        text=leaf.format(value),
        evidence="assumed",
        source="--set",
        interval=None,
        claims=(),
    )
    return None


def _similar(path: str, leaves: Mapping[str, Leaf], prefix: str) -> str:
    if prefix not in PREFIXES:
        hint = nearest(path, leaves) or nearest(prefix, PREFIXES)
        return f"; paths start with {one_of([name + '.' for name in PREFIXES])}{hint}"
    section = path.rpartition(".")[0]
    inside = [leaf for leaf in leaves if leaf.rpartition(".")[0] == section]
    if not inside:
        inside = sorted(
            {".".join(leaf.split(".")[:2]) for leaf in leaves if leaf.startswith(prefix + ".")}
        )
    return f"; allowed: {one_of(inside)}{nearest(path, leaves)}"


def _chosen_mtu(size: Parameter, mtu: int) -> tuple[Parameter, str | None]:
    leaf = keys_of(Testbed)["mtu"]
    assert isinstance(leaf, Leaf)
    if mtu not in leaf.choices or isinstance(mtu, bool):
        return size, f"mtu: found {mtu!r}; allowed: {leaf.allowed}"
    chosen = replace(
        size, value=mtu, text=leaf.format(mtu), evidence="assumed", source="chosen for this run"
    )
    return chosen, None


def contradictions(machine: Machine) -> list[str]:
    """Return a line for each pair of values that could not work together."""
    faults: list[str] = []
    adapter, host = machine.adapter, machine.host
    bus = adapter.bus
    if isinstance(bus, PcieBus):
        if host.chipset.completion > bus.max_payload:
            faults.append(
                f"host.chipset.completion: found {format_size(host.chipset.completion)}; allowed: "
                f"up to adapter.bus.max_payload, {format_size(bus.max_payload)}"
            )
        if 16 * host.chipset.posted_data_credits < bus.max_payload:
            faults.append(
                f"host.chipset.posted_data_credits: found {host.chipset.posted_data_credits}; "
                f"allowed: from {bus.max_payload // 16}, to hold one write of "
                f"adapter.bus.max_payload, {format_size(bus.max_payload)}"
            )
    need = machine.mtu + HEADROOM + machine.link.credit_update
    buffers = {"adapter.receive.buffer": adapter.receive.buffer}
    if machine.switch is not None:
        buffers["switch.buffer"] = machine.switch.buffer
        if machine.nodes > machine.switch.ports:
            faults.append(
                f"nodes: found {machine.nodes}; allowed: up to switch.ports, {machine.switch.ports}"
            )
    for path, size in buffers.items():
        if size < need:
            faults.append(
                f"{path}: found {format_size(size)}; allowed: from {format_size(need)}, to hold a "
                f"packet of MTU {machine.mtu} beside link.credit_update, "
                f"{format_size(machine.link.credit_update)}"
            )
    if machine.stack.max_inline > adapter.limits.max_inline:
        faults.append(
            f"stack.max_inline: found {format_size(machine.stack.max_inline)}; allowed: up to "
            f"adapter.limits.max_inline, {format_size(adapter.limits.max_inline)}"
        )
    return faults
