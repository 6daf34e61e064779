"""From ids and what-if settings to one frozen machine."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel

from hcasim.catalog.adapter import Adapter
from hcasim.catalog.consistency import contradictions
from hcasim.catalog.fields import Leaf, keys_of
from hcasim.catalog.folders import find_file, list_ids
from hcasim.catalog.host import Host
from hcasim.catalog.link import MTUS, mtu_fault
from hcasim.catalog.loader import load
from hcasim.catalog.machine import Machine
from hcasim.catalog.overrides import BUS, BUS_KIND, Part, override, replace_bus
from hcasim.catalog.provenance import Parameter
from hcasim.catalog.slots import plug
from hcasim.catalog.stack import Stack
from hcasim.catalog.switch import Switch
from hcasim.catalog.testbed import Testbed
from hcasim.catalog.validate import build
from hcasim.ground.errors import CatalogError, nearest

M = TypeVar("M", bound=BaseModel)


def resolve(
    testbed_id: str,
    *,
    adapter: str | None = None,
    overrides: Mapping[str, str] | None = None,
    mtu: int | None = None,
    switch: bool = True,
    firmware_mode: str | None = None,
) -> Machine:
    """Put a machine together.

    Parameters:
        testbed_id: a testbed, such as "liu2004", or the path of its file.
        adapter: an adapter's id or file instead of the testbed's default; it need not be one
            that was measured there.
        overrides: what-if settings by path, such as {"adapter.bus.lanes": "4"}.
        mtu: bytes instead of the testbed's.
        switch: False connects two hosts back to back.
        firmware_mode: of the adapter instead of its usual one: "tavor", "mem" or "memfree".

    Returns:
        The machine, frozen.

    Raises:
        CatalogError: with every fault of the request and of the files it uses.
    """
    settings = dict(overrides or {})
    faults: list[str] = []
    try:
        bed = load(testbed_id, "testbeds")
    except CatalogError as error:
        faults += error.faults
        if adapter is not None:
            try:
                find_file(adapter, "adapters")
            except CatalogError as unknown:
                faults += unknown.faults
        raise CatalogError(faults) from None
    testbed = bed.model
    assert isinstance(testbed, Testbed)

    parts: dict[str, Part] = {}
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
            parts[name] = _part(type(testbed.link), bed.values["link"], "", own)
        elif name != "switch" or switch:
            try:
                loaded = load(identifier, kind)
            except CatalogError as error:
                faults += error.faults
            else:
                parts[name] = _part(
                    type(loaded.model), loaded.values, f"{name}.", list(loaded.parameters)
                )

    if firmware_mode is not None and "adapter" in parts:
        fault = _choose_firmware(parts["adapter"], firmware_mode)
        if fault:
            faults.append(fault)
    for path in (BUS, BUS_KIND):
        if path in settings and "adapter" in parts:
            known = dict.fromkeys((*testbed.adapters, *list_ids("adapters")))
            fault = replace_bus(parts["adapter"], settings[path], list(known))
            if fault:
                faults.append(f"--set {path}: {fault}")
    if "adapter" in parts and "host" in parts:
        identifier = wanted["adapter"][1]
        measured = identifier in testbed.adapters and not {BUS, BUS_KIND} & settings.keys()
        names = (testbed.host, identifier) if measured else None
        faults += plug(parts["adapter"], parts["host"], names)
    for path, text in settings.items():
        if path in (BUS, BUS_KIND):
            continue
        fault = override(parts, path, text, switch)
        if fault:
            faults.append(fault)
    size = {p.path: p for p in bed.parameters}["mtu"]
    if mtu is not None:
        size, fault = _chosen_mtu(size, mtu, testbed.link.kind)
        if fault:
            faults.append(fault)
    built: dict[str, BaseModel] = {}
    for name, part in parts.items():
        model, broken = build(part.model, part.values, (name,))
        faults += [f"--set {', '.join(part.set_paths)}: {fault}" for fault in broken]
        if model is not None:
            built[name] = model
    if faults:
        raise CatalogError(faults)

    nodes = {p.path: p for p in bed.parameters}["nodes"]
    if not switch:
        nodes = nodes.changed(2, "2", "two hosts back to back")
    parameters = [p for part in parts.values() for p in part.parameters.values()]
    machine = Machine(
        id=testbed.id,
        title=testbed.title,
        nodes=int(nodes.value),
        adapter=_typed(built["adapter"], Adapter),
        host=_typed(built["host"], Host),
        switch=_typed(built["switch"], Switch) if switch else None,
        link=_typed(built["link"], type(testbed.link)),
        stack=_typed(built["stack"], Stack),
        mtu=int(size.value),
        overrides=settings,
        parameters=(*parameters, nodes, size),
    )
    clashes = contradictions(machine)
    if clashes:
        raise CatalogError(f"{testbed_id}: {clash}" for clash in clashes)
    return machine


def _part(
    model: type[BaseModel], values: Mapping[str, Any], prefix: str, parameters: list[Parameter]
) -> Part:
    named = [replace(p, path=prefix + p.path) for p in parameters]
    return Part(model, copy.deepcopy(dict(values)), {p.path: p for p in named}, [])


def _typed(model: BaseModel, kind: type[M]) -> M:
    assert isinstance(model, kind)
    return model


def _choose_firmware(part: Part, mode: str) -> str | None:
    leaf = keys_of(Adapter)["firmware_mode"]
    assert isinstance(leaf, Leaf)
    if mode not in leaf.choices:
        close = nearest(mode, map(str, leaf.choices))
        return f"firmware_mode: found {mode!r}; allowed: {leaf.allowed}{close}"
    path = "adapter.firmware_mode"
    part.values["firmware_mode"] = mode
    part.parameters[path] = part.parameters[path].changed(mode, mode, "chosen for this run")
    return None


def _chosen_mtu(size: Parameter, mtu: int, kind: str) -> tuple[Parameter, str | None]:
    fault = mtu_fault(kind, mtu, repr(mtu))
    if fault is not None:
        return size, f"mtu: {fault}"
    return size.changed(mtu, MTUS[kind].format(mtu), "chosen for this run"), None
