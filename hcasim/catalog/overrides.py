"""What-if settings: values given by path, such as `adapter.bus.lanes=4`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from hcasim.catalog.fields import leaf_paths
from hcasim.catalog.loader import CLASSES, load
from hcasim.catalog.part import Part, kind_of
from hcasim.catalog.protocol import LINK_OF, spoken
from hcasim.ground.errors import Fault, nearest, one_of, refuse, settings_fault
from hcasim.ground.text import plain
from hcasim.ground.units import UnitError

NOT_MODELLED = frozenset({"pfc", "ecn", "dcqcn", "cnp"})
"""Words of paths about how Ethernet controls congestion."""
PREFIXES = ("adapter", "host", "switch", "link", "stack")


def as_texts(overrides: Mapping[str, Any] | None) -> dict[str, str]:
    """Return what-if settings as text; values may be 4, 4.0, numpy.int64(4), True or "4"."""
    refuse(settings_fault(overrides))
    given = {path: plain(value) for path, value in (overrides or {}).items()}
    return {
        path: str(value).lower() if isinstance(value, bool) else str(value)
        for path, value in given.items()
    }


def override(parts: Mapping[str, Part], path: str, text: str, switch: bool) -> str:
    """Apply one setting, to every group of nodes unless it names one; return the fault if any."""
    if NOT_MODELLED.intersection(path.lower().replace("_", ".").split(".")):
        why = "PFC, ECN and DCQCN are not modelled: links neither drop, pause nor mark"
        return Fault(f"--set {path}", text, "", said=why)
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


def replace_bus(part: Part, path: str, text: str, adapters: Iterable[str]) -> str:
    """Give an adapter the bus of another, or the first with a kind of bus; return any fault."""
    others = {name: load(name, "adapters") for name in adapters}
    by_kind = {other.values["bus"]["kind"]: name for name, other in reversed(others.items())}
    other = others.get(by_kind.get(text, text))
    if other is None:
        allowed = [*by_kind, *others]
        return Fault(f"--set {path}", text, one_of(allowed), nearest(text, allowed))
    part.take_section("bus", other, f"the bus of {other.model.id}")
    part.set_paths.append(f"{part.name}.bus")
    return ""


def choose_protocol(part: Part, settings: Mapping[str, str], link: str) -> str:
    """Let an adapter of several protocols speak that of its link or settings, or say why not."""
    usual = part.protocol
    asked = [path for path in part.choosing("protocol") if path in settings]
    if usual is None:
        return f"--set {asked[0]}: {part.values['id']} is no RDMA adapter" if asked else ""
    allowed = spoken(usual, part.values.get("port", {}))
    chosen = next((kind for kind in allowed if LINK_OF[kind] == link), usual)
    for path in asked:
        chosen = settings[path]
        if chosen not in allowed:
            return Fault(f"--set {path}", chosen, one_of(allowed), nearest(chosen, allowed))
    if chosen != usual:
        part.values["protocol"] = {"kind": chosen}
    return ""


def take_ports(part: Part, settings: Mapping[str, str]) -> None:
    """Let settings change the ports of an adapter or a switch before links are made of them.

    What is wrong with one is said when all settings are applied.
    """
    for start in dict.fromkeys((part.kind, part.name)):
        for path in [path for path in settings if path.startswith(f"{start}.port.")]:
            with suppress(UnitError):
                part.assign(path.removeprefix(f"{start}."), settings[path], path)


def _unknown(path: str, text: str, parts: Mapping[str, Part]) -> Fault:
    leaves = {
        f"{start}.{inner}": None
        for part in parts.values()
        for inner in part.settable
        for start in _starts(part)
        if start != "link" or part.name != "trunk" or inner not in part.own
    }
    prefix, _, inner = path.partition(".")
    if inner.endswith("count") and (prefix == "nodes" or f"{prefix}.host" in parts):
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
    for name, part in parts.items():
        inner = path.removeprefix(f"{name}.").removeprefix(f"{part.kind}.")
        alike = next((one for one in CLASSES.values() if part.model in one), (part.model,))
        if inner != path and any(inner in leaf_paths(model) for model in alike):
            lacking = path.removeprefix(f"{section}.").partition(".")[0]
            what, hint = f"there is no {section}.{lacking} here", ""
    inside = (leaf.partition(f"{section}.") for leaf in leaves)
    below = (inner.partition(".") for start, dot, inner in inside if dot and not start)
    names = dict.fromkeys(f"{section}.{name}{dot and '.*'}" for name, dot, _ in below)
    return Fault(f"--set {path}", text, one_of([*names]), hint, said=what)
