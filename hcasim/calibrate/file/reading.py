"""Reading a calibration file: whatever is wrong with it is found before any of it is used."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

from hcasim.calibrate.entries import (
    entry_faults,
    fit_path,
    leaf_at,
    partners,
    prefixes,
    quantity_at,
    renamed,
)
from hcasim.calibrate.file.calibration import Calibration
from hcasim.catalog import (
    CatalogError,
    FittedValue,
    Testbed,
    list_ids,
    load,
    nearest,
    one_of,
    read_toml,
    resolve,
)
from hcasim.catalog.fields import Leaf
from hcasim.catalog.fits import check_fit
from hcasim.catalog.folders import is_known
from hcasim.catalog.link import mtu_fault
from hcasim.catalog.overrides import PREFIXES
from hcasim.catalog.part import BUS, BUS_KIND
from hcasim.ground.errors import display, name_fault, refuse
from hcasim.ground.reading import MEASURED, leads_to, read_file
from hcasim.ground.units import UnitError

_ALLOWED = "allowed: a calibration file, as `hcasim calibrate ... -o FILE` writes"
_OF_TRACES = ("interval", "bounds", "start", "verdict", "samples")
"""What each value of a fit to traces has."""

PARTS = {"testbed": "testbeds", "adapter": "adapters", "stack": "stacks", "host": "hosts"}
"""What a fit to traces names of the machine, and the kind of each."""
_Machine = tuple[str, str, str | None, str | None]
"""Ids of a testbed and its adapter, and its stack and its host if those are others."""
_SETTING = re.compile(rf"(?<![\w.])(?:{'|'.join(PREFIXES)})\.(?=[a-z])")


def read_calibration(file: str | PathLike[str]) -> Calibration:
    """Read a calibration file; a fit of the catalogue is one, too.

    Raises:
        CatalogError: every fault of the file.
    """
    refuse(name_fault("file", file, "the path of a file"))
    file = Path(file)
    where = display(file)
    try:
        table = read_toml(file)
    except CatalogError as error:
        told = _other_form(file)
        raise CatalogError([f"{where}: {told}"] if told else error.faults) from None
    if not table:
        raise CatalogError([f"{where}: found an empty file; {_ALLOWED}"])
    sound, faults = check_fit(file, table)
    _find_machine(file, sound.get("made", {}))
    papers, identifier = list_ids("calibrations"), table.get("id")
    if not faults and "made" not in table and identifier not in papers:
        faults.append(
            f"{where}: found no table made; allowed: that of a fit to traces, or the id of a fit "
            f"to published numbers, {one_of(papers)}{nearest(str(identifier), papers)}"
        )
    if not (faults or "entries" in table):
        faults.append(f"{where}: found no fitted value; {_ALLOWED}")
    faults += _value_faults(where, sound, table)
    faults += _setting_faults(where, sound)
    faults += _machine_faults(where, sound, whole=not faults)
    if faults:
        raise CatalogError(faults)
    return Calibration.at(file, table)


def _find_machine(file: Path, made: Mapping[str, Any]) -> None:
    """Look beside the file for a testbed and an adapter that no folder of the catalogue has."""
    names = []
    for name, kind in PARTS.items():
        found = str(made.get(name, ""))
        beside = file.absolute().with_name(f"{found.replace('/', '')}.toml")
        foreign = (
            leads_to(beside, Path.is_file)
            and beside != file.absolute()
            and not is_known(found, kind)
        )
        names.append(str(beside) if foreign else found)
    with suppress(CatalogError):
        # From here on all their parts are known by their ids.
        resolve(names[0], adapter=names[1], stack=names[2] or None, host=names[3] or None)


def _other_form(file: Path) -> str | None:
    """Say what a file in another form is that a user may have at hand."""
    from hcasim.traces.schema import SCHEMA

    try:
        text = read_file(file, MEASURED).decode("utf-8-sig")
    except (CatalogError, ValueError):
        return None
    if not text.lstrip().startswith("{"):
        return None
    try:
        first = json.loads(text.lstrip().partition("\n")[0])
    except (ValueError, RecursionError):
        first = None
    if isinstance(first, dict) and first.get("schema") == SCHEMA:
        words = f"hcasim calibrate {file.name} --testbed ID --free PATH -o FILE"
        return f"found a trace; `{words}` makes a calibration of it"
    return f"found JSON; {_ALLOWED}"


def _value_faults(where: str, table: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[str]:
    """Say which fitted values are no parameters, not allowed, or contradict themselves.

    `table` is what is sound of its form, `whole` all that the file holds.
    """
    entries = {
        path: FittedValue.model_construct(**one) for path, one in table.get("entries", {}).items()
    }
    leaves = {path: quantity_at(path) for path in entries}
    for path, entry in entries.items():
        leaf, prefix = leaves[path], f"{where}: entries.{path}"
        if isinstance(leaf, str):
            yield f"{prefix}: {leaf}"
        elif entry.tied_to:
            # Its numbers are those of its leader, where their faults are said.
            leader = entries.get(entry.tied_to)
            try:
                leaf.read(leader.value if leader else entry.value)
            except UnitError as error:
                yield f"{prefix}.tied_to: {error}"
        else:
            for fault in entry_faults(leaf, entry):
                yield f"{prefix}.{fault}"
            # What is left of a faulty entry lacks what the fault was said of.
            if "made" in whole and table["entries"][path] == whole["entries"][path]:
                yield from (f"{prefix}.{k}: missing" for k in _OF_TRACES if not getattr(entry, k))
    # A value with a wrong name is missed elsewhere, too.
    if not any(isinstance(leaf, str) for leaf in leaves.values()):
        for path, entry in entries.items():
            for partner in partners(entry.verdict):
                if partner not in whole["entries"]:
                    found = f"found {partner!r}, which is not fitted{nearest(partner, entries)}"
                    yield f"{where}: entries.{path}.verdict: {found}"
    counts = {path: len(one.samples) for path, one in entries.items() if one.samples}
    if len(set(counts.values())) > 1:
        found = ", ".join(f"{count} of {path}" for path, count in counts.items())
        yield f"{where}: entries: found samples: {found}; allowed: as many of each"


def _fit_path(machine: _Machine, path: str) -> str:
    return fit_path(*machine[:2], path, *machine[2:])


def _setting_faults(where: str, table: Mapping[str, Any]) -> Iterator[str]:
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


def _machine_faults(where: str, table: Mapping[str, Any], *, whole: bool) -> Iterator[str]:
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
