"""What each key of a description may hold, read from the description's own model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Le, MultipleOf
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from hcasim.catalog.section import SETTING, Evidence, Parameter, Plain, Refers, Value
from hcasim.ground.errors import nearest, one_of
from hcasim.ground.faults import shown
from hcasim.ground.units import Unit, UnitError

DEPTH = 6
"""Levels of sections, as buses and bridges may hold each other without end: three buses."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True)
class Leaf:
    """One parameter: its type, unit and range, and what it means.

    Parameters:
        base: int, str or bool.
        choices: the only values allowed, if they can be listed.
        low: smallest value allowed; high the largest.
        step: what the value must be a multiple of.
        default: what holds for a description that does not say it; None if there is no such value.
        setting: whether the authors of an experiment may set it.
    """

    base: type
    unit: Unit | None = None
    choices: tuple[Value, ...] = ()
    low: int | None = None
    high: int | None = None
    step: int | None = None
    required: bool = True
    default: Value | None = None
    words: str = ""
    setting: bool = False

    def format(self, value: Value) -> str:
        """Write a value as a file would hold it, without quotes."""
        if self.unit is not None and isinstance(value, int):
            return self.unit.format(value)
        return str(value).lower() if isinstance(value, bool) else str(value)

    def parameter(
        self, path: str, value: Value, evidence: Evidence, source: str, **more: Any
    ) -> Parameter[Value]:
        """Return a value of it with what it comes from; further arguments as for `Parameter`."""
        more |= {"unit": self.unit.base if self.unit else "", "meaning": self.words}
        return Parameter(path, value, self.format(value), evidence=evidence, source=source, **more)

    def raw(self, value: Value) -> Value:
        """Return a value as a file holds it: a quantity as text, others as they are."""
        return value if self.unit is None else self.format(value)

    @property
    def allowed(self) -> str:
        if self.choices:
            return one_of([self.format(choice) for choice in self.choices])
        if self.base is bool:
            return "true or false"
        if self.base is str:
            return "a word"
        text = "whole numbers" if self.unit is None else "values"
        if self.step is not None:
            text = f"multiples of {self.format(self.step)}"
        if self.low is not None:
            text += f" from {self.format(self.low)}"
        if self.high is not None:
            text += f" to {self.format(self.high)}"
        return text

    def read(self, raw: object) -> Value:
        """Return a value of a file in base units; UnitError says what was found and allowed."""
        if self.unit is not None:
            if not isinstance(raw, str):
                example = f'"{raw} {self.unit.zero}"' if type(raw) in (int, float) else "text"
                hint = f"; {self.unit.hint}, such as {example}"
                raise UnitError(raw, hint=hint, text=f"{shown(raw)} without a unit")
            return self._check(self.unit.parse(raw), raw)
        if type(raw) is not self.base:
            raise UnitError(raw, self.allowed, text=shown(raw))
        assert isinstance(raw, int | str | bool)
        return self._check(raw, raw)

    def read_argument(self, text: str) -> Value:
        """Return a value of the command line, where all is text, and "4K" or 8 are sizes, too."""
        if self.unit is not None:
            return self._check(self.unit.parse_argument(text), text)
        if self.base is bool:
            return self.read({"true": True, "false": False}.get(text.strip().lower(), text))
        whole = self.base is int and _INTEGER.fullmatch(text.strip())
        return self.read(int(text) if whole else text)

    def allows(self, value: Value) -> bool:
        """Whether a value of its type is one of those, or in the range."""
        if self.choices:
            return value in self.choices
        if isinstance(value, str):
            return bool(value.strip())
        above = self.low is None or self.low <= value
        return above and (self.high is None or value <= self.high) and not value % (self.step or 1)

    def _check(self, value: Value, raw: object) -> Value:
        if not self.allows(value):
            close = nearest(value, map(str, self.choices)) if isinstance(value, str) else ""
            raise UnitError(raw, self.allowed, close, shown(raw))
        return value


@dataclass(frozen=True)
class PlainKey:
    """A key without evidence: a word, or a list of many; it may refer to a kind of description."""

    many: bool
    required: bool
    refers: str = ""


