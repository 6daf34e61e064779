"""Reading a calibration file: whatever is wrong with it is found before any of it is used."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from hcasim.calibrate.file.calibration import Calibration
from hcasim.calibrate.file.keys import CURVE, MADE, TRACE, name_faults, table_faults
from hcasim.calibrate.file.machine import machine_faults, setting_faults
from hcasim.calibrate.file.values import name_clashes, sample_faults, value_faults
from hcasim.calibrate.paths import leaf_at, quantity_at
from hcasim.catalog import (
    CatalogError,
    FittedValue,
    list_ids,
    nearest,
    one_of,
    read_toml,
)
from hcasim.catalog.fields import Leaf
from hcasim.catalog.fits import parse_fit
from hcasim.catalog.loader import CLASSES
from hcasim.ground.errors import display

_FIT = ("id", "title", "notes")
_FROM_TRACES = ("made", "traces", "curves", "samples")
_ALLOWED = "allowed: a calibration file, as `hcasim calibrate ... -o FILE` writes"
_ENTRY = dict.fromkeys(one.name for one in fields(FittedValue) if one.name != "multiple")


def read_calibration(file: str | Path) -> Calibration:
    """Read a calibration file; a fit of the catalogue is one, too.

    Raises:
        CatalogError: every fault of the file.
    """
    file = Path(file)
    where = display(file)
    table = _document(file)
    own = {name: table.pop(name) for name in (*_FROM_TRACES, "settings") if name in table}
    needed = ("id", *(_FROM_TRACES if own else ()))
    known = dict.fromkeys((*_FIT, *_FROM_TRACES, "settings", *CLASSES))
    faults = list(name_faults(f"{where}: ", {**table, **own}, known, dict.fromkeys(needed)))
    papers = list_ids("calibrations")
    if not own and table.get("id", papers[0]) not in papers:
        faults.append(
            f"{where}: found no table {one_of(_FROM_TRACES)}; allowed: all of them, or the id of "
            f"a fit to published numbers, {one_of(papers)}{nearest(str(table['id']), papers)}"
        )
    faults += _own_faults(where, own)
    # What is no entry at all would be taken for many, each with a fault of its own.
    kept = {name: one for name, one in table.items() if name in known}
    before = len(faults)
    sound = _without_broken(f"{where}: ", "", kept, faults)
    whole = len(faults) == before and len(kept) == len(table)
    for name in _FIT:
        if not isinstance(sound.get(name, ""), str):
            faults.append(f"{where}: {name}: found {sound[name]!r}; allowed: text")
            sound[name] = ""
    fit = None
    try:
        fit = parse_fit(sound.setdefault("id", ""), file, sound)
    except CatalogError as error:
        faults += error.faults
    made, settings, samples = (_table(own.get(name)) for name in ("made", "settings", "samples"))
    if fit is not None:
        if not (fit.entries or faults):
            faults.append(f"{where}: found no fitted value; {_ALLOWED}")
        faults += value_faults(where, fit)
        faults += sample_faults(where, fit, samples)
        # A value with a wrong name is missed elsewhere, too.
        if whole and not any(isinstance(quantity_at(path), str) for path in fit.entries):
            faults += name_clashes(where, fit, samples if "samples" in own else None)
    faults += setting_faults(where, made, settings, () if fit is None else fit.entries)
    faults += machine_faults(where, made, settings, None if faults else fit)
    if faults or fit is None:
        raise CatalogError(faults)
    return Calibration(
        fit,
        made,
        settings,
        tuple(own.get("traces", ())),
        tuple(own.get("curves", ())),
        {path: tuple(values) for path, values in samples.items()},
    )


def _document(file: Path) -> dict[str, Any]:
    """Return the tables of a file, or say what it is instead."""
    try:
        table = dict(read_toml(file))
    except CatalogError as error:
        told = _other_form(file)
        raise CatalogError([f"{display(file)}: {told}"] if told else error.faults) from None
    if not table:
        raise CatalogError([f"{display(file)}: found an empty file; {_ALLOWED}"])
    return table


def _other_form(file: Path) -> str | None:
    """Say what a file in another form is that a user may have at hand."""
    from hcasim.traces.schema import SCHEMA

    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError):
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


def _table(found: object) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _own_faults(where: str, own: Mapping[str, Any]) -> Iterator[str]:
    """Say what is wrong with the form of the tables beside the fitted values."""
    if "made" in own:
        yield from table_faults(f"{where}: made", own["made"], MADE)
        if _table(own["made"]).get("converged") is False:
            yield (
                f"{where}: made.converged: found false; allowed: true, "
                "for a part of a search is no fit"
            )
    for name, keys in (("traces", TRACE), ("curves", CURVE)):
        if name not in own:
            continue
        rows = own[name]
        if not (isinstance(rows, list) and rows):
            found = "a table" if isinstance(rows, dict) else repr(rows)
            yield f"{where}: {name}: found {found}; allowed: tables [[{name}]], one or more"
            continue
        for number, row in enumerate(rows):
            yield from table_faults(f"{where}: {name}[{number}]", row, keys)
    for name in ("settings", "samples"):
        if not isinstance(own.get(name, {}), dict):
            yield f"{where}: {name}: found {own[name]!r}; allowed: a table"
        elif name in own and not own[name]:
            yield f"{where}: {name}: found an empty table; calibrate writes none"


def _without_broken(
    where: str, path: str, table: Mapping[str, Any], faults: list[str]
) -> dict[str, Any]:
    """Return a table without what seems to be an entry of a fit and is none; say what it lacks."""
    kept: dict[str, Any] = {}
    for name, one in table.items():
        inner = f"{path}.{name}" if path else name
        if not path and name in _FIT:
            kept[name] = one
        elif not isinstance(one, dict):
            example = f"{{ value = {json.dumps(one, default=str)} }}"
            leaf = isinstance(leaf_at(inner), Leaf)
            allowed = f"a table, such as {example}" if leaf else "a table of fitted values"
            faults.append(f"{where}{inner}: found {one!r}; allowed: {allowed}")
        elif "value" in one or "tied_to" in one:
            kept[name] = one
        elif _ENTRY.keys() & one.keys() or isinstance(leaf_at(inner), Leaf):
            faults += name_faults(f"{where}{inner}.", one, _ENTRY, {"value": None})
        else:
            kept[name] = _without_broken(where, inner, one, faults)
    return kept
