"""One description of a machine while what-if settings, such as `adapter.bus.lanes=4`, change it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from hcasim.catalog.fields import Leaf, Table, keys_of, leaf_paths
from hcasim.catalog.link import LINK_OF, Port, spoken
from hcasim.catalog.loader import CLASSES, load
from hcasim.catalog.model_file import Loaded, inside
from hcasim.catalog.section import SET, UNSAID, Parameter, Value
from hcasim.catalog.successors import successor
from hcasim.ground.errors import Fault, nearest, one_of, refuse, settings_fault
from hcasim.ground.text import plain
from hcasim.ground.units import UnitError

BUS = "adapter.bus"
BUS_KIND = f"{BUS}.kind"
ABSENT = "false"
"""The value of a section that is left out, as in a file."""


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
        if text == ABSENT and self.may_lack(path):
            self.set_paths.append(setting)
            self._leave_out(path)
            return True
        if (leaf := self.settable.get(path)) is None:
            return False
        value = leaf.read_argument(text)
        if setting not in self.set_paths:
            self.set_paths.append(setting)
        self._change(path, value, leaf, SET)
        return True

    def may_lack(self, path: str) -> bool:
        """Whether there is a section at a path that it need not have."""
        models, values, key = {"": self.model}, self.values, None
        for name in path.split("."):
            key = keys_of(models[values.get("kind", "") if "" not in models else ""]).get(name)
            if not isinstance(key, Table) or name not in values:
                return False
            models, values = dict(key.models), values[name]
        return isinstance(key, Table) and not key.required

    def _leave_out(self, path: str) -> None:
        outer, _, last = path.rpartition(".")
        del self._section(outer)[last]
        for one in [one for one in self.parameters if one.startswith(f"{path}.")]:
            del self.parameters[one]

    def lower(self, path: str, value: Value, why: str) -> None:
        """Change the value at a path inside of it, and say why beside what its own source says."""
        old = self.parameters[path]
        self._change(path, value, self.leaves[path], f"{why}: {old.text} ({old.source})")

    def _change(self, path: str, value: Value, leaf: Leaf, source: str) -> None:
        self.take(leaf.parameter(path, value, "assumed", source))

    def take(self, one: Parameter[Value]) -> None:
        """Put a parameter in the place of what is at its path inside of it."""
        section, _, last = one.path.rpartition(".")
        self._section(section)[last] = one.value
        self.parameters[one.path] = one

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

    def replace_bus(self, path: str, text: str, adapters: Iterable[str]) -> str:
        """Give it the bus of another, or the first with a kind of bus; return any fault."""
        others = {name: load(name, "adapters") for name in adapters}
        by_kind = {other.values["bus"]["kind"]: name for name, other in reversed(others.items())}
        other = others.get(by_kind.get(text, text))
        if other is None:
            allowed = [*by_kind, *others]
            return Fault(f"--set {path}", text, one_of(allowed), nearest(text, allowed))
        self.take_section("bus", other, f"the bus of {other.model.id}")
        self.set_paths.append(f"{self.name}.bus")
        return ""

    def choose_protocol(self, settings: Mapping[str, str], link: str) -> str:
        """Let an adapter speak the protocol of its link or of settings, or say why it cannot."""
        usual = self.protocol
        asked = self.asked(settings, "protocol.kind")
        if usual is None:
            said = f"{self.values['id']} is no RDMA adapter"
            return Fault(f"--set {asked[0]}", settings[asked[0]], "", said=said) if asked else ""
        allowed = spoken(usual, self.values.get("port", {}))
        chosen = next((kind for kind in allowed if LINK_OF[kind] == link), usual)
        for path in asked:
            chosen = settings[path]
            if chosen not in allowed:
                return Fault(f"--set {path}", chosen, one_of(allowed), nearest(chosen, allowed))
        if chosen != usual:
            self.values["protocol"] = {"kind": chosen}
        return ""

    def take_ports(self, settings: Mapping[str, str]) -> None:
        """Let settings change the ports of an adapter or a switch before links are made of them.

        What is wrong with one is said when all settings are applied.
        """
        for path in self.asked(settings, *(f"port.{name}" for name in leaf_paths(Port))):
            with suppress(UnitError):
                self.assign(self.inner(path), settings[path], path)

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


PREFIXES = ("adapter", "host", "switch", "link", "stack")


def as_texts(overrides: Mapping[str, Any] | None) -> dict[str, str]:
    """Return what-if settings as text; values may be 4, 4.0, numpy.int64(4), True or "4"."""
    refuse(settings_fault(overrides))
    words = {True: "true", False: "false"}
    given = {path: plain(value) for path, value in (overrides or {}).items()}
    return {p: words[v] if isinstance(v, bool) else str(v) for p, v in given.items()}


def override(parts: Mapping[str, Part], path: str, text: str, switch: bool) -> str:
    """Apply one setting, to every group of nodes unless it names one; return the fault if any."""
    prefix = path.partition(".")[0]
    if prefix == "switch" and not switch:
        why = "there is no switch between two hosts back to back"
        return Fault(f"--set {path}", text, "", said=why)
    if prefix in PREFIXES and not any(part.kind == prefix for part in parts.values()):
        return ""  # its file is faulty and already reported
    found = False
    for part in parts.values():
        for start in _starts(part):
            inner = path.removeprefix(f"{start}.")
            own = start not in (part.name, part.kind) and inner in part.own
            try:
                found |= inner != path and not own and part.assign(inner, text, path)
            except UnitError as error:
                return error.fault.at(f"--set {path}")
    return "" if found else _unknown(path, text, parts)


def _starts(part: Part) -> Iterable[str]:
    """What may begin the paths of a part: its name, its kind, and "link" between switches, too."""
    more = ("link",) if part.name == "trunk" else ()
    return dict.fromkeys((part.name, part.kind, *more))


def _unknown(path: str, text: str, parts: Mapping[str, Part]) -> Fault:
    if known := successor(path):
        return Fault(f"--set {path}", text, "", said=f"unknown parameter{known}")
    leaves = {
        f"{start}.{inner}": None
        for part in parts.values()
        for inner in part.settable
        for start in _starts(part)
        if start != "link" or part.name != "trunk" or inner not in part.own
    }
    prefix, _, inner = path.partition(".")
    if prefix == "nodes" or (inner.endswith("count") and f"{prefix}.host" in parts):
        groups = [name.removesuffix("host") for name in parts if name.endswith(".host")]
        counts = [f"nodes.{start}count" for start in groups or [""]]
        hint = nearest(path, counts)
        return Fault(f"--set {path}", text, one_of(counts), hint, said="unknown parameter")
    starts = dict.fromkeys((*map(kind_of, parts), *(n.partition(".")[0] for n in parts)))
    if prefix not in starts:
        hint = nearest(path, leaves) or nearest(prefix, starts)
        if suffix := [repr(leaf) for leaf in leaves if leaf.endswith(f".{path}")]:
            hint = f"; did you mean {one_of(suffix)}?"
        allowed = one_of([f"{name}." for name in starts])
        allowed = f"paths that start with {allowed}"
        return Fault(f"--set {path}", text, allowed, hint, said="unknown parameter")
    section, what, hint = path, "unknown parameter", nearest(path, leaves)
    while not any(leaf.startswith(f"{section}.") for leaf in leaves):
        section = section.rpartition(".")[0]
    if section == path:
        what, hint = "a group of parameters", ""
    for part in parts.values():
        inner = part.inner(path)
        alike = next((one for one in CLASSES.values() if part.model in one), (part.model,))
        if inner != path and any(inner in leaf_paths(model) for model in alike):
            lacking = path.removeprefix(f"{section}.").partition(".")[0]
            what, hint = f"there is no {section}.{lacking} here", ""
    inside = (leaf.partition(f"{section}.") for leaf in leaves)
    below = (inner.partition(".") for start, dot, inner in inside if dot and not start)
    names = dict.fromkeys(f"{section}.{name}{dot and '.*'}" for name, dot, _ in below)
    if any(one.may_lack(one.inner(path)) for one in parts.values()):
        names[f"{path}={ABSENT}"] = None
    return Fault(f"--set {path}", text, one_of([*names]), hint, said=what)
