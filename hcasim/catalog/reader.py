"""Reading one TOML file, over the description that it is based on, with every fault gathered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hcasim.catalog.description import Description, Name
from hcasim.catalog.fields import DEPTH, Leaf, PlainKey, Table, keys_of, leaf_paths
from hcasim.catalog.fits import Fit, FittedValue, load_fit
from hcasim.catalog.folders import find_file, is_path, list_ids
from hcasim.catalog.provenance import UNSAID, Parameter, Value
from hcasim.ground.errors import CatalogError, display, nearest, one_of
from hcasim.ground.faults import Wrong, shown, told
from hcasim.ground.reading import read_toml
from hcasim.ground.units import UnitError

_NAME = re.compile(r"[\w-]+")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Given(_Table):
    """A value that somebody states."""

    value: Any
    evidence: Literal["spec", "datasheet", "driver", "assumed"]
    source: Name


class Chosen(_Table):
    """A value that was chosen with published numbers in view, which have ids."""

    value: Any
    evidence: Literal["chosen"]
    claims: Annotated[list[str], Field(min_length=1)]
    source: Name


class Fitted(_Table):
    """A value that stands in a fit."""

    fit: str
    evidence: Literal["fitted"]
    source: Name


LEAVES = (Given, Chosen, Fitted)
"""What a leaf of a file may be."""
_LEAF: TypeAdapter[_Table] = TypeAdapter(
    Annotated[Given | Chosen | Fitted, Field(discriminator="evidence")]
)
_Path: TypeAlias = tuple[str, ...]


class Reader:
    """Reads one file and gathers its faults.

    Parameters:
        kind: of the description, such as "adapters".
        model: its class.
        file: where it is.
        values: of the description that it is based on, in base units.
        parameters: of that description, by path.
    """

    def __init__(
        self,
        kind: str,
        model: type[Description],
        file: Path,
        values: Mapping[str, Any],
        parameters: Mapping[str, Parameter[Value]],
    ) -> None:
        self.kind = kind
        self.model = model
        self.file = file
        self.where = display(file)
        self.parameters = dict(parameters)
        self.fits: dict[str, Fit] = {}
        own = Description.model_fields
        self.base = {name: value for name, value in values.items() if name not in own}

    def read(self) -> tuple[Description, dict[str, Any]]:
        """Return the description, and its values as nested tables in base units.

        Raises:
            CatalogError: every fault of the file.
        """
        table = read_toml(self.file)
        values = self.section(self.model, table, self.base, ())
        if values.get("id", self.file.stem) != self.file.stem:
            values["id"] = self.wrong(("id",), values["id"], repr(self.file.stem))
        faults = [fault for fit in self.fits.values() for fault in self.foreign(fit)]
        try:
            model = self.model.model_validate(values)
        except ValidationError as error:
            faults = told(error, [self.model], values, f"{self.where}: ", _wanted) + faults
        if faults:
            raise CatalogError(faults)
        order = {path: self.parameters[path] for path in leaf_paths(self.model, values)}
        self.parameters = order
        return model, values

    def wrong(self, path: _Path, found: object, allowed: str) -> Wrong:
        """Say of what stands at a path that it is wrong."""
        return Wrong(f"{self.where}: {'.'.join(path)}: found {shown(found)}; allowed: {allowed}")

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
                many = isinstance(raw, list)
                named = [self.named(key, one, here) for one in (raw if many else [raw])]
                values[name] = tuple(named) if many else named[0]
            elif key is None or not isinstance(raw, dict):
                values[name] = raw
            elif key.named:
                values[name] = self.several(key, raw, base.get(name, {}), here)
            else:
                values[name] = self.table(key, raw, base.get(name, {}), here)
        for name, key in keys.items():
            if isinstance(key, Leaf) and key.default is not None and name not in values:
                values[name] = self.usual(key, key.default, (*path, name))
        return values

    def usual(self, key: Leaf, value: Value, path: _Path) -> Value:
        """Return what holds for a leaf that the file does not say, and keep that it does not."""
        where = ".".join(path)
        self.parameters[where] = key.assumed(where, value, UNSAID)
        return value

    def table(self, key: Table, raw: dict[str, Any], base: Mapping[str, Any], path: _Path) -> Any:
        """Return the values of a section of which there may be several kinds."""
        if len(path) > DEPTH:
            return Wrong(
                f"{self.where}: {'.'.join(path[:DEPTH])}: found too many sections in each other; "
                "allowed: three buses and the bridges between them"
            )
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
            else:
                below = base.get(name, {})
                values[name] = self.table(key, one, below, here) if isinstance(one, dict) else one
        return values

    def forget(self, path: _Path) -> None:
        """Drop what the base says at a path and below it."""
        start = ".".join(path) + "."
        for name in [name for name in self.parameters if f"{name}.".startswith(start)]:
            del self.parameters[name]

    def named(self, key: PlainKey, raw: Any, path: _Path) -> Any:
        """Check that another description is there; the path of its file becomes absolute."""
        if not key.refers or not isinstance(raw, str):
            return raw
        try:
            file = find_file(raw, key.refers, self.file.parent)
        except CatalogError as error:
            return Wrong(f"{self.where}: {'.'.join(path)}: {error.faults[0]}")
        return str(file) if is_path(raw) else raw

    def leaf(self, key: Leaf, raw: Any, path: _Path) -> Value | Wrong:
        """Return the value of a leaf, and keep where it comes from."""
        where = f"{self.where}: {'.'.join(path)}"
        if not isinstance(raw, dict):
            example = "{ value = ..., evidence = ..., source = ... }"
            return Wrong(f"{where}: found {shown(raw)} without evidence; allowed: {example}")
        faults: list[str] = []
        try:
            _LEAF.validate_python(raw)
        except ValidationError as error:
            faults = told(error, LEAVES, raw, f"{where}.", partial(_wanted_of_leaf, key))
        claims = raw.get("claims", ())
        claims = tuple(claims) if isinstance(claims, list) else ()
        fitted = FittedValue.model_construct(value=raw.get("value"), claims=claims)
        source = str(raw.get("source"))
        if raw.get("evidence") == "fitted" and isinstance(raw.get("fit"), str):
            fit = self.fit(raw["fit"], where)
            if isinstance(fit, Wrong):
                return Wrong(*faults, *fit.faults)
            name, said = self.fit_key(path), where
            where = f"{display(fit.file)}: entries.{name}"
            if name not in fit.entries:
                close = nearest(name, fit.entries)
                return Wrong(f"{where}: missing, but {said} is fitted{close}")
            fitted = fit.entries[name]
            tie = f", tied to {fitted.tied_to}" if fitted.tied_to else ""
            source += f"; fit {fit.id}{tie}" + (f" ({fitted.note})" if fitted.note else "")
        if fitted.value is None:
            return Wrong(*faults)
        try:
            value = key.read(fitted.value)
            interval = _interval(key, fitted, value)
        except UnitError as error:
            return Wrong(*faults, f"{where}: {error}")
        if faults:
            return Wrong(*faults)
        self.parameters[".".join(path)] = Parameter(
            path=".".join(path),
            value=value,
            text=key.format(value),
            unit=key.unit.base if key.unit else "",
            evidence=raw["evidence"],
            source=source,
            interval=interval,
            claims=fitted.claims,
        )
        return value

    def fit_key(self, path: Sequence[str]) -> str:
        return ".".join((self.kind, self.file.stem, *path))

    def fit(self, name: str, where: str) -> Fit | Wrong:
        """Return the fit that a leaf names."""
        if name not in self.fits:
            try:
                file = find_file(name, "calibrations", self.file.parent)
            except CatalogError as error:
                return Wrong(f"{where}.fit: {error.faults[0]}")
            try:
                self.fits[name] = load_fit(str(file))
            except CatalogError as error:
                return Wrong(*error.faults)
        return self.fits[name]

    def foreign(self, fit: Fit) -> Iterator[str]:
        """A fit's entries for this description must name leaves of it."""
        prefix = self.fit_key(()) + "."
        known = [prefix + leaf for leaf in leaf_paths(self.model)]
        for name in fit.entries:
            if name.startswith(prefix) and name not in known:
                close = nearest(name, known)
                yield f"{display(fit.file)}: entries.{name}: unknown parameter{close}"


def _interval(key: Leaf, entry: FittedValue, value: Value) -> tuple[int, int] | None:
    if entry.interval is None:
        return None
    low, high = (key.read(bound) for bound in entry.interval)
    if not (isinstance(low, int) and isinstance(high, int) and isinstance(value, int)):
        raise UnitError("found an interval; allowed: none for a word")
    if not low <= value <= high:
        raise UnitError(
            f"found an interval from {key.format(low)} to {key.format(high)}; "
            f"allowed: one that holds the value {key.format(value)}"
        )
    return low, high


def _wanted(model: type[BaseModel], name: str) -> str:
    """What is allowed for a key that is missing."""
    key = keys_of(model).get(name)
    if isinstance(key, Leaf):
        return key.allowed
    return "a table" if isinstance(key, Table) else "text"


def _wanted_of_leaf(key: Leaf, _: type[BaseModel], name: str) -> str:
    fits = one_of(list_ids("calibrations"))
    allowed = {"value": key.allowed, "fit": fits, "claims": "a list of ids of claims"}
    return allowed.get(name, "where the value comes from")
