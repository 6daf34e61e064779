"""One description of a machine while settings and its place change it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from hcasim.catalog.fields import Leaf, leaf_paths
from hcasim.catalog.loader import Loaded
from hcasim.catalog.provenance import SET, UNSAID, Parameter, Value

_WANTED = re.compile(r"; allowed (\w+): ")
"""What in a fault says which of several values is to be another."""
BUS = "adapter.bus"
BUS_KIND = f"{BUS}.kind"
PROTOCOL_KIND = "adapter.protocol.kind"


def kind_of(name: str) -> str:
    """What a part is: its name but for that of the group of nodes."""
    return name.rpartition(".")[2]


@dataclass
class Part:
    """One description while it is being put together.

    Parameters:
        name: where its paths begin.
        model: its class.
        values: nested tables of values in base units, of which settings change copies.
        parameters: the same with provenance, by full path.
        own: what differs by its file from what it follows.
        set_paths: settings that have changed it.
        begun: sections that it had not, each with the setting that has begun it.
        loaded: what its file says, if it has one.
    """

    name: str
    model: type[BaseModel]
    values: dict[str, Any]
    parameters: dict[str, Parameter[Value]]
    own: set[str] = field(default_factory=set)
    set_paths: list[str] = field(default_factory=list)
    begun: dict[str, str] = field(default_factory=dict)
    loaded: Loaded | None = None

    @property
    def leaves(self) -> dict[str, Leaf]:
        return leaf_paths(self.model, self.values)

    @property
    def settable(self) -> dict[str, Leaf]:
        """Its leaves, and those that it has not and may have."""
        return leaf_paths(self.model, self.values, every=True)

    def settable_at(self, path: str) -> Leaf | None:
        """The one of `settable` that is at a path."""
        return leaf_paths(self.model, self.values, every=True, at=path).get(path)

    @property
    def bus_paths(self) -> tuple[str, ...]:
        """The settings that give it, if it is an adapter, the bus of another."""
        return (BUS, BUS_KIND, f"{self.name}.bus", f"{self.name}.bus.kind")

    @property
    def protocol(self) -> str | None:
        """What it speaks if it is an RDMA adapter."""
        spoken: str | None = self.values.get("protocol", {}).get("kind")
        return spoken

    @property
    def protocol_paths(self) -> tuple[str, ...]:
        """The settings that say, if it is an adapter, what it speaks."""
        return (PROTOCOL_KIND, f"{self.name}.protocol.kind")

    def put(self, path: str, value: Value, leaf: Leaf, setting: str) -> None:
        """Change one value, whose full path is given, for the sake of a setting."""
        if setting not in self.set_paths:
            self.set_paths.append(setting)
        self._change(path, value, leaf, SET)

    def lower(self, path: str, value: Value, why: str) -> None:
        """Change the value at a path inside of it, and say why beside what its own source says."""
        full = f"{self.name}.{path}"
        old = self.parameters[full]
        self._change(full, value, self.leaves[path], f"{why}: {old.text} ({old.source})")

    def _change(self, path: str, value: Value, leaf: Leaf, source: str) -> None:
        table, place = self.values, ""
        *sections, last = path.removeprefix(f"{self.name}.").split(".")
        for section in sections:
            place += section + "."
            if section not in table and not place.startswith((*self.begun,)):
                self.begun[place] = self.set_paths[-1]
            table = _own(table, section)
            if section in table:
                table = _own(table, section)
        table[last] = value
        self.parameters[path] = leaf.assumed(path, value, source)

    def build(self) -> BaseModel:
        """Return what it describes.

        Raises:
            ValidationError: there is no such thing.
        """
        if self.loaded is not None and self.values == self.loaded.values:
            return self.loaded.model
        return self.model.model_validate(self.values)

    def blame(self, fault: str) -> str:
        """Put before a fault the settings that it may be about, and behind it what to set, too."""
        place, _, text = fault.partition(": ")
        section = place.removeprefix(self.name).strip(".")
        given = {
            path: path.removeprefix(f"{self.name}.").removeprefix(f"{kind_of(self.name)}.")
            for path in self.set_paths
        }
        inside = [path for path, inner in given.items() if f"{inner}.".startswith(f"{section}.")]
        # A section tells of another by the end of its path, the whole of its sections by name.
        named = [
            path
            for path, inner in given.items()
            if ".".join(inner.split(".")[-2:]) in text
            or (not section and inner.partition(".")[0] in text)
        ]
        other = _WANTED.search(text)
        key = f"{section}.{other[1]}" if other else ""
        beside = (
            f"; set {self.name}.{key}, too" if key in self.leaves.keys() - given.values() else ""
        )
        about = ", ".join(inside or named or given)
        return f"--set {about}: {place.strip('.')}: {text}{beside}"

    def complete(self) -> list[str]:
        """Give what settings have begun its defaults.

        Returns:
            A fault for each section that lacks more, and is left out.
        """
        faults = []
        for place, setting in self.begun.items():
            start = setting.partition(place)[0]
            lacks = [
                start + path
                for path in self.leaves
                if path.startswith(place) and f"{self.name}.{path}" not in self.parameters
            ]
            if lacks:
                faults.append(
                    f"--set {setting}: there is no {start}{place[:-1]} here; "
                    f"allowed: together with {', '.join(lacks)}"
                )
                self._forget(place)
                continue
            sections = {path.rpartition(".")[0] for path in self.parameters}
            for path, leaf in self.settable.items():
                full = f"{self.name}.{path}"
                known = full in self.parameters or full.rpartition(".")[0] not in sections
                if path.startswith(place) and leaf.default is not None and not known:
                    self._change(full, leaf.default, leaf, UNSAID)
        return faults

    def _forget(self, place: str) -> None:
        table = self.values
        *outer, last, _ = place.split(".")
        for section in outer:
            table = _own(table, section)
        del table[last]


def _own(table: dict[str, Any], section: str) -> dict[str, Any]:
    """Return a section of a table, put in the place of one that others may have, too."""
    table[section] = {**table.get(section, {})}
    found: dict[str, Any] = table[section]
    return found
