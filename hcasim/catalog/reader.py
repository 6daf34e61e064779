"""Reading one TOML file against its model, with every fault gathered."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from hcasim.catalog.fields import Leaf, PlainKey, Table, keys_of, leaf_paths
from hcasim.catalog.fits import Fit, FittedValue, load_fit
from hcasim.catalog.folders import find_file, is_path, list_ids
from hcasim.catalog.provenance import EVIDENCE, Evidence, Parameter, Value
from hcasim.catalog.validate import build
from hcasim.ground.errors import CatalogError, display, nearest, one_of
from hcasim.ground.toml import read_toml
from hcasim.ground.units import UnitError

_LEAF_KEYS = ("value", "evidence", "source", "fit", "claims")
_NAME = re.compile(r"[\w-]+")


class Reader:
    """Reads one file and gathers its faults."""

    def __init__(self, kind: str, model: type[BaseModel], file: Path) -> None:
        self.kind = kind
        self.identifier = file.stem
        self.model = model
        self.file = file
        self.where = display(file)
        self.faults: list[str] = []
        self.parameters: list[Parameter] = []
        self.fits: dict[str, Fit | None] = {}

    def read(self) -> dict[str, Any]:
        """Return the values as nested tables; `faults` and `parameters` hold the rest."""
        values = self.section(self.model, read_toml(self.file), ())
        if values.get("id", self.identifier) != self.identifier:
            self.fault(("id",), f"found {values['id']!r}; allowed: {self.identifier!r}")
        self.check_fits()
        if self.faults:
            self.check_sections(self.model, values, ())
        return values

    def fault(self, path: Sequence[str], text: str) -> None:
        self.faults.append(f"{self.where}: {'.'.join(path)}: {text}")

    def section(
        self, model: type[BaseModel], table: Mapping[str, Any], path: tuple[str, ...]
    ) -> dict[str, Any]:
        keys = keys_of(model)
        values: dict[str, Any] = {}
        for name in table:
            if name not in keys:
                self.fault(
                    (*path, name),
                    f"unknown key; allowed: {one_of(list(keys))}{nearest(name, keys)}",
                )
        for name, key in keys.items():
            here = (*path, name)
            if name not in table:
                if key.required:
                    self.fault(here, f"missing; {_wanted(key)}")
                continue
            raw = table[name]
            if isinstance(key, Table):
                self.table(key, raw, here, values)
            elif isinstance(key, PlainKey):
                self.plain(key, raw, here, values)
            else:
                self.leaf(key, raw, here, values)
        return values

    def table(self, key: Table, raw: object, path: tuple[str, ...], values: dict[str, Any]) -> None:
        if not isinstance(raw, dict):
            self.fault(path, f"found {raw!r}; allowed: a table [{'.'.join(path)}]")
            return
        if key.named:
            alone = not raw or bool(raw.keys() & keys_of(key.models[""]).keys())
            sections: dict[str, Any] = {}
            for label, one in {"": raw}.items() if alone else raw.items():
                if not alone and not _NAME.fullmatch(label):
                    self.fault((*path, label), "odd name; allowed: letters, digits, - and _")
                here = path if alone else (*path, label)
                self.table(replace(key, named=False), one, here, sections)
            values[path[-1]] = sections
            return
        kinds = list(key.models)
        kind = raw.get("kind", "") if kinds != [""] else ""
        if kind not in kinds:
            found = f"found {kind!r}" if "kind" in raw else "missing"
            self.fault(
                (*path, "kind"), f"{found}; allowed: {one_of(kinds)}{nearest(str(kind), kinds)}"
            )
            return
        values[path[-1]] = self.section(key.models[kind], raw, path)

    def plain(
        self, key: PlainKey, raw: object, path: tuple[str, ...], values: dict[str, Any]
    ) -> None:
        if key.many:
            if not (isinstance(raw, list) and all(isinstance(item, str) for item in raw)):
                self.fault(path, f"found {raw!r}; allowed: a list of words")
                return
            if key.required and not raw:
                self.fault(path, "found an empty list; allowed: one word or more")
                return
            values[path[-1]] = tuple(self.named(key, name, path) for name in raw)
        elif not isinstance(raw, str) or (key.required and not raw.strip()):
            self.fault(path, f"found {raw!r}; {_wanted(key)}")
        else:
            values[path[-1]] = self.named(key, raw, path)

    def named(self, key: PlainKey, name: str, path: tuple[str, ...]) -> str:
        """Check that another description is there; the path of its file becomes absolute."""
        if key.refers:
            try:
                file = find_file(name, key.refers, self.file.parent)
            except CatalogError as error:
                self.fault(path, error.faults[0])
            else:
                return str(file) if is_path(name) else name
        return name

    def leaf(self, key: Leaf, raw: object, path: tuple[str, ...], values: dict[str, Any]) -> None:
        if not isinstance(raw, dict):
            self.fault(
                path,
                f"found {raw!r} without evidence; allowed: "
                "{ value = ..., evidence = ..., source = ... }",
            )
            return
        before = len(self.faults)
        for name in raw:
            if name not in _LEAF_KEYS:
                self.fault(
                    (*path, name),
                    f"unknown key; allowed: {one_of(_LEAF_KEYS)}{nearest(name, _LEAF_KEYS)}",
                )
        evidence = raw.get("evidence")
        if evidence not in EVIDENCE:
            found = "missing" if evidence is None else f"found {evidence!r}"
            close = nearest(str(evidence), EVIDENCE) if evidence is not None else ""
            self.fault((*path, "evidence"), f"{found}; allowed: {one_of(EVIDENCE)}{close}")
        source = raw.get("source")
        if not isinstance(source, str) or not source.strip():
            found = "missing" if source is None else f"found {source!r}"
            self.fault((*path, "source"), f"{found}; allowed: where the value comes from")
        if evidence == "fitted":
            parameter = self.fitted(key, raw, path)
        else:
            parameter = self.given(key, raw, path)
        if parameter is not None and len(self.faults) == before:
            self.parameters.append(parameter)
            values[path[-1]] = parameter.value

    def given(self, key: Leaf, raw: Mapping[str, Any], path: tuple[str, ...]) -> Parameter | None:
        if "fit" in raw:
            self.fault((*path, "fit"), 'found, but only evidence = "fitted" has a fit')
        if "value" not in raw:
            self.fault((*path, "value"), f"missing; {_wanted(key)}")
            return None
        try:
            value = key.read(raw["value"])
        except UnitError as error:
            self.fault(path, str(error))
            return None
        return Parameter(
            path=".".join(path),
            value=value,
            text=key.format(value),
            unit=key.unit.base if key.unit else "",
            evidence=cast(Evidence, raw.get("evidence")),
            source=str(raw.get("source")),
            claims=self.claims(raw, path),
        )

    def claims(self, raw: Mapping[str, Any], path: tuple[str, ...]) -> tuple[str, ...]:
        """Return the statements that a value was chosen from."""
        claims = raw.get("claims")
        if raw.get("evidence") != "chosen":
            if claims is not None:
                self.fault((*path, "claims"), 'found, but only evidence = "chosen" has claims')
            return ()
        if not (isinstance(claims, list) and claims and all(isinstance(c, str) for c in claims)):
            found = "missing" if claims is None else f"found {claims!r}"
            self.fault((*path, "claims"), f"{found}; allowed: a list of ids of claims")
            return ()
        return tuple(claims)

    def fitted(self, key: Leaf, raw: Mapping[str, Any], path: tuple[str, ...]) -> Parameter | None:
        if "value" in raw:
            self.fault((*path, "value"), "found, but a fitted value stands in its fit only")
        if "claims" in raw:
            self.fault((*path, "claims"), "found, but a fitted value has the claims of its fit")
        name = raw.get("fit")
        if not isinstance(name, str):
            self.fault((*path, "fit"), f"missing; allowed: {one_of(list_ids('calibrations'))}")
            return None
        fit = self.fit(name, path)
        if fit is None:
            return None
        entry = fit.entries.get(self.fit_key(path))
        if entry is None:
            self.faults.append(
                f"{display(fit.file)}: {self.fit_key(path)}: missing, but {self.where} says that "
                f"it is fitted here{nearest(self.fit_key(path), fit.entries)}"
            )
            return None
        try:
            value = key.read(entry.value)
            interval = _interval(key, entry, value)
        except UnitError as error:
            self.faults.append(f"{display(fit.file)}: {self.fit_key(path)}: {error}")
            return None
        tie = f", tied to {entry.tied_to}" if entry.tied_to else ""
        note = f" ({entry.note})" if entry.note else ""
        return Parameter(
            path=".".join(path),
            value=value,
            text=key.format(value),
            unit=key.unit.base if key.unit else "",
            evidence="fitted",
            source=f"{raw.get('source')}; fit {fit.id}{tie}{note}",
            interval=interval,
            claims=entry.claims,
        )

    def fit_key(self, path: Sequence[str]) -> str:
        return ".".join((self.kind, self.identifier, *path))

    def fit(self, name: str, path: tuple[str, ...]) -> Fit | None:
        if name not in self.fits:
            self.fits[name] = None
            try:
                file = find_file(name, "calibrations", self.file.parent)
            except CatalogError as error:
                self.fault((*path, "fit"), error.faults[0])
            else:
                try:
                    self.fits[name] = load_fit(str(file))
                except CatalogError as error:
                    self.faults.extend(error.faults)
        return self.fits[name]

    def check_fits(self) -> None:
        """A fit's entries for this description must name leaves of it."""
        prefix = self.fit_key(()) + "."
        known = leaf_paths(self.model)
        for fit in self.fits.values():
            for name in fit.entries if fit else ():
                path = name.removeprefix(prefix)
                if name.startswith(prefix) and path not in known:
                    assert fit is not None
                    self.faults.append(
                        f"{display(fit.file)}: {name}: unknown parameter"
                        f"{nearest(name, [prefix + leaf for leaf in known])}"
                    )

    def check_sections(
        self, model: type[BaseModel], values: Mapping[str, Any], path: tuple[str, ...]
    ) -> None:
        """Check the complete sections of a faulty file against their own rules."""
        for name, key in keys_of(model).items():
            table = values.get(name)
            if not isinstance(key, Table) or table is None:
                continue
            for part, one in key.parts(name, table).items():
                child, here = key.models[one.get("kind", "")], (*path, *part.split("."))
                if _complete(child, one):
                    _, faults = build(child, one, here)
                    self.faults += [f"{self.where}: {fault}" for fault in faults]
                else:
                    self.check_sections(child, one, here)


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


def _complete(model: type[BaseModel], table: Mapping[str, Any]) -> bool:
    """Whether a section has all that it needs, in its own sections too."""
    for name, key in keys_of(model).items():
        if name not in table:
            if key.required:
                return False
        elif isinstance(key, Table):
            for inner in key.parts(name, table[name]).values():
                if not _complete(key.models[inner.get("kind", "")], inner):
                    return False
    return True


def _wanted(key: Leaf | PlainKey | Table) -> str:
    if isinstance(key, Table):
        return "allowed: a table"
    if isinstance(key, PlainKey):
        return f"allowed: {one_of(key.choices)}" if key.choices else "allowed: text"
    return f"allowed: {key.allowed}"
