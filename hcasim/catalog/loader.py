"""From an id to a validated description, each value with its provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hcasim.catalog.adapter import Adapter
from hcasim.catalog.description import Description
from hcasim.catalog.files import MODELS, list_ids, model_path, unknown_id
from hcasim.catalog.host import Host
from hcasim.catalog.provenance import Parameter
from hcasim.catalog.reader import Reader
from hcasim.catalog.stack import Stack
from hcasim.catalog.switch import Switch
from hcasim.catalog.testbed import Testbed
from hcasim.catalog.validate import build
from hcasim.ground.errors import CatalogError, nearest, one_of

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


def load(identifier: str, kind: str | None = None) -> Loaded:
    """Load a model by its id.

    Parameters:
        identifier: an id such as "mt25208".
        kind: one of MODELS; without it the id is looked for in all of them, in their order.

    Returns:
        The validated description with the provenance of each value.

    Raises:
        CatalogError: an unknown id, or every fault of the file.
    """
    if kind is None:
        kind = find_kind(identifier)
    elif kind not in CLASSES:
        raise CatalogError(
            [f"kind: found {kind!r}; allowed: {one_of(MODELS)}{nearest(kind, MODELS)}"]
        )
    reader = Reader(kind, CLASSES[kind], model_path(kind, identifier))
    values = reader.read()
    if kind == "testbeds":
        _check_parts(reader, values)
    if reader.faults:
        raise CatalogError(reader.faults)
    model, faults = build(CLASSES[kind], values)
    if model is None:
        raise CatalogError([f"{reader.where}: {fault}" for fault in faults])
    return Loaded(kind, reader.file, model, values, tuple(reader.parameters))


def _check_parts(reader: Reader, values: Mapping[str, Any]) -> None:
    """The parts that a testbed names must exist."""
    for key, kind in (("host", "hosts"), ("switch", "switches"), ("stack", "stacks")):
        if key in values and values[key] not in list_ids(kind):
            reader.fault((key,), unknown_id(kind, values[key]))
    adapters = values.get("adapters", ())
    for name in adapters:
        if name not in list_ids("adapters"):
            reader.fault(("adapters",), unknown_id("adapters", name))
    default = values.get("default_adapter")
    if default is not None and adapters and default not in adapters:
        reader.fault(
            ("default_adapter",),
            f"found {default!r}; allowed: {one_of(adapters)}{nearest(default, adapters)}",
        )


def find_kind(identifier: str) -> str:
    """Return the kind of the model with this id; raise CatalogError if there is none."""
    for kind in MODELS:
        if identifier in list_ids(kind):
            return kind
    known = [name for kind in MODELS for name in list_ids(kind)]
    raise CatalogError(
        [f"models: found no {identifier!r}; allowed: {one_of(known)}{nearest(identifier, known)}"]
    )
