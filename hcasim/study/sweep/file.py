"""A file of TOML that says what a sweep varies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hcasim.catalog import CatalogError, read_toml
from hcasim.ground.errors import display, nearest, one_of
from hcasim.ground.faults import shown
from hcasim.study.sweep.plan import SETTINGS

ENDING = ".toml"
_TABLES = ("set", "let")
_OTHERS = ("title", "zip", "where", *_TABLES)


def read_study(file: Path) -> dict[str, Any]:
    """Return the arguments of `sweep` that a file holds.

    Parameters:
        file: of TOML with settings by name, those of a machine by path in the table `set`, and
            `zip`, `let` and `where`.

    Raises:
        CatalogError: every fault of its form.
    """
    table = read_toml(file)
    where = display(file)
    faults = []
    for name in table:
        if name not in (*SETTINGS, *_OTHERS):
            hint = nearest(name, (*SETTINGS, *_OTHERS))
            allowed = one_of([*_OTHERS, *SETTINGS])
            faults.append(f"{where}: found the key {name!r}; allowed: {allowed}{hint}")
        elif name not in _TABLES and isinstance(table[name], dict):
            faults.append(f"{where}: {name}: found a table; allowed: a value or a list")
    for name in _TABLES:
        if not isinstance(table.get(name, {}), dict):
            faults.append(f"{where}: {name}: found {shown(table[name])}; allowed: a table")
    groups = table.get("zip", [])
    if not isinstance(groups, list) or not all(
        isinstance(group, list) and all(isinstance(one, str) for one in group) for group in groups
    ):
        found = shown(groups)
        faults.append(f"{where}: zip: found {found}; allowed: lists of names in a list")
    for name in ("title", "where"):
        if not isinstance(table.get(name, ""), str):
            faults.append(f"{where}: {name}: found {shown(table[name])}; allowed: text")
    lets = table.get("let", {})
    if isinstance(lets, dict):
        for name, text in _leaves(lets):
            if isinstance(text, bool) or not isinstance(text, str | int | float):
                faults.append(f"{where}: let.{name}: found {shown(text)}; allowed: an expression")
    if faults:
        raise CatalogError(faults)
    settings = {name: table[name] for name in SETTINGS if name in table}
    return settings | {
        "overrides": dict(_leaves(table.get("set", {}))),
        "zipped": groups,
        "let": {name: str(text) for name, text in _leaves(lets)},
        "where": table.get("where"),
    }


def _leaves(table: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, Any]]:
    """What a table holds by its path: a dot in a name without quotes is the same as one in it."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{start}{name}.")
        else:
            yield f"{start}{name}", value
