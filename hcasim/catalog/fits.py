"""Fitted values: the files below calibration/fits/ that fill the leaves marked `fitted`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hcasim.catalog.folders import data_path, find_file
from hcasim.ground.errors import CatalogError, display, nearest, one_of
from hcasim.ground.printable import printable
from hcasim.ground.toml import read_toml

_ENTRY_KEYS = (
    "value",
    "tied_to",
    "interval",
    "bounds",
    "start",
    "claims",
    "verdict",
    "note",
)
_PAIRS = ("interval", "bounds")
_FREE_KEYS = ("interval", "bounds", "start", "claims")
_FILE_KEYS = ("id", "title", "notes")


@dataclass(frozen=True)
class FittedValue:
    """One entry of a fit, still as text.

    Parameters:
        value: the value with its unit.
        interval: lowest and highest plausible value with units, if it is known.
        bounds: lowest and highest value that a calibration may try, with units.
        start: the value from which a calibration sets out; the middle of the bounds without it.
        claims: what determined the value.
        verdict: whether the data determine it.
        note: what a reader should know, such as that it is not identifiable.
        tied_to: path of the entry that this one follows.
        multiple: a calibration tries multiples of this, in base units; files do not hold it.
    """

    value: object
    interval: tuple[object, object] | None = None
    claims: tuple[str, ...] = ()
    note: str = ""
    tied_to: str = ""
    bounds: tuple[object, object] | None = None
    start: object = None
    verdict: str = ""
    multiple: int = 1


@dataclass(frozen=True)
class Fit:
    """The result of one calibration.

    Parameters:
        id: the file name without its suffix.
        title: what was fitted, in plain words.
        notes: method and caveats.
        file: where it was read from.
        entries: by path, such as "adapters.mt25208.send.latency".
    """

    id: str
    title: str
    notes: str
    file: Path
    entries: Mapping[str, FittedValue]


def fit_path(identifier: str) -> Path:
    """Return the file of a fit, which need not exist."""
    return data_path("calibration", "fits", f"{identifier}.toml")


def load_fit(name: str) -> Fit:
    """Read a fit.

    Parameters:
        name: its id, or the path of its file.

    Raises:
        CatalogError: an unknown id, or every fault of the file.
    """
    file = find_file(name, "calibrations")
    return parse_fit(file.stem, file, read_toml(file))


def parse_fit(identifier: str, file: Path, table: Mapping[str, Any]) -> Fit:
    """Build a fit from the contents of its file.

    Parameters:
        identifier: the id that was asked for.
        file: where the contents come from, for messages.
        table: the contents.

    Returns:
        The fit, with ties resolved.

    Raises:
        CatalogError: with every fault of the file.
    """
    where = display(file)
    faults: list[str] = []
    if table.get("id") != identifier:
        faults.append(f"{where}: id: found {table.get('id')!r}; allowed: {identifier!r}")
    for key in ("title", "notes"):
        if not isinstance(table.get(key, ""), str):
            faults.append(f"{where}: {key}: found {table[key]!r}; allowed: text")
    found: dict[str, Mapping[str, Any]] = {}
    for key, value in table.items():
        if key not in _FILE_KEYS:
            _collect(where, key, value, found, faults)
    entries: dict[str, FittedValue] = {}
    for path, raw in found.items():
        origin = raw
        target = raw.get("tied_to")
        if target is not None:
            origin = found.get(target, {}) if isinstance(target, str) else {}
            if "value" not in origin:
                names = [name for name, item in found.items() if "value" in item]
                faults.append(
                    f"{where}: {path}.tied_to: found {target!r}; allowed: an entry with a value"
                    f"{nearest(str(target), names)}"
                )
                continue
        interval, bounds = (_pair(origin.get(key)) for key in _PAIRS)
        entries[path] = FittedValue(
            value=origin["value"],
            interval=interval,
            claims=tuple(origin.get("claims", ())),
            note=raw.get("note", ""),
            tied_to=target or "",
            bounds=bounds,
            start=origin.get("start"),
            verdict=raw.get("verdict", ""),
        )
    if faults:
        raise CatalogError(faults)
    return Fit(identifier, table.get("title", ""), table.get("notes", ""), file, entries)


def _collect(
    where: str, path: str, value: object, found: dict[str, Mapping[str, Any]], faults: list[str]
) -> None:
    if not isinstance(value, dict):
        faults.append(
            f"{where}: {path}: found {value!r}; allowed: a table with value or tied_to, "
            f"or one of the keys {one_of(_FILE_KEYS)}"
        )
        return
    if not ("value" in value or "tied_to" in value):
        for key, child in value.items():
            _collect(where, f"{path}.{key}", child, found, faults)
        return
    before = len(faults)
    for key in value:
        if key not in _ENTRY_KEYS:
            faults.append(
                f"{where}: {path}.{key}: unknown key; allowed: {one_of(_ENTRY_KEYS)}"
                f"{nearest(key, _ENTRY_KEYS)}"
            )
    if "value" in value and "tied_to" in value:
        faults.append(f"{where}: {path}: found value and tied_to; allowed: one of them")
    for key in _FREE_KEYS:
        if "tied_to" in value and key in value:
            faults.append(f"{where}: {path}.{key}: found, but a tied entry has that of its leader")
    for key in _PAIRS:
        pair = value.get(key)
        if pair is not None and not (isinstance(pair, list) and len(pair) == 2):
            faults.append(f"{where}: {path}.{key}: found {pair!r}; allowed: [lowest, highest]")
    claims = value.get("claims", [])
    if not (isinstance(claims, list) and all(isinstance(claim, str) for claim in claims)):
        faults.append(f"{where}: {path}.claims: found {claims!r}; allowed: a list of claim ids")
    for key in ("verdict", "note"):
        if not isinstance(value.get(key, ""), str):
            faults.append(f"{where}: {path}.{key}: found {value[key]!r}; allowed: text")
    if len(faults) == before:
        found[path] = value


def _pair(value: Any) -> tuple[object, object] | None:
    return None if value is None else (value[0], value[1])


def render_fit(fit: Fit, header: Iterable[str] = ()) -> str:
    """Write a fit in the form that `load_fit` reads.

    Parameters:
        fit: the fit; its `file` is ignored.
        header: lines of comment for the top of the file.

    Returns:
        TOML text, the same for the same fit.
    """
    comment = [f"# {printable(line)}".rstrip() for line in header]
    lines = [*comment, ""] if comment else []
    lines += [f"{key} = {_toml(getattr(fit, key))}" for key in _FILE_KEYS]
    sections: dict[str, list[str]] = {}
    for path, entry in fit.entries.items():
        head, _, name = path.rpartition(".")
        sections.setdefault(head, []).append(f"{name} = {_entry(entry)}")
    for head, entries in sections.items():
        lines += ["", f"[{head}]", *entries]
    return "\n".join(lines) + "\n"


def _entry(entry: FittedValue) -> str:
    items: dict[str, object] = {"value": entry.value}
    if entry.tied_to:
        items = {"tied_to": entry.tied_to}
    else:
        if entry.interval is not None:
            items["interval"] = list(entry.interval)
        if entry.bounds is not None:
            items["bounds"] = list(entry.bounds)
        if entry.start is not None:
            items["start"] = entry.start
        if entry.claims:
            items["claims"] = list(entry.claims)
    if entry.verdict:
        items["verdict"] = entry.verdict
    if entry.note:
        items["note"] = entry.note
    return f"{{ {', '.join(f'{key} = {_toml(value)}' for key, value in items.items())} }}"


def _toml(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_toml(item) for item in value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(f"\\u{ord(c):04x}" if _control(c) else c for c in escaped) + '"'


def _control(character: str) -> bool:
    return character < " " or character == "\x7f"
