"""Reading a calibration file: whatever is wrong with it is found before any of it is used."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

from hcasim.calibrate.entries import entry_faults, partners, quantity_at
from hcasim.calibrate.file.calibration import Calibration
from hcasim.calibrate.file.machine import PARTS, machine_faults, setting_faults
from hcasim.catalog import CatalogError, FittedValue, list_ids, nearest, one_of, read_toml, resolve
from hcasim.catalog.fits import check_fit
from hcasim.catalog.folders import is_known
from hcasim.ground.errors import display, name_fault, refuse
from hcasim.ground.reading import MEASURED, leads_to, read_file
from hcasim.ground.units import UnitError

_ALLOWED = "allowed: a calibration file, as `hcasim calibrate ... -o FILE` writes"
_OF_TRACES = ("interval", "bounds", "start", "verdict", "samples")
"""What each value of a fit to traces has."""


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
    faults += setting_faults(where, sound)
    faults += machine_faults(where, sound, whole=not faults)
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
