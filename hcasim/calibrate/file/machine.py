"""What a calibration file says of a machine must be true of one that the catalogue has."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from hcasim.calibrate.paths import fit_path, leaf_at, prefixes
from hcasim.catalog import (
    CatalogError,
    Fit,
    Testbed,
    list_ids,
    load,
    nearest,
    one_of,
    resolve,
)
from hcasim.catalog.fields import Leaf
from hcasim.catalog.link import mtu_fault
from hcasim.catalog.overrides import BUS, BUS_KIND, PREFIXES
from hcasim.ground.units import UnitError

_SETTING = re.compile(rf"(?<![\w.])(?:{'|'.join(PREFIXES)})\.(?=[a-z])")


def setting_faults(
    where: str, made: Mapping[str, Any], settings: Mapping[str, Any], fitted: Collection[str]
) -> Iterator[str]:
    """Say which settings of the base description are unknown, not allowed, or fitted, too.

    Parameters:
        where: the file.
        made: how the file was made.
        settings: as the file has them.
        fitted: paths of the fitted values.
    """
    machine = _machine(made)
    buses = [] if machine is None else [fit_path(*machine, path) for path in (BUS, BUS_KIND)]
    for path, text in settings.items():
        key = f"{where}: settings.{path}"
        if not isinstance(text, str):
            yield f"{key}: found {text!r}; allowed: text, as --set takes it"
            continue
        if path in fitted:
            yield f"{key}: found, and fitted, too; allowed: one of them"
        if path in buses:
            continue  # the bus of another adapter, which a machine looks up
        leaf = leaf_at(path)
        if isinstance(leaf, str):
            full = path if machine is None else fit_path(*machine, path)
            known = full != path and (full in buses or isinstance(leaf_at(full), Leaf))
            yield f"{key}: unknown parameter; did you mean {full!r}?" if known else f"{key}: {leaf}"
            continue
        try:
            leaf.read_argument(text)
        except UnitError as error:
            yield f"{key}: {error}"


def machine_faults(
    where: str, made: Mapping[str, Any], settings: Mapping[str, str], fit: Fit | None
) -> Iterator[str]:
    """Say what the catalogue does not have, and what contradicts itself there.

    Parameters:
        where: the file.
        made: how the file was made; nothing for a fit to published numbers.
        settings: of the base description, by the path of a fit.
        fit: the fitted values if nothing else is wrong with the file.
    """
    for name, kind in (("testbed", "testbeds"), ("adapter", "adapters")):
        known, found = list_ids(kind), made.get(name)
        if isinstance(found, str) and found not in known:
            hint = nearest(found, known)
            yield f"{where}: made.{name}: found {found!r}; allowed: {one_of(known)}{hint}"
    machine = _machine(made)
    if machine is None:
        return
    testbed, _ = machine
    bed = load(testbed, "testbeds").model
    assert isinstance(bed, Testbed)
    mtu = made.get("mtu")
    fault = mtu_fault(bed.link.kind, mtu, repr(mtu)) if type(mtu) is int else None
    if fault is not None:
        yield f"{where}: made.mtu: {fault}"
    elif fit is not None:
        yield from _contradictions(where, machine, made, settings, fit)


def _contradictions(
    where: str,
    machine: tuple[str, str],
    made: Mapping[str, Any],
    settings: Mapping[str, str],
    fit: Fit,
) -> Iterator[str]:
    parts = dict(prefixes(*machine))
    changed: dict[str, str] = {}
    keys: dict[str, str] = {}
    fitted = {path: str(entry.value) for path, entry in fit.entries.items()}
    for start, values in (("settings.", settings), ("", fitted)):
        for path, text in values.items():
            part = next((one for one in parts if path.startswith(one)), None)
            if part is None:
                allowed = one_of([f"{one}*" for one in parts])
                yield (
                    f"{where}: {start}{path}: no part of {machine[0]} with {machine[1]}, "
                    f"as made says; allowed: {allowed}"
                )
                continue
            name = parts[part] + path.removeprefix(part)
            changed[name], keys[name] = text, f"{start}{path}"
    testbed, adapter = machine
    try:
        resolve(
            testbed,
            adapter=adapter,
            overrides=changed,
            mtu=made["mtu"],
            switch=not made["no_switch"],
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


def _in_file(fault: str, machine: tuple[str, str], keys: Mapping[str, str]) -> str:
    """Put a fault of a machine into the words of the file."""
    paths, fault = settings_of(fault)
    key = ", ".join(keys.get(path, path) for path in paths) or "made"
    full = {prefix: start for start, prefix in prefixes(*machine)}
    return f"{key}: " + _SETTING.sub(lambda match: full[match[0]], fault)


def _machine(made: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return testbed and adapter if the catalogue has both."""
    testbed, adapter = made.get("testbed"), made.get("adapter")
    if testbed in list_ids("testbeds") and adapter in list_ids("adapters"):
        return str(testbed), str(adapter)
    return None