@dataclass(frozen=True)
class Table:
    """A section, or several of which the key `kind` chooses one.

    Parameters:
        models: by kind; a section without kinds has the single key "".
        named: there may be several, by name; without names the key's own is that of the only one.
    """

    models: Mapping[str, type[BaseModel]]
    required: bool = True
    named: bool = False

    def parts(self, name: str, table: Mapping[str, Any]) -> dict[str, Any]:
        """The section or sections of a table `name`, by the path at which they are."""
        if not self.named:
            return {name: table}
        return {name if inner == name else f"{name}.{inner}": one for inner, one in table.items()}


Key = Leaf | PlainKey | Table


@cache
def keys_of(model: type[BaseModel]) -> Mapping[str, Key]:
    """Return what each key of a description or section holds, in the order of the model."""
    return {name: _key(info) for name, info in model.model_fields.items()}


def leaf_paths(
    model: type[BaseModel], values: Mapping[str, Any] | None = None, every: bool = False
) -> dict[str, Leaf]:
    """Return the leaves of a description by dotted path.

    Parameters:
        values: nested tables that have them; without it, those of all sections that may be.
        every: with the leaves that the values lack and may have.
    """
    return dict(_leaves(model, values, every, DEPTH))


def _leaves(
    model: type[BaseModel], values: Mapping[str, Any] | None, every: bool, depth: int
) -> Iterator[tuple[str, Leaf]]:
    for name, key in keys_of(model).items():
        if isinstance(key, Leaf):
            if key.required or values is None or every or name in values:
                yield name, key
        elif isinstance(key, Table) and depth:
            parts: Mapping[str, Any] = {name: None}
            if values is not None:
                wanted = name in values or ((every or key.required) and _begins(key))
                parts = key.parts(name, values.get(name, {})) if wanted else {}
            for part, one in parts.items():
                for kind, child in key.models.items():
                    if one is None or one.get("kind", "") == kind:
                        for path, leaf in _leaves(child, one, every, depth - 1):
                            yield f"{part}.{path}", leaf


def _begins(key: Table) -> bool:
    """Whether leaves make a section: neither it nor a section that it needs has a kind."""
    if "" not in key.models:
        return False
    inside = keys_of(key.models[""]).values()
    return all(_begins(one) for one in inside if isinstance(one, Table) and one.required)


def _key(info: FieldInfo) -> Key:
    kinds: Sequence[Any] = get_args(info.annotation) or (info.annotation,)
    if get_origin(info.annotation) is dict:
        return Table({"": kinds[1]}, info.is_required(), named=True)
    inner = [kind for kind in kinds if kind is not NoneType]
    if len(inner) == 1 and NoneType in kinds:
        optional = FieldInfo.from_annotation(inner[0])
        optional.metadata += info.metadata
        optional.description = info.description
        return replace(_key(optional), required=False)
    models = [one for one in kinds if isinstance(one, type) and issubclass(one, BaseModel)]
    if models:
        return Table({_kind(one): one for one in models}, info.is_required())
    choices = tuple(kinds) if get_origin(info.annotation) is Literal else ()
    marks = {type(mark): mark for mark in info.metadata}
    if plain := marks.get(Plain) or marks.get(Refers):
        many = get_origin(info.annotation) is tuple
        return PlainKey(many, info.is_required() or bool(choices), getattr(plain, "kind", ""))
    base: Any = type(choices[0]) if choices else info.annotation
    return Leaf(
        base=base,
        unit=marks.get(Unit),
        choices=choices,
        low=getattr(marks.get(Ge), "ge", None),
        high=getattr(marks.get(Le), "le", None),
        step=getattr(marks.get(MultipleOf), "multiple_of", None),
        required=info.is_required(),
        default=None if info.is_required() else info.default,
        words=info.description or "",
        setting=SETTING in info.metadata,
    )


def _kind(model: type[BaseModel]) -> str:
    kind = model.model_fields.get("kind")
    return str(get_args(kind.annotation)[0]) if kind is not None else ""
