"""One description of a machine while settings and its place change it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from hcasim.catalog.fields import Leaf, leaf_paths
from hcasim.catalog.model_file import Loaded, inside
from hcasim.catalog.provenance import SET, UNSAID, Parameter, Value
from hcasim.ground.errors import Fault

BUS = "adapter.bus"
BUS_KIND = f"{BUS}.kind"


def kind_of(name: str) -> str:
    """What a part is: its name but for that of the group of nodes."""
    return name.rpartition(".")[2]


def copied(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested tables that may be changed."""
    return {key: copied(one) if isinstance(one, dict) else one for key, one in table.items()}


class Part:
    """One description while it is being put together.

    Attributes:
        name: where its paths begin in the machine.
        values: nested tables of values in base units, which settings change.
        parameters: the same with provenance, by the path inside of it.
        loaded: what its file says, if it has one.
        own: what differs by its file from what it follows.
        set_paths: settings that have changed it.
        begun: sections that it had not, each with the setting that has begun it.
    """

    def __init__(
        self,
        name: str,
        model: type[BaseModel],
        values: Mapping[str, Any],
        parameters: Iterable[Parameter[Value]],
        loaded: Loaded | None = None,
    ) -> None:
        self.name, self.kind, self.model, self.loaded = name, kind_of(name), model, loaded
        self.values = copied(values)
        self.parameters = {one.path: one for one in parameters}
        self.own: set[str] = set()
        self.set_paths: list[str] = []
        self.begun: dict[str, str] = {}

    @property
    def leaves(self) -> dict[str, Leaf]:
        return leaf_paths(self.model, self.values)

    @property
    def settable(self) -> dict[str, Leaf]:
        """Its leaves, and those that it has not and may have."""
        return leaf_paths(self.model, self.values, every=True)

    @property
    def protocol(self) -> str | None:
        spoken: str | None = self.values.get("protocol", {}).get("kind")
        return spoken

    def asked(self, settings: Mapping[str, str], *keys: str) -> list[str]:
        """Return the settings of some keys, first those of all parts of its kind, then its own."""
        starts = dict.fromkeys((self.kind, self.name))
        paths = [f"{start}.{key}" for start in starts for key in keys]
        return [path for path in paths if path in settings]

    def inner(self, path: str) -> str:
        """Return the path inside of it of a setting; other paths as they are."""
        return path.removeprefix(f"{self.name}.").removeprefix(f"{self.kind}.")

    def placed(self) -> Iterator[Parameter[Value]]:
        """Return its parameters by their paths in the machine."""
        return (one.at(f"{self.name}.{path}") for path, one in self.parameters.items())

    def assign(self, path: str, text: str, setting: str) -> bool:
        """Change what is at a path inside of it, if it can be, for a setting; or UnitError."""
        if (leaf := self.settable.get(path)) is None:
            return False
        value = leaf.read_argument(text)
        if setting not in self.set_paths:
            self.set_paths.append(setting)
        self._change(path, value, leaf, SET)
        return True

    def lower(self, path: str, value: Value, why: str) -> None:
        """Change the value at a path inside of it, and say why beside what its own source says."""
        old = self.parameters[path]
        self._change(path, value, self.leaves[path], f"{why}: {old.text} ({old.source})")

    def _change(self, path: str, value: Value, leaf: Leaf, source: str) -> None:
        section, _, last = path.rpartition(".")
        self._section(section)[last] = value
        self.parameters[path] = leaf.parameter(path, value, "assumed", source)

    def _section(self, path: str) -> dict[str, Any]:
        table, place = self.values, ""
        for name in path.split(".") if path else ():
            place += name + "."
            if name not in table and not place.startswith((*self.begun,)):
                self.begun[place] = self.set_paths[-1]
            table = table.setdefault(name, {})
            # The only one of sections that could be several has the name of their table.
            table = table.get(name, table)
        return table

    def take_section(self, name: str, other: Loaded, words: str) -> None:
        """Put a section of another description in the place of its own; its sources say so."""
        self.values[name] = copied(other.values[name])
        for path in [path for path in self.parameters if path.startswith(f"{name}.")]:
            del self.parameters[path]
        for one in inside(other.parameters, name):
            path = f"{name}.{one.path}"
            self.parameters[path] = replace(one, path=path, source=f"{words}: {one.source}")

    def build(self) -> BaseModel:
        """Return what it describes; ValidationError if there is no such thing."""
        if self.loaded is not None and self.values == self.loaded.values:
            return self.loaded.model
        return self.model.model_validate(self.values)

    def blame(self, error: ValidationError) -> Iterator[Fault]:
        """Say which of its settings, each legal alone, clash, and what else could be set, too."""
        inner = {path: self.inner(path) for path in self.set_paths}
        for one in error.errors(include_url=False):
            section = "".join(f"{name}." for name in _named(one["loc"], self.values))
            clash = one["ctx"]["error"]
            about, other = getattr(clash, "about", ()), section + getattr(clash, "other", "")
            blamed = [path for path in inner if section and f"{inner[path]}.".startswith(section)]
            blamed = blamed or [path for path in inner if f".{inner[path]}".endswith(about)]
            lacking = other in self.leaves.keys() - inner.values()
            place = f"--set {', '.join(blamed or inner)}: {f'{self.name}.{section}'[:-1]}"
            hint = f"; set {self.name}.{other}, too" if lacking else ""
            fault = clash.fault
            yield Fault(place, fault.found, fault.allowed, fault.hint + hint, said=fault.said)

    def complete(self) -> Iterator[Fault]:
        """Give what settings have begun its defaults; leave out what lacks more, and say so."""
        for place, setting in self.begun.items():
            start = setting.partition(place)[0]
            known = self.parameters.keys()
            if lacks := [p for p in self.leaves if p.startswith(place) and p not in known]:
                said = f"there is no {start}{place[:-1]} here"
                allowed = f"together with {', '.join(start + path for path in lacks)}"
                yield Fault(f"--set {setting}", None, allowed, said=said)
                outer, _, last = place[:-1].rpartition(".")
                del self._section(outer)[last]
                continue
            sections = {path.rpartition(".")[0] for path in known}
            for path, leaf in self.settable.items():
                new = path not in known and path.rpartition(".")[0] in sections
                if new and path.startswith(place) and leaf.default is not None:
                    self._change(path, leaf.default, leaf, UNSAID)


def _named(location: tuple[int | str, ...], table: Any) -> Iterator[str]:
    """The keys of a location, without the branches of unions that pydantic puts between them."""
    for name in location:
        if name in table:
            table = table[name]
            yield str(name)
