"""From an id to a validated description, each value with its provenance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from hcasim.catalog.adapter import Adapter, DmaDevice
from hcasim.catalog.fields import leaf_paths
from hcasim.catalog.folders import MODELS, a_model, adopt, find_file, is_path, list_ids, unknown_id
from hcasim.catalog.host import Host
from hcasim.catalog.model_file import Loaded, ModelFile
from hcasim.catalog.section import Description
from hcasim.catalog.stack import Stack
from hcasim.catalog.testbed import Switch, Testbed
from hcasim.ground.errors import CatalogError, Fault, display, nearest, one_of
from hcasim.ground.reading import read_toml

CLASSES: Mapping[str, tuple[type[Description], ...]] = {
    "adapters": (Adapter, DmaDevice),
    "hosts": (Host,),
    "switches": (Switch,),
    "stacks": (Stack,),
    "testbeds": (Testbed,),
}
"""What there is of each kind, the usual first."""
MOST_ABOVE = 32
"""Files of which each is based on the next."""
_OF_SCENARIOS = {"workload", "series", "axes", "claims"}
"""Keys that no model has."""

_LOADED: ContextVar[dict[tuple[str, Path | str], Loaded] | None] = ContextVar(
    "loaded", default=None
)
"""What has been read, by its kind and its file, or its id."""


@contextmanager
def each_file_once() -> Iterator[None]:
    """Read each file once inside the block, also in blocks inside of it."""
    loaded = _LOADED.get()
    token = _LOADED.set({} if loaded is None else loaded)
    try:
        yield
    finally:
        _LOADED.reset(token)


def load(name: str, kind: str | None = None) -> Loaded:
    """Load a model: the validated description with the provenance of each value.

    Parameters:
        name: an id such as "mt25208", or the path of a file such as "./my.toml".
        kind: one of MODELS; without it the id is looked for in all of them, in their order.

    Raises:
        CatalogError: an unknown id, or every fault of the file.
    """
    if kind is None:
        kind = find_kind(name)
    elif kind not in CLASSES:
        raise CatalogError([Fault("kind", kind, one_of(MODELS), nearest(kind, MODELS))])
    known = _LOADED.get()
    if known is not None and (kind, name) in known:
        return known[kind, name]
    file = find_file(name, kind)
    try:
        loaded = _load(kind, file, ())
    except CatalogError:
        found = kind
        with suppress(CatalogError):
            found = _kind_of(file)
        if found == kind or not is_path(name):
            raise
        fault = Fault(display(file), found, a_model(kind), text=a_model(found))
        raise CatalogError([fault]) from None
    if is_path(name):
        adopt(file, kind)
    elif known is not None:
        known[kind, name] = loaded
    return loaded


def _load(kind: str, file: Path, above: tuple[Path, ...]) -> Loaded:
    """Load a file, and before it the one that it is based on; those above are based on it."""
    known = _LOADED.get()
    if known is not None and (kind, file) in known:
        return known[kind, file]
    table = read_toml(file)
    base, named = None, table.get("based_on")
    if named is not None:
        base = _load(kind, _find_base(named, kind, file, above), (*above, file))
    whole = {**(base.values if base else {}), **table}
    loaded = ModelFile(kind, _class_of(kind, whole), file, base).read()
    if known is not None:
        known[kind, file] = loaded
    return loaded


def _class_of(kind: str, table: Mapping[str, Any]) -> type[Description]:
    usual, *_ = CLASSES[kind]
    return DmaDevice if usual is Adapter and table.get("dma") else usual


def _find_base(base: object, kind: str, file: Path, above: tuple[Path, ...]) -> Path:
    where = f"{display(file)}: based_on"
    if not isinstance(base, str):
        raise CatalogError([Fault(where, base, "an id or the path of a file")])
    try:
        found = find_file(base, kind, file.parent)
    except CatalogError as error:
        raise CatalogError(fault.at(f"{where}: {fault.place}") for fault in error.faults) from None
    chain = (*above, file)
    if found in chain:
        names = " -> ".join(one.stem for one in (*chain[chain.index(found) :], found))
        raise CatalogError([Fault(where, base, "", text=f"a circle: {names}")])
    if len(chain) > MOST_ABOVE:
        allowed = f"up to {MOST_ABOVE}, each based on the next"
        raise CatalogError([Fault(where, base, allowed, text=f"{len(chain)} files")])
    return found


def find_kind(name: str) -> str:
    """Return the kind of a model by its id, or of a model or scenario by its file."""
    for kind in MODELS:
        if name in list_ids(kind):
            return kind
    if is_path(name):
        return _kind_of(find_file(name, MODELS[0]))
    known = [one for kind in MODELS for one in list_ids(kind)]
    raise CatalogError([unknown_id("models", name, known)])


def _kind_of(file: Path, above: tuple[Path, ...] = ()) -> str:
    """Tell the kind of a file by what it is based on, by its keys, or by its folder."""
    table, folder = read_toml(file), file.parent.name
    if table.keys() & _OF_SCENARIOS:
        return "scenarios"
    kinds = sorted(MODELS, key=lambda one: one != folder)
    base = table.get("based_on")
    for kind in kinds:
        if base in list_ids(kind):
            return kind
    if isinstance(base, str) and is_path(base):
        return _kind_of(_find_base(base, MODELS[0], file, above), (*above, file))
    own = {kind: table.keys() & _class_of(kind, table).model_fields.keys() for kind in kinds}
    kind = max(kinds, key=lambda one: len(own[one]))
    if own[kind] <= Description.model_fields.keys() and folder not in MODELS:
        found, allowed = "no key that tells what it describes", one_of(MODELS)
        raise CatalogError(
            [Fault(display(file), table, f"the keys of one of {allowed}", text=found)]
        )
    return kind


@cache
def setting_paths() -> tuple[str, ...]:
    """Return what the authors of an experiment set of some machine, as paths of leaves."""
    found = (
        path if kind == "testbeds" else f"{a_model(kind).split()[1]}.{path}"
        for kind, models in CLASSES.items()
        for model in models
        for path, leaf in leaf_paths(model).items()
        # What a testbed says of its nodes is at the paths of their parts.
        if leaf.setting and not path.startswith("nodes.")
    )
    return tuple(dict.fromkeys(found))
