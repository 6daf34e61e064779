"""What-if settings: values given by path, such as `adapter.bus.lanes=4`."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from hcasim.catalog.fields import Leaf, Table, keys_of, leaf_paths
from hcasim.catalog.loader import Loaded, load
from hcasim.catalog.provenance import Parameter
from hcasim.ground.errors import nearest, one_of
from hcasim.ground.units import UnitError

BUS = "adapter.bus"
BUS_KIND = f"{BUS}.kind"
PREFIXES = ("adapter", "host", "switch", "link", "stack")


@dataclass
class Part:
    """One description while it is being put together.

    Parameters:
        model: its class.
        values: nested tables of values in base units, which settings change.
        parameters: the same with provenance, by full path.
        set_paths: paths that settings have changed.
    """

    model: type[BaseModel]
    values: dict[str, Any]
    parameters: dict[str, Parameter]
    set_paths: list[str]

    @property
    def leaves(self) -> dict[str, Leaf]:
        return leaf_paths(self.model, self.values)


def override(parts: Mapping[str, Part], path: str, text: str, switch: bool) -> str | None:
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
        return f"--set {path}: {_unknown(path, leaves, parts)}"
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
    part.parameters[path] = part.parameters[path].changed(value, leaf.format(value), "--set")
    return None


def replace_bus(part: Part, text: str, adapters: Sequence[str]) -> str | None:
    """Give an adapter the bus of another; return the fault if there is one.

    Parameters:
        part: the adapter.
        text: the id of the other adapter, or a kind of bus.
        adapters: ids, of which the first with that kind of bus is taken.
    """
    others = {name: load(name, "adapters") for name in adapters}
    by_kind = {other.values["bus"]["kind"]: name for name, other in reversed(others.items())}
    other = others.get(by_kind.get(text, text))
    if other is None:
        allowed = [*by_kind, *others]
        return f"found {text!r}; allowed: {one_of(allowed)}{nearest(text, allowed)}"
    take_section(part, "adapter", "bus", other, f"the bus of {other.model.id}")
    part.set_paths.append(BUS)
    return None


def take_section(part: Part, prefix: str, name: str, other: Loaded, words: str) -> None:
    """Put a section of another description in the place of this one's; its sources say so."""
    part.values[name] = copy.deepcopy(other.values[name])
    inside = f"{prefix}.{name}."
    for path in [path for path in part.parameters if path.startswith(inside)]:
        del part.parameters[path]
    for parameter in other.parameters:
        path = f"{prefix}.{parameter.path}"
        if path.startswith(inside):
            source = f"{words}: {parameter.source}"
            part.parameters[path] = replace(parameter, path=path, source=source)


def _unknown(path: str, leaves: Mapping[str, Leaf], parts: Mapping[str, Part]) -> str:
    """Say why a path cannot be set and which ones can."""
    prefix, _, inner = path.partition(".")
    if path == "mtu":
        return "found no such parameter; the MTU is chosen with --mtu"
    if prefix not in PREFIXES:
        hint = nearest(path, leaves) or nearest(prefix, PREFIXES)
        suffix = [leaf for leaf in leaves if leaf.endswith(f".{path}")]
        if suffix:
            hint = f"; did you mean {one_of([repr(leaf) for leaf in suffix])}?"
        starts = one_of([f"{name}." for name in PREFIXES])
        return f"unknown parameter; allowed: paths that start with {starts}{hint}"
    if inner in leaf_paths(parts[prefix].model):
        return _elsewhere(prefix, inner, leaves, parts[prefix])
    section = path
    while not any(leaf.startswith(f"{section}.") for leaf in leaves):
        section = section.rpartition(".")[0]
    if section == path:
        return f"a group of parameters; {_inside(section, leaves)}"
    return f"unknown parameter; {_inside(section, leaves)}{nearest(path, leaves)}"


def _elsewhere(prefix: str, inner: str, leaves: Mapping[str, Leaf], part: Part) -> str:
    """Say why a parameter that descriptions may have is not in this one."""
    section, table, model = prefix, part.values, part.model
    for name in inner.split("."):
        key = keys_of(model).get(name)
        if key is None:
            what = f"this {section.rpartition('.')[2]}, which is of kind {table['kind']}"
            return f"no parameter of {what}; {_inside(section, leaves)}"
        if name not in table:
            break
        assert isinstance(key, Table)
        table = table[name]
        model = key.models[table.get("kind", "")]
        section = f"{section}.{name}"
    return f"there is no {section}.{name} here; {_inside(section, leaves)}"


def _inside(section: str, leaves: Mapping[str, Leaf]) -> str:
    """List what a section holds: its parameters, and its own sections as `name.*`."""
    names: dict[str, None] = {}
    for leaf in leaves:
        if leaf.startswith(f"{section}."):
            name, dot, _ = leaf.removeprefix(f"{section}.").partition(".")
            names[f"{section}.{name}{'.*' if dot else ''}"] = None
    return f"allowed: {one_of(list(names))}"
