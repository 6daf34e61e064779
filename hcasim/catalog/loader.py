"""From an id to a validated description, each value with its provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hcasim.catalog.adapter import Adapter
from hcasim.catalog.description import Description
from hcasim.catalog.fields import Table, keys_of
from hcasim.catalog.folders import MODELS, find_file, is_path, list_ids
from hcasim.catalog.host import Host
from hcasim.catalog.provenance import Parameter
from hcasim.catalog.reader import Reader
from hcasim.catalog.stack import Stack
from hcasim.catalog.switch import Switch
from hcasim.catalog.testbed import Testbed
from hcasim.catalog.validate import build
from hcasim.ground.errors import CatalogError, display, nearest, one_of
from hcasim.ground.toml import read_toml

CLASSES: Mapping[str, type[Description]] = {
    "adapters": Adapter,
    "hosts": Host,
    "switches": Switch,
    "stacks": Stack,
    "testbeds": Testbed,
}


@dataclass(frozen=True)
class Loaded:
    """One catalogue file, validated.

    Parameters:
        kind: one of MODELS.
        file: where it was read from.
        model: the description.
        values: the same as nested tables of values in base units.
        parameters: each leaf with its provenance; paths start inside the description.
    """

    kind: str
    file: Path
    model: Description
    values: Mapping[str, Any]
    parameters: tuple[Parameter, ...]


def load(name: str, kind: str | None = None) -> Loaded:
    """Load a model.

    Parameters:
        name: an id such as "mt25208", or the path of a file such as "./my.toml".
        kind: one of MODELS; without it the id is looked for in all of them, in their order.

    Returns:
        The validated description with the provenance of each value.

    Raises:
        CatalogError: an unknown id, or every fault of the file.
    """
    if kind is None:
        kind = find_kind(name)
    elif kind not in CLASSES:
        raise CatalogError(
            [f"kind: found {kind!r}; allowed: {one_of(MODELS)}{nearest(kind, MODELS)}"]
        )
    reader = Reader(kind, CLASSES[kind], find_file(name, kind))
    values = reader.read()
    if kind == "testbeds":
        _check_testbed(reader, values)
    if reader.faults:
        raise CatalogError(reader.faults)
    model, faults = build(CLASSES[kind], values)
    if model is None:
        raise CatalogError([f"{reader.where}: {fault}" for fault in faults])
    return Loaded(kind, reader.file, model, values, tuple(reader.parameters))


def _check_testbed(reader: Reader, values: Mapping[str, Any]) -> None:
    key = keys_of(Testbed)["nodes"]
    assert isinstance(key, Table)
    for place, nodes in key.parts("nodes", values.get("nodes", {})).items():
        adapters, default = nodes.get("adapters", ()), nodes.get("default_adapter")
        if default is not None and adapters and default not in adapters:
            reader.fault(
                (place, "default_adapter"),
                f"found {default!r}; allowed: {one_of(adapters)}{nearest(default, adapters)}",
            )
    network = values.get("network", {})
    for name, switch in network.get("switches", {}).items():
        if not (network.get("switch") or switch.get("switch")):
            reader.fault(
                ("network", "switches", name, "switch"),
                f"missing; allowed: {one_of(list_ids('switches'))}",
            )


def find_kind(name: str) -> str:
    """Return the kind of a model by its id or file; raise CatalogError if there is none."""
    for kind in MODELS:
        if name in list_ids(kind):
            return kind
    if is_path(name):
        return _kind_of(find_file(name, MODELS[0]))
    known = [one for kind in MODELS for one in list_ids(kind)]
    raise CatalogError(
        [f"models: found no {name!r}; allowed: {one_of(known)}{nearest(name, known)}"]
    )


def _kind_of(file: Path) -> str:
    """Tell the kind of a file by its folder, or else by the keys that only one kind has."""
    if file.parent.name in MODELS:
        return file.parent.name
    keys = read_toml(file).keys()
    own = {kind: keys & CLASSES[kind].model_fields.keys() for kind in MODELS}
    kind = max(MODELS, key=lambda one: len(own[one]))
    if own[kind] <= Description.model_fields.keys():
        fault = "found no key that tells what it describes; allowed: the keys of one of"
        raise CatalogError([f"{display(file)}: {fault} {one_of(MODELS)}"])
    return kind
