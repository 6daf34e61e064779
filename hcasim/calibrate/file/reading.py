"""Reading a calibration file: whatever is wrong with it is found before any of it is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from os import PathLike
from pathlib import Path

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
    Testbed,
    list_ids,
    load,
    nearest,
    one_of,
    read_toml,
    resolve,
)
from hcasim.catalog.fields import Leaf
from hcasim.catalog.fits import Made, check_fit
from hcasim.catalog.folders import is_known
from hcasim.catalog.link import mtu_fault
from hcasim.catalog.part import BUS, BUS_KIND
from hcasim.ground.errors import display, name_fault, refuse
from hcasim.ground.reading import MEASURED, leads_to, read_file
from hcasim.ground.units import UnitError

_ALLOWED = "allowed: a calibration file, as `hcasim calibrate ... -o FILE` writes"
_OF_TRACES = ("interval", "bounds", "start", "verdict", "samples")
"""What each value of a fit to traces has."""
PARTS = {"testbed": "testbeds", "adapter": "adapters", "stack": "stacks", "host": "hosts"}
"""What a fit to traces names of the machine, and the kind of each."""


def read_calibration(file: str | PathLike[str]) -> Calibration:
    """Read a calibration file; a fit of the catalogue is one, too.

    Raises:
        CatalogError: every fault of its form, or every fault of what it says.
    """
    refuse(name_fault("file", file, "the path of a file"))
    file = Path(file)
    where = display(file)
    try:
        table = read_toml(file)
    except CatalogError as error:
        told = _other_form(file)
        raise CatalogError([f"{where}: {told}"] if told else error.faults) from None
    refuse("" if table else f"{where}: found an empty file; {_ALLOWED}")
    refuse(*check_fit(file, table))
    fit = Calibration.at(file, table)
    if fit.made is not None:
        _find_machine(file, fit.made)
    faults = [*_value_faults(fit), *_setting_faults(fit), *_made_faults(fit)]
    refuse(*(f"{where}: {fault}" for fault in faults or _contradictions(fit)))
    return fit


def _find_machine(file: Path, made: Made) -> None:
    """Look beside the file for a testbed and an adapter that no folder of the catalogue has."""
    names = []
    for name, kind in PARTS.items():
        found = getattr(made, name)
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


def _other_form(file: Path) -> str:
    """Say what a file in another form is that a user may have at hand."""
    from hcasim.traces.schema import SCHEMA

    try:
        text = read_file(file, MEASURED).decode("utf-8-sig").lstrip()
    except (CatalogError, ValueError):
        return ""
    if text.startswith("{") and f'"{SCHEMA}"' in text.partition("\n")[0]:
        words = f"hcasim calibrate {file.name} --testbed ID --free PATH -o FILE"
        return f"found a trace; `{words}` makes a calibration of it"
    return f"found JSON; {_ALLOWED}" if text.startswith("{") else ""


def _value_faults(fit: Calibration) -> Iterator[str]:
    """Say which fitted values are no parameters, not allowed, or contradict themselves."""
    for path, entry in fit.entries.items():
        leaf, key = quantity_at(path), f"entries.{path}"
        if isinstance(leaf, str):
            yield f"{key}: {leaf}"
        elif entry.tied_to:
            try:
                leaf.read(entry.value)
            except UnitError as error:
                yield f"{key}.tied_to: {error}"
        else:
            yield from (f"{key}.{fault}" for fault in entry_faults(leaf, entry))
            if fit.made is not None:
                yield from (f"{key}.{k}: missing" for k in _OF_TRACES if not getattr(entry, k))
        for partner in partners(entry.verdict):
            if partner not in fit.entries:
                found = f"found {partner!r}, which is not fitted{nearest(partner, fit.entries)}"
                yield f"{key}.verdict: {found}"
    counts = {path: len(one.samples) for path, one in fit.entries.items() if one.samples}
    if len(set(counts.values())) > 1:
        found = ", ".join(f"{count} of {path}" for path, count in counts.items())
        yield f"entries: found samples: {found}; allowed: as many of each"


def _starts(made: Made | None) -> list[tuple[str, str]]:
    """Return the prefixes of the machine that was fitted if the catalogue has it."""
    needed = ("testbed", "adapter")
    if made is None or any(
        not is_known(getattr(made, name), kind) and (name in needed or getattr(made, name))
        for name, kind in PARTS.items()
    ):
        return []
    return prefixes(made.testbed, made.adapter, made.stack or None, made.host or None)


def _setting_faults(fit: Calibration) -> Iterator[str]:
    """Say which settings of the base description are unknown, not allowed, or fitted, too."""
    starts = _starts(fit.made)
    buses = [fit_path(starts, path) for path in (BUS, BUS_KIND)]
    for path, text in fit.settings.items():
        if path in fit.entries:
            yield f"settings.{path}: found, and fitted, too; allowed: one of them"
        if path in buses:
            continue  # the bus of another adapter, which a machine looks up
        leaf = leaf_at(path)
        if isinstance(leaf, str):
            full = fit_path(starts, path)
            known = full != path and (full in buses or isinstance(leaf_at(full), Leaf))
            hint = f"unknown parameter; did you mean {full!r}?" if known else leaf
            yield f"settings.{path}: {hint}"
            continue
        try:
            leaf.read_argument(text)
        except UnitError as error:
            yield f"settings.{path}: {error}"


def _made_faults(fit: Calibration) -> Iterator[str]:
    """Say what is missing of how a fit was made, and what the catalogue does not have."""
    made, papers = fit.made, list_ids("calibrations")
    if made is None:
        if fit.id not in papers:
            fits = f"{one_of(papers)}{nearest(fit.id, papers)}"
            yield (
                "found no table made; allowed: that of a fit to traces, or the id of a fit to "
                f"published numbers, {fits}"
            )
        elif not fit.entries:
            yield f"found no fitted value; {_ALLOWED}"
        return
    if not made.converged:
        yield "made.converged: found false; allowed: true, for a part of a search is no fit"
    for name, kind in PARTS.items():
        known, found = list_ids(kind), getattr(made, name)
        if found and not is_known(found, kind):
            given = f", or the {name} of a file that lies beside this one or is given as --{name}"
            hint = f"{one_of(known)}{given}{nearest(found, known)}"
            yield f"made.{name}: found {found!r}; allowed: {hint}"
    if is_known(made.testbed, "testbeds"):
        bed = load(made.testbed, "testbeds").model
        assert isinstance(bed, Testbed)
        kinds = ["infiniband"] if bed.link.kind == "infiniband" else ["infiniband", "ethernet"]
        if wrong := mtu_fault(made.mtu, repr(made.mtu), *kinds):
            yield f"made.mtu: {wrong}"


def _contradictions(fit: Calibration) -> Iterator[str]:
    """Say what makes the machine that was fitted contradict itself."""
    made = fit.made
    if made is None:
        return
    starts = _starts(made)
    changed: dict[str, str] = {}
    keys: dict[str, str] = {}
    values = {f"settings.{path}": (path, text) for path, text in fit.settings.items()}
    values |= {f"entries.{path}": (path, str(one.value)) for path, one in fit.entries.items()}
    for key, (path, text) in values.items():
        names = renamed(path, starts)
        if not names:
            allowed = one_of([f"{one}*" for one, _ in starts])
            machine = f"{made.testbed} with {made.adapter}"
            yield f"{key}: no part of {machine}, as made says; allowed: {allowed}"
            continue
        changed[names[0]], keys[names[0]] = text, key
    try:
        resolve(
            made.testbed,
            adapter=made.adapter,
            stack=made.stack or None,
            host=made.host or None,
            overrides=changed,
            mtu=made.mtu,
            switch=not made.no_switch,
        )
    except CatalogError as error:
        for fault in error.faults:
            paths, rest = settings_of(fault)
            yield f"{', '.join(keys.get(path, path) for path in paths) or 'made'}: {rest}"


def settings_of(fault: str) -> tuple[list[str], str]:
    """Return which what-if settings a fault of a machine is about, if any, and the rest of it."""
    if not fault.startswith("--set "):
        return [], fault
    names, _, rest = fault.removeprefix("--set ").partition(": ")
    paths = names.split(", ")
    # Of all that was set, what contradicts itself is in one section.
    section = rest.partition(":")[0]
    return [path for path in paths if path.startswith(f"{section}.")] or paths, rest
