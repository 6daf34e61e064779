"""Reading a calibration file: whatever is wrong with it is found before any of it is used."""

from __future__ import annotations

import json
from pathlib import Path

from hcasim.calibrate.file.calibration import Calibration
from hcasim.calibrate.file.machine import machine_faults, setting_faults
from hcasim.calibrate.file.values import value_faults
from hcasim.catalog import CatalogError, list_ids, nearest, one_of, read_toml
from hcasim.catalog.fits import check_fit
from hcasim.ground.errors import display

_ALLOWED = "allowed: a calibration file, as `hcasim calibrate ... -o FILE` writes"


def read_calibration(file: str | Path) -> Calibration:
    """Read a calibration file; a fit of the catalogue is one, too.

    Raises:
        CatalogError: every fault of the file.
    """
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
    papers, identifier = list_ids("calibrations"), table.get("id")
    if not faults and "made" not in table and identifier not in papers:
        faults.append(
            f"{where}: found no table made; allowed: that of a fit to traces, or the id of a fit "
            f"to published numbers, {one_of(papers)}{nearest(str(identifier), papers)}"
        )
    if not (faults or "entries" in table):
        faults.append(f"{where}: found no fitted value; {_ALLOWED}")
    faults += value_faults(where, sound, table)
    faults += setting_faults(where, sound)
    faults += machine_faults(where, sound, whole=not faults)
    if faults:
        raise CatalogError(faults)
    return Calibration.at(file, table)


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
