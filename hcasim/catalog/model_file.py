"""One TOML file of a model, read over what it is based on, with every fault gathered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hcasim.catalog.fields import DEPTH, Leaf, PlainKey, Table, keys_of, leaf_paths
from hcasim.catalog.fits import Fit, FittedValue, load_fit
from hcasim.catalog.folders import find_file, is_path, list_ids
from hcasim.catalog.section import UNSAID, Description, Name, Parameter, Value
from hcasim.catalog.successors import successor
from hcasim.ground.errors import CatalogError, Fault, display, nearest, one_of
from hcasim.ground.faults import Wrong, shown, told
from hcasim.ground.reading import read_toml
from hcasim.ground.units import UnitError

_NAME = re.compile(r"[\w-]+")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Leaf(_Table):
    informed: Annotated[list[str], Field(min_length=1)] | None = None
    """Ids of statements that were in view when the value was set, whatever source it has now."""


class Given(_Leaf):
    """A value that somebody states."""

    value: Any
    evidence: Literal["spec", "datasheet", "driver", "assumed"]
    source: Name


class Chosen(Given):
    """A value that was chosen with published numbers in view, which have ids."""

    evidence: Literal["chosen"]  # type: ignore[assignment]
    claims: Annotated[list[str], Field(min_length=1)]


class Fitted(_Leaf):
    """A value that stands in a fit."""

    fit: str
    evidence: Literal["fitted"]
    source: Name


LEAVES = (Given, Chosen, Fitted)
"""What a leaf of a file may be."""
_LEAF: TypeAdapter[_Table] = TypeAdapter(
    Annotated[Given | Chosen | Fitted, Field(discriminator="evidence")]
)
_Path = tuple[str, ...]


@dataclass(frozen=True)
class Loaded:
    """One catalogue file of a kind, validated.

    Parameters:
        values: those of the model, as nested tables in base units.
        parameters: each leaf with its provenance; paths start inside the description.
    """

    kind: str
    file: Path
    model: Description
    values: Mapping[str, Any]
    parameters: tuple[Parameter[Value], ...]


def inside(parameters: Iterable[Parameter[Value]], section: str) -> list[Parameter[Value]]:
    """Return the parameters of a section by their paths inside of it."""
    parted = [(one, one.path.partition(f"{section}.")) for one in parameters]
    return [one.at(path) for one, (outer, found, path) in parted if found and not outer]


@dataclass
class ModelFile:
    """A file of a kind and class while it is read, over what it is based on, if anything."""

    kind: str
    model: type[Description]
    file: Path
    base: Loaded | None
    parameters: dict[str, Parameter[Value]] = field(default_factory=dict)
    fits: dict[str, Fit] = field(default_factory=dict)

    @property
    def where(self) -> str:
        return display(self.file)

    def read(self) -> Loaded:
        """Return what it describes; CatalogError has every fault of the file."""
        table, inherited = read_toml(self.file), {}
        if self.base is not None:
            own, name = Description.model_fields, self.base.model.id
            inherited = {key: one for key, one in self.base.values.items() if key not in own}
            self.parameters = {
                one.path: replace(one, inherited_from=one.inherited_from or name)
                for one in self.base.parameters
            }
        values = self.section(self.model, table, inherited, ())
        if values.get("id", self.file.stem) != self.file.stem:
            values["id"] = self.wrong(("id",), values["id"], repr(self.file.stem))
        try:
            model = self.model.model_validate(values)
        except ValidationError as error:
            place = f"{self.where}: "
            faults = told(error, [self.model], values, place, _wanted, self.instead)
            raise CatalogError(faults) from None
        parameters = tuple(self.parameters[path] for path in leaf_paths(self.model, values))
        return Loaded(self.kind, self.file, model, values, parameters)

    def instead(self, path: str) -> str:
        return successor(f"{self.kind.removesuffix('s')}.{path}")

    def at(self, path: _Path) -> str:
        return f"{self.where}: {'.'.join(path)}"

    def wrong(self, path: _Path, found: object, allowed: str, written: str = "") -> Wrong:
        return Wrong(Fault(self.at(path), found, allowed, text=written or shown(found)))

    def section(
        self, model: type[BaseModel], table: Mapping[str, Any], base: Mapping[str, Any], path: _Path
    ) -> dict[str, Any]:
        """Return the values of a section: those of its base, and over them its own."""
        values, keys = dict(base), keys_of(model)
        for name, raw in table.items():
            key, here = keys.get(name), (*path, name)
            optional = key is not None and not key.required
            if raw is False and optional and values.pop(name, None) is not None:
                self.forget(here)
            elif isinstance(key, Leaf):
                values[name] = self.leaf(key, raw, here)
            elif isinstance(key, PlainKey):
                values[name] = self.plain(key, raw, here)
            elif key is None or not isinstance(raw, dict):
                values[name] = raw
            elif key.named:
                values[name] = self.several(key, raw, base.get(name, {}), here)
            else:
                values[name] = self.table(key, raw, base.get(name, {}), here)
        for name, key in keys.items():
            if isinstance(key, Leaf) and key.default is not None and name not in values:
                where = ".".join((*path, name))
                values[name] = key.default
                self.parameters[where] = key.parameter(where, key.default, "assumed", UNSAID)
        return values

    def table(self, key: Table, raw: dict[str, Any], base: Mapping[str, Any], path: _Path) -> Any:
        if len(path) > DEPTH:
            allowed = "three buses and the bridges between them"
            return self.wrong(path[:DEPTH], raw, allowed, "too many sections in each other")
        kind = raw.get("kind", base.get("kind", "")) if "" not in key.models else ""
        if kind != base.get("kind", kind):
            self.forget(path)
            base = {}
        model = key.models.get(kind) if isinstance(kind, str) else None
        return raw if model is None else self.section(model, raw, base, path)

    def several(
        self, key: Table, raw: dict[str, Any], base: Mapping[str, Any], path: _Path
    ) -> dict[str, Any]:
        """Return the values of sections by name, or of the only one, which has the key's name."""
        alone = not raw or bool(raw.keys() & keys_of(key.models[""]).keys())
        if alone != (base.keys() == {path[-1]}):
            self.forget(path)
            base = {}
        values = dict(base)
        for name, one in {path[-1]: raw}.items() if alone else raw.items():
            here = path if alone else (*path, name)
            if not _NAME.fullmatch(name):
                values[name] = self.wrong(here, name, "a name of letters, digits, - and _")
            elif isinstance(one, dict):
                values[name] = self.table(key, one, base.get(name, {}), here)
            else:
                values[name] = one
        return values

    def forget(self, path: _Path) -> None:
        """Drop what the base says at a path and below it."""
        start = ".".join(path) + "."
        for name in [name for name in self.parameters if f"{name}.".startswith(start)]:
            del self.parameters[name]

    def plain(self, key: PlainKey, raw: Any, path: _Path) -> Any:
        """Check that other descriptions are there; the paths of their files become absolute."""
        if key.many and isinstance(raw, list):
            found = [self.plain(replace(key, many=False), one, path) for one in raw]
            wrong = [fault for one in found if isinstance(one, Wrong) for fault in one.faults]
            return Wrong(*wrong) if wrong else tuple(found)
        if not key.refers or not isinstance(raw, str):
            return raw
        try:
            file = find_file(raw, key.refers, self.file.parent)
        except CatalogError as error:
            fault = error.faults[0]
            return Wrong(fault.at(f"{self.at(path)}: {fault.place}"))
        return str(file) if is_path(raw) else raw

    def leaf(self, key: Leaf, raw: Any, path: _Path) -> Value | Wrong:
        """Return the value of a leaf, and keep where it comes from."""
        where, faults = self.at(path), list[str]()
        if not isinstance(raw, dict):
            example = "{ value = ..., evidence = ..., source = ... }"
            return self.wrong(path, raw, example, f"{shown(raw)} without evidence")
        try:
            _LEAF.validate_python(raw)
        except ValidationError as error:
            faults = told(error, LEAVES, raw, f"{where}.", partial(_wanted_of_leaf, key))
        own, evidence, source = ".".join(path), raw.get("evidence"), raw.get("source")
        said = FittedValue.model_construct(value=raw.get("value"), claims=raw.get("claims", ()))
        if evidence == "fitted" and isinstance(raw.get("fit"), str):
            try:
                fit = self.fit(raw["fit"], where)
            except CatalogError as error:
                return Wrong(*faults, *error.faults)
            name = f"{self.kind}.{self.file.stem}.{own}"
            entry = f"{display(fit.file)}: entries.{name}"
            if name not in fit.entries:
                close = nearest(name, fit.entries)
                why = f"missing, but {where} is fitted"
                return Wrong(Fault(entry, None, "", close, said=why))
            where, said = entry, fit.entries[name]
            tie = f", tied to {said.tied_to}" if said.tied_to else ""
            source = f"{source}; fit {fit.id}{tie}" + (f" ({said.note})" if said.note else "")
        if said.value is not None:
            try:
                value = key.read(said.value)
                interval = _interval(key, said, value)
            except UnitError as error:
                faults.append(error.fault.at(where))
        if faults:
            return Wrong(*faults)
        assert evidence is not None
        known = key.parameter(own, value, evidence, str(source))
        seen = (*said.claims, *raw.get("informed", ()))
        self.parameters[own] = replace(
            known,
            interval=interval,
            claims=tuple(said.claims),
            informed=tuple(dict.fromkeys(seen)),
        )
        return value

    def fit(self, name: str, where: str) -> Fit:
        if name not in self.fits:
            try:
                file = find_file(name, "calibrations", self.file.parent)
            except CatalogError as error:
                fault = error.faults[0]
                raise CatalogError([fault.at(f"{where}.fit: {fault.place}")]) from None
            self.fits[name] = load_fit(str(file))
        return self.fits[name]


def _interval(key: Leaf, entry: FittedValue, value: Value) -> tuple[int, int] | None:
    if entry.interval is None:
        return None
    low, high = (key.read(bound) for bound in entry.interval)
    if not (isinstance(low, int) and isinstance(high, int) and isinstance(value, int)):
        raise UnitError(entry.interval, "none for a word", text="an interval")
    if not low <= value <= high:
        found = f"an interval from {key.format(low)} to {key.format(high)}"
        allowed = f"one that holds the value {key.format(value)}"
        raise UnitError(entry.interval, allowed, text=found)
    return low, high


def _wanted(model: type[BaseModel], name: str) -> str:
    key = keys_of(model).get(name)
    if isinstance(key, Leaf):
        return key.allowed
    return "a table" if isinstance(key, Table) else "text"


def _wanted_of_leaf(key: Leaf, _: type[BaseModel], name: str) -> str:
    fits = one_of(list_ids("calibrations"))
    ids = "a list of ids of claims"
    allowed = {"value": key.allowed, "fit": fits, "claims": ids, "informed": ids}
    return allowed.get(name, "where the value comes from")
