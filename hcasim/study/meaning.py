"""What parameters mean, as the catalogue's descriptions say it of each key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hcasim.catalog import Machine

Part = tuple[str, tuple[str, ...], list[tuple[str, ...]]]
"""A table: its title, columns and rows."""


def meaning_of(machines: Iterable[Machine], path: str) -> str:
    """Return what a parameter of machines means, by its path as --set takes it; empty of others."""
    for machine in machines:
        first, *names = path.split(".")
        groups: dict[str, Any] = {one.name: one for one in machine.groups}
        place: Any = groups.get(first) or getattr(machine, first, None)
        for name in names[:-1]:
            place = place.get(name) if isinstance(place, dict) else getattr(place, name, None)
        key = getattr(type(place), "model_fields", {}).get(names[-1]) if names else None
        if key is not None and key.description:
            return str(key.description)
    return ""


def meanings(known: Mapping[str, str]) -> list[Part]:
    """Return the title, columns and rows of a table of meanings; none if none is known."""
    rows: list[tuple[str, ...]] = [pair for pair in known.items() if pair[1]]
    return [("What the parameters mean", ("Parameter", "Meaning"), rows)] if rows else []
