"""The result of `list` and `show`: rows of text, which no figure shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hcasim.runs.table import ENDINGS, FIGURES, Table

FORMS = tuple(one for one in ENDINGS if one not in FIGURES)
"""Endings of files that hold it."""


@dataclass(frozen=True)
class Listing(Table):
    """What there is, or what one thing is; `data` is what JSON holds."""

    title: str
    rows: Sequence[Mapping[str, Any]]
    data: Mapping[str, Any]
    axes: tuple[str, ...] = ()

    def lines(self) -> list[tuple[str, ...]]:
        """Return the keys, and the cells of each row as text."""
        cells = (tuple(str(row.get(name, "")) for name in self.columns) for row in self.rows)
        return [self.columns, *cells]

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return dict(self.data)
