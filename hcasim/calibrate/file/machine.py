"""What a calibration file says of a machine must be true of one that the catalogue has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hcasim.calibrate.entries import fit_path, leaf_at, prefixes, renamed
from hcasim.catalog import CatalogError, Testbed, list_ids, load, nearest, one_of, resolve
from hcasim.catalog.fields import Leaf
from hcasim.catalog.folders import is_known
from hcasim.catalog.link import mtu_fault
from hcasim.catalog.overrides import PREFIXES
from hcasim.catalog.part import BUS, BUS_KIND
from hcasim.ground.units import UnitError

PARTS = {"testbed": "testbeds", "adapter": "adapters", "stack": "stacks", "host": "hosts"}
"""What a fit to traces names of the machine, and the kind of each."""
_Machine = tuple[str, str, str | None, str | None]
"""Ids of a testbed and its adapter, and its stack and its host if those are others."""
_SETTING = re.compile(rf"(?<![\w.])(?:{'|'.join(PREFIXES)})\.(?=[a-z])")


def _fit_path(machine: _Machine, path: str) -> str:
    return fit_path(*machine[:2], path, *machine[2:])


def setting_faults(where: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Say which settings of the base description are unknown, not allowed, or fitted, too.

    Parameters:
        where: the file.
        table: what is sound of its form.
    """
    machine = _machine(table.get("made", {}))
    buses = [] if machine is None else [_fit_path(machine, path) for path in (BUS, BUS_KIND)]
    for path, text in table.get("settings", {}).items():
        key = f"{where}: settings.{path}"
        if path in table.get("entries", {}):
            yield f"{key}: found, and fitted, too; allowed: one of them"
        if path in buses:
            continue  # the bus of another adapter, which a machine looks up
        leaf = leaf_at(path)
        if isinstance(leaf, str):
            full = path if machine is None else _fit_path(machine, path)
            known = full != path and (full in buses or isinstance(leaf_at(full), Leaf))
            yield f"{key}: unknown parameter; did you mean {full!r}?" if known else f"{key}: {leaf}"
            continue
        try:
            leaf.read_argument(text)
        except UnitError as error:
            yield f"{key}: {error}"


def machine_faults(where: str, table: Mapping[str, Any], *, whole: bool) -> Iterator[str]:
    """Say what the catalogue does not have, and what contradicts itself there.

    Parameters:
        where: the file.
        table: what is sound of its form.
        whole: whether nothing else is wrong with it.
    """
    made = table.get("made", {})
    if made.get("converged") is False:
        found = "found false; allowed: true, for a part of a search is no fit"
        yield f"{where}: made.converged: {found}"
    for name, kind in PARTS.items():
        known, found = list_ids(kind), made.get(name)
        if found not in (None, "") and not is_known(found, kind):
            hint = nearest(found, known)
            given = f", or the {name} of a file that lies beside this one or is given as --{name}"
            yield f"{where}: made.{name}: found {found!r}; allowed: {one_of(known)}{given}{hint}"
    machine = _machine(made)
    if machine is None:
        return
    bed = load(machine[0], "testbeds").model
    assert isinstance(bed, Testbed)
    mtu = made.get("mtu")
    kinds = ["infiniband"] if bed.link.kind == "infiniband" else ["infiniband", "ethernet"]
    fault = None if mtu is None else mtu_fault(mtu, repr(mtu), *kinds)
    if fault is not None:
        yield f"{where}: made.mtu: {fault}"
    elif whole:
        yield from _contradictions(where, machine, table)


def _contradictions(where: str, machine: _Machine, table: Mapping[str, Any]) -> Iterator[str]:
    starts = prefixes(*machine)
    changed: dict[str, str] = {}
    keys: dict[str, str] = {}
    entries = table["entries"]
    fitted = {path: entries[one.get("tied_to") or path] for path, one in entries.items()}
    values = [(f"settings.{path}", path, text) for path, text in table.get("settings", {}).items()]
    values += [(f"entries.{path}", path, str(one["value"])) for path, one in fitted.items()]
    for key, path, text in values:
        names = renamed(path, starts)
        if not names:
            allowed = one_of([f"{one}*" for one, _ in starts])
            yield (
                f"{where}: {key}: no part of {machine[0]} with {machine[1]}, "
                f"as made says; allowed: {allowed}"
            )
            continue
        changed[names[0]], keys[names[0]] = text, key
    testbed, adapter, stack, host = machine
    try:
        resolve(
            testbed,
            adapter=adapter,
            stack=stack,
            host=host,
            overrides=changed,
            mtu=table["made"]["mtu"],
            switch=not table["made"]["no_switch"],
        )
    except CatalogError as error:
        for fault in error.faults:
            yield f"{where}: {_in_file(fault, machine, keys)}"


def settings_of(fault: str) -> tuple[list[str], str]:
    """Return which what-if settings a fault of a machine is about, if any, and the rest of it."""
    if not fault.startswith("--set "):
        return [], fault
    names, _, rest = fault.removeprefix("--set ").partition(": ")
    paths = names.split(", ")
    # Of all that was set, what contradicts itself is in one section.
    section = rest.partition(":")[0]
    return [path for path in paths if path.startswith(f"{section}.")] or paths, rest


def _in_file(fault: str, machine: _Machine, keys: Mapping[str, str]) -> str:
    """Put a fault of a machine into the words of the file."""
    paths, fault = settings_of(fault)
    key = ", ".join(keys.get(path, path) for path in paths) or "made"
    full = {prefix: start for start, prefix in prefixes(*machine)}
    return f"{key}: " + _SETTING.sub(lambda match: full[match[0]], fault)


def _machine(made: Mapping[str, Any]) -> _Machine | None:
    """Return testbed, adapter, stack and host if the catalogue has all."""
    testbed, adapter = made.get("testbed"), made.get("adapter")
    if not (is_known(testbed, "testbeds") and is_known(adapter, "adapters")):
        return None
    stack, host = made.get("stack", ""), made.get("host", "")
    if (stack and not is_known(stack, "stacks")) or (host and not is_known(host, "hosts")):
        return None
    return str(testbed), str(adapter), str(stack) or None, str(host) or None
