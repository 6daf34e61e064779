"""What a program has found, as rank 0 returns it: numbers, words, and rows of such."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import Any

import click

from hcasim.cli.tables import print_table


def print_returned(returned: Any) -> None:
    """Print it in tables; anything else than a dataclass is left to JSON."""
    if not is_dataclass(returned) or isinstance(returned, type):
        return
    found = asdict(returned)
    rows = found.pop("rows", ())
    if rows:
        click.echo()
        names = tuple(rows[0])
        numbers = tuple(name for name, one in rows[0].items() if not isinstance(one, str))
        print_table(
            "Found, by rank 0", names, [[*map(_cell, row.values())] for row in rows], numbers
        )
    lines = [
        (name, _cell(one))
        for name, many in found.items()
        for one in (many if isinstance(many, tuple) else (many,))
    ]
    if lines:
        click.echo()
        print_table("Found, by rank 0" if not rows else "With that", ("What", "Value"), lines)


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
